#ifndef WARMER_NVME_H
#define WARMER_NVME_H

#include "device/device.h"

#include <stdint.h>

/** Ask an NVMe device for EBS's statistics page, NVME_LOG_BYTES of it; 0 or -errno where there is none. */
int nvme_read_log(const struct device *device, uint8_t *page);

#endif
