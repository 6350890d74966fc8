/** Nothing is written to a disk of Windows yet. */
#include "device/claim.h"

#include "device/device_facts.h"

int claim_look(const struct claim *claim, struct diag *diag) {
    return diag_refuse(diag, WARMER_UNSUPPORTED,
                       "cannot take %s: `warmer apply` works on Linux only; restore a new volume beside it",
                       claim->path);
}

int claim_take(const struct claim *claim, struct device **opened, struct diag *diag) {
    (void)opened;
    return claim_look(claim, diag);
}

int claim_confirm(const struct claim *claim, const struct device *device, uint64_t bytes, struct diag *diag) {
    (void)device, (void)bytes;
    return claim_look(claim, diag);
}
