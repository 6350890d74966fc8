/** The fetchers: each takes a pack or zeros, finds out what of it is to be written, and hands that over. */
#include "apply/fetching/fetcher.h"

#include "system/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 50u

bool fetch_is_stopped(void *context) {
    struct board *board = context;
    monitor_enter(board->monitor);
    bool stopped = board->is_stopping;
    monitor_leave(board->monitor);
    return stopped || board->settings->is_interrupted();
}

void fetch_fail(struct board *board, int status, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    monitor_enter(board->monitor);
    board_fail(board, status, "%s", text);
    monitor_leave(board->monitor);
}

static void count_waiting(struct board *board, int change) {
    monitor_enter(board->monitor);
    board->waiting += change;
    monitor_leave(board->monitor);
}

bool fetch_pause(struct board *board, uint64_t pause_ms) {
    count_waiting(board, 1);
    for (uint64_t waited = 0; waited < pause_ms && !fetch_is_stopped(board); waited += STEP_MS) {
        clock_pause_ms(STEP_MS);
    }
    count_waiting(board, -1);
    return pause_ms > 0 && !fetch_is_stopped(board);
}

/** Compare and save what is asked for, each once, before any block of the line is handed over. */
static enum outcome prepare_line(struct fetcher *fetcher) {
    fetcher->is_compared = fetcher->is_compared || !compare_is_wanted(fetcher) || compare_line(fetcher);
    if (!fetcher->is_compared) {
        return OUTCOME_REFUSED;
    }
    fetcher->is_saved = fetcher->is_saved || fetcher->work.undo[0] == '\0' || undo_save(fetcher);
    return fetcher->is_saved ? OUTCOME_WHOLE : OUTCOME_REFUSED;
}

static enum outcome try_pack(struct fetcher *fetcher, const char **reason) {
    enum outcome outcome = fetcher->index_bytes > 0 ? OUTCOME_WHOLE : load_index(fetcher, reason);
    if (outcome == OUTCOME_WHOLE) {
        outcome = prepare_line(fetcher);
    }
    if (outcome == OUTCOME_WHOLE) {
        outcome = hand_blocks(fetcher, reason);
    }
    load_close(fetcher);
    return outcome;
}

/** Wait until the pack may be tried once more; false: it is not. What has brought blocks is tried anew. */
static bool pause_before_try(struct fetcher *fetcher, struct patience *patience, uint64_t handed_before) {
    if (fetcher->handed > handed_before) {
        *patience = patience_begin(patience->seconds);
    }
    return fetch_pause(fetcher->board, patience_pause_ms(patience, fetcher->fault, clock_now_ns()));
}

static void run_pack(struct fetcher *fetcher) {
    struct board *board = fetcher->board;
    struct patience patience = patience_begin(board->settings->patience_seconds);
    const char *reason = NULL;
    uint64_t handed = 0;
    do {
        handed = fetcher->handed;
        enum outcome outcome = try_pack(fetcher, &reason);
        if (outcome == OUTCOME_WHOLE) {
            monitor_enter(board->monitor);
            board->result->packs++;
            monitor_leave(board->monitor);
            return;
        }
        if (outcome == OUTCOME_WRONG) {
            fetch_fail(board, WARMER_BAD_PACK, "a pack cannot be used: %s", reason);
        }
        if (outcome != OUTCOME_SHORT) {
            return;
        }
    } while (pause_before_try(fetcher, &patience, handed));
    if (!fetch_is_stopped(board)) {
        fetch_fail(board, WARMER_NO_TRANSFER, "a pack cannot be loaded: %s", fetcher->why);
    }
}

/** What follows a block of zeros, or the first one; its digest is computed where it is another one. */
static void take_zeros(struct fetcher *fetcher, uint64_t number, struct pack_block *zeros) {
    uint32_t length = block_length(number, fetcher->board->settings->volume_bytes);
    zeros->block = number;
    if (length != zeros->length) {
        zeros->length = length;
        memset(fetcher->frame, 0, length);
        sha256(fetcher->frame, length, zeros->digest);
    }
}

/** Whether the device holds zeros there; that takes no digest. False also where it cannot be read. */
static bool has_zeros(struct fetcher *fetcher, const struct pack_block *zeros) {
    struct board *board = fetcher->board;
    char why[100];
    if (!compare_read(fetcher, zeros, why, sizeof why)) {
        return false;
    }
    monitor_enter(board->monitor);
    board->result->blocks_compared++;
    monitor_leave(board->monitor);
    return fetcher->found[0] == 0 && memcmp(fetcher->found, fetcher->found + 1, zeros->length - 1) == 0;
}

