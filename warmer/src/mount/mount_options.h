#ifndef WARMER_MOUNT_OPTIONS_H
#define WARMER_MOUNT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/** Longer ones are not allowed. */
#define MOUNT_OPTION_BYTES 128u

/** Kinds of file systems. */
enum { MOUNT_EXT = 1u, MOUNT_XFS = 2u, MOUNT_BTRFS = 4u, MOUNT_ANY = 7u };

/** What a request may say, in words. */
#define MOUNT_OPTIONS_TEXT                                                                                   \
    "ro, rw, atime, noatime, relatime, strictatime, diratime, nodiratime, lazytime, nolazytime, noexec, "    \
    "nosuid, nodev, nosymfollow, sync, async, dirsync, discard and nodiscard; of ext4 commit=, "             \
    "data=ordered, data=journal, errors=remount-ro, stripe= and nodelalloc; of XFS allocsize=, inode64, "    \
    "largeio, logbsize=, logbufs=, nouuid, sunit=, swidth=, swalloc and wsync; of btrfs autodefrag, "        \
    "commit=, compress=, compress-force=, discard=, flushoncommit, noautodefrag, space_cache=v2, ssd, "      \
    "nossd, subvol=, subvolid= and thread_pool="

/**
 * Whether each of a request's options may be given for a file system that is one of `kinds`: none gives
 * rights, weakens a check, can stop the kernel, or lets another program or device take part. If not,
 * `refused` gets the first that may not. The list is also in functions/rewarm/contracts/after.py.
 */
bool mount_options_allow(const char *options, unsigned kinds, char refused[MOUNT_OPTION_BYTES]);

/**
 * The next option of a list, as libmount reads it: a comma between double quotes is part of an option.
 * Returns its length, and moves `rest` behind it; `option` is NULL at the end.
 */
size_t mount_options_next(const char **rest, const char **option);

/** Whether a list has an option of this name, with a value or without. */
bool mount_options_have(const char *options, const char *name);

#endif
