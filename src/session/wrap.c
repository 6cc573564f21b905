/* What bash does for a session besides its text; see session.h. */
#include "session/session.h"

/*
 * At the end, whichever way bash comes to it. Without a fork, for there may be no room for one;
 * with traps and settings off that would write between; to nobody's eyes. An EXIT trap of the text
 * takes its place, and then nothing is written.
 *
 * Fields end with NUL, which no value can hold: the directory, the settings, the variables and the
 * functions as bash writes them. What stands on one line of `declare -p` is one variable.
 */
#define SAVE                                                                                       \
    "{ builtin trap - DEBUG ERR RETURN; __nacre=$SHELLOPTS:$BASHOPTS; builtin set +vxeuTE; "       \
    "builtin printf \"nacre-session 1\\0\"; builtin pwd -P; "                                      \
    "builtin printf \"\\0%%s\\0\" \"$__nacre\"; builtin unset -v __nacre; builtin declare -p; "    \
    "builtin printf \"\\0\"; builtin declare -f; builtin printf \"\\0end\\0\"; } "                 \
    "2> /dev/null >&%u"

/* On the text's own first line, so that its lines keep their numbers. */
const char *session_wrap(struct arena *arena, const char *canonical, unsigned fd)
{
    return arena_format(arena, "trap '" SAVE "' EXIT; %s", fd, canonical);
}
