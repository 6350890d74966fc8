#include "plan/order_finder.h"

#include "plan/plan.h"
#include "system/clock.h"
#include "system/thread.h"

#include <stdlib.h>

/** The search for files reads one per cent of the map at most, within these bounds. */
#define SHARE 100u
#define LEAST_BYTES (UINT64_C(8) << 20)
#define MOST_BYTES (UINT64_C(64) << 20)
#define MOST_READS 32768u
#define MOST_NS (5 * NS_PER_SECOND)

/** The share of the map that comes before the rest because of files, and the most of it: 64 GiB. */
#define FILES_SHARE 10u
#define MOST_BLOCKS 131072u

struct order_finder {
    struct order_task task;
    struct monitor *monitor;
    struct thread *thread;
    bool must_end; /**< This and the next are the monitor's. */
    enum order_stage stage;
    struct order_found found;
    const struct cold_source *cold; /**< From here on the thread's own. */
    bool searches_files;
    uint64_t most_bytes, most_reads, until_ns; /**< Of the search for files. */
};

/** Whether the search for files has taken what it may. */
static bool is_spent(const struct order_finder *finder) {
    struct cold_counts counts = cold_source_counts(finder->cold);
    return counts.bytes >= finder->most_bytes || counts.reads >= finder->most_reads ||
           clock_now_ns() >= finder->until_ns;
}

static bool may_read(void *context, uint64_t block) {
    struct order_finder *finder = context;
    const struct order_task *task = &finder->task;
    monitor_enter(finder->monitor);
    bool must_end = finder->must_end;
    monitor_leave(finder->monitor);
    return !must_end && (block_set_contains(task->wanted, block) || block_set_contains(task->done, block)) &&
           !(finder->searches_files && is_spent(finder));
}

static void reach(struct order_finder *finder, enum order_stage stage) {
    monitor_enter(finder->monitor);
    finder->stage = stage;
    monitor_leave(finder->monitor);
}

static void find_structures(struct order_finder *finder, const struct source *source) {
    struct order_found *found = &finder->found;
    const struct order_task *task = &finder->task;
    if (task->known == NULL && (task->sources & ORDER_STRUCTURES) != 0) {
        metadata_find(source, &found->metadata);
        found->blocks = plan_count(&found->metadata.blocks, task->wanted);
    }
    found->counts_of_structures = cold_source_counts(finder->cold);
}

static void append_all(struct extents *list, const struct extents *more) {
    for (size_t i = 0; i < more->length; i++) {
        (void)extents_append(list, more->items[i].start, more->items[i].count);
    }
}

static void find_files(struct order_finder *finder, const struct source *source) {
    const struct order_task *task = &finder->task;
    struct cold_counts counts = cold_source_counts(finder->cold);
    uint64_t blocks = block_set_count(task->wanted) + block_set_count(task->done);
    uint64_t bytes = blocks * BLOCK_BYTES / SHARE;
    bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes;
    finder->most_bytes = counts.bytes + bytes;
    finder->most_reads = counts.reads + MOST_READS;
    finder->until_ns = clock_now_ns() + MOST_NS;
    finder->searches_files = true;
    struct extents before = {0};
    append_all(&before, task->leading);
    append_all(&before, task->known != NULL ? &task->known->blocks : &finder->found.metadata.blocks);
    /* What is announced is read twice. */
    struct order_limits limits = {.wanted = task->wanted,
                                  .before = &before,
                                  .most_blocks =
                                      blocks / FILES_SHARE < MOST_BLOCKS ? blocks / FILES_SHARE : MOST_BLOCKS,
                                  .most_bytes = bytes / 2};
    order_find(source, task->sources, &limits, &finder->found.order);
    extents_clear(&before);
}

static void look(void *context) {
    struct order_finder *finder = context;
    /* The threads engine, because a device of Windows lets one engine alone take its completions. */
    struct cold_source *cold = cold_source_open(finder->task.device, "threads", may_read, finder);
    if (cold != NULL) {
        struct source source = cold_source_of(cold);
        finder->cold = cold;
        find_structures(finder, &source);
        reach(finder, ORDER_HAS_STRUCTURES);
        if ((finder->task.sources & ~(unsigned)ORDER_STRUCTURES) != 0) {
            find_files(finder, &source);
        }
        finder->found.counts = cold_source_counts(cold);
        cold_source_close(cold);
    }
    reach(finder, ORDER_HAS_ALL);
}

struct order_finder *order_finder_start(const struct order_task *task) {
    struct order_finder *finder = calloc(1, sizeof *finder);
    if (finder == NULL) {
        return NULL;
    }
    finder->task = *task;
    finder->monitor = monitor_create();
    if (finder->monitor == NULL || thread_start(look, finder, &finder->thread) != 0) {
        order_finder_close(finder);
        return NULL;
    }
    return finder;
}

const struct order_found *order_finder_poll(struct order_finder *finder, enum order_stage *stage) {
    monitor_enter(finder->monitor);
    *stage = finder->stage;
    monitor_leave(finder->monitor);
    return &finder->found;
}

const struct order_found *order_finder_end(struct order_finder *finder) {
    if (finder->thread != NULL) {
        monitor_enter(finder->monitor);
        finder->must_end = true;
        monitor_leave(finder->monitor);
        thread_join(finder->thread);
        finder->thread = NULL;
    }
    return &finder->found;
}

void order_finder_close(struct order_finder *finder) {
    if (finder == NULL) {
        return;
    }
    (void)order_finder_end(finder);
    monitor_destroy(finder->monitor);
    extents_clear(&finder->found.metadata.blocks);
    extents_clear(&finder->found.order.blocks);
    free(finder);
}
