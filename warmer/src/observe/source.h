#ifndef WARMER_OBSERVE_SOURCE_H
#define WARMER_OBSERVE_SOURCE_H

#include "base/diag.h"
#include "observe/disk.h"
#include "observe/recording.h"
#include "observe/trace.h"

/** How the reads of a disk are learned of. */
enum source_kind {
    SOURCE_AUTO,      /**< The histogram where the kernel has one. */
    SOURCE_HISTOGRAM, /**< The kernel counts, and its table is read. */
    SOURCE_EVENTS     /**< The kernel lists each read, and the list is read. */
};

struct source;

/**
 * Begin to note reads of the disk in the recording, of which the kernel may have `most_blocks` to count. Left
 * out are reads of this program, of io_uring's workers, and of other threads of the kernel that read 128 KiB
 * or more at once. Returns 0, or WARMER_CANNOT_OPEN with the reason in `diag`.
 */
int source_open(enum source_kind kind, const struct trace *trace, const struct disk *disk,
                struct recording *recording, uint32_t most_blocks, struct source **opened, struct diag *diag);

/** Whether it is time to collect. */
bool source_is_due(const struct source *source);

/** Note what was read since the last call. */
void source_collect(struct source *source, bool is_last);

/** How long to wait before the next call, in milliseconds. */
uint32_t source_pause_ms(const struct source *source);

/** Reads that the kernel has lost. */
uint64_t source_dropped(struct source *source);

/** histogram or events. */
const char *source_name(const struct source *source);

/** Close the trace's files. NULL is allowed. */
void source_close(struct source *source);

#endif
