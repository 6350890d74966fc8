/**
 * The undo log. What a line overwrites is kept as a pack before any of its blocks is written: the device was
 * read once to know what differs and what the pack's index says; here it is read again and sent, so that no
 * more than a block of it is in memory. Between the two nobody else may have written.
 */
#include "apply/fetching/fetcher.h"

#include "delta/raw.h"
#include "system/clock.h"
#include "system/upload.h"

#include <string.h>

enum save { SAVE_KEPT, SAVE_EXISTS, SAVE_FAILED, SAVE_REFUSED };

/** One pack of a log, and how it is being sent. */
struct log_pack {
    struct fetcher *fetcher;
    struct upload *upload;
    uint64_t blocks;
    uint64_t bytes;
    size_t index_bytes;
    enum fault fault;
};

static struct pack_block old_of(const struct fetcher *fetcher, uint64_t nth) {
    struct pack_block old = fetcher->blocks[nth];
    memcpy(old.digest, fetcher->olds[nth].digest, sizeof old.digest);
    old.frame_bytes = raw_frame_bytes(old.length, fetcher->olds[nth].runs);
    return old;
}

/** The index takes the place of the pack's own, which is read. */
static struct log_pack make_index(struct fetcher *fetcher) {
    struct log_pack pack = {.fetcher = fetcher, .bytes = PACK_HEAD_BYTES};
    for (uint64_t i = 0; i < fetcher->work.item.blocks; i++) {
        if (!fetcher->is_equal[i]) {
            struct pack_block old = old_of(fetcher, i);
            pack.index_bytes += raw_index_line(&old, fetcher->index + pack.index_bytes);
            pack.bytes += old.frame_bytes;
            pack.blocks++;
        }
    }
    pack.bytes += pack.index_bytes;
    return pack;
}

static bool give(const struct log_pack *pack, const void *bytes, size_t length) {
    return upload_write(pack->upload, bytes, length, fetch_is_stopped, pack->fetcher->board);
}

static bool give_frame(const struct log_pack *pack, uint32_t length, uint8_t runs) {
    uint8_t head[RAW_FRAME_HEAD_BYTES];
    uint8_t piece[RAW_PIECE_HEAD_BYTES];
    raw_frame_head(length, head);
    bool is_taken = give(pack, head, sizeof head);
    for (uint32_t at = 0; at < length && is_taken; at += RAW_PIECE_BYTES) {
        uint32_t bytes = raw_piece_head(length, at, runs, piece);
        is_taken = give(pack, piece, sizeof piece) && give(pack, pack->fetcher->found + at, bytes);
    }
    return is_taken;
}

/** Read a block once more and send it. */
static enum save send_block(const struct log_pack *pack, uint64_t nth) {
    struct fetcher *fetcher = pack->fetcher;
    const struct pack_block *block = &fetcher->blocks[nth];
    const struct old_block *old = &fetcher->olds[nth];
    uint8_t digest[SHA256_BYTES];
    char why[100];
    if (!compare_read(fetcher, block, why, sizeof why)) {
        if (why[0] == '\0') {
            return SAVE_FAILED;
        }
        fetch_fail(fetcher->board, WARMER_UNREADABLE, "block %llu cannot be read before it is written: %s",
                   (unsigned long long)block->block, why);
        return SAVE_REFUSED;
    }
    sha256(fetcher->found, block->length, digest);
    if (memcmp(digest, old->digest, sizeof digest) != 0) {
        fetch_fail(fetcher->board, WARMER_DISTURBED,
                   "somebody else writes to the device: block %llu changed while its old bytes were kept",
                   (unsigned long long)block->block);
        return SAVE_REFUSED;
    }
    return give_frame(pack, block->length, old->runs) ? SAVE_KEPT : SAVE_FAILED;
}

static enum save send_all(const struct log_pack *pack) {
    struct fetcher *fetcher = pack->fetcher;
    uint8_t head[PACK_HEAD_BYTES];
    raw_pack_head((uint32_t)pack->index_bytes, head);
    bool is_taken = give(pack, head, sizeof head) && give(pack, fetcher->index, pack->index_bytes);
    enum save save = is_taken ? SAVE_KEPT : SAVE_FAILED;
    for (uint64_t i = 0; i < fetcher->work.item.blocks && save == SAVE_KEPT; i++) {
        if (!fetcher->is_equal[i]) {
            save = send_block(pack, i);
        }
    }
    return save;
}

/**
 * One try. An answer that comes before all is sent ends it, too. Only the answer to this try says that the
 * log is kept: what is there already may be another run's, also where an earlier try sent all and got no
 * answer.
 */
static enum save try_pack(struct log_pack *pack) {
    struct fetcher *fetcher = pack->fetcher;
    pack->fault = FAULT_LASTING;
    if (upload_begin(fetcher->work.undo, pack->bytes, &pack->upload, fetcher->why, sizeof fetcher->why) !=
        0) {
        return SAVE_FAILED;
    }
    enum save save = send_all(pack);
    if (save != SAVE_REFUSED) {
        bool is_sent = save == SAVE_KEPT;
        enum upload_end end =
            upload_finish(pack->upload, fetch_is_stopped, fetcher->board, fetcher->why, sizeof fetcher->why);
        save = end == UPLOAD_EXISTS ? SAVE_EXISTS : end == UPLOAD_KEPT && is_sent ? SAVE_KEPT : SAVE_FAILED;
        pack->fault = upload_fault(pack->upload);
    }
    upload_close(pack->upload);
    return save;
}

static void count_pack(const struct log_pack *pack) {
    struct board *board = pack->fetcher->board;
    monitor_enter(board->monitor);
    board->result->undo_packs++;
    board->result->undo_bytes += pack->bytes;
    board->result->undo_blocks += pack->blocks;
    monitor_leave(board->monitor);
}

bool undo_save(struct fetcher *fetcher) {
    struct board *board = fetcher->board;
    struct log_pack pack = make_index(fetcher);
    struct patience patience = patience_begin(board->settings->patience_seconds);
    if (pack.blocks == 0) {
        return true;
    }
    enum save save = try_pack(&pack);
    while (save == SAVE_FAILED &&
           fetch_pause(board, patience_pause_ms(&patience, pack.fault, clock_now_ns()))) {
        save = try_pack(&pack);
    }
    if (save == SAVE_KEPT) {
        count_pack(&pack);
    } else if (save == SAVE_EXISTS) {
        fetch_fail(
            board, WARMER_TAKEN_BEFORE,
            "something is already where an undo log was to be kept: another run's, or this one's, whose "
            "answer was lost; another attempt takes other places");
    } else if (save == SAVE_FAILED && !fetch_is_stopped(board)) {
        fetch_fail(board, WARMER_NO_UNDO, "what undoes the writes cannot be kept: %s", fetcher->why);
    }
    return save == SAVE_KEPT;
}
