/* Paths in order: each question is answered as by looking at all of them. */
#include <stdint.h>

#include "base/path.h"
#include "base/path_index.h"
#include "tap.h"

enum { PATHS = 400, LENGTH = 24, ROUNDS = 50 };

/* The same numbers always. */
static unsigned next_number(unsigned below)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

/* Parts of bytes that sort on both sides of a slash. */
static void make_path(char ret[static LENGTH])
{
    static const char bytes[] = "ab-.\xff ";
    size_t len = 0;
    for (unsigned parts = 1 + next_number(4); parts > 0; parts--) {
        for (unsigned i = 1 + next_number(2); i > 0; i--)
            ret[len++] = bytes[next_number(sizeof(bytes) - 1)];
        ret[len++] = '/';
    }
    ret[len - 1] = '\0';
}

int main(void)
{
    bool first_right = true, all_right = true, above_right = true;
    for (int round = 0; round < ROUNDS; round++) {
        static char paths[PATHS][LENGTH];
        struct path_entry entries[PATHS];
        struct path_index index = {entries, next_number(PATHS)};
        for (size_t i = 0; i < index.count; i++) {
            make_path(paths[i]);
            entries[i] = (struct path_entry){paths[i], i};
        }
        path_index_sort(&index);
        for (int asked = 0; asked < PATHS; asked++) {
            char path[LENGTH];
            size_t below = 0, found = 0;
            const char *upper = NULL;
            make_path(path);
            for (size_t i = 0; i < index.count; i++) {
                below += path_is_below(paths[i], path);
                if (path_is_below(path, paths[i]) && (!upper || strlen(paths[i]) < strlen(upper)))
                    upper = paths[i];
            }
            size_t at = path_index_first(&index, path);
            first_right &= at == 0 || !path_is_below(index.items[at - 1].path, path);
            while (at < index.count && path_is_below(index.items[at].path, path)) {
                at++;
                found++;
            }
            all_right &= found == below;
            const struct path_entry *above = path_index_above(&index, path);
            above_right &= upper ? above && strcmp(above->path, upper) == 0 : !above;
        }
    }
    tap_check(first_right, "nothing below a path stands before the first of it");
    tap_check(all_right, "all that is below a path stands together");
    tap_check(above_right, "the uppermost directory above a path is found");
    struct path_index none = {NULL, 0};
    path_index_sort(&none);
    tap_number((long long)path_index_first(&none, "a"), 0, "none: nothing is below");
    tap_check(!path_index_above(&none, "a"), "none: nothing is above");
    return tap_done();
}
