#include "fuzz_image.h"

#include "base/bytes.h"

#include <string.h>

static const uint8_t *find_sector(const struct fuzz_image *image, uint64_t sector) {
    for (size_t at = FUZZ_HEADER_BYTES; at + FUZZ_RECORD_BYTES <= image->bytes; at += FUZZ_RECORD_BYTES) {
        if (little32(image->data + at) == sector) {
            return image->data + at + 4;
        }
    }
    return NULL;
}

static int read_image(void *context, uint64_t offset, void *buffer, size_t length) {
    const struct fuzz_image *image = context;
    uint8_t *to = buffer;
    while (length > 0) {
        uint64_t within = offset % FUZZ_SECTOR_BYTES;
        size_t here = FUZZ_SECTOR_BYTES - within < length ? FUZZ_SECTOR_BYTES - within : length;
        const uint8_t *sector = find_sector(image, offset / FUZZ_SECTOR_BYTES);
        if (sector == NULL) {
            memset(to, 0, here);
        } else {
            memcpy(to, sector + within, here);
        }
        to += here;
        offset += here;
        length -= here;
    }
    return 0;
}

struct source fuzz_image_open(struct fuzz_image *image, const uint8_t *data, size_t bytes) {
    *image = (struct fuzz_image){data, bytes};
    uint64_t sectors = bytes < FUZZ_HEADER_BYTES ? 0 : little32(data) % FUZZ_MAX_SECTORS;
    return (struct source){.read = read_image, .context = image, .bytes = sectors * FUZZ_SECTOR_BYTES};
}
