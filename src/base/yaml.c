/*
 * YAML through libfyaml's events; see yaml.h.
 *
 * libfyaml decides what the text means. What YAML allows and we do not is refused here, before it
 * (bytes that cannot be seen) or on its events (anchors, tags, duplicate keys). Its diagnostics are
 * collected, so that it never prints.
 *
 * libfyaml.h uses a banned function in its macros. The Makefile includes it ahead of banned.h for
 * this one file.
 */
#include "base/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/utf8.h"

struct reading {
    struct arena *arena;
    const char *name;
    const char *bytes;
    size_t len;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct fy_event *event; /* the one that is looked at */
    struct err *e;
};

__attribute__((format(printf, 5, 0))) static int set_error(struct err *e, const char *name,
                                                           uint32_t line, uint32_t column,
                                                           const char *format, va_list args)
{
    if (!e)
        return -EINVAL;
    char message[ERR_MESSAGE_MAX];
    if (vsnprintf(message, sizeof(message), format, args) < 0)
        message[0] = '\0';
    /* What is quoted from the file may hold anything; a message is one line. */
    for (char *c = message; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = '?';
    }
    return err_set(e, -EINVAL, "%s:%u:%u: %s", name, line, column, message);
}

int yaml_error(struct err *e, const char *name, const struct yaml_node *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(e, name, at->line, at->column, format, args);
    va_end(args);
    return -EINVAL;
}

__attribute__((format(printf, 4, 5))) static int fail_at(struct reading *r, uint32_t line,
                                                         uint32_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(r->e, r->name, line, column, format, args);
    va_end(args);
    return -EINVAL;
}

static int no_memory(struct reading *r)
{
    return err_set(r->e, -ENOMEM, "%s: out of memory", r->name);
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Characters that a reader does not see, or sees in another order than they stand. */
static bool is_hidden(uint32_t c)
{
    return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c < 0xA0) || c == 0x2028 ||
           c == 0x2029 || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
           c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
}

static int check_bytes(struct reading *r)
{
    uint32_t line = 1, column = 1;
    for (size_t at = 0; at < r->len;) {
        uint32_t c;
        size_t n = utf8_decode(r->bytes + at, r->len - at, &c, NULL);
        if (n == 0)
            return fail_at(r, line, column, "not UTF-8 (byte 0x%02X)", (unsigned char)r->bytes[at]);
        if (c == '\r' && at + 1 < r->len && r->bytes[at + 1] == '\n') {
            at++;
            continue;
        }
        if (c == 0)
            return fail_at(r, line, column, "a NUL byte: this is not a text");
        if (is_hidden(c))
            return fail_at(r, line, column, "a character that cannot be seen (U+%04X)", c);
        if (column == 1 && c == '%')
            return fail_at(r, line, column, "directives are not taken");
        at += n;
        column++;
        if (c == '\n') {
            line++;
            column = 1;
        }
    }
    return 0;
}

/* Where the line `line` (from 1) starts. */
static size_t line_start(const struct reading *r, uint32_t line)
{
    size_t at = 0;
    while (--line) {
        const char *end = memchr(r->bytes + at, '\n', r->len - at);
        if (!end)
            return r->len;
        at = (size_t)(end - r->bytes) + 1;
    }
    return at;
}

