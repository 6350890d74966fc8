#ifndef WARMER_MEMORY_KILLS_H
#define WARMER_MEMORY_KILLS_H

#include <stdint.h>

/**
 * How often the kernel has ended a process because memory ran out, by /proc/vmstat or a file like it; 0 where
 * there is no such file.
 */
uint64_t memory_kills(const char *path);

#endif
