/* Fetches of blocks that are not local yet.
 *
 * At most `concurrency` run at a time; the rest queue, those that somebody waits for before those fetched
 * ahead. Readers of one block share its fetch. When a fetch completes, the requests that waited for nothing
 * else are handed to `ready`.
 */
#ifndef FIRST_TOUCH_FETCH_H
#define FIRST_TOUCH_FETCH_H

#include "blocks.h"
#include "faults.h"
#include "latency.h"
#include "limits.h"
#include "timers.h"

struct request;

struct fetch_queue {
    struct fetch *first;
    struct fetch *last;
};

struct fetcher {
    struct block_map *blocks;
    struct timers *timers;
    struct limits *limits;
    const struct faults *faults;
    const struct latency_model *latency;
    uint64_t concurrency;
    /* Fetched bytes count against the throughput limit. */
    bool charged;
    /* A fetch brings the demanded pages only, not the whole block. */
    bool by_page;
    /* Told once for each fetch that a request waited for. */
    void (*fetched)(struct request *request, uint64_t now_ns);
    uint64_t running_count;
    /* All fetches ever started. */
    uint64_t started;
    struct fetch_queue running;
    struct fetch_queue demanded;
    struct fetch_queue ahead;
};

/* Makes `request` wait for `pages` of a block; returns how many fetches it waits for (0: all are local). */
unsigned fetcher_demand(struct fetcher *fetcher, uint64_t block, struct page_mask pages,
                        struct request *request, uint64_t now_ns);

/* Fetches a whole block that nobody waits for yet. */
void fetcher_fetch_ahead(struct fetcher *fetcher, uint64_t block, uint64_t now_ns);

/* Frees every fetch, queued or running; the timers must not run afterwards. */
void fetcher_free(struct fetcher *fetcher);

#endif
