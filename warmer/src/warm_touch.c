/** `--touch`: one page a block where the device has shown that this is enough, and all of it where not. */
#include "warm_touch.h"

#include <errno.h>

static bool has_failed(const struct extents *failed, uint64_t block) {
    for (size_t i = 0; i < failed->length; i++) {
        if (block >= failed->items[i].start && block - failed->items[i].start < failed->items[i].count) {
            return true;
        }
    }
    return false;
}

/** The touched blocks are as good as read. */
static void remember_all(const struct warm_settings *settings, const struct block_set *wanted,
                         const struct extents *failed) {
    uint64_t block = settings->remember == NULL ? BLOCK_NONE : block_set_next(wanted, 0);
    for (; block != BLOCK_NONE; block = block_set_next(wanted, block + 1)) {
        if (!has_failed(failed, block)) {
            settings->remember(settings->remember_context, block);
        }
    }
}

/** Begin the count of blocks again, and go on with those of reads and time. */
static int read_all(struct warm_settings *settings, const struct warm_touch *touch,
                    struct warm_result *result, const struct warm_progress *before) {
    struct plan *touched = settings->plan;
    uint64_t elapsed_ns = result->progress.elapsed_ns;
    struct plan *plan = plan_create(touch->wanted);
    if (plan == NULL || plan_put_first(plan, touch->first) != 0) {
        plan_destroy(plan);
        return -ENOMEM;
    }
    result->progress.blocks_done = before->blocks_done;
    result->progress.bytes_done = before->bytes_done;
    result->progress.blocks_failed = 0;
    result->first_error = 0;
    extents_clear(&result->failed);
    settings->plan = plan;
    settings->bytes_before = touch->result.sample_bytes;
    int failure = warm_run(settings, result);
    result->progress.elapsed_ns += elapsed_ns;
    settings->plan = touched;
    plan_destroy(plan);
    return failure;
}

int warm_touch_run(struct warm_settings *settings, struct warm_touch *touch, struct warm_result *result) {
    touch_measure(&touch->device, touch->wanted, &touch->result);
    settings->bytes_before = touch->result.sample_bytes;
    if (!touch->result.is_used) {
        return warm_run(settings, result);
    }
    struct warm_progress before = result->progress;
    struct warm_settings touching = *settings;
    touching.touch_bytes = TOUCH_BYTES;
    touching.remember = NULL;
    int failure = warm_run(&touching, result);
    if (failure != 0 || result->was_interrupted || result->engine_error != 0 || result->gone != NULL) {
        return failure;
    }
    if (touch_verify(&touch->device, touch->wanted, &touch->result)) {
        remember_all(settings, touch->wanted, &result->failed);
        return 0;
    }
    return read_all(settings, touch, result, &before);
}
