/** `warmer warm`: opens device, map, state and engine, runs the warm-up, and reports. */
#include "base/block_set.h"
#include "commands/commands.h"
#include "commands/warm_report.h"
#include "device/identity.h"
#include "device/lock.h"
#include "loop/state.h"
#include "loop/warm_touch.h"
#include "plan/map.h"
#include "plan/order_finder.h"
#include "plan/plan.h"
#include "plan/scope.h"
#include "system/clock.h"
#include "system/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** What one warm-up has opened; it is closed in one place. */
struct job {
    const struct options *options;
    struct device *device;
    struct identity identity;
    struct lock *lock;
    struct block_set *wanted;
    struct block_set *done; /**< Blocks of the map that earlier runs read. */
    struct extents first;
    struct scope_result scope;
    struct metadata metadata;     /**< What --scope used has found. */
    struct order_finder *finder;  /**< Who looks for it otherwise, and for files; NULL: nobody. */
    struct order_told told;       /**< What came first. */
    const struct plan *told_plan; /**< Into which plan it was put, up to the next. */
    enum order_stage told_stage;
    uint64_t charged_bytes; /**< Bytes of the finder that were counted for the limit. */
    struct warm_touch touch;
    struct state *state;
    struct plan *plan;
    void *buffer;
    struct engine *engine;
    char engine_note[256];
    struct progress progress;
    struct warm_result result;
};

static int out_of_memory(struct diag *diag) {
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
}

/** The blocks to read, before what earlier runs did. */
static int load_map(struct job *job, struct diag *diag) {
    uint64_t blocks = blocks_of_bytes(device_bytes(job->device));
    job->wanted = block_set_create(blocks);
    job->done = block_set_create(blocks);
    if (job->wanted == NULL || job->done == NULL) {
        return out_of_memory(diag);
    }
    if (job->options->first_path != NULL) {
        int failure = map_load_first(job->options->first_path, blocks, &job->first, diag);
        if (failure != 0) {
            return failure;
        }
    }
    job->scope.scope = job->options->map_path != NULL ? "written" : "whole";
    if (job->options->map_path != NULL) {
        return map_load(job->options->map_path, job->wanted, diag);
    }
    return block_set_add(job->wanted, 0, blocks) == 0 ? 0 : out_of_memory(diag);
}

/** Leave out what file systems do not use, where that is asked for, and then what is too much for `first`. */
static int narrow(struct job *job, struct diag *diag) {
    int failure = 0;
    if (job->options->scope == SCOPE_USED) {
        failure = scope_narrow(job->device, job->options->engine, job->options->map_path != NULL, job->wanted,
                               &job->metadata, &job->scope, diag);
    }
    plan_shorten(&job->first, job->wanted, job->options->first_most);
    return failure;
}

/** Take out what earlier runs read, and begin the count with it. */
static int load_state(struct job *job, struct diag *diag) {
    struct warm_progress *progress = &job->result.progress;
    uint64_t bytes = device_bytes(job->device);
    progress->bytes_total = block_set_bytes(job->wanted, bytes);
    progress->blocks_total = block_set_count(job->wanted);
    progress->first_total = plan_count(&job->first, job->wanted);
    if (job->options->state_path == NULL) {
        return 0;
    }
    struct state_identity identity = {.device_bytes = bytes};
    const char *name = job->identity.volume_id[0] != '\0' ? job->identity.volume_id : job->identity.real_path;
    snprintf(identity.name, sizeof identity.name, "%s", name);
    int failure = state_open(job->options->state_path, &identity, &job->state, diag);
    if (failure != 0) {
        return failure;
    }
    uint64_t damaged = 0;
    if (state_subtract(job->state, job->wanted, job->done, &damaged) != 0) {
        return out_of_memory(diag);
    }
    if (damaged > 0) {
        fprintf(stderr,
                "warmer: damaged parts of the state file %s: %" PRIu64 "; their blocks are read again\n",
                job->options->state_path, damaged);
    }
    progress->blocks_done = block_set_count(job->done);
    progress->first_done = plan_count(&job->first, job->done);
    progress->bytes_resumed = block_set_bytes(job->done, bytes);
    progress->bytes_done = progress->bytes_resumed;
    return 0;
}

