#ifndef WARMER_POLITE_H
#define WARMER_POLITE_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

/** The size of a probe: that of a small read of an application. */
#define POLITE_PROBE_BYTES 4096u

/** The number of blocks that are remembered as targets of probes. */
#define POLITE_TARGETS 64u

/** Keeps the latency of an application's small reads under a limit. */
struct polite {
    uint64_t limit_ns;      /**< 0: no limit, nothing is probed. */
    unsigned most;          /**< The most reads in flight when the latency is low. */
    double allowed;         /**< Reads in flight that are allowed now; below 1: one, with pauses. */
    uint64_t next_ns;       /**< When the next probe is due. */
    uint64_t resume_ns;     /**< No read starts before this. */
    bool is_probing;        /**< A probe is in flight. */
    bool is_asleep;         /**< Nothing is limited or probed for now. */
    bool has_cut;           /**< The number of reads was reduced at least once. */
    unsigned quick_answers; /**< Quick probes in a row. */
    struct random jitter;
    uint64_t seen; /**< Blocks noted so far. */
    uint64_t targets[POLITE_TARGETS];
};

/** Begin with few reads in flight and a limit in milliseconds; 0 means no limit. */
void polite_init(struct polite *polite, double limit_ms, unsigned most, uint64_t now_ns);

/** Limit and probe nothing until polite_wake. */
void polite_sleep(struct polite *polite);

/** End the sleep, if there is one and no more reads are in flight than politeness begins with. */
void polite_wake(struct polite *polite, unsigned reading, uint64_t now_ns);

/** Whether there is a limit now. */
bool polite_is_on(const struct polite *polite);

/** The largest read of the warm-up in bytes. */
uint32_t polite_piece_bytes(const struct polite *polite);

/** How many reads of the warm-up may be in flight. */
unsigned polite_depth(const struct polite *polite);

/** Whether a read of the warm-up may start now. */
bool polite_allows(const struct polite *polite, uint64_t now_ns);

/** Remember a warm block, which probes may read. */
void polite_note(struct polite *polite, uint64_t block);

/** The block to probe now, or BLOCK_NONE if no probe is due. Report its latency to polite_answer. */
uint64_t polite_probe(struct polite *polite, uint64_t now_ns);

/** When the next probe is due or the current pause ends, but `limit_ns` at the latest. */
uint64_t polite_due_ns(const struct polite *polite, uint64_t now_ns, uint64_t limit_ns);

/** Count a probe that completed after `latency_ns`. */
void polite_answer(struct polite *polite, uint64_t latency_ns, uint64_t now_ns);

/** Forget a probe that failed. */
void polite_forget(struct polite *polite);

#endif
