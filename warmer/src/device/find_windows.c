/** Windows has no names by serial number, so each disk is asked for its own. */
#include "device/find.h"

#include "device/device.h"
#include "device/identity.h"

#include <stdio.h>
#include <string.h>

/** More disks than EC2 attaches to any instance (Amazon EC2 user guide, "Amazon EBS volume limits"). */
#define MOST_DISKS 256u

static bool is_volume(const char *path, const char *volume_id) {
    struct device *device = NULL;
    struct diag diag = {{0}};
    struct identity identity = {0};
    if (device_open(path, &device, &diag) != 0) {
        return false;
    }
    identity_find(path, device, &identity);
    device_close(device);
    return strcmp(identity.volume_id, volume_id) == 0;
}

bool find_device(const char *volume_id, char *path, size_t size) {
    for (unsigned number = 0; number < MOST_DISKS; number++) {
        snprintf(path, size, "\\\\.\\PHYSICALDRIVE%u", number);
        if (is_volume(path, volume_id)) {
            return true;
        }
    }
    snprintf(path, size, "disk with the serial number of %s", volume_id);
    return false;
}