/** The search goes no further than the system's own queue: beyond it reads are not even in order. */
static unsigned max_in_flight(const struct job *job) {
    if (job->options->depth > 0) {
        return job->options->depth;
    }
    uint64_t blocks = device_queue_bytes(job->device) / BLOCK_BYTES;
    return blocks > 0 && blocks < DEPTH_AUTO_LIMIT ? (unsigned)blocks : DEPTH_AUTO_LIMIT;
}

static int open_engine(struct job *job, struct diag *diag) {
    job->buffer = device_alloc_buffer(WARM_BUFFER_BYTES);
    job->plan = plan_create(job->wanted);
    if (job->buffer == NULL || job->plan == NULL || plan_put_leading(job->plan, &job->first) != 0) {
        return out_of_memory(diag);
    }
    struct engine_settings settings = {.device = job->device,
                                       .buffer = job->buffer,
                                       .buffer_bytes = WARM_BUFFER_BYTES,
                                       /* One more than the blocks: the probe of politeness. */
                                       .max_in_flight = max_in_flight(job) + 1};
    return engine_open(job->options->engine, &settings, &job->engine, job->engine_note,
                       sizeof job->engine_note, diag);
}

/** Everything that can be refused, before any read. */
static int prepare(struct job *job, struct diag *diag) {
    int failure = device_open(job->options->device, &job->device, diag);
    if (failure == 0) {
        identity_find(job->options->device, job->device, &job->identity);
        failure = identity_confirm(&job->identity, job->options->device, job->options->volume, diag);
    }
    if (failure == 0) {
        failure = lock_device(job->device, job->options->device, &job->lock, diag);
    }
    if (failure == 0) {
        failure = load_map(job, diag);
    }
    if (failure == 0) {
        failure = narrow(job, diag);
    }
    if (failure == 0) {
        failure = load_state(job, diag);
    }
    return failure == 0 ? open_engine(job, diag) : failure;
}

static void remember(void *context, uint64_t block) {
    struct job *job = context;
    state_remember(job->state, block);
}

static void put_more(void *context, struct json *json) {
    const struct job *job = context;
    warm_report_put_first(json, &job->result.progress);
}

static void observe(void *context, const struct warm_progress *now) {
    struct job *job = context;
    progress_observe(&job->progress, now);
    if (job->state != NULL) {
        if (now->rest_depth > 0) {
            state_remember_depth(job->state, now->rest_depth);
        }
        state_save(job->state, clock_now_ns(), false);
    }
}

static int read_blocks(struct job *job, struct warm_settings *settings) {
    if (!job->options->touch) {
        return warm_run(settings, &job->result);
    }
    job->touch.wanted = job->wanted;
    job->touch.first = &job->first;
    job->touch.seed = clock_now_ns();
    return warm_touch_run(settings, &job->touch, &job->result);
}

static void put_structures(struct job *job, struct plan *plan, const struct metadata *metadata,
                           uint64_t blocks) {
    job->told.file_systems = metadata->found;
    job->told.structure_blocks = blocks;
    /* Without memory for it only the order is lost. */
    (void)plan_put_first(plan, &metadata->blocks);
}

/** Put what is known by now and was not put yet. */
static void put_found(struct job *job, struct plan *plan, const struct order_found *found,
                      enum order_stage stage) {
    bool has_structures = (job->options->order & ORDER_STRUCTURES) != 0 && job->told_stage == ORDER_SEARCHING;
    if (has_structures && job->options->scope == SCOPE_USED) {
        put_structures(job, plan, &job->metadata, plan_count(&job->metadata.blocks, job->wanted));
    } else if (has_structures) {
        put_structures(job, plan, &found->metadata, found->blocks);
    }
    if (stage == ORDER_HAS_ALL) {
        job->told.order = &found->order;
        (void)plan_put_first(plan, &found->order.blocks);
    }
    job->told_stage = stage;
}

