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
    uint32_t column;        /* of the list or map in which it stands; 0: in none */
    bool block_text;        /* the last scalar stood behind | or > */
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

/* Whether a question mark makes a key of what follows. Nobody writes that, and libfyaml 0.7.12 can
 * be made to crash with it. */
static bool is_key_sign(const struct reading *r, size_t at)
{
    if (at + 1 < r->len && !strchr(" \r\n", r->bytes[at + 1]))
        return false;
    while (at && r->bytes[at - 1] == ' ')
        at--;
    return at == 0 || strchr("\n-?:,[{", r->bytes[at - 1]);
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
        if (c == '\t')
            return fail_at(r, line, column, "a tab (take blanks, or \\t in double quotes)");
        if (c == '?' && is_key_sign(r, at))
            return fail_at(r, line, column, "keys with a ? are not taken");
        at += n;
        column++;
        if (c == '\n') {
            line++;
            column = 1;
        }
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

/* A node of the event's place; anchors and tags are refused. */
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

    *ret = node;
    return 0;
}

/* The bytes of a scalar as they stand in the text; a quoted one without its quotes. */
static bool scalar_source(const struct reading *r, struct fy_token *value, const char **ret_bytes,
                          size_t *ret_len)
{
    const struct fy_mark *start = fy_token_start_mark(value), *end = fy_token_end_mark(value);
    if (!start || !end || start->input_pos > end->input_pos || end->input_pos > r->len)
        return false;
    *ret_bytes = r->bytes + start->input_pos;
    *ret_len = end->input_pos - start->input_pos;
    return true;
}

/*
 * What libfyaml 0.7.12 gives for a text of several lines is not always what stands there: it loses
 * track of lengths where lines are folded or joined. The forms in which it does are refused.
 *
 * Behind | and > these are lines of nothing but blanks, and behind > also lines that are deeper
 * than the first. When there is no text at all, it takes the next entry of the list for it.
 */
static const char *block_problem(const struct reading *r, const char *bytes, size_t len,
                                 bool folded)
{
    size_t first = 0;
    bool seen = false;
    for (size_t at = 0; at < len;) {
        size_t indent = 0, length = 0;
        bool blank = true;
        for (; at + length < len && bytes[at + length] != '\n'; length++) {
            char c = bytes[at + length];
            indent += c == ' ' && indent == length;
            blank = blank && (c == ' ' || c == '\r');
        }
        /* What has no end of line is the indentation of whatever comes next. */
        if (blank && indent && at + length < len)
            return "a line of blanks only in a text behind | or >";
        if (!blank && !seen && indent < r->column)
            return "no text behind | or > (check the indentation)";
        if (!blank && folded && seen && indent > first)
            return "a deeper line in a text behind > (take |)";
        if (!blank && !seen) {
            seen = true;
            first = indent;
        }
        at += length + 1;
    }
    return NULL;
}

/* Many empty lines in a row make libfyaml 0.7.12 lose memory. */
static bool has_gap(const char *bytes, size_t len)
{
    enum { EMPTY_LINES_MAX = 3 };
    size_t ends = 0;
    for (size_t at = 0; at < len; at++) {
        if (bytes[at] == '\n')
            ends++;
        else if (bytes[at] != ' ' && bytes[at] != '\r')
            ends = 0;
        if (ends > EMPTY_LINES_MAX + 1)
            return true;
    }
    return false;
}

static const char *scalar_problem(const struct reading *r, struct fy_token *value,
                                  enum fy_scalar_style style)
{
    const char *bytes;
    size_t len;
    if (!scalar_source(r, value, &bytes, &len))
        return "cannot be read as YAML";
    if (has_gap(bytes, len))
        return "more than three empty lines in a text";
    bool lines = memchr(bytes, '\n', len) != NULL;
    if (style == FYSS_LITERAL || style == FYSS_FOLDED)
        return block_problem(r, bytes, len, style == FYSS_FOLDED);
    if (style == FYSS_DOUBLE_QUOTED && lines && memchr(bytes, '\\', len))
        return "an escape in a quoted text of several lines (write it in one)";
    if (style == FYSS_SINGLE_QUOTED && lines && memchr(bytes, '\'', len))
        return "quotes in a text of several lines (put it in double quotes)";
    return NULL;
}

/* The text in single quotes, of one line: its one escape, the doubled quote, libfyaml mixes up. */
static char *single_quoted(const struct reading *r, const char *bytes, size_t len)
{
    char *text = arena_alloc(r->arena, len + 1);
    size_t filled = 0;
    for (size_t at = 0; text && at < len; at++) {
        text[filled++] = bytes[at];
        at += bytes[at] == '\'';
    }
    return text;
}

