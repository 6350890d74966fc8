/**
 * The main thread of an application: writes what is decoded and right, many blocks in flight, lists what is
 * written, and reads it back once the device keeps it. A block counts, and is remembered, when what was
 * read back has its SHA-256. board.h says how a block travels.
 */
#include "apply/board.h"

#include "system/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** So many blocks are kept and read back together, unless nothing comes to be written for so long. */
#define FEW 64u
#define QUIET_NS (50 * NS_PER_MILLISECOND)
#define WRITE_TRIES 3u
#define LOOK_NS (2 * NS_PER_MILLISECOND)
#define COMPLETIONS 16u
#define PROBE APPLY_BUFFERS
#define THREADS (FETCHERS + CHECKERS + 2)

struct run {
    struct board *board;
    struct batch *filled; /**< Written blocks. */
    struct batch *read;   /**< Those of them that the device keeps, or is about to. */
    unsigned writing, reading;
    bool is_confirmed;
    bool is_keeping;  /**< The flusher works for `read`. */
    bool has_samples; /**< `read` holds samples. */
    unsigned samples_begun;
    uint64_t began_ns, probe_ns, kept_ns;
    struct thread *threads[THREADS];
    unsigned thread_count;
};

uint8_t *board_bytes(const struct board *board, const struct buffer *buffer) {
    return board->settings->buffer + (size_t)(buffer - board->buffers) * BLOCK_BYTES;
}

void board_fail(struct board *board, int status, const char *format, ...) {
    if (board->status == 0 && !board->is_stopping) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(board->diag.text, sizeof board->diag.text, format, arguments);
        va_end(arguments);
        board->status = status;
    }
    board->is_stopping = true;
    for (unsigned condition = 0; condition < MONITOR_CONDITIONS; condition++) {
        monitor_broadcast(board->monitor, condition);
    }
}

bool board_is_done(const struct board *board, uint64_t block) {
    return board->settings->state != NULL && state_has(board->settings->state, block);
}

static uint64_t begun_mark(const struct board *board, uint64_t block) {
    return blocks_of_bytes(board->settings->volume_bytes) + block;
}

bool board_was_begun(const struct board *board, uint64_t block) {
    return board->settings->state != NULL && state_has(board->settings->state, begun_mark(board, block));
}

static void remember(struct board *board, uint64_t mark) {
    if (board->settings->state != NULL) {
        state_remember(board->settings->state, mark);
    }
}

/** Submit a transfer of a buffer; false: the engine refuses. */
static bool submit(struct run *run, struct buffer *buffer, bool is_write, uint64_t now_ns) {
    struct board *board = run->board;
    struct engine *engine = board->settings->engine;
    struct engine_read transfer = {
        .offset_bytes = buffer->block.block * BLOCK_BYTES,
        .length_bytes = buffer->block.length,
        .tag = (uint32_t)(buffer - board->buffers),
        .place_bytes = (uint32_t)(buffer - board->buffers) * BLOCK_BYTES,
        .is_write = is_write,
    };
    buffer->use = is_write ? BUFFER_WRITING : BUFFER_READING;
    buffer->began_ns = now_ns;
    pace_charge(&run->board->pace, buffer->block.length, now_ns);
    int failure = engine->ops->submit(engine, &transfer);
    if (failure != 0) {
        buffer->use = BUFFER_FREE;
        board_fail(board, WARMER_UNREADABLE, "the engine %s gave up: %s", engine->ops->name,
                   strerror(-failure));
        return false;
    }
    *(is_write ? &run->writing : &run->reading) += 1;
    return true;
}

static bool may_transfer(const struct run *run, uint64_t now_ns) {
    return !run->board->is_stopping && pace_allows(&run->board->pace, now_ns) &&
           polite_allows(&run->board->polite, now_ns) &&
           run->writing + run->reading + run->board->comparing < polite_depth(&run->board->polite);
}

