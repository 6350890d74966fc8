/**
 * What an NTFS file system uses, from its $Bitmap (Microsoft's NTFS layout as documented by Linux-NTFS).
 *
 * The volume must have been unmounted cleanly; otherwise the bitmap may be older than $LogFile.
 */
#include "filesystems/ntfs/ntfs.h"

#include "base/bytes.h"
#include "filesystems/used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_HEAD_BYTES 512u
#define VOLUME_DIRTY 1u
#define MAGIC_RESTART 0x52545352u
#define LOG_NO_CLIENT 0xffffu
#define LOG_IS_CLEAN 2u
#define WINDOW_BYTES BLOCK_BYTES

struct scan {
    struct ntfs fs;
    struct used *used;
    struct ntfs_runs runs; /**< Of the file being looked at. */
    uint8_t *window;
};

static int refuse(struct scan *scan, const char *reason) {
    return diag_refuse(scan->fs.diag, -1, "ntfs: %s", reason);
}

static void add_runs(struct scan *scan, const struct ntfs_runs *runs) {
    uint64_t unit = scan->fs.cluster_bytes;
    for (size_t i = 0; i < runs->length; i++) {
        used_add_metadata(scan->used, scan->fs.source, runs->items[i].start * unit,
                          runs->items[i].count * unit);
    }
}

/** The runs of a system file's data, which are metadata. */
static int read_runs(struct scan *scan, uint64_t number, uint64_t *bytes) {
    int failure = ntfs_read_runs(&scan->fs, number, &scan->runs, bytes);
    if (failure == 0) {
        add_runs(scan, &scan->runs);
    }
    return failure;
}

static int check_volume(struct scan *scan) {
    struct ntfs_attribute information;
    int failure = ntfs_read_record(&scan->fs, NTFS_RECORD_VOLUME);
    if (failure != 0) {
        return failure;
    }
    if (ntfs_find_attribute(scan->fs.record, scan->fs.record_bytes, NTFS_VOLUME_INFORMATION, &information) !=
            0 ||
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

/**
 * The copy of the file table's first record must be the record: it lies elsewhere, in the middle of the
 * volume or near its beginning, so something that wrote over one of them shows.
 */
static int check_mirror(struct scan *scan) {
    struct ntfs *fs = &scan->fs;
    uint64_t offset = fs->mirror_cluster < fs->clusters ? fs->mirror_cluster * fs->cluster_bytes : UINT64_MAX;
    uint8_t *mirror = malloc(fs->record_bytes);
    if (mirror == NULL) {
        return refuse(scan, "out of memory");
    }
    int failure = ntfs_read_record(fs, NTFS_RECORD_MFT);
    uint32_t length = little32(fs->record + 0x18);
    length = length < fs->record_bytes ? length : fs->record_bytes;
    if (failure == 0 &&
        (source_read(fs->source, offset, mirror, fs->record_bytes) != 0 ||
         ntfs_check_record(mirror, fs->record_bytes) != 0 || memcmp(mirror, fs->record, length) != 0)) {
        failure = refuse(scan, "its file table and the copy of that disagree");
    }
    free(mirror);
    return failure;
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
    uint8_t page[PAGE_HEAD_BYTES];
    int failure = read_runs(scan, NTFS_RECORD_LOG_FILE, &bytes);
    uint64_t page_bytes = 4096;
    for (unsigned i = 0; i < 2 && failure == 0; i++) {
        uint64_t offset = ntfs_place(&scan->fs, &scan->runs, i * page_bytes, &rest);
        if (rest < sizeof page || source_read(scan->fs.source, offset, page, sizeof page) != 0) {
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
    uint64_t bits_left = scan->fs.clusters;
    for (uint64_t done = 0; done < bytes && bits_left > 0;) {
        uint64_t rest = 0;
        uint64_t offset = ntfs_place(&scan->fs, &scan->runs, done, &rest);
        uint64_t length = rest < bytes - done ? rest : bytes - done;
        length = length < WINDOW_BYTES ? length : WINDOW_BYTES;
        if (source_read(scan->fs.source, offset, scan->window, length) != 0) {
            return refuse(scan, "its bitmap cannot be read");
        }
        uint64_t bits = length * 8 < bits_left ? length * 8 : bits_left;
        used_add_bits(scan->used, scan->fs.source, scan->window, bits, done * 8 * scan->fs.cluster_bytes,
                      scan->fs.cluster_bytes);
        bits_left -= bits;
        done += length;
    }
    return bits_left == 0 ? 0 : refuse(scan, "its bitmap is too short");
}

static int read_bitmap(struct scan *scan) {
    uint64_t bytes = 0;
    struct ntfs_attribute data;
    int failure = read_runs(scan, NTFS_RECORD_BITMAP, &bytes);
    if (failure != 0) {
        return failure;
    }
    if (ntfs_find_attribute(scan->fs.record, scan->fs.record_bytes, NTFS_DATA, &data) != 0 ||
        little64(data.bytes + 0x38) != bytes) {
        return refuse(scan, "its bitmap is not written to its end");
    }
    struct extents list = {0};
    for (size_t i = 0; i < scan->runs.length; i++) {
        const struct extent *run = &scan->runs.items[i];
        if (extents_append(&list, run->start * scan->fs.cluster_bytes, run->count * scan->fs.cluster_bytes) !=
            0) {
            break;
        }
    }
    source_expect(scan->fs.source, &list);
    scan->window = malloc(bytes < WINDOW_BYTES ? bytes + 1 : WINDOW_BYTES);
    return scan->window == NULL ? refuse(scan, "out of memory") : read_windows(scan, bytes);
}

static int read_all(struct scan *scan) {
    used_add_metadata(scan->used, scan->fs.source, 0, NTFS_BOOT_FILE_BYTES);
    add_runs(scan, &scan->fs.mft);
    int failure = check_volume(scan);
    failure = failure == 0 ? check_mirror(scan) : failure;
    if (failure == 0) {
        failure = check_log(scan);
    }
    return failure == 0 ? read_bitmap(scan) : failure;
}

enum used_answer ntfs_read_used(const struct source *source, struct used *used, struct diag *diag) {
    struct scan scan = {.used = used};
    int known = ntfs_open(&scan.fs, source, diag);
    if (known > 0 && read_all(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        used->end = scan.fs.clusters * scan.fs.cluster_bytes;
    }
    ntfs_close(&scan.fs);
    free(scan.window);
    ntfs_clear_runs(&scan.runs);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}
