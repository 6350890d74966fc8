#ifndef WARMER_NUMBER_H
#define WARMER_NUMBER_H

#include <stdint.h>

/**
 * Read a whole number at the beginning of a text, of decimal digits alone: no blank, no sign, at most `most`.
 * sscanf and strtoul take a sign and wrap around. Returns what is behind the digits, or NULL: there is none.
 */
const char *number_take(const char *text, uint64_t most, uint64_t *number);

/** The same after a text that must be there. `text` may be NULL, and then so is the answer. */
const char *number_take_after(const char *text, const char *before, uint64_t most, uint64_t *number);

#endif
