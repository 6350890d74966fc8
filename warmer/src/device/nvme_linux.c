/** The one NVMe command that is sent: Get Log Page, which reads a page of counters and changes nothing. */
#include "device/nvme.h"

#include "device/nvme_log.h"

#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#define GET_LOG_PAGE 0x02u
#define PAGE_OF_EBS 0xd0u
/** As amazon-ec2-utils asks for it. */
#define DOUBLE_WORDS 1024u

int nvme_read_log(const struct device *device, uint8_t *page) {
    struct nvme_admin_cmd command = {
        .opcode = GET_LOG_PAGE,
        .nsid = 1,
        .addr = (uint64_t)(uintptr_t)page,
        .data_len = NVME_LOG_BYTES,
        .cdw10 = PAGE_OF_EBS | DOUBLE_WORDS << 16,
    };
    if (!device_is_block(device)) {
        return -ENOTTY;
    }
    int status = ioctl(device_descriptor(device), NVME_IOCTL_ADMIN_CMD, &command);
    return status == 0 ? 0 : status < 0 ? -errno : -EIO;
}
