#ifndef WARMER_BOARD_H
#define WARMER_BOARD_H

/**
 * What the threads of an application share: buffers, work, counts and the first failure. No file outside of
 * this room includes this.
 *
 * A block travels so: a fetcher takes a free buffer and decodes a block into it; a checker compares its
 * SHA-256; the main thread writes it and lists the block; the flusher lets the device keep what is listed;
 * the main thread reads it back into another buffer; a checker compares its SHA-256 again; the main thread
 * remembers it in the state.
 */
#include "apply/apply.h"
#include "base/block_set.h"
#include "delta/pack.h"
#include "loop/pace.h"
#include "loop/polite.h"
#include "system/thread.h"

#define FETCHERS 8u
#define CHECKERS 2u
#define WORK_LIMIT 8u
/** Samples that are taken where nobody counts what others write: 64 MiB, half a second of a slow volume. */
#define WITNESSES 128u
#define ADDRESS_BYTES 4096u
/** Blocks that are written and not read back yet; so many are compared again after a kill. */
#define BATCH 512u

/** Conditions of the monitor; each is waited for by threads of one kind, for one thing. */
enum { FOR_BUFFER, FOR_WORK, FOR_ROOM, FOR_MAIN, FOR_CHECK, FOR_FLUSH, FOR_WATCH };

enum buffer_use {
    BUFFER_FREE,
    BUFFER_FILLING,
    BUFFER_READING,   /**< Read back. */
    BUFFER_UNCHECKED, /**< Decoded, or read back. */
    BUFFER_CHECKING,
    BUFFER_READY, /**< To be written. */
    BUFFER_WRITING,
    BUFFER_CHECKED, /**< Read back, and compared. */
};

/** One buffer of a block, and the block in it. */
struct buffer {
    enum buffer_use use;
    struct pack_block block;
    bool is_there; /**< The device holds it already, as an earlier run began to write it. */
    bool is_again; /**< An earlier run began to write it, and the device does not hold it. */
    bool is_sample;
    bool is_witness; /**< A sample that was taken here, before the first write. */
    bool is_equal;   /**< Once it is checked. */
    unsigned tries;
    uint64_t began_ns;
};

/** A pack or a run of zeros, with an address of its own. */
struct work {
    struct manifest_item item;
    char address[ADDRESS_BYTES];
    char undo[ADDRESS_BYTES]; /**< Where what undoes it is kept; empty: nowhere. */
    uint8_t digest[SHA256_BYTES];
};

/** Blocks that are written, or samples. */
struct batch {
    struct pack_block blocks[BATCH];
    unsigned count;
    unsigned next;    /**< The next one to read back. */
    unsigned checked; /**< How many of them are compared. */
};

enum flush { FLUSH_IDLE, FLUSH_WANTED, FLUSH_RUNS, FLUSH_DONE };

struct board {
    const struct apply_settings *settings;
    struct apply_result *result;
    struct monitor *monitor;
    struct buffer buffers[APPLY_BUFFERS];
    struct work work[WORK_LIMIT];
    unsigned work_first, work_count, working;
    bool has_all_work;
    int waiting;          /**< Fetchers that wait before they try a pack once more. */
    uint64_t blocks_told; /**< Of all parts, as their first lines say; 0: they do not. */
    bool is_stopping;
    bool has_begun; /**< To write. */
    enum flush flush;
    int flush_failure;
    int status; /**< Of the first failure. */
    struct diag diag;
    struct block_set *written; /**< Blocks that this run began to write. */
    struct block_set *saved;   /**< Blocks whose old bytes are kept, or about to be; NULL: none. */
    bool has_lines;            /**< The feeder has met a pack or zeros. */
    bool keeps_undo;           /**< All of them have undo. */
    struct pace pace;
    struct polite polite;
    unsigned transfers; /**< Writes and reads of the main thread in flight, as it last looked. */
    unsigned comparing; /**< Reads of the fetchers in flight. */
    struct pack_block *samples;
    unsigned sample_count;
    struct pack_block witnesses[WITNESSES];
    unsigned witness_count;
    struct batch batches[2]; /**< Being filled, and being read back. */
};

/** Where a buffer's bytes are. */
uint8_t *board_bytes(const struct board *board, const struct buffer *buffer);

/** Stop all threads. The caller holds the monitor, as with what follows. */
void board_stop(struct board *board);

/** Record the first failure and stop all threads. */
void board_fail(struct board *board, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Whether this block is written and read back, or was begun by an earlier run. */
bool board_is_done(const struct board *board, uint64_t block);
bool board_was_begun(const struct board *board, uint64_t block);
void board_remember_begun(struct board *board, uint64_t block);
void board_remember_done(struct board *board, uint64_t block);

/** Before the first write: take samples, if nobody counts what others write. */
void witness_begin(struct board *board);

/** Leave those samples out that were written since. */
void witness_keep_unwritten(struct board *board);

/**
 * Compare what the system has counted with what was begun to be written here; more is somebody else's, and a
 * failure. The caller of the first one holds the monitor, that of the second one does not.
 */
void witness_count_before(struct board *board);
void witness_count(struct board *board);

/** The same once all threads have ended, when it must be as many bytes; says whether it was. */
void witness_count_all(struct board *board);

/** The threads' functions; each takes the board. */
void feeder_serve(void *context);
void fetcher_serve(void *context);
void checker_serve(void *context);
void flusher_serve(void *context);
void watcher_serve(void *context);

#endif
