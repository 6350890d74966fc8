/** What every system's devices have in common. */
#include "device/device_facts.h"

#include <errno.h>

static const struct device_facts *facts_of(const struct device *device) {
    return (const struct device_facts *)(const void *)device;
}

int device_open(const char *path, struct device **opened, struct diag *diag) {
    struct device *device = NULL;
    const char *reason = device_begin(path, &device);
    if (reason == NULL && device_bytes(device) == 0) {
        reason = "it holds no bytes";
    }
    if (reason != NULL) {
        device_close(device);
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot open %s: %s", path, reason);
    }
    *opened = device;
    return 0;
}

uint64_t device_bytes(const struct device *device) {
    return facts_of(device)->bytes;
}

uint32_t device_alignment_bytes(const struct device *device) {
    return facts_of(device)->alignment_bytes;
}

bool device_is_direct(const struct device *device) {
    return facts_of(device)->note[0] == '\0';
}

const char *device_note(const struct device *device) {
    return facts_of(device)->note;
}

bool device_is_block(const struct device *device) {
    return facts_of(device)->is_block;
}

const char *device_gone(const struct device *device, int error) {
    /* On Windows these two stand for every error of a disk that was taken away (windows_errno). */
    if (error == ENODEV || error == ENXIO) {
        return "it does not answer any more";
    }
    uint64_t bytes = device_bytes_now(device);
    if (bytes == 0) {
        return "it has no size any more";
    }
    if (!device_is_listed(device)) {
        return "the system does not list it any more";
    }
    return bytes < device_bytes(device) ? "it is smaller than when it was opened" : NULL;
}
