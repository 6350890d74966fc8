#ifndef WARMER_UPLOAD_H
#define WARMER_UPLOAD_H

#include "base/patience.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes that go to a new object or a new file as they are made: a PUT by a child `curl`, or a file that gets
 * its name at the end. What is there already is never replaced.
 */
struct upload;

/** How an upload ended. */
enum upload_end {
    UPLOAD_KEPT,   /**< It is durable. */
    UPLOAD_EXISTS, /**< Something of this name is there already. */
    UPLOAD_FAILED, /**< upload_fault says how. */
};

/** Whether this system has uploads. */
bool upload_is_supported(void);

/**
 * Begin to upload exactly `bytes` bytes to an http, https or file address or a path. No command line and no
 * message shows it. Returns 0, or -1 with the reason in `why`.
 */
int upload_begin(const char *address, uint64_t bytes, struct upload **begun, char *why, size_t size);

/** Give it more. Returns false if it takes no more, or `is_stopped` says so. */
bool upload_write(struct upload *upload, const void *bytes, size_t length, bool (*is_stopped)(void *context),
                  void *context);

/** Wait until it is durable or has failed; then `why` has the reason. */
enum upload_end upload_finish(struct upload *upload, bool (*is_stopped)(void *context), void *context,
                              char *why, size_t size);

/** Whether a failure may pass. Only after upload_finish. */
enum fault upload_fault(const struct upload *upload);

/** Give it up unless it has ended, and forget it. NULL is allowed. */
void upload_close(struct upload *upload);

#endif
