/** `warmer apply`: takes the device, waits for the manifest, writes its blocks, and reports. */
#include "apply/apply.h"
#include "base/block_set.h"
#include "commands/commands.h"
#include "device/claim.h"
#include "device/lock.h"
#include "device/writes.h"
#include "system/clock.h"
#include "system/console.h"
#include "system/file.h"
#include "system/folder.h"
#include "system/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

/** What one application has opened; it is closed in one place. */
struct job {
    const struct options *options;
    struct claim claim;
    struct device *device;
    struct writes taken;   /**< Counted when the device was taken. */
    struct writes counted; /**< Counted last; at the end once all is written. */
    bool was_taken;        /**< By an earlier run of this state; others may have written since. */
    struct lock *lock;
    char locked[64]; /**< Of which device. */
    struct parts parts;
    struct manifest_head head; /**< Of the first part. */
    struct state *state;
    uint8_t *buffer;
    struct engine *engine;
    char engine_note[256];
    struct progress progress;
    struct apply_result result;
};

static bool is_interrupted(void *context) {
    (void)context;
    return interrupt_requested();
}

/**
 * Note beside the state that the device is taken, before anybody is told. The disk keeps it: after a crash of
 * the machine this may run again, and others may have written before that.
 */
static int note_taken(struct job *job, struct diag *diag) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s.taken", job->options->state_path);
    if ((size_t)length >= sizeof path) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "the name of the state is too long");
    }
    FILE *stream = file_open_own(path);
    job->was_taken = stream != NULL;
    if (stream != NULL) {
        fclose(stream);
        return 0;
    }
    /* What has its name and is not this program's says nothing, and loses the name. */
    stream = file_create(path);
    int failure = stream == NULL ? -errno : file_close_kept(stream, path);
    return failure == 0
               ? 0
               : diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot make %s: %s", path, folder_explain(failure));
}

/**
 * Whoever started this may go on: nobody can mount the device from here to the end of this process. Where
 * that cannot be said, nothing is written.
 */
static int tell_armed(const struct job *job, struct diag *diag) {
    struct json json = {.stream = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "event", "armed");
    json_text(&json, "device", job->options->device);
    json_text(&json, "volumeId", job->options->volume);
    json_unsigned(&json, "bytes", device_bytes(job->device));
    if (job->options->since.is_counted) {
        json_bool(&json, "unwrittenSince", writes_are_equal(&job->taken, &job->options->since));
    }
    json_close(&json, '}');
    json_end_line(&json);
    return console_is_good() ? 0
                             : diag_refuse(diag, WARMER_NO_OUTPUT, "nobody can be told that %s is taken",
                                           job->options->device);
}

/**
 * Another warmer that has the device is met here, before anything is looked at: it may be one that is about
 * to end, for which `warmer run` waits.
 */
static int lock(struct job *job, struct diag *diag) {
    struct device *device = NULL;
    struct diag refusal = {{0}};
    if (device_open(job->options->device, &device, &refusal) != 0) {
        device_close(device);
        return 0; /* What is wrong with it, claim_take says. */
    }
    int status = lock_device(device, job->options->device, &job->lock, diag);
    device_key(device, job->locked, sizeof job->locked);
    device_close(device);
    return status != 0 && !job->claim.is_image ? WARMER_HELD : status;
}

/** What is taken must be what was locked. */
static int compare_lock(const struct job *job, struct diag *diag) {
    char key[sizeof job->locked];
    device_key(job->device, key, sizeof key);
    return strcmp(key, job->locked) == 0
               ? 0
               : diag_refuse(diag, WARMER_WRONG_VOLUME, "%s leads to another device than a moment ago",
                             job->options->device);
}

static int watch(void *context, struct diag *diag) {
    const struct job *job = context;
    return claim_watch(&job->claim, job->device, diag);
}

static bool count_writes(void *context, uint64_t *bytes) {
    struct job *job = context;
    struct writes now;
    writes_read(job->device, &now);
    job->counted = now;
    return writes_between(&job->taken, &now, bytes);
}

static int confirm(void *context, struct diag *diag) {
    const struct job *job = context;
    return claim_confirm(&job->claim, job->device, job->head.volume_bytes, diag);
}

/** Other users can read a command line, so an address with a signature comes in the environment. */
static const char *find_manifest(const struct options *options) {
    return options->manifest != NULL ? options->manifest : getenv("REWARM_MANIFEST_URL");
}

