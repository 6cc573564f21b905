/*
 * The edits between two texts; see text_diff.h.
 *
 * What both have at their start and end is cut off. Of the rest each line becomes a number, alike
 * lines the same one; lines that only one text has are edits for certain and are set aside. What is
 * left is compared with Myers' algorithm in linear space: from both ends of the box at once, until
 * the ways meet; then the two smaller boxes by themselves. A search that goes on for too long takes
 * the best way so far for granted, and when all the work is used up, a box is replaced as it is.
 */
#include "changes/text_diff.h"

#include <errno.h>
#include <string.h>

enum {
    SEARCH_MAX = 1024, /* how many edits one search may follow from each end */
    DEPTH_MAX = 64,    /* boxes within boxes: each search halves the edits, so 20 would do */
};
static const uint64_t WORK_MAX = 100000000;

/* One text's middle, as numbers. */
struct side {
    const char *text;
    size_t at, end;        /* the middle */
    size_t before;         /* lines of the start that was cut off */
    uint32_t *starts;      /* offset of each line, and `end` behind the last */
    uint32_t *ids;         /* alike lines have the same */
    unsigned char *edited; /* 1: the other text does not have this line */
    uint32_t *kept;        /* lines that both have, as indices */
    size_t count, kept_count;
};

struct differ {
    struct arena *arena;
    struct side a, b;
    int32_t *forward, *backward; /* furthest way on each diagonal */
    uint64_t work;
};

/* --- cutting --------------------------------------------------------------------------------- */

static size_t count_lines(const char *text, size_t from, size_t to)
{
    size_t count = 0;
    while (from < to) {
        const char *end = memchr(text + from, '\n', to - from);
        from = end ? (size_t)(end - text) + 1 : to;
        count++;
    }
    return count;
}

static bool starts_line(const char *text, size_t at, size_t least)
{
    return at == least || text[at - 1] == '\n';
}

/* Cuts whole lines only: a last line without its end is another line. */
static void cut(struct side *a, struct side *b)
{
    size_t shorter = a->end < b->end ? a->end : b->end, head = 0;
    while (head < shorter && a->text[head] == b->text[head])
        head++;
    if (head < a->end || head < b->end) {
        while (head > 0 && a->text[head - 1] != '\n')
            head--;
    }
    a->at = b->at = head;
    a->before = b->before = count_lines(a->text, 0, head);

    size_t most = shorter - head, tail = 0;
    while (tail < most && a->text[a->end - tail - 1] == b->text[b->end - tail - 1])
        tail++;
    while (tail > 0 && !(starts_line(a->text, a->end - tail, head) &&
                         starts_line(b->text, b->end - tail, head)))
        tail--;
    a->end -= tail;
    b->end -= tail;
}

/* --- lines as numbers ------------------------------------------------------------------------ */

static int split(struct arena *arena, struct side *s)
{
    s->starts = arena_alloc_array(arena, s->count + 1, sizeof(*s->starts));
    s->ids = arena_alloc_array(arena, s->count + 1, sizeof(*s->ids));
    s->edited = arena_alloc_array(arena, s->count + 1, sizeof(*s->edited));
    s->kept = arena_alloc_array(arena, s->count + 1, sizeof(*s->kept));
    if (!s->starts || !s->ids || !s->edited || !s->kept)
        return -ENOMEM;
    size_t at = s->at;
    for (size_t i = 0; i < s->count; i++) {
        s->starts[i] = (uint32_t)at;
        const char *end = memchr(s->text + at, '\n', s->end - at);
        at = end ? (size_t)(end - s->text) + 1 : s->end;
    }
    s->starts[s->count] = (uint32_t)s->end;
    return 0;
}

/* A line that is known by its number: the first place where it was met. */
struct known {
    const char *text; /* NULL: a free place */
    uint32_t len, hash, id;
    unsigned char sides; /* which texts have it: 1 and 2 */
};

struct table {
    struct known *items;
    size_t mask;
    uint32_t next_id;
};

