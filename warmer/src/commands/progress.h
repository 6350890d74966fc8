#ifndef WARMER_PROGRESS_H
#define WARMER_PROGRESS_H

#include "base/json.h"
#include "loop/warm.h"

#include <stdint.h>

/** How progress is shown. */
enum progress_style { PROGRESS_NONE, PROGRESS_BAR, PROGRESS_JSON };

/** Seconds that the shown rate looks back. */
#define PROGRESS_RATE_SECONDS 5u

/** Shows progress: a bar on standard error, or one JSON object a line on standard output. */
struct progress {
    enum progress_style style;
    uint64_t next_ns;                            /**< Of the run's time: when the next line is due. */
    unsigned marks;                              /**< How many of the following are filled. */
    uint64_t mark_ns[PROGRESS_RATE_SECONDS + 1]; /**< A ring of the last seconds. */
    uint64_t mark_bytes[PROGRESS_RATE_SECONDS + 1];
};

/** Start with nothing shown. */
void progress_init(struct progress *progress, enum progress_style style);

/** A `warm_observe`; `context` is a struct progress. */
void progress_observe(void *context, const struct warm_progress *now);

/** Take the bar away. */
void progress_end(struct progress *progress);

/** A member with percentiles in milliseconds. */
void progress_put_latency(struct json *json, const char *key, const struct latency_summary *summary);

#endif
