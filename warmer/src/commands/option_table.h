#ifndef WARMER_OPTION_TABLE_H
#define WARMER_OPTION_TABLE_H

#include "commands/options.h"

/** Stores the value of one option; false if the value is not allowed. */
typedef bool option_store(struct options *options, const char *value);

/** One option: who takes it, what it allows (NULL: it is a flag), where it goes. */
struct option {
    const char *name;
    unsigned commands; /**< One bit for each. */
    const char *allowed;
    option_store *store;
};

/** The option whose name is the first `length` characters of `text`; NULL: there is none. */
const struct option *option_find(const char *text, size_t length);

#endif
