#ifndef WARMER_TRANSFER_H
#define WARMER_TRANSFER_H

/** What the main thread has, and its transfers. No file outside of this room includes this. */
#include "apply/board.h"
#include "system/clock.h"

#define APPLY_THREADS (FETCHERS + CHECKERS + 3)

struct run {
    struct board *board;
    struct batch *filled; /**< Written blocks. */
    struct batch *read;   /**< Those of them that the device keeps, or is about to. */
    unsigned writing, reading;
    bool is_confirmed;
    bool is_keeping;    /**< The flusher works for `read`. */
    bool has_samples;   /**< `read` holds samples. */
    bool has_witnesses; /**< `read` holds samples that were taken here. */
    unsigned samples_begun;
    uint64_t began_ns, probe_ns, kept_ns;
    struct thread *threads[APPLY_THREADS];
    unsigned thread_count;
};

/** Begin what the limits allow. The caller holds the monitor. */
void transfer_begin(struct run *run, uint64_t now_ns);

/** Collect completions, or wait a moment for other threads. */
void transfer_reap(struct run *run);

#endif
