#ifndef WARMER_WORDS_H
#define WARMER_WORDS_H

#include <stddef.h>

#define WORDS_LIMIT 512u

/** The words of a command line, with NULL at their end. Begin with {0}. */
struct words {
    const char *items[WORDS_LIMIT + 1];
    size_t count;
    char text[16384]; /**< What words_split has cut. */
    size_t used;
};

/** Append a word, which the caller keeps; beyond the limit it is left out. */
void words_add(struct words *words, const char *word);

/** Append the words of a text, which blanks separate; words that do not fit are left out. */
void words_split(struct words *words, const char *text);

#endif
