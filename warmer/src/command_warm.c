/** `warmer warm`: put device, map, state, engine and progress together, run, report. */
#include "block_set.h"
#include "clock.h"
#include "commands.h"
#include "identity.h"
#include "interrupt.h"
#include "json.h"
#include "lock.h"
#include "map.h"
#include "plan.h"
#include "scope.h"
#include "state.h"
#include "warm_touch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Runs of unreadable blocks that are listed; the count is always whole. */
#define LISTED_FAILURES 100u
#define MIB 1048576.0

/** All that one warm-up holds, and lets go of in one place. */
struct job {
    const struct options *options;
    struct device *device;
    struct identity identity;
    struct lock *lock;
    struct block_set *wanted;
    struct extents first;
    struct scope_result scope;
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
    if (job->wanted == NULL) {
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
    block_set_add(job->wanted, 0, blocks);
    return 0;
}

/** Leave out what file systems do not use, where that is asked for. */
static int narrow(struct job *job, struct diag *diag) {
    if (job->options->scope != SCOPE_USED) {
        return 0;
    }
    return scope_narrow(job->device, job->options->engine, job->wanted, &job->first, &job->scope, diag);
}

/** Take out what earlier runs read, and begin the count with it. */
static int load_state(struct job *job, struct diag *diag) {
    struct warm_progress *progress = &job->result.progress;
    uint64_t bytes = device_bytes(job->device);
    progress->bytes_total = block_set_bytes(job->wanted, bytes);
    progress->blocks_total = block_set_count(job->wanted);
    if (job->options->state_path == NULL) {
        return 0;
    }
    struct state_identity identity = {.device_bytes = bytes};
    const char *name = job->identity.volume_id[0] != '\0' ? job->identity.volume_id : job->identity.real_path;
    snprintf(identity.name, sizeof identity.name, "%s", name);
    int failure = state_open(job->options->state_path, &identity, &job->state, diag);
    if (failure == 0) {
        progress->blocks_done = state_subtract(job->state, job->wanted);
        progress->bytes_resumed = progress->bytes_total - block_set_bytes(job->wanted, bytes);
        progress->bytes_done = progress->bytes_resumed;
    }
    return failure;
}

static unsigned max_in_flight(const struct options *options) {
    return options->depth > 0 ? options->depth : DEPTH_AUTO_LIMIT;
}

static int open_engine(struct job *job, struct diag *diag) {
    job->buffer = device_alloc_buffer(WARM_BUFFER_BYTES);
    job->plan = plan_create(job->wanted, &job->first);
    if (job->buffer == NULL || job->plan == NULL) {
        return out_of_memory(diag);
    }
    struct engine_settings settings = {.device = job->device,
                                       .buffer = job->buffer,
                                       .buffer_bytes = WARM_BUFFER_BYTES,
                                       /* One more than the blocks: the probe of politeness. */
                                       .max_in_flight = max_in_flight(job->options) + 1};
    return engine_open(job->options->engine, &settings, &job->engine, job->engine_note,
                       sizeof job->engine_note, diag);
}

/** Everything that can be refused, before any read. */
static int prepare(struct job *job, struct diag *diag) {
    int failure = device_open(job->options->device, &job->device, diag);
    if (failure == 0) {
        identity_find(job->options->device, job->device, &job->identity);
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

static void observe(void *context, const struct warm_progress *now) {
    struct job *job = context;
    progress_observe(&job->progress, now);
    if (job->state != NULL) {
        state_save(job->state, clock_now_ns(), false);
    }
}

/** One page, for touches; the buffer's content is nobody's. */
static int read_page(void *context, uint64_t offset) {
    const struct job *job = context;
    int64_t got = device_read(job->device, job->buffer, TOUCH_BYTES, offset);
    return got == TOUCH_BYTES ? 0 : -EIO;
}

static int read_blocks(struct job *job, struct warm_settings *settings) {
    if (!job->options->touch) {
        return warm_run(settings, &job->result);
    }
    job->touch.wanted = job->wanted;
    job->touch.first = &job->first;
    job->touch.device = (struct touch_device){.read = read_page,
                                              .context = job,
                                              .bytes = settings->device_bytes,
                                              .now_ns = clock_now_ns,
                                              .seed = clock_now_ns()};
    return warm_touch_run(settings, &job->touch, &job->result);
}

static int run(struct job *job, struct diag *diag) {
    struct warm_settings settings = {
        .engine = job->engine,
        .plan = job->plan,
        .device_bytes = device_bytes(job->device),
        .alignment_bytes = device_alignment_bytes(job->device),
        .max_in_flight = max_in_flight(job->options),
        .fixed_depth = job->options->depth,
        .max_mib_s = job->options->max_mib_s,
        .polite_latency_ms = job->options->polite_latency_ms,
        .now_ns = clock_now_ns,
        .is_interrupted = interrupt_requested,
        .remember = job->state != NULL ? remember : NULL,
        .remember_context = job,
        .observe = observe,
        .observe_context = job,
    };
    progress_init(&job->progress, job->options->progress);
    interrupt_catch();
    int failure = read_blocks(job, &settings);
    progress_end(&job->progress);
    return failure == 0 ? 0 : out_of_memory(diag);
}

static const char *verdict(const struct warm_result *result) {
    if (result->was_interrupted) {
        return "interrupted";
    }
    return result->progress.blocks_done == result->progress.blocks_total ? "complete" : "incomplete";
}

static void put_failures(struct json *json, const struct warm_result *result) {
    const struct extents *failed = &result->failed;
    json_unsigned(json, "failedBlockCount", result->progress.blocks_failed);
    json_open(json, "failedBlocks", '[');
    for (size_t i = 0; i < failed->length && i < LISTED_FAILURES; i++) {
        json_open(json, NULL, '[');
        json_unsigned(json, NULL, failed->items[i].start);
        json_unsigned(json, NULL, failed->items[i].count);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_bool(json, "failedBlocksTruncated", failed->length > LISTED_FAILURES);
    int error = result->engine_error != 0 ? result->engine_error : result->first_error;
    if (error != 0) {
        json_text(json, "error", strerror(error));
    } else {
        json_null(json, "error");
    }
}

static void put_counts(struct json *json, const struct warm_progress *progress) {
    double seconds = (double)progress->elapsed_ns / (double)NS_PER_SECOND;
    json_unsigned(json, "bytesDone", progress->bytes_done);
    json_unsigned(json, "bytesTotal", progress->bytes_total);
    json_unsigned(json, "blocksDone", progress->blocks_done);
    json_unsigned(json, "blocksTotal", progress->blocks_total);
    json_unsigned(json, "bytesResumed", progress->bytes_resumed);
    json_unsigned(json, "bytesRead", progress->bytes_read);
    json_unsigned(json, "reads", progress->reads);
    json_unsigned(json, "shortReads", progress->short_reads);
    json_unsigned(json, "retries", progress->retries);
    json_number(json, "elapsedSeconds", seconds);
    json_number(json, "mibPerSecond", seconds > 0 ? (double)progress->bytes_read / MIB / seconds : 0);
    json_unsigned(json, "depth", progress->depth);
    json_unsigned(json, "errors", progress->blocks_failed);
}

static void report(const struct job *job) {
    struct json json = {.stream = stdout};
    const struct warm_progress *progress = &job->result.progress;
    struct latency_summary latency = latency_summarise(&progress->latency);
    struct latency_summary probes = latency_summarise(&progress->probes);
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "warm");
    json_text(&json, "verdict", verdict(&job->result));
    json_text(&json, "device", job->options->device);
    json_text_or_null(&json, "volumeId", job->identity.volume_id);
    put_counts(&json, progress);
    put_failures(&json, &job->result);
    json_text(&json, "engine", job->engine->ops->name);
    json_text(&json, "engineNote", job->engine_note);
    json_text(&json, "engineFeatures", job->engine->features != NULL ? job->engine->features : "");
    json_bool(&json, "directIo", device_is_direct(job->device));
    json_text(&json, "deviceNote", device_note(job->device));
    progress_put_latency(&json, "latencyMs", &latency);
    json_unsigned(&json, "probeReads", progress->probes.count);
    progress_put_latency(&json, "probeLatencyMs", &probes);
    scope_put(&json, &job->scope);
    touch_put(&json, &job->touch.result);
    json_close(&json, '}');
    json_end_line(&json);
}

/** Say on standard error what a person must know. */
static void explain(const struct job *job) {
    const struct warm_result *result = &job->result;
    if (result->engine_error != 0) {
        fprintf(stderr, "warmer: the engine %s gave up: %s\n", job->engine->ops->name,
                strerror(result->engine_error));
    }
    if (result->progress.blocks_failed > 0) {
        fprintf(stderr, "warmer: blocks that could not be read: %" PRIu64 " (first error: %s)\n",
                result->progress.blocks_failed, strerror(result->first_error));
    }
    if (result->was_interrupted) {
        fprintf(stderr, "warmer: interrupted; %s\n",
                job->state != NULL ? "the state is saved, the same command goes on" : "without --state");
    }
}

static int exit_status(const struct warm_result *result) {
    if (result->was_interrupted) {
        return WARMER_INTERRUPTED;
    }
    return result->progress.blocks_done == result->progress.blocks_total ? WARMER_OK : WARMER_UNREADABLE;
}

static void let_go(struct job *job) {
    engine_close(job->engine);
    plan_destroy(job->plan);
    state_close(job->state);
    block_set_destroy(job->wanted);
    extents_clear(&job->first);
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
        report(&job);
        explain(&job);
        status = exit_status(&job.result);
    }
    let_go(&job);
    return status;
}
