/**
 * The kernel's histogram of the sectors at which reads begin, in buckets of one block, as the file `hist` of
 * an event has it (Documentation/trace/histogram.rst):
 *
 *   { sector: ~ 5120-6143 } hitcount:          1
 *       max:       6144  nr_sector:       1024
 *   Totals:
 *       Hits: 1
 *       Entries: 1
 *       Dropped: 0
 *
 * `max` is the furthest sector that a read of this bucket ends before.
 */
#include "observe/histogram.h"

#include "base/block_set.h"
#include "base/number.h"

#include <string.h>

#define SECTORS_PER_BLOCK (BLOCK_BYTES / 512u)

static const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

/** After `name` and blanks: a number of decimal digits, or NULL. The answer is behind it. */
static const char *take_number(const char *text, const char *name, uint64_t *number) {
    text = skip_blanks(text);
    return strncmp(text, name, strlen(name)) == 0
               ? number_take(skip_blanks(text + strlen(name)), UINT64_MAX, number)
               : NULL;
}

static bool take_entry(struct histogram *histogram, const char *line) {
    uint64_t first = 0;
    uint64_t last = 0;
    const char *rest = take_number(line, "{ sector: ~", &first);
    rest = rest == NULL ? NULL : take_number(rest, "-", &last);
    rest = rest == NULL ? NULL : take_number(rest, "} hitcount:", &histogram->reads);
    histogram->block = first / SECTORS_PER_BLOCK;
    return rest != NULL && first % SECTORS_PER_BLOCK == 0 && last == first + SECTORS_PER_BLOCK - 1;
}

void histogram_take(struct histogram *histogram, const char *line) {
    uint64_t end = 0;
    if (histogram->has_entry) {
        histogram->has_entry = false;
        /* A block without a furthest end is counted without its neighbours. */
        (void)take_number(line, "max:", &end);
        recording_set_reads(histogram->recording, histogram->block, histogram->reads, end,
                            histogram->time_ns);
    }
    histogram->has_entry = take_entry(histogram, line);
    (void)take_number(line, "Dropped:", &histogram->dropped);
}
