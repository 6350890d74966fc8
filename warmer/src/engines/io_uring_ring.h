#ifndef WARMER_IO_URING_RING_H
#define WARMER_IO_URING_RING_H

/**
 * What engine_io_uring.c, which reads, and io_uring_ring.c, which makes the rings, share. No other file
 * includes this.
 */
#include "engines/engine.h"

#include <linux/io_uring.h>
#include <stdbool.h>

struct uring_engine {
    struct engine base;
    int ring;
    const char *kind; /**< The set-up flags that the kernel accepted, for the report. */
    bool has_timed_wait;
    bool has_collecting_wait;
    bool has_fixed_file;
    bool has_fixed_buffer;
    int device;
    void *buffer;
    void *rings;
    size_t rings_bytes;
    struct io_uring_sqe *entries;
    size_t entries_bytes;
    unsigned *submit_tail, submit_mask, *submit_array;
    unsigned *done_head, *done_tail, done_mask;
    struct io_uring_cqe *completions;
    unsigned unsubmitted; /**< In the submission ring, not yet handed to the kernel. */
    unsigned in_flight;   /**< Submitted or unsubmitted, not yet reaped. */
    char features[128];
};

/** Set up the rings. Returns 0 or -errno; on failure the engine still holds what was made, to be freed. */
int ring_set_up(struct uring_engine *engine, const struct engine_settings *settings);

#endif
