/** Records of the master file table: their frame, their attributes, their runs. Pure. */
#include "filesystems/ntfs/ntfs.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>

#define MAGIC_FILE 0x454c4946u
#define STRIDE_BYTES 512u
#define RECORD_IN_USE 1u
#define ATTRIBUTES_END 0xffffffffu
#define HEADER_BYTES 0x30u
#define RESIDENT_BYTES 0x18u
#define NON_RESIDENT_BYTES 0x40u
/** More than fit in a record of 64 KiB. */
#define MAX_RUNS 65536u

int ntfs_check_record(uint8_t *record, uint32_t record_bytes) {
    uint32_t at = little16(record + 4);
    uint32_t count = little16(record + 6);
    if (little32(record) != MAGIC_FILE || count != record_bytes / STRIDE_BYTES + 1 || at % 2 != 0 ||
        at + 2 * count > STRIDE_BYTES || (little16(record + 0x16) & RECORD_IN_USE) == 0) {
        return -EIO;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint8_t *last = record + (size_t)i * STRIDE_BYTES - 2;
        const uint8_t *saved = record + at + (size_t)i * 2;
        if (little16(last) != little16(record + at)) {
            return -EIO;
        }
        last[0] = saved[0];
        last[1] = saved[1];
    }
    return 0;
}

int ntfs_find_attribute(const uint8_t *record, uint32_t record_bytes, uint32_t type,
                        struct ntfs_attribute *attribute) {
    uint32_t at = little16(record + 0x14);
    while (at >= HEADER_BYTES && at % 8 == 0 && at + 4 <= record_bytes) {
        const uint8_t *bytes = record + at;
        uint32_t here = little32(bytes);
        if (here == ATTRIBUTES_END) {
            return -ENOENT;
        }
        if (at + RESIDENT_BYTES > record_bytes) {
            break;
        }
        uint32_t length = little32(bytes + 4);
        bool is_resident = bytes[8] == 0;
        if (length < (is_resident ? RESIDENT_BYTES : NON_RESIDENT_BYTES) || length > record_bytes - at) {
            break;
        }
        if (here == type && bytes[9] == 0) {
            *attribute = (struct ntfs_attribute){bytes, length, is_resident};
            return 0;
        }
        at += length;
    }
    return -EIO;
}

/** A number of `size` bytes, the highest of which has the sign if `is_signed`. */
static int64_t take_number(const uint8_t *bytes, unsigned size, bool is_signed) {
    uint64_t value = is_signed && size > 0 && (bytes[size - 1] & 0x80) != 0 ? UINT64_MAX : 0;
    for (unsigned i = size; i-- > 0;) {
        value = value << 8 | bytes[i];
    }
    return (int64_t)value;
}

static int append(struct ntfs_runs *runs, uint64_t start, uint64_t count) {
    if (runs->length == runs->capacity) {
        size_t capacity = runs->capacity == 0 ? 16 : runs->capacity * 2;
        struct extent *items = capacity > MAX_RUNS ? NULL : realloc(runs->items, capacity * sizeof *items);
        if (items == NULL) {
            return -ENOMEM;
        }
        runs->items = items;
        runs->capacity = capacity;
    }
    runs->items[runs->length++] = (struct extent){start, count};
    runs->clusters += count;
    return 0;
}

/** One run at `*at`, which moves behind it; `*start` is where the one before it began. */
static int take_run(const struct ntfs_attribute *attribute, uint32_t *at, uint64_t clusters, uint64_t *start,
                    struct ntfs_runs *runs) {
    unsigned count_bytes = attribute->bytes[*at] & 0xfu;
    unsigned start_bytes = attribute->bytes[*at] >> 4;
    if (count_bytes == 0 || count_bytes > 8 || start_bytes == 0 || start_bytes > 8 ||
        *at + 1 + count_bytes + start_bytes > attribute->length) {
        return -EIO;
    }
    const uint8_t *numbers = attribute->bytes + *at + 1;
    uint64_t count = (uint64_t)take_number(numbers, count_bytes, false);
    *start += (uint64_t)take_number(numbers + count_bytes, start_bytes, true);
    *at += 1 + count_bytes + start_bytes;
    if (count == 0 || *start >= clusters || count > clusters - *start || runs->clusters > clusters - count) {
        return -EIO;
    }
    return append(runs, *start, count);
}

int ntfs_decode_runs(const struct ntfs_attribute *attribute, uint64_t clusters, struct ntfs_runs *runs) {
    *runs = (struct ntfs_runs){0};
    if (attribute->is_resident || little64(attribute->bytes + 0x10) != 0) {
        return -EIO;
    }
    uint32_t at = little16(attribute->bytes + 0x20);
    uint64_t start = 0;
    int failure = at >= NON_RESIDENT_BYTES ? 0 : -EIO;
    while (failure == 0 && at < attribute->length && attribute->bytes[at] != 0) {
        failure = take_run(attribute, &at, clusters, &start, runs);
    }
    if (failure == 0 &&
        (at >= attribute->length || runs->clusters != little64(attribute->bytes + 0x18) + 1)) {
        failure = -EIO;
    }
    if (failure != 0) {
        ntfs_clear_runs(runs);
    }
    return failure;
}

void ntfs_clear_runs(struct ntfs_runs *runs) {
    free(runs->items);
    *runs = (struct ntfs_runs){0};
}
