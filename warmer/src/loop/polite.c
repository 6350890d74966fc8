/**
 * Politeness: the warm-up uses what the application leaves of the volume.
 *
 * The agent cannot see how long the application's reads take. It therefore reads 4 KiB of a block that is
 * already warm, ten times a second, and takes the latency of this probe as that of a small read. If a probe
 * is too slow, the number of reads in flight is cut by a third; if it is quick, the number grows slowly, as
 * TCP shares a line. If even one read at a time is too much, the warm-up pauses between reads.
 */
#include "loop/polite.h"

#include "base/block_set.h"
#include "system/clock.h"

#define PROBE_INTERVAL_NS (100 * NS_PER_MILLISECOND)

/** Intervals differ by this much, because probes in step with the reads would always meet the same queue. */
#define JITTER_NS (40 * NS_PER_MILLISECOND)
#define START_DEPTH 4.0
/** The largest read in front of a small one: half a millisecond at 125 MiB/s. */
#define PIECE_BYTES 65536u
#define CUT 0.67
/** Growth after the limit was met: slow, so that about one probe in thirty meets it again. */
#define GROW 0.1
/** Growth before the limit was met, or after five seconds of quick probes. */
#define GROW_FREE 1.0
#define FREE_ANSWERS 50u

/** The share of the limit at which reads are cut, because an application also reads between two probes. */
#define MARGIN 0.75

/** So little that pauses last two seconds; the warm-up still ends some day. */
#define LEAST 0.05

void polite_init(struct polite *polite, double limit_ms, unsigned most, uint64_t now_ns) {
    *polite = (struct polite){
        .limit_ns = (uint64_t)(limit_ms * (double)NS_PER_MILLISECOND),
        .most = most,
        .allowed = START_DEPTH < most ? START_DEPTH : most,
        .next_ns = now_ns,
    };
}

void polite_sleep(struct polite *polite) {
    polite->is_asleep = true;
}

void polite_wake(struct polite *polite, unsigned reading, uint64_t now_ns) {
    if (polite->is_asleep && reading <= polite->allowed) {
        polite->is_asleep = false;
        polite->next_ns = now_ns;
    }
}

bool polite_is_on(const struct polite *polite) {
    return polite->limit_ns > 0 && !polite->is_asleep;
}

uint32_t polite_piece_bytes(const struct polite *polite) {
    return polite_is_on(polite) ? PIECE_BYTES : UINT32_MAX;
}

unsigned polite_depth(const struct polite *polite) {
    if (!polite_is_on(polite)) {
        return polite->most;
    }
    return polite->allowed < 1 ? 1 : (unsigned)polite->allowed;
}

bool polite_allows(const struct polite *polite, uint64_t now_ns) {
    return !polite_is_on(polite) || now_ns >= polite->resume_ns;
}

void polite_note(struct polite *polite, uint64_t block) {
    polite->targets[polite->seen % POLITE_TARGETS] = block;
    polite->seen++;
}

uint64_t polite_probe(struct polite *polite, uint64_t now_ns) {
    if (!polite_is_on(polite) || polite->is_probing || polite->seen == 0 || now_ns < polite->next_ns) {
        return BLOCK_NONE;
    }
    polite->is_probing = true;
    polite->next_ns = now_ns + PROBE_INTERVAL_NS - JITTER_NS / 2 + random_below(&polite->jitter, JITTER_NS);
    uint64_t known = polite->seen < POLITE_TARGETS ? polite->seen : POLITE_TARGETS;
    /* The oldest one that is kept: most likely out of every cache between here and the volume. */
    return polite->targets[polite->seen % known];
}

uint64_t polite_due_ns(const struct polite *polite, uint64_t now_ns, uint64_t limit_ns) {
    if (!polite_is_on(polite)) {
        return limit_ns;
    }
    if (!polite->is_probing && polite->seen > 0 && polite->next_ns < limit_ns) {
        limit_ns = polite->next_ns;
    }
    if (polite->resume_ns > now_ns && polite->resume_ns < limit_ns) {
        limit_ns = polite->resume_ns;
    }
    return limit_ns;
}

void polite_answer(struct polite *polite, uint64_t latency_ns, uint64_t now_ns) {
    polite->is_probing = false;
    if ((double)latency_ns > MARGIN * (double)polite->limit_ns) {
        polite->allowed = polite->allowed * CUT > LEAST ? polite->allowed * CUT : LEAST;
        polite->quick_answers = 0;
        polite->has_cut = true;
    } else {
        polite->quick_answers++;
        bool is_free = !polite->has_cut || polite->quick_answers > FREE_ANSWERS;
        double grow = is_free ? GROW_FREE : GROW;
        polite->allowed += polite->allowed < 1 ? polite->allowed * grow : grow;
        polite->allowed = polite->allowed < polite->most ? polite->allowed : polite->most;
    }
    if (polite->allowed < 1) {
        /* Below one read in flight, the rest of each probe interval is a pause. */
        polite->resume_ns = now_ns + (uint64_t)((1 / polite->allowed - 1) * (double)PROBE_INTERVAL_NS);
    }
}

void polite_forget(struct polite *polite) {
    polite->is_probing = false;
}