/** What comes before the rest, as far as it is known. */
static enum warm_first put_order(void *context, struct plan *plan, uint64_t *bytes) {
    struct job *job = context;
    enum order_stage stage = ORDER_HAS_ALL;
    static const struct order_found nothing;
    const struct order_found *found = job->finder == NULL ? &nothing : order_finder_poll(job->finder, &stage);
    if (job->told_plan != plan) {
        job->told_plan = plan;
        job->told_stage = ORDER_SEARCHING;
    }
    if (stage > job->told_stage) {
        const struct cold_counts *counts =
            stage == ORDER_HAS_ALL ? &found->counts : &found->counts_of_structures;
        put_found(job, plan, found, stage);
        *bytes = counts->bytes - job->charged_bytes;
        job->charged_bytes = counts->bytes;
    }
    return stage == ORDER_HAS_ALL     ? WARM_FIRST_ALL
           : stage == ORDER_SEARCHING ? WARM_FIRST_UNKNOWN
                                      : WARM_FIRST_SOME;
}

static const char *find_gone(void *context, int error) {
    const struct job *job = context;
    return device_gone(job->device, error);
}

static void start_finder(struct job *job) {
    struct order_task task = {.device = job->device,
                              .wanted = job->wanted,
                              .done = job->done,
                              .leading = &job->first,
                              .known = job->options->scope == SCOPE_USED ? &job->metadata : NULL,
                              .sources = job->options->order};
    if (task.sources != ORDER_NONE && block_set_count(job->wanted) > 0) {
        job->finder = order_finder_start(&task);
    }
}

static int run(struct job *job, struct diag *diag) {
    struct warm_settings settings = {
        .engine = job->engine,
        .plan = job->plan,
        .device_bytes = device_bytes(job->device),
        .alignment_bytes = device_alignment_bytes(job->device),
        .max_in_flight = max_in_flight(job),
        .fixed_depth = job->options->depth,
        .start_depth = job->state != NULL ? state_depth(job->state) : 0,
        .max_mib_s = job->options->max_mib_s,
        .polite_latency_ms = job->options->polite_latency_ms,
        .first_unlimited = job->options->first_unlimited,
        .now_ns = clock_now_ns,
        .is_interrupted = interrupt_requested,
        .put_first = put_order,
        .first_context = job,
        .find_gone = find_gone,
        .gone_context = job,
        .remember = job->state != NULL ? remember : NULL,
        .remember_context = job,
        .observe = observe,
        .observe_context = job,
    };
    start_finder(job);
    progress_init(&job->progress, job->options->progress);
    job->progress.put_more = put_more;
    job->progress.context = job;
    interrupt_catch();
    int failure = read_blocks(job, &settings);
    progress_end(&job->progress);
    return failure == 0 ? 0 : out_of_memory(diag);
}

/** The finder's reads count even where what it found came too late. */
static void end_finder(struct job *job) {
    const struct order_found *found = job->finder == NULL ? NULL : order_finder_end(job->finder);
    if (found != NULL) {
        job->scope.counts.reads += found->counts.reads;
        job->scope.counts.bytes += found->counts.bytes;
    }
}

static int tell(struct job *job) {
    end_finder(job);
    struct warm_report report = {
        .options = job->options,
        .device = job->device,
        .identity = &job->identity,
        .engine = job->engine,
        .engine_note = job->engine_note,
        .scope = &job->scope,
        .told = &job->told,
        .touch = &job->touch.result,
        .result = &job->result,
    };
    return warm_report_put(&report);
}

static void let_go(struct job *job) {
    order_finder_close(job->finder);
    engine_close(job->engine);
    plan_destroy(job->plan);
    state_close(job->state);
    block_set_destroy(job->wanted);
    block_set_destroy(job->done);
    extents_clear(&job->first);
    extents_clear(&job->metadata.blocks);
    extents_clear(&job->result.failed);
    device_free_buffer(job->buffer);
    lock_release(job->lock);
    device_close(job->device);
}

int command_warm(const struct options *options, struct diag *diag) {
    struct job job = {.options = options};
    int status = prepare(&job, diag);
    if (status == 0) {
        status = run(&job, diag);
    }
    if (status == 0) {
        status = tell(&job);
    }
    let_go(&job);
    return status;
}
