#ifndef WARMER_OPENERS_LINUX_H
#define WARMER_OPENERS_LINUX_H

/** Only the files that look for a device's users include this. */
#include "device/family_linux.h"

/** More of them are not listed. */
#define OPENERS_LIMIT 5u

/** A process that has a member of the family open. */
struct opener {
    unsigned long id;
    char program[64];
    char name[FAMILY_NAME_BYTES]; /**< Of the member; empty: it cannot be seen what the process has open. */
    bool is_writing;              /**< It may write to it, or that cannot be seen. */
};

struct openers {
    struct opener items[OPENERS_LIMIT];
    size_t count;
};

/** How closely to look. */
enum openers_look {
    OPENERS_ALL,     /**< Threads that have files of their own, and what is mapped or a ring's, as well. */
    OPENERS_WRITERS, /**< Descriptors that are open for writing, and as quickly as can be. */
};

/** Find other processes that have a member open. This process and the programs that it starts do not count.
 */
void openers_find(const struct family *family, enum openers_look look, struct openers *found);

bool openers_has_writer(const struct openers *openers);

#endif
