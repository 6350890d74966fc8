#include "fetch.h"

#include "memory.h"

struct waiter {
    struct request *request;
    struct waiter *next;
};

struct fetch {
    /* First, so that the timer's address is the fetch's. */
    struct timer timer;
    struct fetcher *fetcher;
    uint64_t block;
    struct page_mask pages;
    struct waiter *waiters;
    struct waiter **waiters_end;
    struct fetch *next_of_block;
    /* Links of the queue that it is in: demanded, ahead or running. */
    struct fetch_queue *queue;
    struct fetch *previous;
    struct fetch *next;
};

static void queue_append(struct fetch_queue *queue, struct fetch *fetch) {
    fetch->queue = queue;
    fetch->previous = queue->last;
    fetch->next = NULL;
    if (queue->last)
        queue->last->next = fetch;
    else
        queue->first = fetch;
    queue->last = fetch;
}

static void queue_remove(struct fetch *fetch) {
    struct fetch_queue *queue = fetch->queue;

    if (fetch->previous)
        fetch->previous->next = fetch->next;
    else
        queue->first = fetch->next;
    if (fetch->next)
        fetch->next->previous = fetch->previous;
    else
        queue->last = fetch->previous;
    fetch->queue = NULL;
}

static void unlink_from_block(struct fetch *fetch) {
    struct fetch **link = &fetch->fetcher->blocks->blocks[fetch->block].fetches;

    while (*link != fetch)
        link = &(*link)->next_of_block;
    *link = fetch->next_of_block;
}

static void start_queued(struct fetcher *fetcher, uint64_t now_ns);

static void complete(struct timer *timer, uint64_t now_ns) {
    struct fetch *fetch = (struct fetch *)timer;
    struct fetcher *fetcher = fetch->fetcher;
    struct waiter *waiter = fetch->waiters;

    unlink_from_block(fetch);
    queue_remove(fetch);
    block_map_set_local(fetcher->blocks, fetch->block, fetch->pages);
    fetcher->running_count--;
    start_queued(fetcher, now_ns);
    while (waiter) {
        struct waiter *next = waiter->next;

        fetcher->fetched(waiter->request, now_ns);
        free(waiter);
        waiter = next;
    }
    free(fetch);
}

/* When the fetch that starts now is over, with its share of the throughput limit where that is charged. */
static uint64_t fetch_due(struct fetcher *fetcher, const struct fetch *fetch, uint64_t now_ns) {
    uint64_t page = fetch->block * BLOCK_PAGES + page_mask_first(fetch->pages);
    uint64_t latency_ns, due_ns, paid_ns;
    struct page_mask *prepaid;

    if (!faults_slow_fetch(fetcher->faults, fetch->block, &latency_ns))
        latency_ns = latency_draw_ns(fetcher->latency, page);
    due_ns = now_ns + latency_ns;
    if (!fetcher->charged)
        return due_ns;
    prepaid = &fetcher->blocks->blocks[fetch->block].prepaid;
    *prepaid = page_mask_or(*prepaid, fetch->pages);
    paid_ns = limits_reserve(fetcher->limits, now_ns, 0, page_mask_count(fetch->pages) * PAGE_BYTES);
    return paid_ns > due_ns ? paid_ns : due_ns;
}

static void start_queued(struct fetcher *fetcher, uint64_t now_ns) {
    while (fetcher->running_count < fetcher->concurrency) {
        struct fetch *fetch = fetcher->demanded.first ? fetcher->demanded.first : fetcher->ahead.first;

        if (!fetch)
            return;
        queue_remove(fetch);
        queue_append(&fetcher->running, fetch);
        fetcher->running_count++;
        fetcher->started++;
        timers_add(fetcher->timers, &fetch->timer, fetch_due(fetcher, fetch, now_ns));
    }
}

static struct fetch *create(struct fetcher *fetcher, uint64_t block, struct page_mask pages,
                            struct fetch_queue *queue) {
    struct block *owner = &fetcher->blocks->blocks[block];
    struct fetch *fetch = must_calloc(1, sizeof(*fetch));

    fetch->timer.fire = complete;
    fetch->fetcher = fetcher;
    fetch->block = block;
    fetch->pages = pages;
    fetch->waiters_end = &fetch->waiters;
    fetch->next_of_block = owner->fetches;
    owner->fetches = fetch;
    queue_append(queue, fetch);
    return fetch;
}

static void add_waiter(struct fetch *fetch, struct request *request) {
    struct waiter *waiter = must_calloc(1, sizeof(*waiter));

    waiter->request = request;
    *fetch->waiters_end = waiter;
    fetch->waiters_end = &waiter->next;
    if (fetch->queue == &fetch->fetcher->ahead) {
        queue_remove(fetch);
        queue_append(&fetch->fetcher->demanded, fetch);
    }
}

unsigned fetcher_demand(struct fetcher *fetcher, uint64_t block, struct page_mask pages,
                        struct request *request, uint64_t now_ns) {
    struct page_mask missing = block_map_missing(fetcher->blocks, block, pages);
    unsigned waits = 0;

    if (page_mask_is_empty(missing))
        return 0;
    for (struct fetch *fetch = fetcher->blocks->blocks[block].fetches; fetch; fetch = fetch->next_of_block) {
        if (page_mask_is_empty(page_mask_and(fetch->pages, missing)))
            continue;
        add_waiter(fetch, request);
        missing = page_mask_without(missing, fetch->pages);
        waits++;
    }
    if (!page_mask_is_empty(missing)) {
        if (!fetcher->by_page)
            missing = block_map_missing(fetcher->blocks, block, page_mask_all());
        add_waiter(create(fetcher, block, missing, &fetcher->demanded), request);
        waits++;
        start_queued(fetcher, now_ns);
    }
    return waits;
}

void fetcher_fetch_ahead(struct fetcher *fetcher, uint64_t block, uint64_t now_ns) {
    if (block_map_is_ready(fetcher->blocks, block) || fetcher->blocks->blocks[block].fetches)
        return;
    create(fetcher, block, block_map_missing(fetcher->blocks, block, page_mask_all()), &fetcher->ahead);
    start_queued(fetcher, now_ns);
}

static void free_queue(struct fetch *fetch) {
    while (fetch) {
        struct fetch *next = fetch->next;

        while (fetch->waiters) {
            struct waiter *waiter = fetch->waiters;

            fetch->waiters = waiter->next;
            free(waiter);
        }
        free(fetch);
        fetch = next;
    }
}

void fetcher_free(struct fetcher *fetcher) {
    free_queue(fetcher->running.first);
    free_queue(fetcher->demanded.first);
    free_queue(fetcher->ahead.first);
}
