/**
 * The flusher lets the device keep what was written; the checkers compare what was decoded, and what was read
 * back, with its SHA-256.
 */
#include "apply/board.h"

#include <string.h>

/** Buffers whose SHA-256 is computed at once. */
struct group {
    struct buffer *buffers[SHA256_STREAMS];
    unsigned count;
};

/**
 * Wait for blocks that are decoded or read back; none: all stops. One alone is taken only when no other is
 * on its way. The caller holds the monitor.
 */
static struct group take_unchecked(struct board *board) {
    while (!board->is_stopping) {
        struct group group = {.count = 0};
        bool more_come = false;
        for (unsigned i = 0; i < APPLY_BUFFERS && group.count < SHA256_STREAMS; i++) {
            enum buffer_use use = board->buffers[i].use;
            more_come = more_come || use == BUFFER_FILLING || use == BUFFER_READING;
            if (use == BUFFER_UNCHECKED) {
                group.buffers[group.count++] = &board->buffers[i];
            }
        }
        if (group.count == SHA256_STREAMS || (group.count > 0 && !more_come)) {
            return group;
        }
        monitor_wait(board->monitor, FOR_CHECK);
    }
    return (struct group){.count = 0};
}

static void compare(const struct board *board, const struct group *group) {
    const uint8_t *data[SHA256_STREAMS];
    size_t bytes[SHA256_STREAMS];
    uint8_t digests[SHA256_STREAMS][SHA256_BYTES];
    for (unsigned i = 0; i < group->count; i++) {
        data[i] = board_bytes(board, group->buffers[i]);
        bytes[i] = group->buffers[i]->block.length;
    }
    sha256_each(group->count, data, bytes, digests);
    for (unsigned i = 0; i < group->count; i++) {
        group->buffers[i]->is_equal = memcmp(digests[i], group->buffers[i]->block.digest, SHA256_BYTES) == 0;
    }
}

/** What was read back is counted by the main thread. What was decoded is written, but only if it is right. */
static void hand_on(struct board *board, struct buffer *buffer) {
    bool is_decoded = buffer < board->buffers + APPLY_WRITES;
    buffer->use = !is_decoded ? BUFFER_CHECKED : buffer->is_equal ? BUFFER_READY : BUFFER_FREE;
    if (is_decoded && !buffer->is_equal) {
        board_fail(board, WARMER_BAD_PACK,
                   "a pack cannot be used: block %llu has another SHA-256 than its index says",
                   (unsigned long long)buffer->block.block);
    }
}

void checker_serve(void *context) {
    struct board *board = context;
    struct group group;
    monitor_enter(board->monitor);
    while ((group = take_unchecked(board)).count > 0) {
        for (unsigned i = 0; i < group.count; i++) {
            group.buffers[i]->use = BUFFER_CHECKING;
        }
        monitor_leave(board->monitor);
        compare(board, &group);
        monitor_enter(board->monitor);
        for (unsigned i = 0; i < group.count; i++) {
            hand_on(board, group.buffers[i]);
        }
        monitor_signal(board->monitor, FOR_MAIN);
    }
    monitor_leave(board->monitor);
}

void flusher_serve(void *context) {
    struct board *board = context;
    monitor_enter(board->monitor);
    while (!board->is_stopping) {
        if (board->flush != FLUSH_WANTED) {
            monitor_wait(board->monitor, FOR_FLUSH);
            continue;
        }
        board->flush = FLUSH_RUNS;
        monitor_leave(board->monitor);
        int failure = device_flush(board->settings->device);
        monitor_enter(board->monitor);
        board->flush_failure = failure;
        board->flush = FLUSH_DONE;
        monitor_signal(board->monitor, FOR_MAIN);
    }
    monitor_leave(board->monitor);
}
