/** Decodes blocks into free buffers, and hands them over to be checked or written. */
#include "apply/fetching/fetcher.h"

#include <string.h>

bool hand_wants(const struct fetcher *fetcher, uint64_t nth) {
    return compare_is_wanted(fetcher) ? !fetcher->is_equal[nth]
                                      : !board_is_done(fetcher->board, fetcher->blocks[nth].block);
}

/** Wait for a free buffer; NULL: all stops. */
static struct buffer *take_buffer(struct board *board) {
    struct buffer *taken = NULL;
    monitor_enter(board->monitor);
    while (taken == NULL && !board->is_stopping) {
        for (unsigned i = 0; i < APPLY_WRITES && taken == NULL; i++) {
            if (board->buffers[i].use == BUFFER_FREE) {
                taken = &board->buffers[i];
                *taken = (struct buffer){.use = BUFFER_FILLING};
            }
        }
        if (taken == NULL) {
            monitor_wait(board->monitor, FOR_BUFFER);
        }
    }
    monitor_leave(board->monitor);
    return taken;
}

static void hand_over(struct board *board, struct buffer *buffer, enum buffer_use use) {
    monitor_enter(board->monitor);
    buffer->use = use;
    if (use == BUFFER_READY) {
        monitor_signal(board->monitor, FOR_MAIN);
    }
    /* Also where it is not to be checked: another block may have waited for this one. */
    monitor_signal(board->monitor, FOR_CHECK);
    monitor_leave(board->monitor);
}

/** Whether the device holds this block as an earlier run was about to write it. */
static bool is_there(struct fetcher *fetcher, const struct pack_block *block) {
    uint8_t digest[SHA256_BYTES];
    char why[100];
    if (!compare_read(fetcher, block, why, sizeof why)) {
        return false;
    }
    sha256(fetcher->found, block->length, digest);
    return memcmp(digest, block->digest, sizeof digest) == 0;
}

void hand_skipped(struct board *board, uint32_t bytes) {
    monitor_enter(board->monitor);
    board->result->blocks_skipped++;
    board->result->progress.blocks_done++;
    board->result->progress.bytes_done += bytes;
    board->result->progress.bytes_resumed += bytes;
    monitor_leave(board->monitor);
}

const char *hand_block(struct fetcher *fetcher, const struct pack_block *block) {
    struct board *board = fetcher->board;
    bool was_begun = board_was_begun(board, block->block);
    bool has_it = was_begun && !compare_is_wanted(fetcher) && is_there(fetcher, block);
    struct buffer *buffer = take_buffer(board);
    enum buffer_use use = BUFFER_READY;
    const char *reason = NULL;
    if (buffer == NULL) {
        return NULL;
    }
    buffer->block = *block;
    buffer->is_there = has_it;
    buffer->is_again = was_begun && !has_it;
    if (!has_it && block->frame_bytes == 0) {
        memset(board_bytes(board, buffer), 0, block->length);
    } else if (!has_it) {
        reason = unpacker_decode(fetcher->unpacker, fetcher->frame, block, board_bytes(board, buffer));
        use = reason == NULL ? BUFFER_UNCHECKED : BUFFER_FREE;
        monitor_enter(board->monitor);
        board->result->bytes_decoded += reason == NULL ? block->length : 0;
        monitor_leave(board->monitor);
    }
    hand_over(board, buffer, use);
    return reason;
}

/** A block of the line that is not to be written. */
static void count_unwanted(struct fetcher *fetcher, const struct pack_block *block) {
    if (compare_is_wanted(fetcher)) {
        count_equal(fetcher->board, block->length);
    } else {
        hand_skipped(fetcher->board, block->length);
    }
}

enum outcome hand_blocks(struct fetcher *fetcher, const char **reason) {
    for (uint64_t i = fetcher->handed; i < fetcher->work.item.blocks; i++) {
        const struct pack_block *block = &fetcher->blocks[i];
        bool is_wanted = hand_wants(fetcher, i);
        if (is_wanted && block->frame_bytes > 0 && load_frame(fetcher, i) != OUTCOME_WHOLE) {
            return OUTCOME_SHORT;
        }
        fetcher->handed++;
        if (!is_wanted) {
            count_unwanted(fetcher, block);
            continue;
        }
        *reason = hand_block(fetcher, block);
        if (*reason != NULL) {
            return OUTCOME_WRONG;
        }
        if (fetch_is_stopped(fetcher->board)) {
            return OUTCOME_SHORT;
        }
    }
    return OUTCOME_WHOLE;
}
