/** Reads what the device holds, before anything is written to it, and compares it. */
#include "apply/fetching/fetcher.h"

#include "delta/raw.h"
#include "system/clock.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 1u

bool compare_is_wanted(const struct fetcher *fetcher) {
    return fetcher->board->settings->compares || fetcher->work.undo[0] != '\0';
}

/** Wait until one more read keeps the limits; false: all stops. */
static bool await_turn(struct board *board, uint32_t bytes) {
    bool is_allowed = false;
    while (!is_allowed && !fetch_is_stopped(board)) {
        monitor_enter(board->monitor);
        uint64_t now_ns = board->settings->now_ns();
        is_allowed = pace_allows(&board->pace, now_ns) && polite_allows(&board->polite, now_ns) &&
                     board->transfers + board->comparing < polite_depth(&board->polite);
        if (is_allowed) {
            pace_charge(&board->pace, bytes, now_ns);
            board->comparing++;
        }
        monitor_leave(board->monitor);
        if (!is_allowed) {
            clock_pause_ms(LOOK_MS);
        }
    }
    return is_allowed;
}

bool compare_read(struct fetcher *fetcher, const struct pack_block *block, char *why, size_t size) {
    struct board *board = fetcher->board;
    why[0] = '\0';
    if (fetcher->found == NULL) {
        fetcher->found = device_alloc_buffer(BLOCK_BYTES);
    }
    if (fetcher->found == NULL) {
        snprintf(why, size, "out of memory");
        return false;
    }
    if (!await_turn(board, block->length)) {
        return false;
    }
    int64_t got =
        device_read(board->settings->device, fetcher->found, block->length, block->block * BLOCK_BYTES);
    monitor_enter(board->monitor);
    board->comparing--;
    board->result->bytes_compared += got > 0 ? (uint64_t)got : 0;
    if (got == (int64_t)block->length) {
        polite_note(&board->polite, block->block);
    }
    monitor_leave(board->monitor);
    if (got != (int64_t)block->length) {
        snprintf(why, size, "%s", got < 0 ? strerror((int)-got) : "the device gave only a part");
        return false;
    }
    return true;
}

void count_equal(struct board *board, uint32_t bytes) {
    struct apply_result *result = board->result;
    monitor_enter(board->monitor);
    result->blocks_equal++;
    result->progress.blocks_done++;
    result->progress.bytes_done += bytes;
    result->progress.bytes_read += bytes;
    monitor_leave(board->monitor);
}

/**
 * What the old bytes are, for the log. A block that another line writes, too, would be neither old nor new
 * when it is read; false: it is one.
 */
static bool take_old(struct fetcher *fetcher, const struct pack_block *block, struct old_block *old) {
    struct board *board = fetcher->board;
    old->runs = raw_runs(fetcher->found, block->length);
    monitor_enter(board->monitor);
    if (board->saved == NULL) {
        board->saved = block_set_create(blocks_of_bytes(board->settings->volume_bytes));
    }
    bool is_new = board->saved != NULL && !block_set_contains(board->saved, block->block) &&
                  block_set_add(board->saved, block->block, 1) == 0;
    monitor_leave(board->monitor);
    if (!is_new) {
        fetch_fail(board, WARMER_BAD_MANIFEST,
                   "the manifest cannot be used: two of its lines name block %llu",
                   (unsigned long long)block->block);
    }
    return is_new;
}

/** Compare one block of the line; false: all stops. */
static bool compare_block(struct fetcher *fetcher, uint64_t nth) {
    const struct pack_block *block = &fetcher->blocks[nth];
    struct board *board = fetcher->board;
    struct old_block *old = &fetcher->olds[nth];
    bool keeps_undo = fetcher->work.undo[0] != '\0';
    char why[100];
    fetcher->is_equal[nth] = false;
    if (!compare_read(fetcher, block, why, sizeof why)) {
        if (keeps_undo && why[0] != '\0') {
            fetch_fail(board, WARMER_UNREADABLE, "block %llu cannot be read before it is written: %s",
                       (unsigned long long)block->block, why);
        }
        /* Without a log, what cannot be read is written. */
        return !keeps_undo && why[0] != '\0';
    }
    sha256(fetcher->found, block->length, old->digest);
    monitor_enter(board->monitor);
    board->result->blocks_compared++;
    monitor_leave(board->monitor);
    fetcher->is_equal[nth] = memcmp(old->digest, block->digest, SHA256_BYTES) == 0;
    return fetcher->is_equal[nth] || !keeps_undo || take_old(fetcher, block, old);
}

bool compare_line(struct fetcher *fetcher) {
    for (uint64_t i = 0; i < fetcher->work.item.blocks; i++) {
        if (!compare_block(fetcher, i)) {
            return false;
        }
    }
    return true;
}
