/** udev names a disk by its serial number (Amazon EBS user guide, "Map Amazon EBS volumes to NVMe device
 * names"). */
#include "device/find.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool find_device(const char *volume_id, char *path, size_t size) {
    const char *digits = strncmp(volume_id, "vol-", 4) == 0 ? volume_id + 4 : volume_id;
    snprintf(path, size, "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol%s", digits);
    return access(path, F_OK) == 0;
}
