/*
 * A small harness: each check prints one TAP line, tap_done prints the plan. A unit test is one
 * program; it exits 1 when a check failed.
 */
#ifndef NACRE_TESTS_TAP_H
#define NACRE_TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static bool tap_check(bool passed, const char *format,
                                                                    ...)
{
    char name[256];
    __builtin_va_list args;
    __builtin_va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    __builtin_va_end(args);
    tap_count++;
    tap_failed += !passed;
    printf("%sok %d - %s\n", passed ? "" : "not ", tap_count, name);
    return passed;
}

/* Equality of texts and of numbers, showing both sides when they differ. */
__attribute__((unused)) static bool tap_text(const char *is, const char *should, const char *name)
{
    bool same = is && should ? strcmp(is, should) == 0 : is == should;
    tap_check(same, "%s", name);
    if (!same)
        printf("#   is:     %s\n#   should: %s\n", is ? is : "(null)", should ? should : "(null)");
    return same;
}

__attribute__((unused)) static bool tap_number(long long is, long long should, const char *name)
{
    tap_check(is == should, "%s", name);
    if (is != should)
        printf("#   is:     %lld\n#   should: %lld\n", is, should);
    return is == should;
}

__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed ? 1 : 0;
}

#endif
