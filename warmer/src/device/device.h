#ifndef WARMER_DEVICE_H
#define WARMER_DEVICE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A block device or regular file, open for reading only, except for claim.h's. One file per operating system
 * implements it.
 */
struct device;

/**
 * Open the device at `path`, bypassing the page cache if the file system allows it. Returns 0, or
 * WARMER_CANNOT_OPEN with the reason in `diag`.
 */
int device_open(const char *path, struct device **opened, struct diag *diag);

/** Close; NULL is allowed. */
void device_close(struct device *device);

/** The size of the device when it was opened, in bytes. */
uint64_t device_bytes(const struct device *device);

/** Offsets, lengths and buffer addresses of reads must be multiples of this. */
uint32_t device_alignment_bytes(const struct device *device);

/** Whether reads bypass the page cache. */
bool device_is_direct(const struct device *device);

/** Why reads do not bypass the page cache; empty if they do. */
const char *device_note(const struct device *device);

/** True for a block device, false for a regular file. */
bool device_is_block(const struct device *device);

/** Write to `key` a text that differs from that of every other device on this machine. */
void device_key(const struct device *device, char *key, size_t size);

/**
 * The bytes that the system keeps in flight for the device; 0 if not known or not limited. Reads beyond this
 * wait in the system, which may serve them out of order.
 */
uint64_t device_queue_bytes(const struct device *device);

/** The file descriptor, for engines that use the system's own calls. */
int device_descriptor(const struct device *device);

/** Read `length` bytes at `offset`; blocks. Returns the bytes read, 0 at the end of the device, or -errno. */
int64_t device_read(const struct device *device, void *buffer, size_t length, uint64_t offset);

/**
 * Write `length` bytes at `offset` of a device that claim.h opened; blocks. Returns the bytes written or
 * -errno.
 */
int64_t device_write(const struct device *device, const void *buffer, size_t length, uint64_t offset);

/** Wait until the device keeps what was written, whatever happens to it. Returns 0 or -errno. */
int device_flush(const struct device *device);

/**
 * Find out whether the device has disappeared, after a read failed with the errno `error` (0: the read met
 * the end of the device). Returns NULL if the device is there with its old size, or the reason why it is not.
 */
const char *device_gone(const struct device *device, int error);

/** Allocate a buffer for direct reads; device_free_buffer frees it. Returns NULL when memory is short. */
void *device_alloc_buffer(size_t bytes);
void device_free_buffer(void *buffer);

#endif
