/**
 * What an NTFS file system uses: what its $Bitmap says (Microsoft's NTFS layout as documented by Linux-NTFS).
 *
 * Only of a volume that was unmounted cleanly: before, the bitmap may lag behind $LogFile.
 */
#include "ntfs.h"

#include "bytes.h"
#include "used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_BYTES 512u
#define RECORD_MFT 0u
#define RECORD_LOG_FILE 2u
#define RECORD_VOLUME 3u
#define RECORD_BITMAP 6u
#define VOLUME_DIRTY 1u
#define MAGIC_RESTART 0x52545352u
#define LOG_NO_CLIENT 0xffffu
#define LOG_IS_CLEAN 2u
#define WINDOW_BYTES BLOCK_BYTES

struct scan {
    const struct source *source;
    struct used *used;
    struct diag *diag;
    uint64_t clusters;
    uint64_t mft_cluster;
    uint32_t cluster_bytes;
    uint32_t record_bytes;
    struct ntfs_runs mft;
    struct ntfs_runs runs; /**< Of the file being looked at. */
    uint8_t *record;
    uint8_t *window;
};

static int refuse(struct scan *scan, const char *reason) {
    return diag_refuse(scan->diag, -1, "ntfs: %s", reason);
}

/** The boot sector says a size as a count of `unit`, or as a power of two of `small` where it is negative. */
static uint64_t decode_size(uint8_t byte, uint64_t unit, uint64_t small) {
    return byte < 0x80 ? byte * unit : byte > 0xe0 ? small << (256 - byte) : 0;
}

static bool is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

static int open_boot(struct scan *scan) {
    uint8_t boot[BOOT_BYTES];
    if (source_read(scan->source, 0, boot, sizeof boot) != 0 || memcmp(boot + 3, "NTFS    ", 8) != 0) {
        return 0;
    }
    uint64_t sector = little16(boot + 0xb);
    /* Here 0x80 is 128 sectors; in the size of a record it would be negative. */
    uint64_t cluster = boot[0xd] == 0x80 ? 128 * sector : decode_size(boot[0xd], sector, sector);
    uint64_t record = decode_size(boot[0x40], cluster, 1);
    uint64_t sectors = little64(boot + 0x28);
    if (!is_power_of_two(sector) || sector < 256 || sector > 4096 || !is_power_of_two(cluster) ||
        cluster < 512 || cluster > (2u << 20) || !is_power_of_two(record) || record < 512 ||
        record > NTFS_MAX_RECORD_BYTES) {
        return refuse(scan, "its boot sector contradicts itself");
    }
    if (sectors == 0 || sectors > scan->source->bytes / sector) {
        return refuse(scan, "it is larger than what holds it");
    }
    scan->cluster_bytes = (uint32_t)cluster;
    scan->record_bytes = (uint32_t)record;
    scan->clusters = sectors * sector / cluster;
    scan->mft_cluster = little64(boot + 0x30);
    return scan->mft_cluster < scan->clusters ? 1 : refuse(scan, "its file table lies outside");
}

/** Where byte `offset` of a file with these runs lies; UINT64_MAX beyond its end. `*rest`: bytes from there.
 */
static uint64_t place(const struct scan *scan, const struct ntfs_runs *runs, uint64_t offset,
                      uint64_t *rest) {
    for (size_t i = 0; i < runs->length; i++) {
        uint64_t bytes = runs->items[i].count * scan->cluster_bytes;
        if (offset < bytes) {
            *rest = bytes - offset;
            return runs->items[i].start * scan->cluster_bytes + offset;
        }
        offset -= bytes;
    }
    *rest = 0;
    return UINT64_MAX;
}

static void add_runs(struct scan *scan, const struct ntfs_runs *runs) {
    for (size_t i = 0; i < runs->length; i++) {
        used_add_metadata(scan->used, scan->source, runs->items[i].start * scan->cluster_bytes,
                          runs->items[i].count * scan->cluster_bytes);
    }
}

/** Read record `number`; a part of a file elsewhere (an attribute list) is not followed. */
static int read_record(struct scan *scan, uint64_t number) {
    uint64_t rest = 0;
    uint64_t offset = scan->mft_cluster * scan->cluster_bytes;
    if (number != RECORD_MFT) {
        offset = place(scan, &scan->mft, number * scan->record_bytes, &rest);
    }
    if ((number != RECORD_MFT && rest < scan->record_bytes) ||
        source_read(scan->source, offset, scan->record, scan->record_bytes) != 0) {
        return refuse(scan, "a system file's record cannot be read");
    }
    struct ntfs_attribute list;
    if (ntfs_check_record(scan->record, scan->record_bytes) != 0) {
        return refuse(scan, "a system file's record is damaged");
    }
    if (ntfs_find_attribute(scan->record, scan->record_bytes, NTFS_ATTRIBUTE_LIST, &list) != -ENOENT) {
        return refuse(scan, "a system file's record is in several parts");
    }
    return 0;
}

/** The runs of the data of record `number`, whose size goes to `*bytes`. */
static int read_runs(struct scan *scan, uint64_t number, struct ntfs_runs *runs, uint64_t *bytes) {
    struct ntfs_attribute data;
    int failure = read_record(scan, number);
    if (failure != 0) {
        return failure;
    }
    if (ntfs_find_attribute(scan->record, scan->record_bytes, NTFS_DATA, &data) != 0 ||
        ntfs_decode_runs(&data, scan->clusters, runs) != 0) {
        return refuse(scan, "a system file's runs are damaged");
    }
    *bytes = little64(data.bytes + 0x30);
    if (*bytes > runs->clusters * scan->cluster_bytes || little64(data.bytes + 0x38) > *bytes) {
        return refuse(scan, "a system file's size is wrong");
    }
    add_runs(scan, runs);
    return 0;
}

