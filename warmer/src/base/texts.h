#ifndef WARMER_TEXTS_H
#define WARMER_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#define TEXTS_LIMIT 64u
#define TEXT_BYTES 512u

/** A short list of short texts, without repetitions; what is beyond the limits is left out or cut short. */
struct texts {
    char items[TEXTS_LIMIT][TEXT_BYTES];
    size_t count;
};

/** Append a text unless it is in the list. */
void texts_add(struct texts *texts, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool texts_has(const struct texts *texts, const char *text);

#endif
