#ifndef WARMER_OWNERS_H
#define WARMER_OWNERS_H

#include "filesystems/source.h"

/** The answer of a look for owners. */
enum owner_answer {
    OWNER_NONE,   /**< Nothing names one. */
    OWNER_THERE,  /**< Its mark is there. */
    OWNER_UNSEEN, /**< A place where it would be named cannot be read. */
};

/** Who has a device or a partition as a whole. */
struct owner {
    enum owner_answer answer;
    const char *name; /**< As in "the mark of NAME". */
    uint64_t at;      /**< The byte of the source at which its mark lies. */
};

/** How many places a look reads: three at the beginning, three at the end, 208 KiB in all. */
#define OWNER_PLACES 6u

/**
 * Look for the marks of what may have a device or a partition as a whole: RAID, volume managers, encryption,
 * caches, stores of clusters and databases, and file systems that are not read here. Each of them can leave
 * the superblock of an older file system as it was. A mark may be the older of the two; that is not judged
 * here.
 *
 * The first `most_places` places are read, and announced together before. They lie in three blocks of 512 KiB
 * of a device whose size is a multiple of that, and in six at most.
 */
struct owner owner_find(const struct source *source, uint32_t most_places);

#endif
