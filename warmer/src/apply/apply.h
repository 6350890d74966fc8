#ifndef WARMER_APPLY_H
#define WARMER_APPLY_H

#include "apply/parts.h"
#include "base/diag.h"
#include "engines/engine.h"
#include "loop/state.h"
#include "loop/warm.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Buffers of a block each: for blocks on their way to the device, and for what is read back. As many of
 * each, so that reading keeps up with writing, and both are in flight at all times.
 */
#define APPLY_WRITES 28u
#define APPLY_READS 28u
#define APPLY_BUFFERS (APPLY_WRITES + APPLY_READS)
#define APPLY_PROBE_BYTES 4096u
#define APPLY_BUFFER_BYTES (APPLY_BUFFERS * BLOCK_BYTES + APPLY_PROBE_BYTES)

/** The most samples of unchanged blocks that a manifest may have. */
#define APPLY_SAMPLES 16384u

/** Runs of written blocks that are listed. */
#define APPLY_RUNS 100u

/** The arguments. The caller owns everything that they point to. */
struct apply_settings {
    const struct device *device;
    struct engine *engine; /**< With a buffer of APPLY_BUFFER_BYTES, for APPLY_BUFFERS and a probe. */
    uint8_t *buffer;
    bool compares;       /**< Read each block first, and write what differs. */
    bool was_taken;      /**< An earlier run with this state had the device. */
    struct state *state; /**< Of twice as many blocks as the volume: done, then begun. May be NULL. */
    struct parts *parts; /**< Its first part is read. */
    uint64_t volume_bytes;
    uint64_t patience_seconds; /**< For each pack that cannot be loaded. */
    double max_mib_s;
    double polite_latency_ms;
    uint64_t (*now_ns)(void);
    bool (*is_interrupted)(void);
    int (*confirm)(void *context, struct diag *diag); /**< Called once, just before the first write. */
    void *confirm_context;
    /** Called at least once a second from the first write to the end; WARMER_DISTURBED stops the writing. */
    int (*watch)(void *confirm_context, struct diag *diag);
    /**
     * Asks how many bytes whoever it was has written to the device, or discarded, since it was taken. False:
     * the system does not count them. May be NULL.
     */
    bool (*count_writes)(void *confirm_context, uint64_t *bytes);
    warm_observe *observe;
    void *observe_context;
};

/** Neighbouring blocks. */
struct apply_blocks {
    uint64_t first;
    uint64_t count;
};

/** What was done. Bytes are exact: what came from packs, was decoded, and went to and from the device. */
struct apply_result {
    struct warm_progress progress; /**< For progress lines: blocks that are read back. */
    bool is_waiting;               /**< For packs that cannot be loaded now. */
    uint64_t packs;
    uint64_t bytes_fetched;
    uint64_t bytes_decoded;
    uint64_t bytes_written;
    uint64_t bytes_begun; /**< To be written; more than were written where a write was repeated. */
    bool is_counted;      /**< The system has counted as many bytes as were written here. */
    char count_note[160]; /**< Why not. */
    unsigned witnesses;   /**< Blocks that are not written here, and were compared with what was before. */
    uint64_t bytes_read_back;
    uint64_t bytes_compared; /**< Read before a write, because an earlier run may have written it. */
    uint64_t blocks_written; /**< Blocks that this run began to write. */
    struct apply_blocks written[APPLY_RUNS]; /**< The first of them. */
    unsigned written_runs;
    bool written_truncated;   /**< There are more. */
    uint64_t blocks_again;    /**< Of them: an earlier run had begun to write them. */
    uint64_t blocks_compared; /**< Read and hashed before anything else. */
    uint64_t blocks_equal;    /**< Of them: there was nothing to write. */
    uint64_t undo_packs;      /**< Kept before their blocks were written. */
    uint64_t undo_bytes;
    uint64_t undo_blocks;
    uint64_t blocks_there;   /**< Found on the device as an earlier run wrote them. */
    uint64_t blocks_skipped; /**< Read back by an earlier run. */
    uint64_t blocks_differing;
    uint64_t first_differing;
    uint64_t samples;
    uint64_t samples_differing;
};

/** Apply all parts. Returns 0, or the exit status with the reason in `diag`. */
int apply_run(const struct apply_settings *settings, struct apply_result *result, struct diag *diag);

#endif
