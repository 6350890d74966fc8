/** Begins the transfers of the main thread, and ends them: writes, what is read back, and probes. */
#include "apply/transfer.h"

#include <string.h>

#define WRITE_TRIES 3u
#define LOOK_NS (2 * NS_PER_MILLISECOND)
#define COMPLETIONS 16u
#define PROBE APPLY_BUFFERS

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
    board->result->bytes_begun += is_write ? buffer->block.length : 0;
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
    witness_count_before(run->board);
    run->is_confirmed = run->board->status == 0;
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
    board_remember_begun(board, buffer->block.block);
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
            board->has_begun = true;
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
        *buffer = (struct buffer){.block = batch->blocks[batch->next++],
                                  .is_sample = run->has_samples,
                                  .is_witness = run->has_witnesses};
        submit(run, buffer, false, now_ns);
    }
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

void transfer_begin(struct run *run, uint64_t now_ns) {
    begin_writes(run, now_ns);
    begin_reads(run, now_ns);
    begin_probe(run, now_ns);
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

void transfer_reap(struct run *run) {
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
