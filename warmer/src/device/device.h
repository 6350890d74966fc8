#ifndef WARMER_DEVICE_H
#define WARMER_DEVICE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A block device or regular file, open for reading only. One file per operating system implements this. */
struct device;

/** Open without the page cache where the file system allows it; 0 or WARMER_CANNOT_OPEN with the reason. */
int device_open(const char *path, struct device **opened, struct diag *diag);

/** Close; NULL is allowed. */
void device_close(struct device *device);

/** Size when it was opened. */
uint64_t device_bytes(const struct device *device);

/** Offsets, lengths and buffers of reads are multiples of this. */
uint32_t device_alignment_bytes(const struct device *device);

/** Do reads bypass the page cache? */
bool device_is_direct(const struct device *device);

/** Why they do not; empty when they do. */
const char *device_note(const struct device *device);

/** True for a block device, false for a regular file. */
bool device_is_block(const struct device *device);

/** A number that tells this device from every other one on this machine. */
void device_key(const struct device *device, char *key, size_t size);

/**
 * Bytes that the system keeps in flight for the device; 0: not known, or no limit. Reads beyond it wait, and
 * not always in turn.
 */
uint64_t device_queue_bytes(const struct device *device);

/** The file descriptor, for engines that speak to this operating system directly. */
int device_descriptor(const struct device *device);

/** Read at an offset, blocking; bytes read or -errno. */
int64_t device_read(const struct device *device, void *buffer, size_t length, uint64_t offset);

/**
 * Is the device no longer there? For use after a read has failed with the errno `error`, 0 where it found the
 * device's end. NULL while the device is there and as large as it was, else why it is not.
 */
const char *device_gone(const struct device *device, int error);

/** Memory that direct reads may go to; NULL when memory is short. Freed with device_free_buffer. */
void *device_alloc_buffer(size_t bytes);
void device_free_buffer(void *buffer);

#endif
