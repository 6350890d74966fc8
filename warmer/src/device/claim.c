/** The only way to a device that can be written to; claim_<system>.c looks at disks. */
#include "device/claim_look.h"
#include "device/device_facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int claim_compare(const struct claim *claim, const char *found, struct diag *diag) {
    if (found[0] == '\0') {
        return diag_refuse(diag, WARMER_WRONG_VOLUME, "%s names no EBS volume, so it may not be %s",
                           claim->path, claim->volume_id);
    }
    if (strcmp(found, claim->volume_id) != 0) {
        return diag_refuse(diag, WARMER_WRONG_VOLUME, "%s is %s and not %s", claim->path, found,
                           claim->volume_id);
    }
    return 0;
}

int claim_look(const struct claim *claim, struct diag *diag) {
    return claim->is_image ? 0 : claim_look_at_disk(claim, diag);
}

/** What the open device itself can still be asked. */
static int look_at_opened(const struct claim *claim, const struct device *device, struct diag *diag) {
    if (device_is_block(device) == claim->is_image) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is %s", claim->path,
                           claim->is_image ? "not a regular file" : "not a block device");
    }
    return claim->is_image ? 0 : claim_look_at_opened(claim, device, diag);
}

int claim_take(const struct claim *claim, struct device **opened, struct diag *diag) {
    int status = claim_look(claim, diag);
    if (status != 0) {
        return status;
    }
    struct device *device = NULL;
    const char *reason = device_begin_writing(claim->path, &device);
    if (reason == NULL && device_bytes(device) == 0) {
        reason = "it holds no bytes";
    }
    if (reason != NULL) {
        /* What mounted or took it since, or what no list shows. */
        char why[160];
        snprintf(why, sizeof why, "%s", reason); /* Windows has one buffer for all texts of errors. */
        bool is_held = strcmp(why, strerror(EBUSY)) == 0;
        device_close(device);
        return diag_refuse(diag, is_held ? WARMER_HELD : WARMER_CANNOT_OPEN, "cannot take %s: %s",
                           claim->path, is_held ? "something else uses it" : why);
    }
    status = look_at_opened(claim, device, diag);
    if (status != 0) {
        device_close(device);
        return status;
    }
    *opened = device;
    return 0;
}

int claim_confirm(const struct claim *claim, const struct device *device, uint64_t bytes, struct diag *diag) {
    uint64_t now = device_bytes_now(device);
    if (device_bytes(device) != bytes || now != bytes) {
        return diag_refuse(diag, WARMER_WRONG_SIZE,
                           "%s has %llu bytes, and the manifest is for a volume of %llu", claim->path,
                           (unsigned long long)now, (unsigned long long)bytes);
    }
    return look_at_opened(claim, device, diag);
}
