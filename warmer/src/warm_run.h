#ifndef WARMER_WARM_RUN_H
#define WARMER_WARM_RUN_H

/** What warm.c, which starts reads, and warm_account.c, which takes them back, share. Nobody else includes
 * this. */
#include "pace.h"
#include "polite.h"
#include "warm.h"

/** What a slot is doing. */
enum slot_state { SLOT_FREE, SLOT_WAITING, SLOT_READING };

/** One block on its way. */
struct slot {
    enum slot_state state;
    unsigned attempts;   /**< Passing errors in a row. */
    uint32_t done_bytes; /**< Read so far, a multiple of the alignment. */
    uint32_t length_bytes;
    uint64_t block;
    uint64_t issued_ns;
    uint64_t due_ns; /**< When a waiting slot may be read again. */
};

/** One warm-up under way. */
struct run {
    const struct warm_settings *settings;
    struct warm_result *result;
    struct slot *slots;
    uint32_t *free_slots; /**< A stack. */
    unsigned slot_count, free_count;
    unsigned reading, waiting;
    uint64_t began_ns;
    struct depth depth;
    struct pace pace;
    struct polite polite;
    uint64_t probed_ns; /**< When the probe in flight was issued. */
};

/** Take a completion: account the block, or decide when the rest of it is read. */
void warm_account(struct run *run, const struct engine_completion *completion, uint64_t now_ns);

#endif
