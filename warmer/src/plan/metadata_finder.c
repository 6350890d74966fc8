#include "plan/metadata_finder.h"

#include "plan/plan.h"
#include "system/thread.h"

#include <stdlib.h>

struct metadata_finder {
    const struct device *device;
    const struct block_set *wanted;
    const struct block_set *done;
    struct monitor *monitor;
    struct thread *thread;
    bool must_end; /**< This and the next are the monitor's. */
    bool is_over;
    struct metadata_found found;
};

static bool may_read(void *context, uint64_t block) {
    struct metadata_finder *finder = context;
    monitor_enter(finder->monitor);
    bool must_end = finder->must_end;
    monitor_leave(finder->monitor);
    return !must_end &&
           (block_set_contains(finder->wanted, block) || block_set_contains(finder->done, block));
}

static void look(void *context) {
    struct metadata_finder *finder = context;
    struct metadata_found found = {0};
    /* The threads engine, because a device of Windows lets one engine alone take its completions. */
    struct cold_source *cold = cold_source_open(finder->device, "threads", may_read, finder);
    if (cold != NULL) {
        struct source source = cold_source_of(cold);
        metadata_find(&source, &found.metadata);
        found.counts = cold_source_counts(cold);
        found.blocks = plan_count(&found.metadata.blocks, finder->wanted);
        cold_source_close(cold);
    }
    monitor_enter(finder->monitor);
    finder->found = found;
    finder->is_over = true;
    monitor_leave(finder->monitor);
}

struct metadata_finder *metadata_finder_start(const struct device *device, const struct block_set *wanted,
                                              const struct block_set *done) {
    struct metadata_finder *finder = calloc(1, sizeof *finder);
    if (finder == NULL) {
        return NULL;
    }
    finder->device = device;
    finder->wanted = wanted;
    finder->done = done;
    finder->monitor = monitor_create();
    if (finder->monitor == NULL || thread_start(look, finder, &finder->thread) != 0) {
        metadata_finder_close(finder);
        return NULL;
    }
    return finder;
}

const struct metadata_found *metadata_finder_poll(struct metadata_finder *finder) {
    monitor_enter(finder->monitor);
    bool is_over = finder->is_over;
    monitor_leave(finder->monitor);
    return is_over ? &finder->found : NULL;
}

const struct metadata_found *metadata_finder_end(struct metadata_finder *finder) {
    if (finder->thread != NULL) {
        monitor_enter(finder->monitor);
        finder->must_end = true;
        monitor_leave(finder->monitor);
        thread_join(finder->thread);
        finder->thread = NULL;
    }
    return &finder->found;
}

void metadata_finder_close(struct metadata_finder *finder) {
    if (finder == NULL) {
        return;
    }
    (void)metadata_finder_end(finder);
    monitor_destroy(finder->monitor);
    extents_clear(&finder->found.metadata.blocks);
    free(finder);
}
