#ifndef WARMER_NVME_H
#define WARMER_NVME_H

#include "device/device.h"

#include <stdint.h>

/** Read the NVME_LOG_BYTES of EBS's statistics page from a device. Returns 0, or -errno if it has none. */
int nvme_read_log(const struct device *device, uint8_t *page);

#endif
