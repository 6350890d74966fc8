#include "apply/board.h"

#include <stdarg.h>
#include <stdio.h>

uint8_t *board_bytes(const struct board *board, const struct buffer *buffer) {
    return board->settings->buffer + (size_t)(buffer - board->buffers) * BLOCK_BYTES;
}

void board_stop(struct board *board) {
    board->is_stopping = true;
    for (unsigned condition = 0; condition < MONITOR_CONDITIONS; condition++) {
        monitor_broadcast(board->monitor, condition);
    }
}

void board_fail(struct board *board, int status, const char *format, ...) {
    if (board->status == 0 && !board->is_stopping) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(board->diag.text, sizeof board->diag.text, format, arguments);
        va_end(arguments);
        board->status = status;
    }
    board_stop(board);
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

void board_remember_begun(struct board *board, uint64_t block) {
    remember(board, begun_mark(board, block));
}

void board_remember_done(struct board *board, uint64_t block) {
    remember(board, block);
}
