#ifndef WARMER_SCOPE_H
#define WARMER_SCOPE_H

#include "base/block_set.h"
#include "base/diag.h"
#include "base/json.h"
#include "device/device.h"
#include "filesystems/metadata.h"
#include "plan/cold_source.h"

/** How much of the device is read. */
enum scope {
    SCOPE_WRITTEN, /**< The map; without one, the device. */
    SCOPE_USED,    /**< What its file systems have in use, and of that what the map has. */
    SCOPE_WHOLE,   /**< The device. */
};

/** What became of it, for the report. */
struct scope_result {
    const char *scope; /**< "written", "used" or "whole": what was really read. */
    char file_systems[192];
    char note[384];            /**< Why less, or something else, than what was asked for. */
    struct cold_counts counts; /**< Of metadata, read beforehand or meanwhile. */
};

/**
 * Take out of `wanted` what no file system uses, and say where the file systems have their own structures.
 * Where nothing can be believed, `wanted` stays as it is and the note says why; 0, or WARMER_CANNOT_OPEN when
 * memory is short.
 */
int scope_narrow(const struct device *device, const char *engine, struct block_set *wanted,
                 struct metadata *metadata, struct scope_result *result, struct diag *diag);

/** The members of the report. */
void scope_put(struct json *json, const struct scope_result *result);

#endif