/** Without a log, zeros are a run of any length. */
static void run_zeros(struct fetcher *fetcher) {
    struct board *board = fetcher->board;
    struct pack_block zeros = {.length = 0};
    for (uint64_t i = 0; i < fetcher->work.item.blocks && !fetch_is_stopped(board); i++) {
        take_zeros(fetcher, fetcher->work.item.block + i, &zeros);
        bool compares = board->settings->compares;
        if (!compares && board_is_done(board, zeros.block)) {
            hand_skipped(board, zeros.length);
        } else if (compares && has_zeros(fetcher, &zeros)) {
            count_equal(board, zeros.length);
        } else if (!fetch_is_stopped(board)) {
            (void)hand_block(fetcher, &zeros);
        }
    }
}

/** With a log, they are as a pack of blocks that have no frames. */
static void run_saved_zeros(struct fetcher *fetcher) {
    struct pack_block zeros = {.length = 0};
    const char *reason = NULL;
    for (uint64_t i = 0; i < fetcher->work.item.blocks; i++) {
        take_zeros(fetcher, fetcher->work.item.block + i, &zeros);
        fetcher->blocks[i] = zeros;
    }
    if (prepare_line(fetcher) == OUTCOME_WHOLE) {
        (void)hand_blocks(fetcher, &reason);
    }
}

/** Take a pack or zeros; false: there are no more. */
static bool take_work(struct fetcher *fetcher) {
    struct board *board = fetcher->board;
    monitor_enter(board->monitor);
    while (board->work_count == 0 && !board->has_all_work && !board->is_stopping) {
        monitor_wait(board->monitor, FOR_WORK);
    }
    bool has_work = board->work_count > 0 && !board->is_stopping;
    if (has_work) {
        fetcher->work = board->work[board->work_first];
        board->work_first = (board->work_first + 1) % WORK_LIMIT;
        board->work_count--;
        board->working++;
        monitor_signal(board->monitor, FOR_ROOM);
    }
    monitor_leave(board->monitor);
    return has_work;
}

static void end_work(struct board *board) {
    monitor_enter(board->monitor);
    board->working--;
    monitor_signal(board->monitor, FOR_MAIN);
    monitor_leave(board->monitor);
}

static void serve(struct fetcher *fetcher) {
    while (take_work(fetcher)) {
        fetcher->is_compared = fetcher->is_saved = false;
        fetcher->index_bytes = fetcher->handed = 0;
        if (fetcher->work.item.kind == MANIFEST_PACK) {
            run_pack(fetcher);
        } else if (fetcher->work.undo[0] != '\0') {
            run_saved_zeros(fetcher);
        } else {
            run_zeros(fetcher);
        }
        end_work(fetcher->board);
    }
}

static bool make_room(struct fetcher *fetcher) {
    fetcher->unpacker = unpacker_create();
    fetcher->index = malloc(PACK_INDEX_BYTES + 1);
    fetcher->blocks = calloc(PACK_BLOCKS, sizeof *fetcher->blocks);
    fetcher->olds = calloc(PACK_BLOCKS, sizeof *fetcher->olds);
    fetcher->is_equal = calloc(PACK_BLOCKS, sizeof *fetcher->is_equal);
    fetcher->frame = malloc(PACK_FRAME_BYTES);
    return fetcher->unpacker != NULL && fetcher->index != NULL && fetcher->blocks != NULL &&
           fetcher->olds != NULL && fetcher->is_equal != NULL && fetcher->frame != NULL;
}

static void give_room_back(struct fetcher *fetcher) {
    unpacker_destroy(fetcher->unpacker);
    free(fetcher->index);
    free(fetcher->blocks);
    free(fetcher->olds);
    free(fetcher->is_equal);
    free(fetcher->frame);
    device_free_buffer(fetcher->found);
    free(fetcher);
}

void fetcher_serve(void *context) {
    struct fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (fetcher == NULL) {
        fetch_fail(context, WARMER_CANNOT_OPEN, "out of memory");
        return;
    }
    fetcher->board = context;
    if (make_room(fetcher)) {
        serve(fetcher);
    } else {
        fetch_fail(context, WARMER_CANNOT_OPEN, "out of memory");
    }
    give_room_back(fetcher);
}
