#ifndef WARMER_STATE_H
#define WARMER_STATE_H

#include "base/block_set.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

/** The blocks of a device that are read, in a file that survives this process and the machine's restart. */
struct state;

/** Which device the file is about. */
struct state_identity {
    uint64_t device_bytes;
    char name[512]; /**< The volume's id, or the path where it has none. */
};

/**
 * Open or make the file and lock it. 0, or WARMER_CANNOT_OPEN when it is no state file, belongs to another
 * device or is in use.
 */
int state_open(const char *path, const struct state_identity *identity, struct state **opened,
               struct diag *diag);

/** Move the blocks that are already read from `wanted` to `done`; 0, or -ENOMEM with some of them moved. */
int state_subtract(const struct state *state, struct block_set *wanted, struct block_set *done);

/** This block is read to its end. */
void state_remember(struct state *state, uint64_t block);

/** The reads in flight at which the last search came to rest; 0: not known. Anything may be in a file. */
unsigned state_depth(const struct state *state);

/** The search came to rest at this many reads in flight: so many are lost to a kill, not 256. */
void state_remember_depth(struct state *state, unsigned depth);

/** Make the file safe against a crash of the machine, at most every few seconds unless `now`. */
void state_save(struct state *state, uint64_t now_ns, bool now);

/** Save and close; NULL is allowed. */
void state_close(struct state *state);

#endif
