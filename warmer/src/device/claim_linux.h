#ifndef WARMER_CLAIM_LINUX_H
#define WARMER_CLAIM_LINUX_H

/** For the test that shows claim_linux.c trees of its own. No other file includes this. */
#include "device/claim.h"
#include "device/use_linux.h"

/** As claim_look. */
int claim_look_below(const struct use_tree *tree, const struct claim *claim, struct diag *diag);

#endif
