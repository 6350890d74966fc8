/** The only way to a device that can be written to; claim_<system>.c looks at disks. */
#include "device/claim_look.h"
#include "device/device_facts.h"
#include "system/clock.h"
#include "system/interrupt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/**
 * The kernel lets go of what a killed process had open only once its transfers are complete, and with
 * io_uring some time after the process is gone. On a slow volume that takes seconds.
 */
#define PATIENCE_NS (60 * NS_PER_SECOND)
#define FIRST_PAUSE_MS 50u
#define LONGEST_PAUSE_MS 2000u
/** A look reads what every process has open, so a wait has fewer looks than tries. */
#define LOOK_EVERY_NS (10 * NS_PER_SECOND)

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

/** Open it to write; `is_held` says whether something has the device for itself alone. */
static int open_once(const struct claim *claim, struct device **opened, bool *is_held, struct diag *diag) {
    struct device *device = NULL;
    const char *reason = device_begin_writing(claim->path, &device);
    *is_held = false;
    if (reason == NULL && device_bytes(device) == 0) {
        reason = "it holds no bytes";
    }
    if (reason != NULL) {
        char why[160];
        snprintf(why, sizeof why, "%s", reason); /* Windows has one buffer for all texts of errors. */
        *is_held = strcmp(why, strerror(EBUSY)) == 0;
        device_close(device);
        return diag_refuse(diag, *is_held ? WARMER_HELD : WARMER_CANNOT_OPEN, "cannot take %s: %s",
                           claim->path, *is_held ? "something else uses it" : why);
    }
    *opened = device;
    return 0;
}

/** One try: open it, and look at what uses it now that it is open. */
static int take(const struct claim *claim, struct device **opened, bool *is_held, struct diag *diag) {
    struct device *device = NULL;
    int status = open_once(claim, &device, is_held, diag);
    if (status != 0) {
        return status;
    }
    status = look_at_opened(claim, device, diag);
    if (status != 0) {
        device_close(device);
        return status;
    }
    *opened = device;
    return 0;
}

/** Whether nothing has the device for itself alone any more. The answer may be old when it arrives. */
static bool is_free(const struct claim *claim) {
    struct device *device = NULL;
    bool is_held = false;
    struct diag diag = {{0}};
    if (open_once(claim, &device, &is_held, &diag) == 0) {
        device_close(device);
    }
    return !is_held;
}

/** Until the device is free, a look is due, or the patience ends. */
static void wait_for_it(const struct claim *claim, uint32_t *pause_ms, uint64_t due_ns) {
    uint64_t look_ns = clock_now_ns() + LOOK_EVERY_NS;
    do {
        clock_pause_ms(*pause_ms);
        *pause_ms = *pause_ms < LONGEST_PAUSE_MS ? 2 * *pause_ms : *pause_ms;
    } while (!interrupt_requested() && clock_now_ns() < (look_ns < due_ns ? look_ns : due_ns) &&
             !is_free(claim));
}

/** Say what holds the device, where a look can find it. */
static int refuse_held(const struct claim *claim, struct diag *diag) {
    char who[sizeof diag->text / 2] = "";
    if (!claim->is_image) {
        claim_name_holder(claim, who, sizeof who);
    }
    return diag_refuse(diag, WARMER_HELD, "cannot take %s: something else uses it%s%s", claim->path,
                       who[0] == '\0' ? "" : ": ", who);
}

int claim_take(const struct claim *claim, struct device **opened, struct diag *diag) {
    uint64_t due_ns = clock_now_ns() + PATIENCE_NS;
    for (uint32_t pause_ms = FIRST_PAUSE_MS;; wait_for_it(claim, &pause_ms, due_ns)) {
        bool is_held = false;
        diag->text[0] = '\0'; /* Of the try before. */
        int status = claim_look(claim, diag);
        if (status == 0) {
            status = take(claim, opened, &is_held, diag);
        }
        if (!is_held) {
            return status;
        }
        if (interrupt_requested() || clock_now_ns() >= due_ns) {
            return refuse_held(claim, diag);
        }
    }
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

int claim_watch(const struct claim *claim, const struct device *device, struct diag *diag) {
    return claim->is_image ? 0 : claim_watch_disk(claim, device, diag);
}
