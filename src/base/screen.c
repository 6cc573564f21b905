/* See screen.h. */
#include "base/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

/* Private modes that may be set and reset, and how a terminal has them before. */
static const struct {
    unsigned number;
    bool normally;
} modes[] = {
    {1, false},                                                 /* cursor keys for applications */
    {6, false},                                                 /* origin */
    {7, true},                                                  /* wrap */
    {12, false},                                                /* blinking cursor */
    {25, true},                                                 /* cursor */
    {47, false},   {1047, false}, {1048, false}, {1049, false}, /* the other screen */
    {1000, false}, {1002, false}, {1003, false}, {1004, false}, {1006, false}, /* mouse, focus */
    {2004, false}, /* pasted text in brackets */
    {2026, false}, /* drawn at once */
};

static void put(struct screen *s, struct buf *out)
{
    buf_append(out, s->held, s->held_len);
}

static void put_unfit(const struct screen *s, struct buf *out)
{
    buf_append_text(out, s->ascii_only ? "?" : "\xEF\xBF\xBD");
}

/* --- CSI ------------------------------------------------------------------------------------- */

/* ESC [ ? N ; N h: all of them must be on the list. */
static bool take_modes(struct screen *s, bool set)
{
    uint32_t changed = s->modes;
    const char *at = s->held + 3, *end = s->held + s->held_len - 1;
    if (at == end)
        return false;
    while (at < end) {
        char *stop;
        if (*at < '0' || *at > '9')
            return false;
        unsigned long number = strtoul(at, &stop, 10);
        size_t i = 0;
        while (i < sizeof(modes) / sizeof(modes[0]) && modes[i].number != number)
            i++;
        if (stop == at || i == sizeof(modes) / sizeof(modes[0]) || (stop < end && *stop != ';'))
            return false;
        if (set == modes[i].normally)
            changed &= ~(UINT32_C(1) << i);
        else
            changed |= UINT32_C(1) << i;
        at = stop + 1;
    }
    s->modes = changed;
    return true;
}

/* Whether the whole sequence in `held` may pass. */
static bool is_fit(struct screen *s)
{
    char final = s->held[s->held_len - 1];
    const char *parameters = s->held + 2;
    size_t len = s->held_len - 3;
    if (len && parameters[0] == '?')
        return (final == 'h' || final == 'l') && take_modes(s, final == 'h');
    bool plain = true;
    for (size_t i = 0; i < len; i++)
        plain &= (parameters[i] >= '0' && parameters[i] <= '9') || parameters[i] == ';' ||
                 (final == 'm' && parameters[i] == ':');
    if (plain && (final == 'h' || final == 'l'))
        return len == 1 && parameters[0] == '4'; /* insert */
    if (len && final == 'q')                     /* the cursor's shape */
        return parameters[len - 1] == ' ' &&
               (len == 1 || (len == 2 && parameters[0] >= '0' && parameters[0] <= '9'));
    return plain && strchr("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu", final);
}

/* --- one byte -------------------------------------------------------------------------------- */

static void begin(struct screen *s, enum screen_at at)
{
    s->at = at;
    s->too_long = false;
}

static void hold(struct screen *s, char c)
{
    if (s->held_len + 1 < sizeof(s->held))
        s->held[s->held_len++] = c;
    else
        s->too_long = true;
}

static void leave(struct screen *s)
{
    s->at = SCREEN_TEXT;
    s->held_len = 0;
}

static void take_escape(struct screen *s, char c, struct buf *out)
{
    hold(s, c);
    if (c == '[') {
        begin(s, SCREEN_CSI);
    } else if (c && strchr("]PX^_", c)) {
        begin(s, SCREEN_STRING);
    } else if (c == '(' || c == ')') {
        begin(s, SCREEN_CHARSET);
    } else {
        if (c && strchr("78DEM=>", c))
            put(s, out);
        leave(s);
    }
}

/* False: the byte is no part of the sequence, which is dropped, and is looked at on its own. */
static bool take_sequence(struct screen *s, char c, struct buf *out)
{
    bool control = (unsigned char)c < 0x20;
    switch (s->at) {
    case SCREEN_STRING:
        if (c == '\a' || c == 0x18 || c == 0x1a)
            leave(s);
        else if (c == 0x1b)
            s->at = SCREEN_STRING_ESCAPE;
        return true;
    case SCREEN_STRING_ESCAPE:
        /* ESC ends the string, and begins another sequence unless it is ESC \. */
        s->held_len = 0;
        hold(s, 0x1b);
        s->at = SCREEN_ESCAPE;
        if (c == '\\')
            leave(s);
        else
            take_escape(s, c, out);
        return true;
    case SCREEN_ESCAPE:
        if (control || (unsigned char)c >= 0x7f)
            break;
        take_escape(s, c, out);
        return true;
    case SCREEN_CHARSET:
        hold(s, c);
        if (c == '0' || c == 'B' || c == 'A')
            put(s, out);
        leave(s);
        return true;
    case SCREEN_CSI:
        if (control || (unsigned char)c >= 0x7f)
            break;
        hold(s, c);
        if (c >= 0x40) {
            if (!s->too_long && is_fit(s))
                put(s, out);
            leave(s);
        }
        return true;
    default:
        break;
    }
    leave(s);
    return false;
}

static void take_text(struct screen *s, char byte, struct buf *out)
{
    uint32_t c = 0;
    bool more = false;
    hold(s, byte);
    size_t n = utf8_decode(s->held, s->held_len, &c, &more);
    if (n == 0 && more)
        return;
    bool again = n == 0 && s->held_len > 1; /* the newest byte does not belong */
    if (n && c == 0x1b) {
        begin(s, SCREEN_ESCAPE);
        return; /* held */
    }
    if (n && (c == '\a' || c == '\b' || c == '\r' || c == 0x0e || c == 0x0f ||
              (escape_is_plain(c) && (c < 0x80 || !s->ascii_only))))
        put(s, out);
    else if (!n || c >= 0x80)
        put_unfit(s, out);
    s->held_len = 0;
    if (again)
        take_text(s, byte, out);
}

int screen_append(struct screen *s, const char *bytes, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        if (s->at == SCREEN_TEXT || !take_sequence(s, bytes[i], out))
            take_text(s, bytes[i], out);
    }
    return out->failed;
}

int screen_finish(struct screen *s, struct buf *out)
{
    leave(s);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (s->modes & (UINT32_C(1) << i))
            buf_append_format(out, "\033[?%u%c", modes[i].number, modes[i].normally ? 'h' : 'l');
    }
    s->modes = 0;
    /* Insert mode, the scroll region (which moves the cursor), the cursor's shape. */
    return buf_append_text(out, "\033[m\033(B\017\033>\033[4l\0337\033[r\0338\033[0 q");
}
