#ifndef WARMER_POLITE_H
#define WARMER_POLITE_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

/** Where a probe reads: pieces of this size, as an application's small reads. */
#define POLITE_PROBE_BYTES 4096u

/** Blocks that are kept in mind as targets of probes. */
#define POLITE_TARGETS 64u

/** Keeps what an application's small read waits for under a limit. */
struct polite {
    uint64_t limit_ns;      /**< 0: no limit, nothing is probed. */
    unsigned most;          /**< Reads in flight at most, with nobody to be polite to. */
    double allowed;         /**< Reads in flight that are allowed now; below 1: one, with pauses. */
    uint32_t piece_bytes;   /**< No read of the warm-up may be larger. */
    uint64_t next_ns;       /**< When the next probe is due. */
    uint64_t resume_ns;     /**< No read starts before this. */
    bool is_probing;        /**< A probe is on its way. */
    bool has_cut;           /**< The limit was met once. */
    unsigned quick_answers; /**< In a row. */
    struct random jitter;
    uint64_t seen; /**< Blocks noted so far. */
    uint64_t targets[POLITE_TARGETS];
};

/** Begin with few reads in flight; `limit_ms` 0 switches it off. */
void polite_init(struct polite *polite, double limit_ms, unsigned most, uint64_t now_ns);

/** How many reads may be in flight. */
unsigned polite_depth(const struct polite *polite);

/** May a read of the warm-up start now? */
bool polite_allows(const struct polite *polite, uint64_t now_ns);

/** A block is warm: probes may read it. */
void polite_note(struct polite *polite, uint64_t block);

/** The block to probe now, or BLOCK_NONE when none is due. Then call polite_answer with what it took. */
uint64_t polite_probe(struct polite *polite, uint64_t now_ns);

/** When something is due that no completion announces: a probe, or the end of a pause. `limit_ns` at the
 * latest. */
uint64_t polite_due_ns(const struct polite *polite, uint64_t now_ns, uint64_t limit_ns);

/** The probe came back. */
void polite_answer(struct polite *polite, uint64_t latency_ns, uint64_t now_ns);

/** The probe failed and says nothing. */
void polite_forget(struct polite *polite);

#endif
