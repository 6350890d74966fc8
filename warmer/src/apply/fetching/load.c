/** Loads packs: the index first, then the frames that are wanted, by ranges where that leaves out much. */
#include "apply/fetching/fetcher.h"

#include <stdio.h>
#include <string.h>

/** What lies between two frames that are wanted is loaded if it is no more than this: a request takes as
 * long. */
#define GAP_BYTES (4u << 20)
#define PEEK_BYTES PACK_HEAD_BYTES

/** Load bytes of the pack; false: not all came. */
static bool load(struct fetcher *fetcher, void *bytes, size_t length) {
    struct board *board = fetcher->board;
    size_t got = stream_read(fetcher->stream, bytes, length, fetch_is_stopped, board);
    fetcher->at += got;
    monitor_enter(board->monitor);
    board->result->bytes_fetched += got;
    monitor_leave(board->monitor);
    return got == length;
}

void load_close(struct fetcher *fetcher) {
    stream_close(fetcher->stream);
    fetcher->stream = NULL;
}

/** Open the pack from here on; a failure is explained as one of a stream. */
static enum outcome open_at(struct fetcher *fetcher, uint64_t offset, uint64_t length, bool is_whole) {
    char *why = fetcher->why;
    size_t size = sizeof fetcher->why;
    load_close(fetcher);
    fetcher->at = offset;
    fetcher->fault = FAULT_LASTING;
    int failure = is_whole
                      ? stream_open(fetcher->work.address, &fetcher->stream, why, size)
                      : stream_open_part(fetcher->work.address, offset, length, &fetcher->stream, why, size);
    return failure == 0 ? OUTCOME_WHOLE : OUTCOME_SHORT;
}

/** Not all came: why not. */
static enum outcome cut_off(struct fetcher *fetcher) {
    (void)stream_is_whole(fetcher->stream, fetcher->why, sizeof fetcher->why);
    fetcher->fault = stream_fault(fetcher->stream);
    return OUTCOME_SHORT;
}

static enum outcome read_index(struct fetcher *fetcher, const char **reason) {
    uint8_t head[PACK_HEAD_BYTES];
    const struct work *work = &fetcher->work;
    if (!load(fetcher, head, sizeof head)) {
        return cut_off(fetcher);
    }
    uint32_t bytes = pack_index_bytes(head);
    if (bytes == 0 || work->item.blocks > PACK_BLOCKS) {
        *reason = bytes == 0 ? "it does not begin with an index" : "it has more than 1,024 blocks";
        return OUTCOME_WRONG;
    }
    if (!load(fetcher, fetcher->index, bytes)) {
        return cut_off(fetcher);
    }
    struct pack_claim claim = {work->digest, work->item.bytes, work->item.blocks,
                               fetcher->board->settings->volume_bytes};
    *reason = pack_read_index(fetcher->index, bytes, &claim, fetcher->blocks);
    fetcher->index_bytes = *reason == NULL ? bytes : 0;
    return *reason == NULL ? OUTCOME_WHOLE : OUTCOME_WRONG;
}

enum outcome load_index(struct fetcher *fetcher, const char **reason) {
    bool is_whole = !compare_is_wanted(fetcher);
    if (open_at(fetcher, 0, PACK_HEAD_BYTES + PACK_INDEX_BYTES, is_whole) != OUTCOME_WHOLE) {
        return OUTCOME_SHORT;
    }
    enum outcome outcome = read_index(fetcher, reason);
    if (!is_whole) {
        /* While the blocks are compared, nobody would read the rest. */
        load_close(fetcher);
    }
    return outcome;
}

static uint64_t offset_of(const struct fetcher *fetcher, uint64_t nth) {
    uint64_t offset = PACK_HEAD_BYTES + fetcher->index_bytes;
    for (uint64_t i = 0; i < nth; i++) {
        offset += fetcher->blocks[i].frame_bytes;
    }
    return offset;
}

/** How far it is, from the beginning of a frame, to the end of the last one that is loaded with it. */
static uint64_t run_bytes(const struct fetcher *fetcher, uint64_t nth) {
    uint64_t bytes = 0;
    uint64_t wanted = 0;
    for (; nth < fetcher->work.item.blocks && bytes - wanted <= GAP_BYTES; nth++) {
        bytes += fetcher->blocks[nth].frame_bytes;
        wanted = hand_wants(fetcher, nth) ? bytes : wanted;
    }
    return wanted;
}

static bool skip_to(struct fetcher *fetcher, uint64_t offset) {
    bool goes_on = true;
    while (goes_on && fetcher->at < offset) {
        uint64_t left = offset - fetcher->at;
        goes_on = load(fetcher, fetcher->frame, left < PACK_FRAME_BYTES ? left : PACK_FRAME_BYTES);
    }
    return goes_on;
}

/** A server that knows no ranges sends all of the pack, which begins unlike a frame. */
static bool begin_frame(struct fetcher *fetcher, uint64_t offset, uint32_t frame_bytes, size_t *begun) {
    size_t peeked = frame_bytes < PEEK_BYTES ? frame_bytes : PEEK_BYTES;
    if (!load(fetcher, fetcher->frame, peeked)) {
        return false;
    }
    *begun = peeked;
    if (peeked < PEEK_BYTES || pack_index_bytes(fetcher->frame) != fetcher->index_bytes) {
        return true;
    }
    fetcher->at = peeked;
    *begun = 0;
    return skip_to(fetcher, offset);
}

enum outcome load_frame(struct fetcher *fetcher, uint64_t nth) {
    uint32_t bytes = fetcher->blocks[nth].frame_bytes;
    uint64_t offset = offset_of(fetcher, nth);
    size_t begun = 0;
    bool is_good = true;
    if (fetcher->stream == NULL || offset - fetcher->at > GAP_BYTES) {
        if (open_at(fetcher, offset, run_bytes(fetcher, nth), false) != OUTCOME_WHOLE) {
            return OUTCOME_SHORT;
        }
        is_good = begin_frame(fetcher, offset, bytes, &begun);
    } else {
        is_good = skip_to(fetcher, offset);
    }
    is_good = is_good && load(fetcher, fetcher->frame + begun, bytes - begun);
    return is_good ? OUTCOME_WHOLE : cut_off(fetcher);
}