static void list_written(struct run *run, struct buffer *buffer) {
    run->filled->blocks[run->filled->count++] = buffer->block;
    buffer->use = BUFFER_FREE;
    monitor_signal(run->board->monitor, FOR_BUFFER);
}

/** The device is looked at once more; false: it is another one now. */
static bool confirm(struct run *run) {
    const struct apply_settings *settings = run->board->settings;
    struct diag diag = {{0}};
    if (run->is_confirmed || settings->confirm == NULL) {
        return true;
    }
    int status = settings->confirm(settings->confirm_context, &diag);
    if (status != 0) {
        board_fail(run->board, status, "%s", diag.text);
    }
    run->is_confirmed = status == 0;
    return run->is_confirmed;
}

/** From here on the block may be neither old nor new. */
static void count_begun(struct board *board, const struct buffer *buffer) {
    struct apply_result *result = board->result;
    if (buffer->tries > 0) {
        return;
    }
    result->blocks_written++;
    result->blocks_again += buffer->is_again;
    if (block_set_add(board->written, buffer->block.block, 1) != 0) {
        result->written_truncated = true;
    }
    remember(board, begun_mark(board, buffer->block.block));
}

static void begin_writes(struct run *run, uint64_t now_ns) {
    struct board *board = run->board;
    for (unsigned i = 0; i < APPLY_WRITES; i++) {
        struct buffer *buffer = &board->buffers[i];
        if (buffer->use != BUFFER_READY || run->filled->count + run->writing >= BATCH) {
            continue;
        }
        if (buffer->is_there) {
            board->result->blocks_there++;
            list_written(run, buffer);
        } else if (may_transfer(run, now_ns) && confirm(run)) {
            count_begun(board, buffer);
            submit(run, buffer, true, now_ns);
        }
    }
}

static void begin_reads(struct run *run, uint64_t now_ns) {
    struct batch *batch = run->read;
    for (unsigned i = APPLY_WRITES; i < APPLY_BUFFERS && !run->is_keeping; i++) {
        struct buffer *buffer = &run->board->buffers[i];
        if (buffer->use != BUFFER_FREE || batch->next == batch->count || !may_transfer(run, now_ns)) {
            continue;
        }
        *buffer = (struct buffer){.block = batch->blocks[batch->next++], .is_sample = run->has_samples};
        submit(run, buffer, false, now_ns);
    }
}

static bool has_ready(const struct board *board) {
    for (unsigned i = 0; i < APPLY_WRITES; i++) {
        if (board->buffers[i].use == BUFFER_READY) {
            return true;
        }
    }
    return false;
}

/** Whether nothing more comes to be written. */
static bool is_all_written(const struct run *run) {
    const struct board *board = run->board;
    bool is_written = board->has_all_work && board->work_count == 0 && board->working == 0;
    for (unsigned i = 0; i < APPLY_WRITES && is_written; i++) {
        is_written = board->buffers[i].use == BUFFER_FREE;
    }
    return is_written;
}

static void begin_samples(struct run *run) {
    struct board *board = run->board;
    unsigned left = board->sample_count - run->samples_begun;
    run->read->count = left < BATCH ? left : BATCH;
    memcpy(run->read->blocks, board->samples + run->samples_begun, run->read->count * sizeof *board->samples);
    run->samples_begun += run->read->count;
    run->has_samples = true;
}

/** Go on to the next batch when the last one is compared; true: there is none, all is done. */
static bool turn_batches(struct run *run, uint64_t now_ns) {
    struct board *board = run->board;
    if (run->read->checked < run->read->count) {
        return false;
    }
    run->read->count = run->read->next = run->read->checked = 0;
    bool is_idle =
        is_all_written(run) || (run->writing == 0 && !has_ready(board) && now_ns - run->kept_ns >= QUIET_NS);
    if (run->filled->count >= FEW || (run->filled->count > 0 && is_idle)) {
        struct batch *filled = run->filled;
        run->filled = run->read;
        run->read = filled;
        run->is_keeping = true;
        run->kept_ns = now_ns;
        board->flush = FLUSH_WANTED;
        monitor_signal(board->monitor, FOR_FLUSH);
        return false;
    }
    if (run->filled->count > 0 || !is_all_written(run)) {
        return false;
    }
    if (run->samples_begun < board->sample_count) {
        begin_samples(run);
        return false;
    }
    return true;
}

