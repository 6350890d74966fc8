#ifndef WARMER_STREAM_H
#define WARMER_STREAM_H

#include "base/patience.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that come from a file or, by a child `curl`, from an address. */
struct stream;

/**
 * Open a path, a file:// address, or an http:// or https:// address. An address holds a signature, so no
 * command line and no message shows it. Returns 0, or -1 with the reason in `why`.
 */
int stream_open(const char *address, struct stream **opened, char *why, size_t size);

/**
 * Open `length` bytes from `offset` on. A server may answer with the whole file instead, so whoever reads
 * must know its beginning. Returns 0, or -1 with the reason in `why`.
 */
int stream_open_part(const char *address, uint64_t offset, uint64_t length, struct stream **opened, char *why,
                     size_t size);

/**
 * Read until `length` bytes are there, the stream ends, it fails, or `is_stopped` (may be NULL) says so.
 * Returns the bytes.
 */
size_t stream_read(struct stream *stream, void *bytes, size_t length, bool (*is_stopped)(void *context),
                   void *context);

/** Whether the stream ended well; if not, `why` says so. Only after stream_read met the end. */
bool stream_is_whole(struct stream *stream, char *why, size_t size);

/** Why it did not bring what was expected of it; not whether it did. */
enum fault stream_fault(const struct stream *stream);

/** End the transfer and forget it. NULL is allowed. */
void stream_close(struct stream *stream);

#endif
