#ifndef WARMER_COPIES_LINUX_H
#define WARMER_COPIES_LINUX_H

#include "mount/ours_linux.h"

/**
 * Find a mount of the disk in another mount namespace that stays when this one's are unmounted: it is not
 * below a mount that follows one of ours. Writes in words what it is. A look that fails is noted as unknown
 * of the family.
 */
bool copies_find(struct family *family, const struct ours *ours, char *what, size_t size);

/** How an overlay counts that names its folders without saying where they are. */
enum overlay_look { OVERLAYS_KNOWN, OVERLAYS_UNKNOWN_TOO };

/** Find an overlay of which a part is on the volume, in any mount namespace; the rest as of copies_find. */
bool copies_find_overlay(struct family *family, const struct placed *placed, enum overlay_look how,
                         char *what, size_t size);

#endif
