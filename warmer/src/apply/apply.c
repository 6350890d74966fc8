/**
 * The main thread of an application: writes what is decoded and right, many blocks in flight, lists what is
 * written, and reads it back once the device keeps it. A block counts, and is remembered, when what was
 * read back has its SHA-256. board.h says how a block travels.
 */
#include "apply/transfer.h"

#include <stdlib.h>
#include <string.h>

/** So many blocks are kept and read back together, unless nothing comes to be written for so long. */
#define FEW 64u
#define QUIET_NS (50 * NS_PER_MILLISECOND)

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

static void begin_witnesses(struct run *run) {
    struct board *board = run->board;
    witness_keep_unwritten(board);
    run->read->count = board->witness_count;
    memcpy(run->read->blocks, board->witnesses, board->witness_count * sizeof *board->witnesses);
    run->has_witnesses = true;
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
    if (!run->has_witnesses && board->witness_count > 0) {
        begin_witnesses(run);
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
    if (buffer->is_witness) {
        result->witnesses++;
        if (!buffer->is_equal) {
            board_fail(run->board, WARMER_DISTURBED,
                       "somebody else writes to the device: block %llu changed, which is not written here",
                       (unsigned long long)block);
        }
        return;
    }
    if (buffer->is_sample) {
        result->samples++;
        result->samples_differing += !buffer->is_equal;
    } else if (buffer->is_equal) {
        board_remember_done(run->board, block);
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
    transfer_begin(run, now_ns);
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
            transfer_reap(run);
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
    if (run->board->settings->watch != NULL) {
        start(run, watcher_serve);
    }
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
    board_stop(board);
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
    if (board->status == WARMER_DISTURBED) {
        return diag_refuse(diag, board->status, "%llu %s written; %s",
                           (unsigned long long)result->blocks_written,
                           result->blocks_written == 1 ? "block was" : "blocks were", board->diag.text);
    }
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
        witness_begin(board);
        start_all(&run);
        transfer_all(&run);
        end_all(&run);
        witness_count_all(board);
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
