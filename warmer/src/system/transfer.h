#ifndef WARMER_SYSTEM_TRANSFER_H
#define WARMER_SYSTEM_TRANSFER_H

#include "base/patience.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Downloads and uploads of files by HTTP. An address holds a signature, so no message and no command line
 * shows it. One file per operating system implements it: with curl on Linux, with WinHTTP on Windows.
 */

/** How long and how often it is tried. */
struct transfer_patience {
    unsigned seconds; /**< For each try. */
    unsigned retries;
    bool is_last; /**< It goes on where this process is interrupted: there is no other one. */
};

/** Download to a file. Returns FAULT_NONE, or a fault with the reason in `why`. */
enum fault transfer_get(const char *url, const char *path, struct transfer_patience patience, char *why,
                        size_t size);

/** Upload a file by PUT. Returns FAULT_NONE, or a fault with the reason in `why`. */
enum fault transfer_put(const char *url, const char *path, struct transfer_patience patience, char *why,
                        size_t size);

#endif
