#ifndef WARMER_DEVICE_WINDOWS_H
#define WARMER_DEVICE_WINDOWS_H

#include "device/device.h"

/** The HANDLE, opened for reading only and for overlapped reads. */
void *device_handle(const struct device *device);

/**
 * The completion port of the device. A handle belongs to one port until it is closed, so the port is the
 * device's; one engine at a time takes completions from it. device_read posts none.
 */
void *device_port(const struct device *device);

/**
 * Ask the device's driver; bytes of the answer or -errno. For questions only: no code that changes anything
 * may be given.
 */
int64_t device_ask(const struct device *device, uint32_t code, void *question, size_t question_size,
                   void *answer, size_t answer_size);

/** The number in \\.\PHYSICALDRIVEn; false for a file. */
bool device_disk_number(const struct device *device, unsigned *number);

#endif
