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
    OPENERS_ALL,     /**< Whoever has a member open, mapped, or registered with a ring. */
    OPENERS_WRITERS, /**< Of them those that may write. */
    OPENERS_FILES,   /**< Whoever has a file or a folder of a file system on a member open, or works there. */
};

/**
 * Find other processes that have a member open, by any of their threads. This process and the programs that
 * it starts do not count. What of a process cannot be seen may be a member.
 */
void openers_find(struct family *family, enum openers_look look, struct openers *found);

bool openers_has_writer(const struct openers *openers);

#endif
