/** The flusher lets the device keep what was written; the checkers compare what was read back. */
#include "apply/board.h"

#include <string.h>

/** Wait for a buffer that was read back; NULL: all stops. The caller holds the monitor. */
static struct buffer *take_read(struct board *board) {
    while (!board->is_stopping) {
        for (unsigned i = APPLY_WRITES; i < APPLY_BUFFERS; i++) {
            if (board->buffers[i].use == BUFFER_UNCHECKED) {
                return &board->buffers[i];
            }
        }
        monitor_wait(board->monitor, FOR_CHECK);
    }
    return NULL;
}

void checker_serve(void *context) {
    struct board *board = context;
    struct buffer *buffer = NULL;
    monitor_enter(board->monitor);
    while ((buffer = take_read(board)) != NULL) {
        uint8_t digest[SHA256_BYTES];
        buffer->use = BUFFER_CHECKING;
        monitor_leave(board->monitor);
        sha256(board_bytes(board, buffer), buffer->block.length, digest);
        monitor_enter(board->monitor);
        buffer->is_equal = memcmp(digest, buffer->block.digest, sizeof digest) == 0;
        buffer->use = BUFFER_CHECKED;
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
