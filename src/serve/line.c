/* See mcp_line.h. */
#include "serve/line.h"

#include <string.h>

#include "base/utf8.h"

/* --- the id of a message that is not read ----------------------------------------------------- */

/* A text of the outermost object is over: was it the key? */
static void end_key(struct line_skim *s)
{
    s->in_id = s->key_len == 2 && memcmp(s->key, "id", 2) == 0;
    if (s->in_id && ++s->ids == 1)
        s->len = 0;
}

static void keep(struct line_skim *s, char c)
{
    if (s->ids != 1)
        return;
    if (s->len < sizeof(s->id) - 1)
        s->id[s->len++] = c;
    else
        s->broken = true;
}

static void skim_text(struct line_skim *s, char c)
{
    if (s->in_id)
        keep(s, c);
    else if (s->is_key && c != '"' && s->key_len < sizeof(s->key))
        s->key[s->key_len++] = c;
    if (s->escaped) {
        s->escaped = false;
    } else if (c == '\\') {
        s->escaped = true;
    } else if (c == '"') {
        s->in_text = false;
        if (s->is_key)
            end_key(s);
        s->is_key = false;
    }
}

static void skim_byte(struct line_skim *s, char c)
{
    if (s->in_text) {
        skim_text(s, c);
        return;
    }
    switch (c) {
    case '{':
    case '[':
        if (s->depth == 0 && (s->is_object || c == '['))
            s->broken = true; /* a second value, or no object */
        if (s->in_id && s->depth == 1)
            s->broken = true;
        s->is_object = s->is_object || c == '{';
        s->depth++;
        s->wants_value = false;
        break;
    case '}':
    case ']':
        if (s->depth == 0)
            s->broken = true;
        else
            s->depth--;
        s->in_id = s->in_id && s->depth > 1;
        break;
    case '"':
        s->in_text = true;
        s->is_key = s->depth == 1 && !s->wants_value;
        s->key_len = 0;
        if (s->in_id && s->depth == 1)
            keep(s, c);
        break;
    case ':':
        s->wants_value = s->depth == 1 ? true : s->wants_value;
        break;
    case ',':
        if (s->depth == 1) {
            s->wants_value = false;
            s->in_id = false;
        }
        break;
    default:
        if (s->in_id && s->depth == 1 && c != ' ' && c != '\t' && c != '\r')
            keep(s, c);
    }
}

void line_skim_bytes(struct line_skim *s, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && !s->broken; i++)
        skim_byte(s, bytes[i]);
}

static bool is_integer(const char *text)
{
    const char *digits = text + (text[0] == '-');
    size_t len = strspn(digits, "0123456789");
    return len && len <= 18 && !digits[len] && (digits[0] != '0' || len == 1);
}

/* Plain ones only: nothing that would have to be understood. */
static bool is_text(const char *text, size_t len)
{
    if (len < 2 || text[0] != '"' || text[len - 1] != '"' || !utf8_valid(text, len))
        return false;
    for (size_t i = 1; i < len - 1; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == '"' || text[i] == '\\' || text[i] == 0x7f)
            return false;
    }
    return true;
}

const char *line_skim_id(struct line_skim *s)
{
    if (s->broken || s->ids != 1 || s->in_text || s->depth || !s->is_object)
        return NULL;
    s->id[s->len] = '\0';
    return strlen(s->id) == s->len && (is_integer(s->id) || is_text(s->id, s->len)) ? s->id : NULL;
}

/* --- lines ----------------------------------------------------------------------------------- */

void line_init(struct line *l, size_t max)
{
    *l = (struct line){0};
    buf_init(&l->bytes, &allocator_libc, max);
}

void line_release(struct line *l)
{
    buf_release(&l->bytes);
}

static void begin(struct line *l)
{
    /* What one long message needed is not kept for all the others. */
    enum { KEPT = 1 << 16 };
    if (l->bytes.capacity > KEPT)
        buf_release(&l->bytes);
    buf_clear(&l->bytes);
    l->too_long = false;
}

static void add(struct line *l, const char *bytes, size_t len)
{
    if (!len)
        return;
    if (!l->too_long && buf_append(&l->bytes, bytes, len) == 0)
        return;
    if (!l->too_long) {
        l->too_long = true;
        l->skim = (struct line_skim){0};
        line_skim_bytes(&l->skim, l->bytes.data, l->bytes.len);
        buf_release(&l->bytes);
    }
    line_skim_bytes(&l->skim, bytes, len);
}

void line_feed(struct line *l, const char *bytes, size_t len, line_user *use, void *user)
{
    for (const char *at = bytes, *end = bytes + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        add(l, at, (size_t)((stop ? stop : end) - at));
        if (!stop)
            return;
        if (l->too_long)
            use(user, NULL, 0, line_skim_id(&l->skim));
        else
            use(user, l->bytes.data, l->bytes.len, NULL);
        begin(l);
        at = stop + 1;
    }
}
