#ifndef WARMER_PROGRESS_H
#define WARMER_PROGRESS_H

#include "base/json.h"
#include "loop/warm.h"

#include <stdint.h>

/** The value of --progress. */
enum progress_style { PROGRESS_NONE, PROGRESS_BAR, PROGRESS_JSON };

/** The shown rate is that of the last so many seconds. */
#define PROGRESS_RATE_SECONDS 5u

/** Shows progress: a bar on standard error, or one JSON object a line on standard output. */
struct progress {
    enum progress_style style;
    void (*put_more)(void *context, struct json *json); /**< Adds to a line of JSON; may be NULL. */
    void *context;
    uint64_t next_ns;                            /**< When the next line is due, since the run began. */
    unsigned marks;                              /**< How many entries of the following are filled. */
    uint64_t mark_ns[PROGRESS_RATE_SECONDS + 1]; /**< A ring buffer of the last seconds. */
    uint64_t mark_bytes[PROGRESS_RATE_SECONDS + 1];
};

/** Begin; nothing is shown yet. */
void progress_init(struct progress *progress, enum progress_style style);

/** A `warm_observe`; `context` is a struct progress. */
void progress_observe(void *context, const struct warm_progress *now);

/** Remove the bar from the terminal. */
void progress_end(struct progress *progress);

/** Write a member with percentiles in milliseconds. */
void progress_put_latency(struct json *json, const char *key, const struct latency_summary *summary);

#endif
