#ifndef WARMER_WARM_RUN_H
#define WARMER_WARM_RUN_H

/**
 * What warm.c, which starts reads, warm_room.c, which says how many, and warm_account.c, which handles their
 * completions, share. No other file includes this.
 */
#include "loop/pace.h"
#include "loop/polite.h"
#include "loop/warm.h"

/** The state of a slot. */
enum slot_state { SLOT_FREE, SLOT_WAITING, SLOT_READING };

/** The answer that means "no such slot". */
#define SLOT_NONE UINT32_MAX

/** Blocks being read together: one block, or a few neighbours if that is faster. */
struct slot {
    enum slot_state state;
    unsigned attempts;    /**< Temporary errors in a row. */
    uint32_t done_bytes;  /**< Bytes read of the first unfinished block; a multiple of the alignment. */
    uint32_t asked_bytes; /**< Bytes of the read in flight: the rest, or a piece of it. */
    uint32_t count;       /**< Blocks that are not read to their end. */
    uint64_t block;       /**< The first of these blocks. */
    uint64_t issued_ns;
    uint64_t due_ns;       /**< When a waiting slot may be read again. */
    bool is_first;         /**< Its blocks were asked for first. */
    bool is_alone;         /**< Read block by block, because reading them together failed. */
    bool is_slow;          /**< It takes so long that it does not count towards the depth. */
    uint32_t older, newer; /**< Neighbours in the list of slow reads or of the others. */
};

/** Slots with a read in flight, in the order of issue. */
struct slot_list {
    uint32_t oldest, newest;
};

/** One warm-up under way. */
struct run {
    const struct warm_settings *settings;
    struct warm_result *result;
    struct slot *slots;
    uint32_t *free_slots; /**< A stack. */
    unsigned slot_count, free_count;
    unsigned reading, waiting;
    unsigned slow; /**< How many of the reads in flight are slow. */
    struct slot_list usual_reads, slow_reads;
    uint64_t began_ns;
    struct depth depth;
    struct pace pace;
    struct polite polite;
    bool awaits_first;  /**< Not all of the blocks that come first are known yet. */
    uint64_t probed_ns; /**< When the probe in flight was issued. */
};

/** The bytes to read of a block: all of them, or those of a touch. */
uint32_t warm_block_bytes(const struct run *run, uint64_t block);

/** The bytes that are left for the next reads of a slot. */
uint32_t warm_slot_rest(const struct run *run, const struct slot *slot);

/** How many blocks the next read may have. */
unsigned warm_room_blocks(const struct run *run);

/** How many reads may be in flight now. */
unsigned warm_room_depth(const struct run *run, uint64_t now_ns);

/** Mark the reads that take far longer than the others as slow. */
void warm_room_look(struct run *run, uint64_t now_ns);

/** Count a read that starts. */
void warm_room_enter(struct run *run, struct slot *slot);

/** Count a read that has completed. */
void warm_room_leave(struct run *run, struct slot *slot);

/** Handle a completion: count the block as read or failed, or decide when the rest of it is read. */
void warm_account(struct run *run, const struct engine_completion *completion, uint64_t now_ns);

#endif
