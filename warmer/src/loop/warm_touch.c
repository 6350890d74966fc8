/** `--touch`: reads 4 KiB of each block if the device has shown that this is enough, else the whole block. */
#include "loop/warm_touch.h"

#include "system/clock.h"

#include <errno.h>

/** Longest wait for one completion; then it is waited for again. */
#define WAIT_NS (50 * NS_PER_MILLISECOND)

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
    if (plan == NULL || plan_put_leading(plan, touch->first) != 0) {
        plan_destroy(plan);
        return -ENOMEM;
    }
    result->progress.blocks_done = before->blocks_done;
    result->progress.bytes_done = before->bytes_done;
    result->progress.first_done = before->first_done;
    result->progress.first_ns = 0;
    result->progress.blocks_failed = 0;
    result->first_error = 0;
    extents_clear(&result->failed);
    settings->plan = plan;
    settings->bytes_before = touch->result.sample_bytes;
    int failure = warm_run(settings, result);
    result->progress.elapsed_ns += elapsed_ns;
    result->progress.first_ns += result->progress.first_ns > 0 ? elapsed_ns : 0;
    settings->plan = touched;
    plan_destroy(plan);
    return failure;
}

/** The context of the reads of samples. */
struct sampler {
    const struct warm_settings *settings;
    int failure; /**< The -errno with which the engine failed. */
};

/** Submit as many reads as the engine takes, and wait for all of them. */
static void read_some(struct sampler *sampler, const uint64_t *offsets, unsigned count, double *ms) {
    const struct warm_settings *settings = sampler->settings;
    struct engine *engine = settings->engine;
    struct engine_completion done[TOUCH_AT_ONCE];
    uint64_t began_ns = settings->now_ns();
    unsigned in_flight = 0;
    for (unsigned i = 0; i < count; i++) {
        struct engine_read read = {.offset_bytes = offsets[i], .length_bytes = TOUCH_BYTES, .tag = i};
        ms[i] = -1;
        in_flight += engine->ops->submit(engine, &read) == 0;
    }
    while (in_flight > 0 && sampler->failure == 0) {
        int got = engine->ops->reap(engine, done, TOUCH_AT_ONCE, WAIT_NS);
        double took_ms = (double)(settings->now_ns() - began_ns) / (double)NS_PER_MILLISECOND;
        for (int i = 0; i < got; i++) {
            ms[done[i].tag] = done[i].result == (int32_t)TOUCH_BYTES ? took_ms : -1;
        }
        sampler->failure = got < 0 ? got : 0;
        in_flight -= got < 0 ? 0 : (unsigned)got;
    }
}

static void read_at_once(void *context, const uint64_t *offsets, unsigned count, double *ms) {
    struct sampler *sampler = context;
    unsigned limit = sampler->settings->max_in_flight;
    unsigned most = limit < TOUCH_AT_ONCE ? limit : TOUCH_AT_ONCE;
    for (unsigned i = 0; i < count; i++) {
        ms[i] = -1;
    }
    for (unsigned at = 0; at < count && sampler->failure == 0; at += most) {
        read_some(sampler, offsets + at, count - at < most ? count - at : most, ms + at);
    }
}

/** One page of each block, then see whether that was enough; 1 if all must be read after all. */
static int touch_all(const struct warm_settings *settings, struct warm_touch *touch,
                     const struct touch_device *device, struct warm_result *result) {
    struct warm_settings touching = *settings;
    touching.touch_bytes = TOUCH_BYTES;
    touching.remember = NULL;
    int failure = warm_run(&touching, result);
    if (failure != 0 || result->was_interrupted || result->engine_error != 0 || result->gone != NULL) {
        return failure;
    }
    if (!touch_verify(device, touch->wanted, &touch->result)) {
        return 1;
    }
    remember_all(settings, touch->wanted, &result->failed);
    return 0;
}

int warm_touch_run(struct warm_settings *settings, struct warm_touch *touch, struct warm_result *result) {
    struct sampler sampler = {.settings = settings};
    struct touch_device device = {
        .read = read_at_once, .context = &sampler, .bytes = settings->device_bytes, .seed = touch->seed};
    touch_measure(&device, touch->wanted, &touch->result);
    settings->bytes_before = touch->result.sample_bytes;
    struct warm_progress before = result->progress;
    int answer = 0;
    if (sampler.failure == 0) {
        answer =
            touch->result.is_used ? touch_all(settings, touch, &device, result) : warm_run(settings, result);
    }
    if (sampler.failure != 0) {
        /* Reads that never came back would be taken for others. */
        result->engine_error = -sampler.failure;
        return 0;
    }
    return answer == 1 ? read_all(settings, touch, result, &before) : answer;
}
