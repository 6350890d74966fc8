/* One EBS volume: requests come in, wait for fetches and limits, and are answered when they are due. */
#ifndef FIRST_TOUCH_VOLUME_H
#define FIRST_TOUCH_VOLUME_H

#include "backing.h"
#include "blocks.h"
#include "faults.h"
#include "fetch.h"
#include "limits.h"
#include "options.h"
#include "streams.h"
#include "timers.h"

/* Completed requests, counted as CloudWatch counts them: operations of at most 256 KiB. */
struct traffic {
    uint64_t operations;
    uint64_t bytes;
    /* Sum over operations of the time from arrival to answer. */
    double seconds;
    uint64_t errors;
};

struct volume {
    const struct options *options;
    struct backing backing;
    struct block_map blocks;
    struct timers timers;
    struct limits limits;
    struct faults faults;
    struct fetcher fetcher;
    struct streams streams;
    struct traffic reads;
    struct traffic writes;
    /* Of all reads and writes that have come, answered or not. */
    uint64_t asked_bytes;
    /* Every request that is not answered yet. */
    struct request *pending;
    uint64_t pending_count;
    /* When the first read came and when the last one was answered, by clock_now_ns; 0 before. */
    uint64_t first_read_ns;
    uint64_t last_read_ns;
    /* Background initialisation: its next turn, and how far it has come. */
    struct timer background;
    uint64_t background_block;
    /* Answers a request; `data` is NULL for writes and errors. */
    void (*answer)(void *handle, int error, const char *data, size_t length);
};

/* Opens the backing and the extents; complains on standard error and returns false on failure. */
bool volume_create(struct volume *volume, const struct options *options);
/* Answers what is pending with EIO and frees everything. */
void volume_destroy(struct volume *volume);

/* Take a request; the answer goes to `handle` when it is due. The range lies within the volume. */
void volume_read(struct volume *volume, void *handle, uint64_t offset, size_t length);
void volume_write(struct volume *volume, void *handle, const char *data, uint64_t offset, size_t length);

#endif