static void end_flush(struct run *run) {
    struct board *board = run->board;
    if (run->is_keeping && board->flush == FLUSH_DONE) {
        board->flush = FLUSH_IDLE;
        run->is_keeping = false;
        if (board->flush_failure != 0) {
            board_fail(board, WARMER_UNREADABLE, "the device does not keep what was written: %s",
                       strerror(-board->flush_failure));
        }
    }
}

static void count_block(struct run *run, const struct buffer *buffer) {
    struct apply_result *result = run->board->result;
    uint64_t block = buffer->block.block;
    if (buffer->is_sample) {
        result->samples++;
        result->samples_differing += !buffer->is_equal;
    } else if (buffer->is_equal) {
        remember(run->board, block);
        result->progress.blocks_done++;
        result->progress.bytes_done += buffer->block.length;
        polite_note(&run->board->polite, block);
    } else {
        result->progress.blocks_failed++;
        result->blocks_differing++;
    }
    if (!buffer->is_equal && result->blocks_differing + result->samples_differing == 1) {
        result->first_differing = block;
    }
}

static void end_checks(struct run *run) {
    for (unsigned i = APPLY_WRITES; i < APPLY_BUFFERS; i++) {
        struct buffer *buffer = &run->board->buffers[i];
        if (buffer->use == BUFFER_CHECKED) {
            count_block(run, buffer);
            run->read->checked++;
            buffer->use = BUFFER_FREE;
        }
    }
}

static void fail_transfer(struct run *run, const struct buffer *buffer, bool is_write, int32_t result) {
    struct board *board = run->board;
    const char *gone = device_gone(board->settings->device, result < 0 ? -result : 0);
    const char *reason = gone != NULL ? gone : result < 0 ? strerror(-result) : "the device took only a part";
    board_fail(board, WARMER_UNREADABLE, "block %llu cannot be %s: %s",
               (unsigned long long)buffer->block.block, is_write ? "written" : "read back", reason);
}

static void end_probe(struct run *run, int32_t result, uint64_t now_ns) {
    if (result > 0) {
        latency_add(&run->board->result->progress.probes, now_ns - run->probe_ns);
        polite_answer(&run->board->polite, now_ns - run->probe_ns, now_ns);
    } else {
        polite_forget(&run->board->polite);
    }
}

static void end_transfer(struct run *run, const struct engine_completion *done, uint64_t now_ns) {
    struct board *board = run->board;
    struct apply_result *result = board->result;
    if (done->tag == PROBE) {
        end_probe(run, done->result, now_ns);
        return;
    }
    struct buffer *buffer = &board->buffers[done->tag];
    bool is_write = buffer->use == BUFFER_WRITING;
    uint64_t bytes = done->result > 0 ? (uint64_t)done->result : 0;
    *(is_write ? &run->writing : &run->reading) -= 1;
    *(is_write ? &result->bytes_written : &result->bytes_read_back) += bytes;
    result->progress.bytes_read += is_write ? bytes : 0;
    if (bytes != buffer->block.length) {
        buffer->use = is_write ? BUFFER_READY : BUFFER_FREE;
        result->progress.retries++;
        if (++buffer->tries == WRITE_TRIES || !is_write || board->is_stopping) {
            fail_transfer(run, buffer, is_write, done->result);
        }
        return;
    }
    if (!is_write) {
        buffer->use = BUFFER_UNCHECKED;
        monitor_signal(board->monitor, FOR_CHECK);
        return;
    }
    latency_add(&result->progress.latency, now_ns - buffer->began_ns);
    list_written(run, buffer);
}

