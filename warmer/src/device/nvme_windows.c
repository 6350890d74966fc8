/** EBS's statistics page: not supported on Windows. */
#include "device/nvme.h"

#include <errno.h>

int nvme_read_log(const struct device *device, uint8_t *page) {
    (void)device;
    (void)page;
    return -ENOTSUP;
}