static int check_volume(struct scan *scan) {
    struct ntfs_attribute information;
    int failure = read_record(scan, RECORD_VOLUME);
    if (failure != 0) {
        return failure;
    }
    if (ntfs_find_attribute(scan->record, scan->record_bytes, NTFS_VOLUME_INFORMATION, &information) != 0 ||
        !information.is_resident) {
        return refuse(scan, "its volume record is damaged");
    }
    uint32_t at = little16(information.bytes + 0x14);
    if (at > information.length || information.length - at < 12) {
        return refuse(scan, "its volume record is damaged");
    }
    bool is_dirty = (little16(information.bytes + at + 0xa) & VOLUME_DIRTY) != 0;
    return is_dirty ? refuse(scan, "it is marked as dirty") : 0;
}

/** One of the two restart pages: clean, or not written yet (all ones). */
static bool is_clean_page(const uint8_t *page, uint32_t bytes) {
    if (little32(page) == UINT32_MAX) {
        return true;
    }
    uint32_t at = little16(page + 0x18);
    if (little32(page) != MAGIC_RESTART || at < 0x1e || at + 16 > bytes) {
        return false;
    }
    return little16(page + at + 12) == LOG_NO_CLIENT || (little16(page + at + 14) & LOG_IS_CLEAN) != 0;
}

/** Both restart pages must say that nothing is to be replayed. */
static int check_log(struct scan *scan) {
    uint64_t bytes = 0;
    uint64_t rest = 0;
    uint8_t page[BOOT_BYTES];
    int failure = read_runs(scan, RECORD_LOG_FILE, &scan->runs, &bytes);
    uint64_t page_bytes = 4096;
    for (unsigned i = 0; i < 2 && failure == 0; i++) {
        uint64_t offset = place(scan, &scan->runs, i * page_bytes, &rest);
        if (rest < sizeof page || source_read(scan->source, offset, page, sizeof page) != 0) {
            failure = refuse(scan, "its log cannot be read");
        } else if (!is_clean_page(page, sizeof page)) {
            failure = refuse(scan, "its log must be replayed");
        } else if (i == 0 && little32(page) == MAGIC_RESTART) {
            page_bytes = little32(page + 0x10);
        }
    }
    ntfs_clear_runs(&scan->runs);
    return failure;
}

/** Read the bitmap in windows; no window crosses from one run to the next. */
static int read_windows(struct scan *scan, uint64_t bytes) {
    uint64_t bits_left = scan->clusters;
    for (uint64_t done = 0; done < bytes && bits_left > 0;) {
        uint64_t rest = 0;
        uint64_t offset = place(scan, &scan->runs, done, &rest);
        uint64_t length = rest < bytes - done ? rest : bytes - done;
        length = length < WINDOW_BYTES ? length : WINDOW_BYTES;
        if (source_read(scan->source, offset, scan->window, length) != 0) {
            return refuse(scan, "its bitmap cannot be read");
        }
        uint64_t bits = length * 8 < bits_left ? length * 8 : bits_left;
        used_add_bits(scan->used, scan->source, scan->window, bits, done * 8 * scan->cluster_bytes,
                      scan->cluster_bytes);
        bits_left -= bits;
        done += length;
    }
    return bits_left == 0 ? 0 : refuse(scan, "its bitmap is too short");
}

static int read_bitmap(struct scan *scan) {
    uint64_t bytes = 0;
    struct ntfs_attribute data;
    int failure = read_runs(scan, RECORD_BITMAP, &scan->runs, &bytes);
    if (failure != 0) {
        return failure;
    }
    if (ntfs_find_attribute(scan->record, scan->record_bytes, NTFS_DATA, &data) != 0 ||
        little64(data.bytes + 0x38) != bytes) {
        return refuse(scan, "its bitmap is not written to its end");
    }
    struct extents list = {0};
    for (size_t i = 0; i < scan->runs.length; i++) {
        const struct extent *run = &scan->runs.items[i];
        if (extents_append(&list, run->start * scan->cluster_bytes, run->count * scan->cluster_bytes) != 0) {
            break;
        }
    }
    source_expect(scan->source, &list);
    return read_windows(scan, bytes);
}

static int read_all(struct scan *scan) {
    uint64_t bytes = 0;
    scan->record = malloc(scan->record_bytes);
    scan->window = malloc(WINDOW_BYTES);
    if (scan->record == NULL || scan->window == NULL) {
        return refuse(scan, "out of memory");
    }
    used_add_metadata(scan->used, scan->source, 0, 8192);
    int failure = read_runs(scan, RECORD_MFT, &scan->mft, &bytes);
    if (failure == 0) {
        failure = check_volume(scan);
    }
    if (failure == 0) {
        failure = check_log(scan);
    }
    return failure == 0 ? read_bitmap(scan) : failure;
}

enum used_answer ntfs_read_used(const struct source *source, struct used *used, struct diag *diag) {
    struct scan scan = {.source = source, .used = used, .diag = diag};
    int known = open_boot(&scan);
    if (known > 0 && read_all(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        used_add_tail(used, source, scan.clusters * scan.cluster_bytes);
    }
    free(scan.record);
    free(scan.window);
    ntfs_clear_runs(&scan.mft);
    ntfs_clear_runs(&scan.runs);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}
