/*
 * Replays a corpus through a fuzz target without libFuzzer: one check for each file of a directory.
 * A target that crashes ends the program, which the runner counts as a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *f = fopen(path, "re");
    uint8_t *data = NULL;
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
        data = malloc((size_t)size + 1);
    bool read = data && fread(data, 1, (size_t)size, f) == (size_t)size;
    /* A copy of the exact size, so that the sanitizer sees the first byte past the end. */
    uint8_t *exact = read ? malloc((size_t)size ? (size_t)size : 1) : NULL;
    if (exact) {
        memcpy(exact, data, (size_t)size);
        LLVMFuzzerTestOneInput(exact, (size_t)size);
    }
    tap_check(exact != NULL, "%s", name);
    free(exact);
    free(data);
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (!directory) {
        fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
        return 2;
    }
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] != '.')
            replay(argv[1], entry->d_name);
    }
    closedir(directory);
    tap_check(tap_count > 0, "the corpus is not empty");
    return tap_done();
}
