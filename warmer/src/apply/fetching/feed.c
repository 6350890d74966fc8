/** The feeder reads the manifest's lines and queues their work for the fetchers. */
#include "apply/fetching/fetcher.h"
#include "system/upload.h"

#include <string.h>

/** So many zeros are compared by one fetcher: all of them read at the same time. */
#define ZEROS_AT_ONCE 256u

/** Queue a pack or zeros, when there is room; false: all stops. */
static bool put_piece(struct board *board, const struct manifest_item *item) {
    monitor_enter(board->monitor);
    while (board->work_count == WORK_LIMIT && !board->is_stopping) {
        monitor_wait(board->monitor, FOR_ROOM);
    }
    bool goes_on = !board->is_stopping;
    if (goes_on) {
        struct work *work = &board->work[(board->work_first + board->work_count++) % WORK_LIMIT];
        work->item = *item;
        memcpy(work->digest, item->digest, sizeof work->digest);
        if (item->address != NULL) {
            memcpy(work->address, item->address, strlen(item->address) + 1);
        }
        work->undo[0] = '\0';
        if (item->undo != NULL) {
            memcpy(work->undo, item->undo, strlen(item->undo) + 1);
        }
        board->result->progress.blocks_total += item->blocks;
        monitor_signal(board->monitor, FOR_WORK);
    }
    monitor_leave(board->monitor);
    return goes_on;
}

/** Either every line has a place for what undoes it, or none has one; the first line decides. */
static bool check_undo(struct board *board, const struct manifest_item *item) {
    bool has_undo = item->undo != NULL;
    if (board->has_lines) {
        if (has_undo != board->keeps_undo) {
            fetch_fail(
                board, WARMER_BAD_MANIFEST,
                "the manifest cannot be used: some of its packs and zeros have undo, and others have not");
        }
        return has_undo == board->keeps_undo;
    }
    board->has_lines = true;
    board->keeps_undo = has_undo;
    if (has_undo && board->settings->was_taken) {
        fetch_fail(board, WARMER_TAKEN_BEFORE,
                   "an earlier run of this attempt had the device; with an undo log it is not resumed");
        return false;
    }
    if (has_undo && !upload_is_supported()) {
        fetch_fail(board, WARMER_NO_UNDO, "an undo log cannot be kept on this system");
        return false;
    }
    return true;
}

static bool put_work(struct board *board, const struct manifest_item *item) {
    struct manifest_item piece = *item;
    bool is_split = item->kind == MANIFEST_ZEROS && item->undo == NULL && board->settings->compares;
    bool goes_on = check_undo(board, item);
    for (uint64_t left = item->blocks; left > 0 && goes_on; left -= piece.blocks) {
        piece.blocks = is_split && left > ZEROS_AT_ONCE ? ZEROS_AT_ONCE : left;
        goes_on = put_piece(board, &piece);
        piece.block += piece.blocks;
    }
    return goes_on;
}

static bool put_sample(struct board *board, const struct manifest_item *item) {
    uint64_t volume_bytes = board->settings->volume_bytes;
    if (board->sample_count == APPLY_SAMPLES) {
        fetch_fail(board, WARMER_BAD_MANIFEST,
                   "the manifest cannot be used: it has more than 16,384 samples");
        return false;
    }
    struct pack_block *sample = &board->samples[board->sample_count++];
    *sample = (struct pack_block){.block = item->block, .length = block_length(item->block, volume_bytes)};
    memcpy(sample->digest, item->digest, sizeof sample->digest);
    return true;
}

/** Take all lines of the current part; true: and there is another one. */
static bool feed_part(struct board *board) {
    struct parts *parts = board->settings->parts;
    struct manifest_item item;
    struct diag diag = {{0}};
    monitor_enter(board->monitor);
    board->blocks_told = parts->manifest.head.blocks_total;
    monitor_leave(board->monitor);
    for (;;) {
        int status = manifest_next(&parts->manifest, &item, &diag);
        if (status != 0) {
            fetch_fail(board, status, "%s", diag.text);
            return false;
        }
        if (item.kind == MANIFEST_END) {
            return parts_go_on(parts, item.address);
        }
        bool goes_on = item.kind == MANIFEST_SAMPLE ? put_sample(board, &item) : put_work(board, &item);
        if (!goes_on) {
            return false;
        }
    }
}

void feeder_serve(void *context) {
    struct board *board = context;
    struct parts *parts = board->settings->parts;
    struct diag diag = {{0}};
    parts->is_stopped = fetch_is_stopped;
    parts->context = board;
    while (feed_part(board)) {
        int status = parts_load(parts, &diag);
        if (status != 0) {
            fetch_fail(board, status, "%s", diag.text);
            break;
        }
    }
    monitor_enter(board->monitor);
    board->has_all_work = true;
    monitor_broadcast(board->monitor, FOR_WORK);
    monitor_signal(board->monitor, FOR_MAIN);
    monitor_leave(board->monitor);
}