static int load_manifest(struct job *job, struct diag *diag) {
    int status = parts_open(&job->parts, find_manifest(job->options), job->options->wait_seconds, diag);
    job->parts.is_stopped = is_interrupted;
    job->parts.patience_seconds = job->options->patience_seconds;
    if (status == 0) {
        status = parts_load(&job->parts, diag);
    }
    if (status != 0) {
        return status;
    }
    job->head = job->parts.manifest.head;
    const char *wanted = job->head.volume_id;
    if (strcmp(wanted, job->options->volume) != 0) {
        return diag_refuse(diag, WARMER_WRONG_VOLUME, "the manifest is for %s and not for %s", wanted,
                           job->options->volume);
    }
    return confirm(job, diag);
}

/** The first half of the state is what was read back, the second one what was begun to be written. */
static int open_state(struct job *job, struct diag *diag) {
    uint64_t blocks = blocks_of_bytes(device_bytes(job->device));
    struct state_identity identity = {.device_bytes = 2 * blocks * BLOCK_BYTES};
    snprintf(identity.name, sizeof identity.name, "apply %s to %s", job->head.snapshot_id,
             job->options->volume);
    return state_open(job->options->state_path, &identity, &job->state, diag);
}

static int open_engine(struct job *job, struct diag *diag) {
    job->buffer = device_alloc_buffer(APPLY_BUFFER_BYTES);
    if (job->buffer == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
    }
    struct engine_settings settings = {.device = job->device,
                                       .buffer = job->buffer,
                                       .buffer_bytes = APPLY_BUFFER_BYTES,
                                       .max_in_flight = APPLY_BUFFERS + 1};
    return engine_open(job->options->engine, &settings, &job->engine, job->engine_note,
                       sizeof job->engine_note, diag);
}

static int prepare(struct job *job, struct diag *diag) {
    interrupt_catch();
    int status = lock(job, diag);
    if (status == 0) {
        status = claim_take(&job->claim, &job->device, diag);
    }
    if (status == 0) {
        status = compare_lock(job, diag);
    }
    if (status == 0) {
        status = note_taken(job, diag);
    }
    if (status == 0) {
        writes_read(job->device, &job->taken);
        job->counted = job->taken;
        status = tell_armed(job, diag);
    }
    if (status == 0) {
        status = load_manifest(job, diag);
    }
    if (status == 0) {
        status = open_state(job, diag);
    }
    return status == 0 ? open_engine(job, diag) : status;
}

static void observe(void *context, const struct warm_progress *now) {
    progress_observe(context, now);
}

/** What the lines of progress say beside those of a warm-up. */
static void put_more(void *context, struct json *json) {
    const struct apply_result *result = context;
    json_unsigned(json, "blocksWritten", result->blocks_written);
    if (result->is_waiting) {
        json_text(json, "waitingFor", "S3");
    }
}

static const char *verdict(int status) {
    switch (status) {
    case WARMER_OK:
        return "applied";
    case WARMER_INTERRUPTED:
        return "interrupted";
    case WARMER_DISTURBED:
        return "disturbed";
    case WARMER_DIFFERS:
        return "differs";
    default:
        return "failed";
    }
}

static void put_counts(struct json *json, const struct apply_result *result) {
    json_unsigned(json, "blocksDone", result->progress.blocks_done);
    json_unsigned(json, "bytesDone", result->progress.bytes_done);
    json_unsigned(json, "blocksWritten", result->blocks_written);
    json_unsigned(json, "blocksWrittenAgain", result->blocks_again);
    json_unsigned(json, "blocksThere", result->blocks_there);
    json_unsigned(json, "blocksCompared", result->blocks_compared);
    json_unsigned(json, "blocksEqual", result->blocks_equal);
    json_unsigned(json, "undoPacks", result->undo_packs);
    json_unsigned(json, "undoBytes", result->undo_bytes);
    json_unsigned(json, "undoBlocks", result->undo_blocks);
    json_unsigned(json, "blocksResumed", result->blocks_skipped);
    json_unsigned(json, "blocksDiffering", result->blocks_differing);
    json_unsigned(json, "samples", result->samples);
    json_unsigned(json, "samplesDiffering", result->samples_differing);
    json_unsigned(json, "packs", result->packs);
    json_unsigned(json, "bytesFetched", result->bytes_fetched);
    json_unsigned(json, "bytesDecoded", result->bytes_decoded);
    json_unsigned(json, "bytesWritten", result->bytes_written);
    json_unsigned(json, "bytesReadBack", result->bytes_read_back);
    json_unsigned(json, "bytesCompared", result->bytes_compared);
    json_unsigned(json, "retries", result->progress.retries);
}

