#ifndef WARMER_SCOPE_H
#define WARMER_SCOPE_H

#include "base/block_set.h"
#include "base/diag.h"
#include "base/json.h"
#include "device/device.h"
#include "filesystems/metadata.h"
#include "plan/cold_source.h"

/** The value of --scope: how much of the device is read. */
enum scope {
    SCOPE_WRITTEN, /**< The map; without a map, the device. */
    SCOPE_USED,    /**< The blocks of the map that file systems have in use. */
    SCOPE_WHOLE,   /**< The device. */
};

/** The scope that was really read, for the report. */
struct scope_result {
    const char *scope; /**< "written", "used" or "whole". */
    char file_systems[192];
    char note[384];            /**< Why the scope is not the one that was asked for. */
    struct cold_counts counts; /**< Reads of metadata, before and during the warm-up. */
};

/**
 * Remove from `wanted` what no file system uses, and fill in `metadata`. If no file system can be trusted,
 * `wanted` stays as it is and the note says why. `is_map`: its blocks are the ones that were ever written.
 * Returns 0, or WARMER_CANNOT_OPEN when memory is short.
 */
int scope_narrow(const struct device *device, const char *engine, bool is_map, struct block_set *wanted,
                 struct metadata *metadata, struct scope_result *result, struct diag *diag);

/** Write the members of the report. */
void scope_put(struct json *json, const struct scope_result *result);

#endif
