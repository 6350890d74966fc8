#ifndef WARMER_FETCHER_H
#define WARMER_FETCHER_H

/** What one fetcher has, and what its files do for each other. No file outside of this room includes this. */
#include "apply/board.h"
#include "system/stream.h"

/** How one try to load a pack, or a part of the work for it, ended. */
enum outcome {
    OUTCOME_WHOLE,
    OUTCOME_SHORT,   /**< Not all bytes came, or all stops. */
    OUTCOME_WRONG,   /**< The pack is. */
    OUTCOME_REFUSED, /**< The board knows why. */
};

/** What a block was before it is written. */
struct old_block {
    uint8_t digest[SHA256_BYTES];
    uint8_t runs; /**< As of raw_runs. */
};

struct fetcher {
    struct board *board;
    struct unpacker *unpacker;
    char *index;
    struct pack_block *blocks;
    struct old_block *olds; /**< One for each of `blocks`. */
    bool *is_equal;         /**< One for each of `blocks`: the device holds it. */
    uint8_t *frame;
    uint8_t *found; /**< What the device holds; made when it is needed first. */
    struct work work;
    struct stream *stream; /**< Of the pack; NULL: it is not open. */
    uint64_t at;           /**< The next byte of the pack that the stream brings. */
    uint64_t index_bytes;  /**< Of the pack, once its index is read; 0: it is not. */
    bool is_compared;      /**< What the device holds is known for each block. */
    bool is_saved;         /**< What undoes the line is kept. */
    enum fault fault;      /**< Of the last try to load the pack. */
    char why[200];         /**< And the reason. */
    uint64_t handed;       /**< How many blocks of the pack are handed over or done. */
};

/** Whether all stops; takes the board. */
bool fetch_is_stopped(void *context);

/** Record a failure. The caller does not hold the monitor. */
void fetch_fail(struct board *board, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Wait while the store is not to be asked; false: it is not asked any more. */
bool fetch_pause(struct board *board, uint64_t pause_ms);

/** load.c: open the pack and read its index into `blocks`. */
enum outcome load_index(struct fetcher *fetcher, const char **reason);

/** Load the frame of this block of the pack. */
enum outcome load_frame(struct fetcher *fetcher, uint64_t nth);
void load_close(struct fetcher *fetcher);

/** hand.c: whether this block of the pack or of zeros is neither done nor equal. */
bool hand_wants(const struct fetcher *fetcher, uint64_t nth);

/**
 * Hand over one block: to be checked once its frame, which is loaded, is decoded; to be written where the
 * device holds it, or where it has no frame and is zeros. NULL, or what is wrong.
 */
const char *hand_block(struct fetcher *fetcher, const struct pack_block *block);

/** Hand over the blocks of the line, from the first one that is not handed over yet. */
enum outcome hand_blocks(struct fetcher *fetcher, const char **reason);

/** Count a block that an earlier run has read back. */
void hand_skipped(struct board *board, uint32_t bytes);

/** compare.c: whether the blocks of this line are compared before anything else. */
bool compare_is_wanted(const struct fetcher *fetcher);

/**
 * Read a block into `found` once the limits allow it. Returns whether the device gave all of it; `why` has
 * the reason, or is empty where all stops.
 */
bool compare_read(struct fetcher *fetcher, const struct pack_block *block, char *why, size_t size);

/** Compare each block of the line; equal ones are counted. False: all stops. */
bool compare_line(struct fetcher *fetcher);

/** Count a block that the device holds. */
void count_equal(struct board *board, uint32_t bytes);

/** undo.c: keep the old bytes of the blocks that differ. False: all stops, and nothing of the line is
 * written. */
bool undo_save(struct fetcher *fetcher);

#endif