static uint32_t hash_line(const char *text, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

/* NULL: lines were made to meet in one place, and looking further is not worth it. */
static struct known *find_line(struct differ *d, const struct table *table, const char *text,
                               uint32_t len)
{
    uint32_t hash = hash_line(text, len);
    for (size_t at = hash;; at++) {
        struct known *k = &table->items[at & table->mask];
        if (!k->text) {
            *k = (struct known){.text = text, .len = len, .hash = hash};
            return k;
        }
        d->work++;
        if (k->hash != hash || k->len != len) {
            if (d->work > WORK_MAX)
                return NULL;
            continue;
        }
        d->work += len / 8;
        if (memcmp(k->text, text, len) == 0)
            return k;
        if (d->work > WORK_MAX)
            return NULL;
    }
}

static int number_lines(struct differ *d, struct table *table, struct side *s, unsigned char side)
{
    for (size_t i = 0; i < s->count; i++) {
        struct known *k =
            find_line(d, table, s->text + s->starts[i], s->starts[i + 1] - s->starts[i]);
        if (!k)
            return -EAGAIN;
        if (!k->sides)
            k->id = table->next_id++;
        k->sides |= side;
        s->ids[i] = k->id;
    }
    return 0;
}

/* Sets aside what the other text does not have. */
static void keep_shared(struct side *s, const unsigned char *sides)
{
    enum { BOTH = 3 };
    for (size_t i = 0; i < s->count; i++) {
        if (sides[s->ids[i]] == BOTH)
            s->kept[s->kept_count++] = (uint32_t)i;
        else
            s->edited[i] = 1;
    }
}

static int number(struct differ *d)
{
    struct table table = {.mask = 64};
    size_t lines = d->a.count + d->b.count;
    while (table.mask < lines * 2)
        table.mask *= 2;
    table.items = arena_alloc_array(d->arena, table.mask, sizeof(*table.items));
    table.mask--;
    unsigned char *sides = arena_alloc_array(d->arena, lines + 1, sizeof(*sides));
    if (!table.items || !sides)
        return -ENOMEM;
    int r = number_lines(d, &table, &d->a, 1);
    if (r == 0)
        r = number_lines(d, &table, &d->b, 2);
    if (r < 0)
        return r;
    for (size_t i = 0; i <= table.mask; i++) {
        if (table.items[i].text)
            sides[table.items[i].id] = table.items[i].sides;
    }
    keep_shared(&d->a, sides);
    keep_shared(&d->b, sides);
    return 0;
}

/* --- Myers ----------------------------------------------------------------------------------- */

/* Some of the kept lines of both. */
struct box {
    int32_t a, a_end, b, b_end;
};

static bool alike(const struct differ *d, int32_t x, int32_t y)
{
    return d->a.ids[d->a.kept[x]] == d->b.ids[d->b.kept[y]];
}

static void replace_box(struct differ *d, const struct box *box)
{
    for (int32_t i = box->a; i < box->a_end; i++)
        d->a.edited[d->a.kept[i]] = 1;
    for (int32_t i = box->b; i < box->b_end; i++)
        d->b.edited[d->b.kept[i]] = 1;
}

/* The diagonals (x - y) that a search looks at: those of the box, but no more than it came to. */
struct band {
    int32_t least, most; /* of the box */
    int32_t from, to;
};

/* One edit more: the band grows at both sides, or shrinks where it has left the box. */
static void widen(struct band *band, int32_t *ways, int32_t outside)
{
    if (band->from > band->least)
        ways[--band->from - 1] = outside;
    else
        band->from++;
    if (band->to < band->most)
        ways[++band->to + 1] = outside;
    else
        band->to--;
}

struct point {
    int32_t x, y;
};

/* Of the ways from the start, the one that has come furthest. */
static struct point furthest(const struct box *box, const struct band *ahead, const int32_t *ways)
{
    struct point best = {box->a, box->b};
    for (int32_t k = ahead->to; k >= ahead->from; k -= 2) {
        int32_t x = ways[k] < box->a_end ? ways[k] : box->a_end, y = x - k;
        if (y > box->b_end) {
            y = box->b_end;
            x = y + k;
        }
        if (x + y > best.x + best.y)
            best = (struct point){x, y};
    }
    return best;
}

/* Where the box is best split: a point on a shortest way through it, or else on a long one. */
static bool find_split(struct differ *d, const struct box *box, struct point *ret)
{
    int32_t *f = d->forward, *b = d->backward;
    const int32_t start = box->a - box->b, goal = box->a_end - box->b_end;
    const bool odd = (start - goal) & 1;
    struct band ahead = {box->a - box->b_end, box->a_end - box->b, start, start};
    struct band back = {ahead.least, ahead.most, goal, goal};
    f[start] = box->a;
    b[goal] = box->a_end;
    for (int32_t edits = 1;; edits++) {
        widen(&ahead, f, -1);
        for (int32_t k = ahead.to; k >= ahead.from; k -= 2) {
            int32_t x = f[k - 1] >= f[k + 1] ? f[k - 1] + 1 : f[k + 1], x0 = x;
            while (x < box->a_end && x - k < box->b_end && alike(d, x, x - k))
                x++;
            d->work += (uint64_t)(x - x0) + 1;
            f[k] = x;
            if (odd && back.from <= k && k <= back.to && b[k] <= x) {
                *ret = (struct point){x, x - k};
                return true;
            }
        }
        widen(&back, b, INT32_MAX);
        for (int32_t k = back.to; k >= back.from; k -= 2) {
            int32_t x = b[k - 1] < b[k + 1] ? b[k - 1] : b[k + 1] - 1, x0 = x;
            while (x > box->a && x - k > box->b && alike(d, x - 1, x - k - 1))
                x--;
            d->work += (uint64_t)(x0 - x) + 1;
            b[k] = x;
            if (!odd && ahead.from <= k && k <= ahead.to && x <= f[k]) {
                *ret = (struct point){x, x - k};
                return true;
            }
        }
        if (d->work > WORK_MAX)
            return false;
        if (edits == SEARCH_MAX) { /* too far: what there is must do */
            *ret = furthest(box, &ahead, f);
            return true;
        }
    }
}

/* A split at a corner would leave the same box to compare, for ever. */
static bool is_inside(const struct box *box, const struct point *p)
{
    return p->x >= box->a && p->x <= box->a_end && p->y >= box->b && p->y <= box->b_end &&
           (p->x > box->a || p->y > box->b) && (p->x < box->a_end || p->y < box->b_end);
}

static void compare_box(struct differ *d, struct box box, unsigned depth)
{
    for (;;) {
        while (box.a < box.a_end && box.b < box.b_end && alike(d, box.a, box.b)) {
            box.a++;
            box.b++;
        }
        while (box.a < box.a_end && box.b < box.b_end && alike(d, box.a_end - 1, box.b_end - 1)) {
            box.a_end--;
            box.b_end--;
        }
        struct point split;
        if (box.a == box.a_end || box.b == box.b_end || depth == DEPTH_MAX ||
            !find_split(d, &box, &split) || !is_inside(&box, &split)) {
            replace_box(d, &box);
            return;
        }
        compare_box(d, (struct box){box.a, split.x, box.b, split.y}, depth + 1);
        box.a = split.x;
        box.b = split.y;
    }
}

static int compare(struct differ *d)
{
    size_t diagonals = d->a.kept_count + d->b.kept_count + 3;
    int32_t *ways = arena_alloc_array(d->arena, diagonals * 2, sizeof(*ways));
    if (!ways)
        return -ENOMEM;
    /* Diagonals count from minus the lines of b, with one more at each side. */
    d->forward = ways + d->b.kept_count + 1;
    d->backward = d->forward + diagonals;
    compare_box(d, (struct box){0, (int32_t)d->a.kept_count, 0, (int32_t)d->b.kept_count}, 0);
    return 0;
}

/* --- edits ----------------------------------------------------------------------------------- */

/* Lines i to i_end of a, and j to j_end of b. */
struct block {
    size_t i, i_end, j, j_end;
};

static void extend(const struct differ *d, struct block *block)
{
    while (block->i_end < d->a.count && d->a.edited[block->i_end])
        block->i_end++;
    while (block->j_end < d->b.count && d->b.edited[block->j_end])
        block->j_end++;
}

/*
 * Lines that were only added, or only removed, often may stand further down as well: a block that
 * begins with the line that follows it. There people expect it: a new function begins with its name
 * and not with the bracket that ends the one before.
 */
static void slide(struct differ *d, struct block *block)
{
    while (block->i_end < d->a.count && block->j_end < d->b.count) {
        if (block->i == block->i_end && d->b.ids[block->j] == d->b.ids[block->j_end]) {
            d->b.edited[block->j] = 0;
            d->b.edited[block->j_end] = 1;
        } else if (block->j == block->j_end && d->a.ids[block->i] == d->a.ids[block->i_end]) {
            d->a.edited[block->i] = 0;
            d->a.edited[block->i_end] = 1;
        } else {
            return;
        }
        block->i++;
        block->i_end++;
        block->j++;
        block->j_end++;
        extend(d, block);
    }
}

static bool next_block(const struct differ *d, struct block *block)
{
    size_t i = block->i_end, j = block->j_end;
    while (i < d->a.count && j < d->b.count && !d->a.edited[i] && !d->b.edited[j]) {
        i++;
        j++;
    }
    *block = (struct block){i, i, j, j};
    extend(d, block);
    return block->i < block->i_end || block->j < block->j_end;
}

static struct text_range range_of(const struct side *s, size_t from, size_t to)
{
    return (struct text_range){
        .at = s->starts[from],
        .len = s->starts[to] - s->starts[from],
        .before = s->before + from,
        .count = to - from,
    };
}

static int collect(struct differ *d, struct text_diff *ret)
{
    size_t count = 0;
    for (struct block block = {0}; next_block(d, &block); count++)
        slide(d, &block);
    ret->edits = arena_alloc_array(d->arena, count + 1, sizeof(*ret->edits));
    if (!ret->edits)
        return -ENOMEM;
    for (struct block block = {0}; next_block(d, &block);) {
        struct text_edit *edit = &ret->edits[ret->count++];
        edit->old = range_of(&d->a, block.i, block.i_end);
        edit->new = range_of(&d->b, block.j, block.j_end);
        ret->removed += edit->old.count;
        ret->added += edit->new.count;
    }
    return 0;
}

static struct text_range whole(const struct side *s)
{
    return (struct text_range){
        .at = s->at, .len = s->end - s->at, .before = s->before, .count = s->count};
}

static int replace_middle(const struct differ *d, struct text_diff *ret)
{
    ret->edits = arena_alloc_array(d->arena, 1, sizeof(*ret->edits));
    if (!ret->edits)
        return -ENOMEM;
    ret->edits[0] = (struct text_edit){whole(&d->a), whole(&d->b)};
    ret->count = 1;
    ret->removed = d->a.count;
    ret->added = d->b.count;
    return 0;
}

int text_diff_make(struct arena *arena, const char *a, size_t a_len, const char *b, size_t b_len,
                   struct text_diff *ret)
{
    if (a_len > TEXT_DIFF_BYTES_MAX || b_len > TEXT_DIFF_BYTES_MAX)
        return -E2BIG;
    struct differ d = {
        .arena = arena, .a = {.text = a, .end = a_len}, .b = {.text = b, .end = b_len}};
    struct text_diff diff = {.a = a, .b = b, .a_len = a_len, .b_len = b_len};
    cut(&d.a, &d.b);
    d.a.count = count_lines(a, d.a.at, d.a.end);
    d.b.count = count_lines(b, d.b.at, d.b.end);
    int r = 0;
    if (!d.a.count && !d.b.count) {
        *ret = diff;
        return 0;
    }
    if (!d.a.count || !d.b.count || d.a.count > TEXT_DIFF_LINES_MAX ||
        d.b.count > TEXT_DIFF_LINES_MAX) {
        r = replace_middle(&d, &diff);
    } else {
        r = split(arena, &d.a);
        if (r == 0)
            r = split(arena, &d.b);
        if (r == 0)
            r = number(&d);
        if (r == 0)
            r = compare(&d);
        if (r == 0)
            r = collect(&d, &diff);
        else if (r == -EAGAIN)
            r = replace_middle(&d, &diff);
    }
    diff.work = d.work;
    if (r == 0)
        *ret = diff;
    return r;
}

bool text_is_binary(const char *bytes, size_t len)
{
    enum { LOOKED_AT = 8000 };
    return len && memchr(bytes, '\0', len < LOOKED_AT ? len : LOOKED_AT);
}
