#ifndef WARMER_ENGINE_H
#define WARMER_ENGINE_H

#include "base/diag.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One read to do, or of `apply` one write. Reads may share the buffer if nobody looks at the data. */
struct engine_read {
    uint64_t offset_bytes;
    uint32_t length_bytes; /**< At most the buffer's size. */
    uint32_t tag;          /**< Comes back with the completion. */
    uint32_t place_bytes;  /**< Where in the buffer; aligned as the buffer is. */
    bool is_write;         /**< From the buffer to a device that is open for writing. */
};

/** One read that is done. */
struct engine_completion {
    uint32_t tag;
    int32_t result; /**< Bytes read or written, 0 at the end of the device, or -errno. */
};

/** The arguments of an engine's open. */
struct engine_settings {
    const struct device *device;
    void *buffer; /**< Aligned memory for every read. The caller owns it, and it outlives the engine. */
    size_t buffer_bytes;
    unsigned max_in_flight; /**< At most this many reads are between submit and reap. */
};

/** An open engine; each engine begins its own structure with this. */
struct engine {
    const struct engine_ops *ops;
    const char *features; /**< The features of this system that it uses, for the report; may be NULL. */
};

/** The functions of an engine. All are required. */
struct engine_ops {
    const char *name;        /**< The value of --engine. */
    const char *description; /**< One line for `inspect`. */

    /** Prepare to read. Returns 0 or -errno. */
    int (*open)(const struct engine_settings *settings, struct engine **opened);

    /** Queue a read, which starts now or at the next reap. Never blocks. Returns 0 or -errno. */
    int (*submit)(struct engine *engine, const struct engine_read *read);

    /**
     * Start the queued reads and collect completions, in any order. Returns their number as soon as there is
     * one; 0 after `wait_ns` (also if nothing is in flight) or after a signal; or -errno.
     */
    int (*reap)(struct engine *engine, struct engine_completion *done, unsigned capacity, uint64_t wait_ns);

    /** Wait for the reads in flight, which write to the caller's buffer, and free the engine. */
    void (*close)(struct engine *engine);
};

/** The engines of this build, the preferred one first, then NULL. engines_<system>.c defines it. */
extern const struct engine_ops *const engine_table[];

/** The engine of this name in the table, or NULL. */
const struct engine_ops *engine_find(const char *name);

/**
 * Open the engine called `name`. With "auto", open the first engine of the table that works: if the system
 * lacks or forbids one (ENOSYS, EPERM, EINVAL, ENOMEM and the like), `note` says so and the next one is
 * tried. Returns 0, or WARMER_CANNOT_OPEN with the reason in `diag`.
 */
int engine_open(const char *name, const struct engine_settings *settings, struct engine **opened, char *note,
                size_t note_size, struct diag *diag);

/** Close; NULL is allowed. */
void engine_close(struct engine *engine);

#endif
