/** The feeder reads the manifest's lines; the fetchers load packs and decode their blocks into free buffers.
 */
#include "apply/board.h"

#include "system/clock.h"
#include "system/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 50u

static bool is_stopped(void *context) {
    struct board *board = context;
    monitor_enter(board->monitor);
    bool stopped = board->is_stopping;
    monitor_leave(board->monitor);
    return stopped || board->settings->is_interrupted();
}

static void fail(struct board *board, int status, const char *text) {
    monitor_enter(board->monitor);
    board_fail(board, status, "%s", text);
    monitor_leave(board->monitor);
}

/** Queue a pack or zeros, when there is room; false: all stops. */
static bool put_work(struct board *board, const struct manifest_item *item) {
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
        board->result->progress.blocks_total += item->blocks;
        monitor_signal(board->monitor, FOR_WORK);
    }
    monitor_leave(board->monitor);
    return goes_on;
}

static bool put_sample(struct board *board, const struct manifest_item *item) {
    uint64_t volume_bytes = board->settings->volume_bytes;
    if (board->sample_count == APPLY_SAMPLES) {
        fail(board, WARMER_BAD_MANIFEST, "the manifest cannot be used: it has more than 16,384 samples");
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
            fail(board, status, diag.text);
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
    parts->is_stopped = is_stopped;
    parts->context = board;
    while (feed_part(board)) {
        int status = parts_load(parts, &diag);
        if (status != 0) {
            fail(board, status, diag.text);
            break;
        }
    }
    monitor_enter(board->monitor);
    board->has_all_work = true;
    monitor_broadcast(board->monitor, FOR_WORK);
    monitor_signal(board->monitor, FOR_MAIN);
    monitor_leave(board->monitor);
}

/** What one fetcher has. */
struct fetcher {
    struct board *board;
    struct unpacker *unpacker;
    char *index;
    struct pack_block *blocks;
    uint8_t *frame;
    uint8_t *found; /**< What the device holds; made when it is needed first. */
    struct work work;
    enum fault fault; /**< Of the last try to load the pack. */
    uint64_t handed;  /**< How many blocks of the pack are handed over or done. */
};

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
    struct board *board = fetcher->board;
    uint8_t digest[SHA256_BYTES];
    if (fetcher->found == NULL) {
        fetcher->found = device_alloc_buffer(BLOCK_BYTES);
    }
    if (fetcher->found == NULL) {
        return false;
    }
    int64_t got =
        device_read(board->settings->device, fetcher->found, block->length, block->block * BLOCK_BYTES);
    monitor_enter(board->monitor);
    board->result->bytes_compared += got > 0 ? (uint64_t)got : 0;
    monitor_leave(board->monitor);
    if (got != (int64_t)block->length) {
        return false;
    }
    sha256(fetcher->found, block->length, digest);
    return memcmp(digest, block->digest, sizeof digest) == 0;
}

static void count_skipped(struct board *board, uint32_t bytes) {
    monitor_enter(board->monitor);
    board->result->blocks_skipped++;
    board->result->progress.blocks_done++;
    board->result->progress.bytes_done += bytes;
    board->result->progress.bytes_resumed += bytes;
    monitor_leave(board->monitor);
}

/**
 * Hand over one block: to be checked once its frame, which is loaded, is decoded; to be written where the
 * device holds it, or where it has no frame and is zeros. NULL, or what is wrong.
 */
