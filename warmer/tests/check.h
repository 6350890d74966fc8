#ifndef WARMER_CHECK_H
#define WARMER_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/**
 * The whole test framework. A test program calls RUN for each of its functions, which prints one line
 * "ok NAME" or "not ok NAME"; tests/run.sh counts those lines.
 */
static bool check_failed;
static int check_failures;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                                         \
            check_failed = true;                                                                             \
        }                                                                                                    \
    } while (0)

/** Whole numbers are equal; both values are printed when not. */
#define CHECK_EQ(actual, expected)                                                                           \
    do {                                                                                                     \
        int64_t check_actual = (int64_t)(actual);                                                            \
        int64_t check_expected = (int64_t)(expected);                                                        \
        if (check_actual != check_expected) {                                                                \
            printf("# %s:%d: %s is %" PRId64 ", not %" PRId64 "\n", __FILE__, __LINE__, #actual,             \
                   check_actual, check_expected);                                                            \
            check_failed = true;                                                                             \
        }                                                                                                    \
    } while (0)

/** Texts are equal. */
#define CHECK_TEXT(actual, expected)                                                                         \
    do {                                                                                                     \
        const char *check_actual = (actual);                                                                 \
        const char *check_expected = (expected);                                                             \
        if (strcmp(check_actual, check_expected) != 0) {                                                     \
            printf("# %s:%d: %s is\n#   %s\n# not\n#   %s\n", __FILE__, __LINE__, #actual, check_actual,     \
                   check_expected);                                                                          \
            check_failed = true;                                                                             \
        }                                                                                                    \
    } while (0)

/** A number lies between two others, bounds included. */
#define CHECK_BETWEEN(actual, low, high)                                                                     \
    do {                                                                                                     \
        double check_actual = (double)(actual);                                                              \
        if (!(check_actual >= (double)(low) && check_actual <= (double)(high))) {                            \
            printf("# %s:%d: %s is %g, not between %g and %g\n", __FILE__, __LINE__, #actual, check_actual,  \
                   (double)(low), (double)(high));                                                           \
            check_failed = true;                                                                             \
        }                                                                                                    \
    } while (0)

#define RUN(test)                                                                                            \
    do {                                                                                                     \
        check_failed = false;                                                                                \
        test();                                                                                              \
        check_failures += check_failed;                                                                      \
        printf("%s %s\n", check_failed ? "not ok" : "ok", #test);                                            \
        fflush(stdout);                                                                                      \
    } while (0)

#define CHECK_RESULT() (check_failures == 0 ? 0 : 1)

#endif
