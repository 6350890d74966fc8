#ifndef WARMER_BENCH_PLACE_H
#define WARMER_BENCH_PLACE_H

#include "system/folder_linux.h"

#include <stdint.h>

/** A folder or a device to measure in, as Linux knows it. What is not known is empty. */
struct bench_place {
    char source[256];     /**< What is mounted there. */
    char file_system[64]; /**< Its type. */
    char serial[64];      /**< Of the EBS volume under it: its id without the dash. */
};

/** Find out which file system an open folder is on. `place` is empty before. */
void bench_place_find(int folder, struct bench_place *place);

/** The free space of the open folder's file system in MiB. */
uint64_t bench_place_free_mib(int folder);

/**
 * Make a folder for scratch files in an open one, after deleting those that earlier runs of this machine have
 * left. Another machine may be at work on the same share, so the name has this one's in it. `notice` learns
 * of what looks like those and is left alone. Returns 0 or -errno.
 */
int bench_place_make_scratch(int folder, struct folder **made, folder_notice *notice, void *context);

#endif
