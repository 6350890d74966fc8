/**
 * Whether a disk of Windows may be written to: it must be offline. Then Windows mounts nothing of it, and
 * takes writes to any of its sectors (Win32 documentation, "WriteFile"). No machine with Windows has shown it
 * yet.
 */
#include "device/claim_look.h"

#include "device/device_windows.h"
#include "device/identity.h"
#include "device/use.h"

/** The volume's id comes from the disk's own serial number; the path that was given says nothing. */
static int look_at_disk(const struct claim *claim, const struct device *device, struct diag *diag) {
    struct identity identity;
    char found[sizeof identity.volume_id] = "";
    unsigned number;
    if (!device_disk_number(device, &number)) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is not a whole disk", claim->path);
    }
    identity_find(claim->path, device, &identity);
    if (identity.is_read_only) {
        return diag_refuse(diag, WARMER_READ_ONLY, "%s is read-only", claim->path);
    }
    identity_volume_id(identity.serial, found, sizeof found);
    return claim_compare(claim, found, diag);
}

static int look_at_use(const struct claim *claim, struct diag *diag) {
    static struct device_use use;
    use = (struct device_use){0};
    use_find(claim->path, &use);
    if (use.mounts.count > 0) {
        return diag_refuse(diag, WARMER_MOUNTED, "%s is in use: %s", claim->path, use.mounts.items[0]);
    }
    if (use.others.count > 0) {
        return diag_refuse(diag, WARMER_HELD, "%s is in use: %s", claim->path, use.others.items[0]);
    }
    return 0;
}

int claim_look_at_disk(const struct claim *claim, struct diag *diag) {
    struct device *device = NULL;
    int status = device_open(claim->path, &device, diag);
    if (status == 0) {
        status = look_at_disk(claim, device, diag);
        device_close(device);
    }
    return status == 0 ? look_at_use(claim, diag) : status;
}

int claim_watch_disk(const struct claim *claim, const struct device *device, struct diag *diag) {
    return device_is_offline(device)
               ? 0
               : diag_refuse(diag, WARMER_DISTURBED, "%s was brought online", claim->path);
}

int claim_look_at_opened(const struct claim *claim, const struct device *device, struct diag *diag) {
    int status = look_at_disk(claim, device, diag);
    if (status == 0 && !device_is_offline(device)) {
        return diag_refuse(diag, WARMER_MOUNTED, "%s is online", claim->path);
    }
    return status;
}

void claim_name_holder(const struct claim *claim, char *who, size_t size) {
    (void)claim;
    if (size > 0) {
        who[0] = '\0';
    }
}