static const char *hand_block(struct fetcher *fetcher, const struct pack_block *block) {
    struct board *board = fetcher->board;
    bool was_begun = board_was_begun(board, block->block);
    bool has_it = was_begun && is_there(fetcher, block);
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

/** Load bytes of the pack; false: not all came. */
static bool load(struct fetcher *fetcher, struct stream *stream, void *bytes, size_t length) {
    struct board *board = fetcher->board;
    size_t got = stream_read(stream, bytes, length, is_stopped, board);
    monitor_enter(board->monitor);
    board->result->bytes_fetched += got;
    monitor_leave(board->monitor);
    return got == length;
}

/** How one try to load a pack ended. */
enum outcome { OUTCOME_WHOLE, OUTCOME_SHORT, OUTCOME_WRONG };

static enum outcome load_index(struct fetcher *fetcher, struct stream *stream, const char **reason) {
    uint8_t head[PACK_HEAD_BYTES];
    struct board *board = fetcher->board;
    const struct work *work = &fetcher->work;
    if (!load(fetcher, stream, head, sizeof head)) {
        return OUTCOME_SHORT;
    }
    uint32_t bytes = pack_index_bytes(head);
    if (bytes == 0 || work->item.blocks > PACK_BLOCKS) {
        *reason = bytes == 0 ? "it does not begin with an index" : "it has more than 1,024 blocks";
        return OUTCOME_WRONG;
    }
    if (!load(fetcher, stream, fetcher->index, bytes)) {
        return OUTCOME_SHORT;
    }
    struct pack_claim claim = {work->digest, work->item.bytes, work->item.blocks,
                               board->settings->volume_bytes};
    *reason = pack_read_index(fetcher->index, bytes, &claim, fetcher->blocks);
    return *reason == NULL ? OUTCOME_WHOLE : OUTCOME_WRONG;
}

/** The last block of the pack that is not done, and one; 0: all are. */
static uint64_t blocks_needed(const struct fetcher *fetcher) {
    uint64_t needed = fetcher->work.item.blocks;
    while (needed > 0 && board_is_done(fetcher->board, fetcher->blocks[needed - 1].block)) {
        needed--;
    }
    return needed;
}

static enum outcome load_blocks(struct fetcher *fetcher, struct stream *stream, const char **reason) {
    struct board *board = fetcher->board;
    uint64_t needed = blocks_needed(fetcher);
    for (uint64_t i = 0; i < fetcher->work.item.blocks; i++) {
        const struct pack_block *block = &fetcher->blocks[i];
        bool is_done = board_is_done(board, block->block);
        /* What comes after the last block that is needed is not even loaded. */
        if (i < needed && !load(fetcher, stream, fetcher->frame, block->frame_bytes)) {
            return OUTCOME_SHORT;
        }
        if (i < fetcher->handed) {
            continue;
        }
        fetcher->handed++;
        if (is_done) {
            count_skipped(board, block->length);
            continue;
        }
        *reason = hand_block(fetcher, block);
        if (*reason != NULL) {
            return OUTCOME_WRONG;
        }
        if (is_stopped(board)) {
            return OUTCOME_SHORT;
        }
    }
    return OUTCOME_WHOLE;
}

static enum outcome try_pack(struct fetcher *fetcher, const char **reason, char *why, size_t size) {
    struct stream *stream = NULL;
    fetcher->fault = FAULT_LASTING;
    if (stream_open(fetcher->work.address, &stream, why, size) != 0) {
        return OUTCOME_SHORT;
    }
    enum outcome outcome = load_index(fetcher, stream, reason);
    if (outcome == OUTCOME_WHOLE) {
        outcome = load_blocks(fetcher, stream, reason);
    }
    if (outcome == OUTCOME_SHORT) {
        (void)stream_is_whole(stream, why, size);
        fetcher->fault = stream_fault(stream);
    }
    stream_close(stream);
    return outcome;
}

static void count_waiting(struct board *board, int change) {
    monitor_enter(board->monitor);
    board->waiting += change;
    monitor_leave(board->monitor);
}

/** Wait until the pack may be tried once more; false: it is not. What has brought blocks is tried anew. */
static bool pause_before_try(struct fetcher *fetcher, struct patience *patience, uint64_t handed_before) {
    struct board *board = fetcher->board;
    if (fetcher->handed > handed_before) {
        *patience = patience_begin(patience->seconds);
    }
    uint64_t pause_ms = patience_pause_ms(patience, fetcher->fault, clock_now_ns());
    count_waiting(board, 1);
    for (uint64_t waited = 0; waited < pause_ms && !is_stopped(board); waited += STEP_MS) {
        clock_pause_ms(STEP_MS);
    }
    count_waiting(board, -1);
    return pause_ms > 0 && !is_stopped(board);
}

static void run_pack(struct fetcher *fetcher) {
    struct board *board = fetcher->board;
    const char *reason = NULL;
    char why[200] = "";
    char text[400];
    struct patience patience = patience_begin(board->settings->patience_seconds);
    uint64_t handed = 0;
    fetcher->handed = 0;
    do {
        handed = fetcher->handed;
        enum outcome outcome = try_pack(fetcher, &reason, why, sizeof why);
        if (outcome == OUTCOME_WHOLE) {
            monitor_enter(board->monitor);
            board->result->packs++;
            monitor_leave(board->monitor);
            return;
        }
        if (outcome == OUTCOME_WRONG) {
            snprintf(text, sizeof text, "a pack cannot be used: %s", reason);
            fail(board, WARMER_BAD_PACK, text);
            return;
        }
    } while (pause_before_try(fetcher, &patience, handed));
    snprintf(text, sizeof text, "a pack cannot be loaded: %s", why);
    if (!is_stopped(board)) {
        fail(board, WARMER_NO_TRANSFER, text);
    }
}

static void run_zeros(struct fetcher *fetcher) {
    struct board *board = fetcher->board;
    const struct manifest_item *item = &fetcher->work.item;
    uint64_t volume_bytes = board->settings->volume_bytes;
    struct pack_block zeros = {.block = item->block};
    for (uint64_t i = 0; i < item->blocks && !is_stopped(board); i++, zeros.block++) {
        uint32_t length = block_length(zeros.block, volume_bytes);
        if (board_is_done(board, zeros.block)) {
            count_skipped(board, length);
            continue;
        }
        if (length != zeros.length) {
            zeros.length = length;
            memset(fetcher->frame, 0, length);
            sha256(fetcher->frame, length, zeros.digest);
        }
        (void)hand_block(fetcher, &zeros);
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
        if (fetcher->work.item.kind == MANIFEST_ZEROS) {
            run_zeros(fetcher);
        } else {
            run_pack(fetcher);
        }
        end_work(fetcher->board);
    }
}

void fetcher_serve(void *context) {
    struct fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (fetcher == NULL) {
        fail(context, WARMER_CANNOT_OPEN, "out of memory");
        return;
    }
    fetcher->board = context;
    fetcher->unpacker = unpacker_create();
    fetcher->index = malloc(PACK_INDEX_BYTES + 1);
    fetcher->blocks = calloc(PACK_BLOCKS, sizeof *fetcher->blocks);
    fetcher->frame = malloc(PACK_FRAME_BYTES);
    if (fetcher->unpacker != NULL && fetcher->index != NULL && fetcher->blocks != NULL &&
        fetcher->frame != NULL) {
        serve(fetcher);
    } else {
        fail(context, WARMER_CANNOT_OPEN, "out of memory");
    }
    unpacker_destroy(fetcher->unpacker);
    free(fetcher->index);
    free(fetcher->blocks);
    free(fetcher->frame);
    device_free_buffer(fetcher->found);
    free(fetcher);
}
