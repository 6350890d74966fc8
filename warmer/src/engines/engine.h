#ifndef WARMER_ENGINE_H
#define WARMER_ENGINE_H

#include "base/diag.h"
#include "device/device.h"

#include <stddef.h>
#include <stdint.h>

/** One read to do. What is read is thrown away, so all reads share one buffer. */
struct engine_read {
    uint64_t offset_bytes;
    uint32_t length_bytes; /**< At most the buffer's size. */
    uint32_t tag;          /**< Comes back with the completion. */
};

/** One read that is done. */
struct engine_completion {
    uint32_t tag;
    int32_t result; /**< Bytes read, 0 at the end of the device, or -errno. */
};

/** What an engine is opened with. */
struct engine_settings {
    const struct device *device;
    void *buffer; /**< Aligned memory that every read goes to; the caller's, and outlives the engine. */
    size_t buffer_bytes;
    unsigned max_in_flight; /**< Never more than this many reads between submit and reap. */
};

/** An open engine; each engine begins its own structure with this. */
struct engine {
    const struct engine_ops *ops;
    const char *features; /**< What it found here and uses, for the report; NULL: nothing to say. */
};

/** How an engine reads. The contract in comments; every hook is required. */
struct engine_ops {
    const char *name;        /**< As the user types it. */
    const char *description; /**< One line for `inspect` and the manual. */

    /** Make ready to read; 0 or -errno. Nothing is read yet. */
    int (*open)(const struct engine_settings *settings, struct engine **opened);

    /** Queue a read; it may start now or at the next reap. Never blocks. 0 or -errno. */
    int (*submit)(struct engine *engine, const struct engine_read *read);

    /**
     * Start what is queued and collect completions in any order: returns as soon as there is one, or after
     * `wait_ns` with none (also when nothing is in flight), or early after a signal. Count or -errno.
     */
    int (*reap)(struct engine *engine, struct engine_completion *done, unsigned capacity, uint64_t wait_ns);

    /** Free all; waits for reads in flight, because they write to the caller's buffer. */
    void (*close)(struct engine *engine);
};

/** This build's engines, the preferred one first, ended by NULL. Defined in engines_<system>.c. */
extern const struct engine_ops *const engine_table[];

/** The engine of that name in the table, or NULL. */
const struct engine_ops *engine_find(const char *name);

/**
 * Open the engine called `name`. With "auto", each of the table in turn: where the system lacks or forbids
 * one (ENOSYS, EPERM, EINVAL, ENOMEM and the like), `note` says so and the next is tried. An engine asked for
 * by name is opened or refused.
 */
int engine_open(const char *name, const struct engine_settings *settings, struct engine **opened, char *note,
                size_t note_size, struct diag *diag);

/** Close; NULL is allowed. */
void engine_close(struct engine *engine);

#endif
