#ifndef WARMER_SIGHT_LINUX_H
#define WARMER_SIGHT_LINUX_H

/** Only the files that look for a device's users include this. */
#include "device/family_linux.h"

/**
 * Find the folder that lists all processes of the machine, and take it as the family's. Where this program
 * sees none that does, that is noted as unknown: processes that nobody sees may have the device open.
 */
void sight_find(struct family *family);

#endif