static void put_written(struct json *json, const struct apply_result *result) {
    json_open(json, "written", '[');
    for (unsigned i = 0; i < result->written_runs; i++) {
        json_open(json, NULL, '[');
        json_unsigned(json, NULL, result->written[i].first);
        json_unsigned(json, NULL, result->written[i].count);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_bool(json, "writtenTruncated", result->written_truncated);
}

/**
 * By what the next one that takes the device finds out whether anything was written since. It is what was
 * compared at the end: a later write is one of those since.
 */
static void put_writes(struct json *json, const struct writes *writes) {
    json_text(json, "bootId", writes->boot_id);
    if (!writes->is_counted) {
        json_null(json, "writeCount");
        return;
    }
    json_open(json, "writeCount", '{');
    json_unsigned(json, "sectors", writes->sectors);
    json_unsigned(json, "requests", writes->requests);
    json_unsigned(json, "diskSequence", writes->sequence);
    json_close(json, '}');
}

static void put_result(const struct job *job, int status, const struct diag *diag) {
    struct json json = {.stream = stdout};
    const struct apply_result *result = &job->result;
    double seconds = (double)result->progress.elapsed_ns / (double)NS_PER_SECOND;
    struct latency_summary latency = latency_summarise(&result->progress.latency);
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "apply");
    json_text(&json, "verdict", verdict(status));
    json_text(&json, "device", job->options->device);
    json_text(&json, "volumeId", job->options->volume);
    json_text(&json, "snapshotId", job->head.snapshot_id);
    json_bool(&json, "takenBefore", job->was_taken);
    put_counts(&json, result);
    put_written(&json, result);
    put_writes(&json, &job->counted);
    json_bool(&json, "writesCounted", result->is_counted);
    json_text(&json, "writesCountedNote", result->count_note);
    json_number(&json, "elapsedSeconds", seconds);
    json_number(&json, "mibPerSecond", seconds > 0 ? (double)result->bytes_written / MIB / seconds : 0);
    json_text_or_null(&json, "error", diag->text);
    json_text(&json, "engine", job->engine->ops->name);
    json_text(&json, "engineNote", job->engine_note);
    json_bool(&json, "directIo", device_is_direct(job->device));
    progress_put_latency(&json, "latencyMs", &latency);
    json_close(&json, '}');
    json_end_line(&json);
}

/** Nothing was written, and nothing is told but why. */
static bool is_refusal(int status) {
    return (status >= WARMER_NOT_WHOLE && status <= WARMER_NO_MANIFEST) || status == WARMER_TAKEN_BEFORE;
}

static int run(struct job *job, struct diag *diag) {
    struct apply_settings settings = {
        .device = job->device,
        .engine = job->engine,
        .buffer = job->buffer,
        .state = job->state,
        .parts = &job->parts,
        .compares = job->options->compares,
        .was_taken = job->was_taken,
        .volume_bytes = device_bytes(job->device),
        .patience_seconds = job->options->patience_seconds,
        .max_mib_s = job->options->max_mib_s,
        .polite_latency_ms = job->options->polite_latency_ms,
        .now_ns = clock_now_ns,
        .is_interrupted = interrupt_requested,
        .confirm = confirm,
        .confirm_context = job,
        .watch = job->claim.is_image ? NULL : watch,
        .count_writes = job->claim.is_image ? NULL : count_writes,
        .observe = observe,
        .observe_context = &job->progress,
    };
    progress_init(&job->progress, job->options->progress);
    job->progress.put_more = put_more;
    job->progress.context = &job->result;
    int status = apply_run(&settings, &job->result, diag);
    progress_end(&job->progress);
    if (is_refusal(status)) {
        return status;
    }
    put_result(job, status, diag);
    if (status != 0) {
        fprintf(stderr, "warmer: %s\n", diag->text);
        *diag = (struct diag){{0}};
    }
    return status;
}

static void let_go(struct job *job) {
    engine_close(job->engine);
    state_close(job->state);
    parts_close(&job->parts);
    device_free_buffer(job->buffer);
    lock_release(job->lock);
    device_close(job->device);
}

int command_apply(const struct options *options, struct diag *diag) {
    static struct job job;
    job = (struct job){
        .options = options,
        .claim = {.path = options->device, .volume_id = options->volume, .is_image = options->is_image}};
    if (find_manifest(options) == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "`warmer apply` needs --manifest or REWARM_MANIFEST_URL");
    }
    int status = prepare(&job, diag);
    if (status == 0) {
        status = run(&job, diag);
    }
    let_go(&job);
    return status;
}