/* The column (from 1) of a tab among the blanks that start the line, or 0. */
static uint32_t tab_in_indentation(const struct reading *r, size_t start, size_t end)
{
    for (size_t at = start; at < end && (r->bytes[at] == ' ' || r->bytes[at] == '\t'); at++) {
        if (r->bytes[at] == '\t')
            return (uint32_t)(at - start) + 1;
    }
    return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

/* What libfyaml says, where its words need its source to be understood. */
static const struct {
    const char *theirs, *ours;
} clearer[] = {
    {"invalid nested block mapping on the same line",
     "': ' inside a plain text (put the text in quotes)"},
    {"invalid multiline plain key",
     "this text seems to go on in the next line (check the indentation there)"},
    {"plain scalar cannot start with", "a text that starts like this needs quotes"},
    {"invalid scalar at the end of block sequence", "neither '- ' nor the end of the list"},
};

/* The first thing that libfyaml complained about. Its lines and columns count from 1 here. */
static int library_error(struct reading *r)
{
    void *before = NULL;
    const struct fy_diag_error *first;
    do {
        first = fy_diag_errors_iterate(r->diag, &before);
    } while (first && first->type < FYET_ERROR);
    if (!first)
        return fail_at(r, 1, 1, "cannot be read as YAML");

    uint32_t line = first->line > 0 ? (uint32_t)first->line : 1;
    uint32_t column = first->column > 0 ? (uint32_t)first->column : 1;
    /* A tab shows in the line at fault, or in the next when that was taken for its continuation. */
    for (uint32_t at = line; at <= line + 1; at++) {
        uint32_t tab = tab_in_indentation(r, line_start(r, at), r->len);
        if (tab)
            return fail_at(r, at, tab, "a tab as indentation");
    }
    const char *message = first->msg ? first->msg : "cannot be read as YAML";
    for (size_t i = 0; i < sizeof(clearer) / sizeof(clearer[0]); i++) {
        if (strncmp(message, clearer[i].theirs, strlen(clearer[i].theirs)) == 0)
            return fail_at(r, line, column, "%s", clearer[i].ours);
    }
    return fail_at(r, line, column, "%.*s", (int)strcspn(message, "\n"), message);
}

static int next_event(struct reading *r)
{
    if (r->event)
        fy_parser_event_free(r->parser, r->event);
    r->event = fy_parser_parse(r->parser);
    return r->event ? 0 : library_error(r);
}

static void mark_place(const struct fy_mark *mark, bool sign, uint32_t *ret_line,
                       uint32_t *ret_column)
{
    *ret_line = mark ? (uint32_t)mark->line + 1 : 1;
    *ret_column = mark ? (uint32_t)mark->column + 1 : 1;
    /* libfyaml's mark is behind a quote, and behind the sign of an anchor, an alias or a tag. */
    if (sign && *ret_column > 1)
        --*ret_column;
}

static void event_place(const struct reading *r, uint32_t *ret_line, uint32_t *ret_column)
{
    bool sign = r->event->type == FYET_ALIAS;
    if (r->event->type == FYET_SCALAR && r->event->scalar.value) {
        enum fy_scalar_style style = fy_token_scalar_style(r->event->scalar.value);
        sign = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    }
    mark_place(fy_event_start_mark(r->event), sign, ret_line, ret_column);
}

/* A node of the event's place; anchors, tags and tabs in front of it are refused. */
static int new_node(struct reading *r, enum yaml_kind kind, struct yaml_node **ret)
{
    struct yaml_node *node = arena_take(r->arena, sizeof(*node));
    if (!node)
        return no_memory(r);
    node->kind = kind;
    event_place(r, &node->line, &node->column);

    struct fy_token *anchor = NULL, *tag = NULL;
    switch (r->event->type) {
    case FYET_SCALAR:
        anchor = r->event->scalar.anchor;
        tag = r->event->scalar.tag;
        break;
    case FYET_SEQUENCE_START:
        anchor = r->event->sequence_start.anchor;
        tag = r->event->sequence_start.tag;
        break;
    case FYET_MAPPING_START:
        anchor = r->event->mapping_start.anchor;
        tag = r->event->mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor || tag) {
        uint32_t line, column;
        mark_place(fy_token_start_mark(anchor ? anchor : tag), anchor != NULL, &line, &column);
        return fail_at(r, line, column, "%s are not taken",
                       anchor ? "anchors (&name)" : "tags (!name)");
    }

    const struct fy_mark *mark = fy_event_start_mark(r->event);
    if (mark && mark->input_pos <= r->len) {
        size_t start = mark->input_pos;
        while (start && r->bytes[start - 1] != '\n')
            start--;
        uint32_t tab = tab_in_indentation(r, start, mark->input_pos);
        if (tab)
            return fail_at(r, node->line, tab, "a tab as indentation");
    }
    *ret = node;
    return 0;
}

static int read_scalar(struct reading *r, struct yaml_node **ret)
{
    struct yaml_node *node = NULL;
    int result = new_node(r, YAML_SCALAR, &node);
    if (result < 0)
        return result;
    struct fy_token *value = r->event->scalar.value;
    size_t len = 0;
    const char *text = value ? fy_token_get_text(value, &len) : "";
    if (!text)
        return no_memory(r);
    if (memchr(text, 0, len))
        return fail_at(r, node->line, node->column, "a NUL in a text");
    if (!utf8_valid(text, len))
        return fail_at(r, node->line, node->column, "an escape that is not a character");
    node->text = arena_copy(r->arena, text, len);
    if (!node->text)
        return no_memory(r);
    node->quoted = value && fy_token_scalar_style(value) != FYSS_PLAIN;
    *ret = node;
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct yaml_node *one = *(const struct yaml_node *const *)a;
    const struct yaml_node *other = *(const struct yaml_node *const *)b;
    int order = strcmp(one->key->text, other->key->text);
    if (order)
        return order;
    if (one->key->line != other->key->line)
        return one->key->line < other->key->line ? -1 : 1;
    return one->key->column < other->key->column ? -1 : 1;
}

static int check_duplicates(struct reading *r, const struct yaml_node *map, size_t count)
{
    if (count < 2)
        return 0;
    const struct yaml_node **entries = arena_alloc_array(r->arena, count, sizeof(*entries));
    if (!entries)
        return no_memory(r);
    size_t filled = 0;
    for (const struct yaml_node *entry = map->first; entry; entry = entry->next)
        entries[filled++] = entry;
    qsort(entries, filled, sizeof(*entries), compare_keys);

    /* The earliest second use, so that the message does not depend on the order of letters. */
    const struct yaml_node *again = NULL, *before = NULL;
    for (size_t i = 1; i < filled; i++) {
        const struct yaml_node *key = entries[i]->key;
        if (strcmp(entries[i - 1]->key->text, key->text) == 0 &&
            (!again || key->line < again->line ||
             (key->line == again->line && key->column < again->column))) {
            again = key;
            before = entries[i - 1]->key;
        }
    }
    if (!again)
        return 0;
    return fail_at(r, again->line, again->column, "'%s' is already given in line %u", again->text,
                   before->line);
}

static int read_key(struct reading *r, struct yaml_node **ret)
{
    uint32_t line, column;
    event_place(r, &line, &column);
    if (r->event->type == FYET_ALIAS)
        return fail_at(r, line, column, "aliases (*name) are not taken");
    if (r->event->type != FYET_SCALAR)
        return fail_at(r, line, column, "a key must be a word");
    int result = read_scalar(r, ret);
    if (result < 0)
        return result;
    if (!(*ret)->text[0])
        return fail_at(r, line, column, "a key must not be empty");
    if (!(*ret)->quoted && strcmp((*ret)->text, "<<") == 0)
        return fail_at(r, line, column, "merge keys (<<) are not taken");
    return 0;
}

/* The node that starts with the event at hand; its last event is the one at hand afterwards. */
static int read_node(struct reading *r, unsigned depth, struct yaml_node **ret)
{
    uint32_t line, column;
    event_place(r, &line, &column);
    enum yaml_kind kind;
    switch (r->event->type) {
    case FYET_SCALAR:
        return read_scalar(r, ret);
    case FYET_ALIAS:
        return fail_at(r, line, column, "aliases (*name) are not taken");
    case FYET_SEQUENCE_START:
        kind = YAML_LIST;
        break;
    case FYET_MAPPING_START:
        kind = YAML_MAP;
        break;
    default:
        return fail_at(r, line, column, "cannot be read as YAML");
    }
    if (depth >= YAML_DEPTH_MAX)
        return fail_at(r, line, column, "nested deeper than %d", YAML_DEPTH_MAX);

    struct yaml_node *node = NULL;
    int result = new_node(r, kind, &node);
    const struct yaml_node **end = node ? &node->first : NULL;
    size_t count = 0;
    while (result == 0 && (result = next_event(r)) == 0) {
        if (r->event->type == FYET_SEQUENCE_END || r->event->type == FYET_MAPPING_END)
            break;
        struct yaml_node *key = NULL, *child = NULL;
        if (kind == YAML_MAP) {
            result = read_key(r, &key);
            if (result == 0)
                result = next_event(r);
        }
        if (result == 0)
            result = read_node(r, depth + 1, &child);
        if (result == 0) {
            child->key = key;
            if (key && child->kind == YAML_SCALAR && !child->quoted && !child->text[0]) {
                child->line = key->line; /* nothing has no place of its own */
                child->column = key->column;
            }
            *end = child;
            end = &child->next;
            count++;
        }
    }
    if (result == 0 && kind == YAML_MAP)
        result = check_duplicates(r, node, count);
    if (result == 0)
        *ret = node;
    return result;
}

static int read_stream(struct reading *r, struct yaml_node **ret)
{
    struct yaml_node *root = NULL;
    for (;;) {
        int result = next_event(r);
        if (result < 0)
            return result;
        uint32_t line, column;
        switch (r->event->type) {
        case FYET_STREAM_END:
            *ret = root;
            return 0;
        case FYET_DOCUMENT_START:
            /* Its first node has a place, which a document without --- has not. */
            result = next_event(r);
            if (result == 0 && root) {
                event_place(r, &line, &column);
                return fail_at(r, line, column, "a second document starts here");
            }
            if (result == 0)
                result = read_node(r, 0, &root);
            if (result < 0)
                return result;
            break;
        default:
            break;
        }
    }
}

static void swallow(struct fy_diag *diag, void *user, const char *text, size_t len)
{
    (void)diag, (void)user, (void)text, (void)len;
}

int yaml_parse(struct arena *arena, const char *name, const char *bytes, size_t len,
               const struct yaml_node **ret, struct err *e)
{
    struct reading r = {.arena = arena, .name = name, .bytes = bytes, .len = len, .e = e};
    if (len > YAML_BYTES_MAX)
        return err_set(e, -EINVAL, "%s: longer than %d bytes", name, YAML_BYTES_MAX);
    /* The mark that some editors put in front of UTF-8. */
    if (len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        r.bytes += 3;
        r.len -= 3;
    }
    int result = check_bytes(&r);
    if (result < 0)
        return result;

    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = swallow;
    diag_cfg.colorize = false;
    r.diag = fy_diag_create(&diag_cfg);
    if (!r.diag)
        return no_memory(&r);
    fy_diag_set_collect_errors(r.diag, true);
    const struct fy_parse_cfg cfg = {
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = r.diag,
    };
    r.parser = fy_parser_create(&cfg);

    struct yaml_node *root = NULL;
    if (!r.parser)
        result = no_memory(&r);
    else if (r.len && fy_parser_set_string(r.parser, r.bytes, r.len) < 0)
        result = no_memory(&r);
    else if (r.len)
        result = read_stream(&r, &root);
    if (result == 0 && (!root || (root->kind == YAML_SCALAR && !root->quoted && !root->text[0]))) {
        /* Nothing at all, or comments only. */
        root = arena_take(arena, sizeof(*root));
        if (root)
            *root = (struct yaml_node){.kind = YAML_MAP, .line = 1, .column = 1};
        else
            result = no_memory(&r);
    }
    if (result == 0)
        *ret = root;

    if (r.event)
        fy_parser_event_free(r.parser, r.event);
    if (r.parser)
        fy_parser_destroy(r.parser);
    fy_diag_destroy(r.diag);
    return result;
}

/* --- files ----------------------------------------------------------------------------------- */

static int read_file(int fd, const char *path, struct buf *out, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, -errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, -EINVAL, "%s: not a regular file", path);
    if (st.st_size > YAML_BYTES_MAX)
        return err_set(e, -EINVAL, "%s: longer than %d bytes", path, YAML_BYTES_MAX);
    /* It may grow while it is read: what is past the limit is not stored. */
    for (;;) {
        char chunk[8192];
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, "%s", path);
        if (n == 0)
            return 0;
        int result = buf_append(out, chunk, (size_t)n);
        if (result == -E2BIG)
            return err_set(e, -EINVAL, "%s: longer than %d bytes", path, YAML_BYTES_MAX);
        if (result < 0)
            return err_set(e, result, "%s: out of memory", path);
    }
}

int yaml_load(struct arena *arena, const char *path, const struct yaml_node **ret, struct err *e)
{
    /* O_NONBLOCK: a FIFO in the place of a file must not hang us. */
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, -errno, "%s", path);
    struct buf bytes;
    buf_init(&bytes, arena->allocator, YAML_BYTES_MAX);
    int result = read_file(fd, path, &bytes, e);
    if (result == 0)
        result = yaml_parse(arena, path, bytes.data, bytes.len, ret, e);
    buf_release(&bytes);
    return result;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    if (map->kind != YAML_MAP)
        return NULL;
    for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
        if (strcmp(entry->key->text, key) == 0)
            return entry;
    }
    return NULL;
}
