#ifndef WARMER_DEVICE_WINDOWS_H
#define WARMER_DEVICE_WINDOWS_H

#include "device/device.h"

/** The HANDLE of the device, open for overlapped requests. */
void *device_handle(const struct device *device);

/**
 * The completion port of the device. A handle belongs to one port until it is closed, so the device owns the
 * port. One engine at a time takes completions from it; device_read posts none.
 */
void *device_port(const struct device *device);

/**
 * Call DeviceIoControl with `code`, which must not change anything. Returns the bytes of the answer, or
 * -errno.
 */
int64_t device_ask(const struct device *device, uint32_t code, void *question, size_t question_size,
                   void *answer, size_t answer_size);

/** Set `number` to the n of \\.\PHYSICALDRIVEn. Returns false for a file and for a partition. */
bool device_disk_number(const struct device *device, unsigned *number);

/**
 * Whether Windows keeps the disk offline, so that none of its volumes can be mounted. False for a file, and
 * where the disk does not answer.
 */
bool device_is_offline(const struct device *device);

#endif