static void begin_probe(struct run *run, uint64_t now_ns) {
    struct engine *engine = run->board->settings->engine;
    uint64_t block = polite_probe(&run->board->polite, now_ns);
    struct engine_read probe = {.offset_bytes = block * BLOCK_BYTES,
                                .length_bytes = APPLY_PROBE_BYTES,
                                .tag = PROBE,
                                .place_bytes = APPLY_BUFFERS * BLOCK_BYTES};
    if (block == BLOCK_NONE) {
        return;
    }
    run->probe_ns = now_ns;
    if (engine->ops->submit(engine, &probe) != 0) {
        polite_forget(&run->board->polite);
    }
}

/** Collect completions, or wait a moment for other threads. */
static void reap(struct run *run) {
    struct board *board = run->board;
    struct engine *engine = board->settings->engine;
    struct engine_completion done[COMPLETIONS];
    if (run->writing + run->reading == 0 && !board->polite.is_probing) {
        monitor_enter(board->monitor);
        monitor_wait_until(board->monitor, FOR_MAIN, board->settings->now_ns() + 10 * LOOK_NS);
        monitor_leave(board->monitor);
        return;
    }
    int count = engine->ops->reap(engine, done, COMPLETIONS, LOOK_NS);
    uint64_t now_ns = board->settings->now_ns();
    monitor_enter(board->monitor);
    if (count < 0) {
        board_fail(board, WARMER_UNREADABLE, "the engine %s gave up: %s", engine->ops->name,
                   strerror(-count));
        run->writing = run->reading = 0;
    }
    for (int i = 0; i < count; i++) {
        end_transfer(run, &done[i], now_ns);
    }
    monitor_leave(board->monitor);
}

/** One look at everything; true: all is done, or all has stopped. */
static bool turn(struct run *run, uint64_t now_ns) {
    struct board *board = run->board;
    end_flush(run);
    end_checks(run);
    if (board->settings->is_interrupted()) {
        board_fail(board, WARMER_INTERRUPTED, "interrupted");
    }
    if (board->is_stopping) {
        return run->writing + run->reading == 0;
    }
    bool is_done = turn_batches(run, now_ns);
    begin_writes(run, now_ns);
    begin_reads(run, now_ns);
    begin_probe(run, now_ns);
    struct warm_progress *progress = &board->result->progress;
    progress->elapsed_ns = now_ns - run->began_ns;
    board->transfers = run->writing + run->reading;
    progress->depth = board->transfers + board->comparing;
    board->result->is_waiting = board->waiting > 0;
    return is_done && is_all_written(run) && run->filled->count == 0;
}

static void transfer_all(struct run *run) {
    struct board *board = run->board;
    const struct apply_settings *settings = board->settings;
    bool is_done = false;
    while (!is_done) {
        uint64_t now_ns = settings->now_ns();
        monitor_enter(board->monitor);
        is_done = turn(run, now_ns);
        struct warm_progress progress = board->result->progress;
        uint64_t total = board->blocks_told;
        monitor_leave(board->monitor);
        progress.blocks_total = total > progress.blocks_total ? total : progress.blocks_total;
        progress.bytes_total = progress.blocks_total * BLOCK_BYTES;
        if (settings->observe != NULL) {
            settings->observe(settings->observe_context, &progress);
        }
        if (settings->state != NULL) {
            state_save(settings->state, now_ns, false);
        }
        if (!is_done) {
            reap(run);
        }
    }
}

static void start(struct run *run, void (*serve)(void *context)) {
    int failure = thread_start(serve, run->board, &run->threads[run->thread_count]);
    run->thread_count += failure == 0;
    if (failure != 0) {
        monitor_enter(run->board->monitor);
        board_fail(run->board, WARMER_CANNOT_OPEN, "cannot start a thread: %s", strerror(-failure));
        monitor_leave(run->board->monitor);
    }
}

