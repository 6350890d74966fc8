#ifndef WARMER_STREAM_REMOTE_H
#define WARMER_STREAM_REMOTE_H

/**
 * The addresses of stream.c: with a child `curl` on Linux, with WinHTTP on Windows. Nothing else includes
 * this.
 */
#include "base/patience.h"

#include <stdbool.h>
#include <stddef.h>

/** What comes from an http:// or https:// address. */
struct remote;

/** `range` is FIRST-LAST, or NULL for all. Returns 0 or -errno. What the server answers is known later. */
int remote_open(const char *address, const char *range, struct remote **opened);

/** Some bytes. 0: none have come for a moment, or there are no more. */
size_t remote_read(struct remote *remote, void *bytes, size_t length);

/** Whether the transfer has ended, well or not. Bytes may be left to read. */
bool remote_has_ended(const struct remote *remote);

/** Whether it ended well; if not, `why` says so. */
bool remote_is_whole(const struct remote *remote, char *why, size_t size);

/** Why it did not end well, or was cut off. */
enum fault remote_fault(const struct remote *remote);

void remote_close(struct remote *remote);

#endif
