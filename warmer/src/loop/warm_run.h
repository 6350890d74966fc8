#ifndef WARMER_WARM_RUN_H
#define WARMER_WARM_RUN_H

/** What warm.c, which starts reads, warm_room.c, which says how many, and warm_account.c, which takes them
 * back, share. Nobody else includes this. */
#include "loop/pace.h"
#include "loop/polite.h"
#include "loop/warm.h"

/** What a slot is doing. */
enum slot_state { SLOT_FREE, SLOT_WAITING, SLOT_READING };

/** "No such slot." */
#define SLOT_NONE UINT32_MAX

/** A run of blocks on its way: one, or a few neighbours where that is quicker. */
struct slot {
    enum slot_state state;
    unsigned attempts;    /**< Passing errors in a row. */
    uint32_t done_bytes;  /**< Of the first block that is not read to its end; a multiple of the alignment. */
    uint32_t asked_bytes; /**< By the read under way: all that is left, or a piece of it. */
    uint32_t count;       /**< Blocks that are not read to their end. */
    uint64_t block;       /**< The first of them. */
    uint64_t issued_ns;
    uint64_t due_ns;       /**< When a waiting slot may be read again. */
    bool is_alone;         /**< Read block by block, because reading them together failed. */
    bool is_slow;          /**< Takes so long that it does not count against the depth. */
    uint32_t older, newer; /**< In the list of the slow ones or of the others. */
};

/** Reading slots in the order of issue. */
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
    unsigned slow; /**< Of those reading, the ones set aside. */
    struct slot_list usual_reads, slow_reads;
    uint64_t began_ns;
    struct depth depth;
    struct pace pace;
    struct polite polite;
    bool awaits_first;  /**< What comes before the rest is not known yet. */
    uint64_t probed_ns; /**< When the probe in flight was issued. */
};

/** Bytes that are read of a block: all, or what a touch reads. */
uint32_t warm_block_bytes(const struct run *run, uint64_t block);

/** Bytes that are left for the slot's next reads. */
uint32_t warm_slot_rest(const struct run *run, const struct slot *slot);

/** How many blocks the next read may take together. */
unsigned warm_room_blocks(const struct run *run);

/** How many reads may be in flight now. */
unsigned warm_room_depth(const struct run *run, uint64_t now_ns);

/** Set aside the reads that by now take far longer than others. */
void warm_room_look(struct run *run, uint64_t now_ns);

/** A read starts. */
void warm_room_enter(struct run *run, struct slot *slot);

/** A read is back. */
void warm_room_leave(struct run *run, struct slot *slot);

/** Take a completion: account the block, or decide when the rest of it is read. */
void warm_account(struct run *run, const struct engine_completion *completion, uint64_t now_ns);

#endif
