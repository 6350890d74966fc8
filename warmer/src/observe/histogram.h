#ifndef WARMER_HISTOGRAM_H
#define WARMER_HISTOGRAM_H

#include "observe/recording.h"

#include <stdbool.h>
#include <stdint.h>

/** Reads the text of the kernel's histogram of reads by block, line by line. Begin with the first three set.
 */
struct histogram {
    struct recording *recording;
    uint64_t time_ns; /**< When it was read. */
    uint64_t dropped; /**< Reads that the kernel's table had no room for; set by the text's last line. */
    bool has_entry;   /**< A block's line was read whose second line is still to come. */
    uint64_t block;
    uint64_t reads;
};

/** Take the next line, with or without its end. What is no part of a histogram is left out. */
void histogram_take(struct histogram *histogram, const char *line);

#endif
