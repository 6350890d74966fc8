/** Where an NTFS file system has what: its boot sector, and the system files' records and runs. */
#include "filesystems/ntfs/ntfs.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_BYTES 512u

static int refuse(struct ntfs *fs, const char *reason) {
    return diag_refuse(fs->diag, -1, "ntfs: %s", reason);
}

/** Decode a size of the boot sector: a count of `unit`, or if negative a power of two of `small`. */
static uint64_t decode_size(uint8_t byte, uint64_t unit, uint64_t small) {
    return byte < 0x80 ? byte * unit : byte > 0xe0 ? small << (256 - byte) : 0;
}

static bool is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

static int open_boot(struct ntfs *fs) {
    uint8_t boot[BOOT_BYTES];
    if (source_read(fs->source, 0, boot, sizeof boot) != 0 || memcmp(boot + 3, "NTFS    ", 8) != 0) {
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
        return refuse(fs, "its boot sector contradicts itself");
    }
    if (sectors == 0 || sectors > fs->source->bytes / sector) {
        return refuse(fs, "it is larger than what holds it");
    }
    fs->cluster_bytes = (uint32_t)cluster;
    fs->record_bytes = (uint32_t)record;
    fs->clusters = sectors * sector / cluster;
    fs->mft_cluster = little64(boot + 0x30);
    fs->mirror_cluster = little64(boot + 0x38);
    return fs->mft_cluster < fs->clusters ? 1 : refuse(fs, "its file table lies outside");
}

uint64_t ntfs_place(const struct ntfs *fs, const struct ntfs_runs *runs, uint64_t offset, uint64_t *rest) {
    for (size_t i = 0; i < runs->length; i++) {
        uint64_t bytes = runs->items[i].count * fs->cluster_bytes;
        if (offset < bytes) {
            *rest = bytes - offset;
            return runs->items[i].start * fs->cluster_bytes + offset;
        }
        offset -= bytes;
    }
    *rest = 0;
    return UINT64_MAX;
}

int ntfs_read_record(struct ntfs *fs, uint64_t number) {
    uint64_t rest = 0;
    uint64_t offset = fs->mft_cluster * fs->cluster_bytes;
    if (number != NTFS_RECORD_MFT) {
        offset = ntfs_place(fs, &fs->mft, number * fs->record_bytes, &rest);
    }
    if ((number != NTFS_RECORD_MFT && rest < fs->record_bytes) ||
        source_read(fs->source, offset, fs->record, fs->record_bytes) != 0) {
        return refuse(fs, "a system file's record cannot be read");
    }
    struct ntfs_attribute list;
    if (ntfs_check_record(fs->record, fs->record_bytes) != 0) {
        return refuse(fs, "a system file's record is damaged");
    }
    if (ntfs_find_attribute(fs->record, fs->record_bytes, NTFS_ATTRIBUTE_LIST, &list) != -ENOENT) {
        return refuse(fs, "a system file's record is in several parts");
    }
    return 0;
}

int ntfs_read_runs(struct ntfs *fs, uint64_t number, struct ntfs_runs *runs, uint64_t *bytes) {
    struct ntfs_attribute data;
    int failure = ntfs_read_record(fs, number);
    if (failure != 0) {
        return failure;
    }
    if (ntfs_find_attribute(fs->record, fs->record_bytes, NTFS_DATA, &data) != 0 ||
        ntfs_decode_runs(&data, fs->clusters, runs) != 0) {
        return refuse(fs, "a system file's runs are damaged");
    }
    *bytes = little64(data.bytes + 0x30);
    if (*bytes > runs->clusters * fs->cluster_bytes || little64(data.bytes + 0x38) > *bytes) {
        return refuse(fs, "a system file's size is wrong");
    }
    return 0;
}

int ntfs_open(struct ntfs *fs, const struct source *source, struct diag *diag) {
    *fs = (struct ntfs){.source = source, .diag = diag};
    int known = open_boot(fs);
    if (known <= 0) {
        return known;
    }
    uint64_t bytes = 0;
    fs->record = malloc(fs->record_bytes);
    if (fs->record == NULL) {
        return refuse(fs, "out of memory");
    }
    return ntfs_read_runs(fs, NTFS_RECORD_MFT, &fs->mft, &bytes) == 0 ? 1 : -1;
}

void ntfs_close(struct ntfs *fs) {
    free(fs->record);
    ntfs_clear_runs(&fs->mft);
}