static int read_scalar(struct reading *r, struct yaml_node **ret)
{
    struct yaml_node *node = NULL;
    int result = new_node(r, YAML_SCALAR, &node);
    if (result < 0)
        return result;
    struct fy_token *value = r->event->scalar.value;
    enum fy_scalar_style style = value ? fy_token_scalar_style(value) : FYSS_PLAIN;
    node->quoted = style != FYSS_PLAIN;
    r->block_text = style == FYSS_LITERAL || style == FYSS_FOLDED;
    const char *problem = value ? scalar_problem(r, value, style) : NULL;
    if (problem)
        return fail_at(r, node->line, node->column, "%s", problem);
    const char *source;
    size_t source_len;
    if (style == FYSS_SINGLE_QUOTED && scalar_source(r, value, &source, &source_len) &&
        !memchr(source, '\n', source_len)) {
        node->text = single_quoted(r, source, source_len);
        *ret = node;
        return node->text ? 0 : no_memory(r);
    }
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
    *ret = node;
    return 0;
}

struct entry {
    const struct yaml_node *key;
};

static int compare_keys(const void *a, const void *b)
{
    const struct yaml_node *one = ((const struct entry *)a)->key;
    const struct yaml_node *other = ((const struct entry *)b)->key;
    int order = strcmp(one->text, other->text);
    if (order)
        return order;
    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return one->column < other->column ? -1 : 1;
}

static int check_duplicates(struct reading *r, const struct yaml_node *map, size_t count)
{
    if (count < 2)
        return 0;
    struct entry *entries = arena_alloc_array(r->arena, count, sizeof(*entries));
    if (!entries)
        return no_memory(r);
    size_t filled = 0;
    for (const struct yaml_node *entry = map->first; entry; entry = entry->next)
        entries[filled++].key = entry->key;
    qsort(entries, filled, sizeof(*entries), compare_keys);

    /* The earliest second use, so that the message does not depend on the order of letters. */
    const struct yaml_node *again = NULL, *before = NULL;
    for (size_t i = 1; i < filled; i++) {
        const struct yaml_node *key = entries[i].key;
        if (strcmp(entries[i - 1].key->text, key->text) == 0 &&
            (!again || key->line < again->line ||
             (key->line == again->line && key->column < again->column))) {
            again = key;
            before = entries[i - 1].key;
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

/* libfyaml 0.7.12 takes a line that is no deeper than a key, or the dash of a list, for what
 * belongs to it. */
static int check_depth(struct reading *r, const struct yaml_node *parent,
                       const struct yaml_node *child)
{
    const struct yaml_node *key = child->key;
    bool text = child->kind == YAML_SCALAR;
    /* A text behind | or > was looked at, nothing has no place, and the dashes of a list may stand
     * straight below a key. */
    if (child->column > parent->column || (text && (r->block_text || !child->text[0])) ||
        (key && (child->kind == YAML_LIST || child->line == key->line)))
        return 0;
    return fail_at(r, child->line, child->column, "not deeper than what it belongs to");
}

static int read_node(struct reading *r, unsigned depth, struct yaml_node **ret);

/* An entry of a list or of a map; the event at hand is its first one. */
static int read_child(struct reading *r, enum yaml_kind parent, unsigned depth,
                      struct yaml_node **ret)
{
    struct yaml_node *key = NULL, *child = NULL;
    int result = 0;
    if (parent == YAML_MAP) {
        result = read_key(r, &key);
        if (result == 0)
            result = next_event(r);
    }
    if (result == 0)
        result = read_node(r, depth, &child);
    if (result < 0 || !child)
        return result;
    child->key = key;
    if (key && child->kind == YAML_SCALAR && !child->quoted && !child->text[0]) {
        child->line = key->line; /* nothing has no place of its own */
        child->column = key->column;
    }
    *ret = child;
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

    struct fy_token *opening = kind == YAML_MAP ? r->event->mapping_start.mapping_start
                                                : r->event->sequence_start.sequence_start;
    bool flow = opening && (fy_token_get_type(opening) == FYTT_FLOW_MAPPING_START ||
                            fy_token_get_type(opening) == FYTT_FLOW_SEQUENCE_START);
    struct yaml_node *node = NULL;
    int result = new_node(r, kind, &node);
    if (result < 0 || !node)
        return result;
    const struct yaml_node **end = &node->first;
    size_t count = 0;
    while ((result = next_event(r)) == 0) {
        if (r->event->type == FYET_SEQUENCE_END || r->event->type == FYET_MAPPING_END)
            break;
        struct yaml_node *child = NULL;
        r->column = node->column;
        result = read_child(r, kind, depth + 1, &child);
        if (result == 0 && child && !flow)
            result = check_depth(r, node, child);
        if (result < 0 || !child)
            break;
        *end = child;
        end = &child->next;
        count++;
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
    if (!r.parser || (r.len && fy_parser_set_string(r.parser, r.bytes, r.len) < 0))
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
