#ifndef WARMER_FUZZ_IMAGE_H
#define WARMER_FUZZ_IMAGE_H

#include "filesystems/source.h"

#include <stddef.h>
#include <stdint.h>

#define FUZZ_SECTOR_BYTES 512u
#define FUZZ_RECORD_BYTES (4u + FUZZ_SECTOR_BYTES)
#define FUZZ_HEADER_BYTES 4u
/** 8 GiB: the largest device that an input describes. */
#define FUZZ_MAX_SECTORS (1u << 24)

/**
 * A device in few bytes: its size in sectors (32 bits, lowest byte first), then records of a sector's number
 * and its bytes. All other sectors are zero; of two records for a sector the first one counts.
 */
struct fuzz_image {
    const uint8_t *data;
    size_t bytes;
};

/** The device that `data` describes; `image` must outlive it. */
struct source fuzz_image_open(struct fuzz_image *image, const uint8_t *data, size_t bytes);

#endif
