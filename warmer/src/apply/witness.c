/**
 * Whether nobody else has written to the device, also not between two looks. Of one that is taken alone, the
 * system counts what this program writes and nothing else. Where it does not count, some blocks that are not
 * to be written are read before the first write, and compared at the end.
 */
#include "apply/board.h"

#include "base/random.h"

#include <stdio.h>

static bool ask(const struct board *board, uint64_t *bytes) {
    const struct apply_settings *settings = board->settings;
    return settings->count_writes != NULL && settings->count_writes(settings->confirm_context, bytes);
}

void witness_begin(struct board *board) {
    const struct apply_settings *settings = board->settings;
    uint64_t blocks = blocks_of_bytes(settings->volume_bytes);
    struct random draw = {.state = settings->now_ns()};
    uint64_t bytes = 0;
    if (settings->count_writes == NULL || ask(board, &bytes)) {
        return;
    }
    void *buffer = device_alloc_buffer(BLOCK_BYTES);
    for (unsigned i = 0; i < WITNESSES && buffer != NULL && !settings->is_interrupted(); i++) {
        uint64_t block = random_below(&draw, blocks);
        struct pack_block *witness = &board->witnesses[board->witness_count];
        *witness = (struct pack_block){.block = block, .length = block_length(block, settings->volume_bytes)};
        int64_t got = device_read(settings->device, buffer, witness->length, block * BLOCK_BYTES);
        if (got == (int64_t)witness->length) {
            sha256(buffer, witness->length, witness->digest);
            board->witness_count++;
        }
    }
    device_free_buffer(buffer);
}

void witness_keep_unwritten(struct board *board) {
    unsigned kept = 0;
    for (unsigned i = 0; i < board->witness_count; i++) {
        if (!block_set_contains(board->written, board->witnesses[i].block)) {
            board->witnesses[kept++] = board->witnesses[i];
        }
    }
    board->witness_count = kept;
}

/** The caller holds the monitor, or is the only thread left. */
static void compare(struct board *board, uint64_t counted) {
    /* What is begun by now includes all that was begun when it was counted. */
    uint64_t begun = board->result->bytes_begun;
    if (counted <= begun) {
        return;
    }
    if (board->status == 0) {
        board->status =
            diag_refuse(&board->diag, WARMER_DISTURBED,
                        "somebody else has written to the device: %llu bytes were written or discarded since "
                        "it was taken, and %llu of them by this program",
                        (unsigned long long)counted, (unsigned long long)begun);
    }
    board_stop(board);
}

void witness_count_before(struct board *board) {
    uint64_t counted = 0;
    if (ask(board, &counted)) {
        compare(board, counted);
    }
}

void witness_count(struct board *board) {
    uint64_t counted = 0;
    if (ask(board, &counted)) {
        monitor_enter(board->monitor);
        compare(board, counted);
        monitor_leave(board->monitor);
    }
}

void witness_count_all(struct board *board) {
    struct apply_result *result = board->result;
    uint64_t counted = 0;
    if (board->settings->count_writes == NULL) {
        snprintf(result->count_note, sizeof result->count_note, "this is no disk");
    } else if (!ask(board, &counted)) {
        snprintf(result->count_note, sizeof result->count_note,
                 "the system does not count what is written to the device; %u blocks that were not written "
                 "here were compared instead",
                 result->witnesses);
    } else if (counted != result->bytes_written || counted != result->bytes_begun) {
        /* Fewer: it was not counted all the time. Nobody knows how much of a write that failed was done. */
        snprintf(result->count_note, sizeof result->count_note,
                 "the system counted %llu bytes, and %llu of %llu were written", (unsigned long long)counted,
                 (unsigned long long)result->bytes_written, (unsigned long long)result->bytes_begun);
        compare(board, counted);
    } else {
        result->is_counted = true;
    }
}
