/**
 * Looks whether somebody else has begun to use the device, while blocks are written to it. A thread does it,
 * because a look takes milliseconds, in which the main thread would begin no write.
 */
#include "apply/board.h"

#include "system/clock.h"

/** A look itself takes some milliseconds more, and what it finds is to stop the writing within a second. */
#define PAUSE_NS (800 * NS_PER_MILLISECOND)

static void look(struct board *board) {
    const struct apply_settings *settings = board->settings;
    struct diag diag = {{0}};
    int status = settings->watch(settings->confirm_context, &diag);
    if (status == 0) {
        witness_count(board);
        return;
    }
    monitor_enter(board->monitor);
    if (board->status == 0) {
        board->status = status;
        board->diag = diag;
    }
    board_fail(board, status, "%s", diag.text);
    monitor_leave(board->monitor);
}

/** The last look is after the last write, so that what came a moment before it is not missed. */
void watcher_serve(void *context) {
    struct board *board = context;
    bool is_last = false;
    while (!is_last) {
        monitor_enter(board->monitor);
        uint64_t due_ns = clock_now_ns() + PAUSE_NS;
        while (!board->is_stopping && monitor_wait_until(board->monitor, FOR_WATCH, due_ns)) {
        }
        is_last = board->is_stopping;
        bool is_due = board->has_begun && board->status == 0;
        monitor_leave(board->monitor);
        if (is_due) {
            look(board);
        }
    }
}