static void start_all(struct run *run) {
    start(run, feeder_serve);
    start(run, flusher_serve);
    for (unsigned i = 0; i < FETCHERS; i++) {
        start(run, fetcher_serve);
    }
    for (unsigned i = 0; i < CHECKERS; i++) {
        start(run, checker_serve);
    }
}

static void end_all(struct run *run) {
    struct board *board = run->board;
    monitor_enter(board->monitor);
    board->is_stopping = true;
    for (unsigned condition = 0; condition < MONITOR_CONDITIONS; condition++) {
        monitor_broadcast(board->monitor, condition);
    }
    monitor_leave(board->monitor);
    for (unsigned i = 0; i < run->thread_count; i++) {
        thread_join(run->threads[i]);
    }
}

/** The first runs of what this run began to write. */
static void list_runs(struct board *board) {
    struct apply_result *result = board->result;
    uint64_t at = block_set_next(board->written, 0);
    while (at != BLOCK_NONE && result->written_runs < APPLY_RUNS) {
        struct apply_blocks *run = &result->written[result->written_runs++];
        *run = (struct apply_blocks){.first = at};
        for (; block_set_contains(board->written, at); at++) {
            run->count++;
        }
        at = block_set_next(board->written, at);
    }
    result->written_truncated = result->written_truncated || at != BLOCK_NONE;
}

/** The status of a refusal promises that nothing was written. */
static int true_status(const struct board *board) {
    bool is_written = board->result->blocks_written > 0;
    if (is_written && board->status == WARMER_TAKEN_BEFORE) {
        return WARMER_NO_UNDO;
    }
    return is_written && board->status == WARMER_NO_MANIFEST ? WARMER_NO_TRANSFER : board->status;
}

static int tell(const struct board *board, struct diag *diag) {
    const struct apply_result *result = board->result;
    if (board->status != 0) {
        return diag_refuse(diag, true_status(board), "%s", board->diag.text);
    }
    if (result->blocks_differing + result->samples_differing > 0) {
        return diag_refuse(
            diag, WARMER_DIFFERS,
            "the device differs from the snapshot: %llu blocks that were written, %llu samples of "
            "blocks that were not; the first is block %llu",
            (unsigned long long)result->blocks_differing, (unsigned long long)result->samples_differing,
            (unsigned long long)result->first_differing);
    }
    return 0;
}

int apply_run(const struct apply_settings *settings, struct apply_result *result, struct diag *diag) {
    struct board *board = calloc(1, sizeof *board);
    struct pack_block *samples = calloc(APPLY_SAMPLES, sizeof *samples);
    struct monitor *monitor = monitor_create();
    struct block_set *written = block_set_create(blocks_of_bytes(settings->volume_bytes));
    int status = WARMER_CANNOT_OPEN;
    if (board != NULL && samples != NULL && monitor != NULL && written != NULL) {
        *board = (struct board){.settings = settings,
                                .result = result,
                                .monitor = monitor,
                                .written = written,
                                .samples = samples};
        struct run run = {.board = board,
                          .filled = &board->batches[0],
                          .read = &board->batches[1],
                          .began_ns = settings->now_ns()};
        pace_init(&board->pace, settings->max_mib_s, run.began_ns);
        polite_init(&board->polite, settings->polite_latency_ms, APPLY_BUFFERS, run.began_ns);
        start_all(&run);
        transfer_all(&run);
        end_all(&run);
        list_runs(board);
        status = tell(board, diag);
    } else {
        diag_refuse(diag, status, "out of memory");
    }
    monitor_destroy(monitor);
    block_set_destroy(board == NULL ? NULL : board->saved);
    block_set_destroy(written);
    free(samples);
    free(board);
    return status;
}
