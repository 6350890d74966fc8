#ifndef WARMER_STATE_H
#define WARMER_STATE_H

#include "base/block_set.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

/** The blocks of a device that are read, in a file that survives a kill and a restart of the machine. */
struct state;

/** The device that the file belongs to. */
struct state_identity {
    uint64_t device_bytes;
    char name[512]; /**< The volume's id, or the path if it has none. */
};

/**
 * Open or create the file and lock it. Returns 0, or WARMER_CANNOT_OPEN with the reason if it is not a state
 * file of this version, belongs to another device or is in use.
 */
int state_open(const char *path, const struct state_identity *identity, struct state **opened,
               struct diag *diag);

/**
 * Move the blocks that are already read from `wanted` to `done`. Parts of the file whose checksum is wrong
 * are counted in `damaged`, and their blocks stay in `wanted`. Returns 0, or -ENOMEM after moving some.
 */
int state_subtract(const struct state *state, struct block_set *wanted, struct block_set *done,
                   uint64_t *damaged);

/** Whether this block was recorded. Any thread may ask. */
bool state_has(const struct state *state, uint64_t block);

/** Record that this block is read to its end. */
void state_remember(struct state *state, uint64_t block);

/** The result of the last search for a depth; 0: not known. The file may hold any number. */
unsigned state_depth(const struct state *state);

/** Record the result of the search, so that the next run begins there and not at 256 reads in flight. */
void state_remember_depth(struct state *state, unsigned depth);

/** Write the file to the disk, so that it survives a crash; unless `now`, at most every few seconds. */
void state_save(struct state *state, uint64_t now_ns, bool now);

/** Save and close; NULL is allowed. */
void state_close(struct state *state);

/** The blocks that another process has read, by its state file. It is not locked, and may come and go. */
struct state_watch;

/** Create one of a file that need not be there yet; the path must outlive it. Returns NULL when memory is
 * short. */
struct state_watch *state_watch_create(const char *path, const struct state_identity *identity);

/** Read the file as it is now, if it is this device's. One that is deleted is read to its end. */
void state_watch_look(struct state_watch *watch);

/** Let state_watch_has answer by the last look. Until then it answers by an earlier one. */
void state_watch_turn(struct state_watch *watch);

/** Whether there ever was such a file. */
bool state_watch_is_there(const struct state_watch *watch);

/** Whether this block was read already. */
bool state_watch_has(const struct state_watch *watch, uint64_t block);

/** Free it; NULL is allowed. */
void state_watch_destroy(struct state_watch *watch);

#endif
