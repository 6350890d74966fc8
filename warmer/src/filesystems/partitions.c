/** Partition tables: MBR with logical partitions, and GPT (UEFI specification, chapter 5). */
#include "filesystems/partitions.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR_BYTES 512u
#define MBR_ENTRIES 446u
#define MBR_ENTRY_BYTES 16u
#define MBR_CODE_BYTES 440u
#define TYPE_GPT 0xeeu
#define TYPE_EFI 0xefu
/** Types of GPT: C12A7328-F81F-11D2-BA4B-00A0C93EC93B (UEFI specification), and GRUB's. */
#define EFI_SYSTEM "\x28\x73\x2a\xc1\x1f\xf8\xd2\x11\xba\x4b\x00\xa0\xc9\x3e\xc9\x3b"
#define BIOS_BOOT "Hah!IdontNeedEFI"
/** Types of partitions that hold several volumes. Of GPT, as they are on disk. */
static const struct {
    const char *manager;
    const char *type;
} gpt_managers[] = {
    /* AF9B60A0-1431-4F62-BC68-3311714A69AD and 5808C8AA-7E8F-42E0-85D2-E1E90434CFB3. */
    {"dynamic disks of Windows", "\xa0\x60\x9b\xaf\x31\x14\x62\x4f\xbc\x68\x33\x11\x71\x4a\x69\xad"},
    {"dynamic disks of Windows", "\xaa\xc8\x08\x58\x8f\x7e\xe0\x42\x85\xd2\xe1\xe9\x04\x34\xcf\xb3"},
    /* E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D. */
    {"Storage Spaces", "\x8f\xaf\x5c\xe7\x80\xf6\xee\x4c\xaf\xa3\xb0\x01\xe5\x6e\xfc\x2d"},
    /* AA31E02A-400F-11DB-9590-000C2911D1B8. */
    {"VMFS", "\x2a\xe0\x31\xaa\x0f\x40\xdb\x11\x95\x90\x00\x0c\x29\x11\xd1\xb8"},
    /* 516E7CB4-6ECF-11D6-8FF8-00022D71209B. */
    {"a BSD disk label", "\xb4\x7c\x6e\x51\xcf\x6e\xd6\x11\x8f\xf8\x00\x02\x2d\x71\x20\x9b"},
};
/** Of MBR. */
static const struct {
    const char *manager;
    uint8_t type;
} mbr_managers[] = {
    {"dynamic disks of Windows", 0x42},  {"volume sets of Windows NT", 0x86},
    {"volume sets of Windows NT", 0x87}, {"VMFS", 0xfb},
    {"a BSD disk label", 0xa5},          {"a BSD disk label", 0xa6},
    {"a BSD disk label", 0xa9},          {"slices of Solaris", 0xbf},
    {"slices of UNIX System V", 0x63},   {"subpartitions of MINIX", 0x81},
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define GPT_HEADER_BYTES 92u
#define GPT_ENTRY_BYTES 128u
#define GPT_MAX_ENTRIES 1024u

static int refuse(struct diag *diag, const char *reason) {
    return diag_refuse(diag, -1, "partition table: %s", reason);
}

static int add_partition(struct partitions *partitions, const struct source *device, struct partition item,
                         struct diag *diag) {
    uint64_t start = item.start;
    uint64_t bytes = item.count;
    if (bytes == 0 || start == 0 || start >= device->bytes || bytes > device->bytes - start ||
        partitions->length == PARTITIONS_LIMIT) {
        return refuse(diag, "a partition reaches beyond the device");
    }
    partitions->items[partitions->length++] = item;
    return 0;
}

static int add_table(struct partitions *partitions, uint64_t start, uint64_t bytes, struct diag *diag) {
    if (partitions->table_count == PARTITIONS_LIMIT) {
        return refuse(diag, "it has too many parts");
    }
    partitions->tables[partitions->table_count++] = (struct extent){start, bytes};
    return 0;
}

/** The partition that an entry of an MBR at byte `base` names. */
static struct partition decode_entry(const uint8_t *entry, uint64_t base) {
    struct partition item = {.start = base + (uint64_t)little32(entry + 8) * SECTOR_BYTES,
                             .count = (uint64_t)little32(entry + 12) * SECTOR_BYTES};
    for (size_t i = 0; i < COUNT(mbr_managers); i++) {
        item.manager = entry[4] == mbr_managers[i].type ? mbr_managers[i].manager : item.manager;
    }
    return item;
}

static bool is_extended(uint8_t type) {
    return type == 0x05 || type == 0x0f || type == 0x85;
}

/** CRC-32 as GPT uses it. */
static uint32_t crc32(uint32_t crc, const uint8_t *bytes, size_t length) {
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

/** The chain of logical partitions within an extended one at `base`. */
static int read_logical(const struct source *device, uint64_t base, struct partitions *partitions,
                        struct diag *diag) {
    uint8_t sector[SECTOR_BYTES];
    uint64_t at = base;
    for (unsigned links = 0; links < PARTITIONS_LIMIT; links++) {
        if (source_read(device, at, sector, sizeof sector) != 0 || little16(sector + 510) != 0xaa55) {
            return refuse(diag, "the chain of logical partitions is broken");
        }
        const uint8_t *entry = sector + MBR_ENTRIES;
        const uint8_t *next = entry + MBR_ENTRY_BYTES;
        int failure = add_table(partitions, at, SECTOR_BYTES, diag);
        if (failure == 0 && entry[4] != 0) {
            failure = add_partition(partitions, device, decode_entry(entry, at), diag);
        }
        if (failure != 0 || next[4] == 0) {
            return failure;
        }
        at = base + (uint64_t)little32(next + 8) * SECTOR_BYTES;
    }
    return refuse(diag, "the chain of logical partitions is too long");
}

static int read_mbr(const struct source *device, const uint8_t *sector, struct partitions *partitions,
                    struct diag *diag) {
    int failure = 0;
    partitions->table = "mbr";
    for (unsigned i = 0; i < 4 && failure == 0; i++) {
        const uint8_t *entry = sector + MBR_ENTRIES + (size_t)i * MBR_ENTRY_BYTES;
        struct partition item = decode_entry(entry, 0);
        partitions->boots |= entry[0] != 0 || entry[4] == TYPE_EFI;
        if (entry[4] != 0 && is_extended(entry[4])) {
            failure = read_logical(device, item.start, partitions, diag);
        } else if (entry[4] != 0) {
            failure = add_partition(partitions, device, item, diag);
        }
    }
    return failure;
}

static int take_gpt_entry(const struct source *device, const uint8_t *entry, struct partitions *partitions,
                          struct diag *diag) {
    static const uint8_t unused[16];
    uint64_t first = little64(entry + 32);
    uint64_t last = little64(entry + 40);
    if (memcmp(entry, unused, sizeof unused) == 0) {
        return 0;
    }
    /* Bit 2 of the attributes: legacy BIOS bootable. */
    partitions->boots |= memcmp(entry, EFI_SYSTEM, sizeof unused) == 0 ||
                         memcmp(entry, BIOS_BOOT, sizeof unused) == 0 || (little64(entry + 48) & 4) != 0;
    uint64_t sectors = device->bytes / SECTOR_BYTES;
    if (first > last || last >= sectors) {
        return refuse(diag, "a partition reaches beyond the device");
    }
    struct partition item = {.start = first * SECTOR_BYTES, .count = (last - first + 1) * SECTOR_BYTES};
    for (size_t i = 0; i < COUNT(gpt_managers); i++) {
        bool is_this = memcmp(entry, gpt_managers[i].type, sizeof unused) == 0;
        item.manager = is_this ? gpt_managers[i].manager : item.manager;
    }
    return add_partition(partitions, device, item, diag);
}

/** Read the entries that a checked header announces. */
static int read_gpt_entries(const struct source *device, const uint8_t *header, struct partitions *partitions,
                            struct diag *diag) {
    uint64_t at = little64(header + 72);
    uint32_t count = little32(header + 80);
    if (little32(header + 84) != GPT_ENTRY_BYTES || count > GPT_MAX_ENTRIES ||
        at > device->bytes / SECTOR_BYTES) {
        return refuse(diag, "its header is of a kind that is not known here");
    }
    uint32_t crc = 0;
    int failure = 0;
    for (uint32_t i = 0; i < count && failure == 0; i++) {
        uint8_t entry[GPT_ENTRY_BYTES];
        if (source_read(device, at * SECTOR_BYTES + (uint64_t)i * sizeof entry, entry, sizeof entry) != 0) {
            return refuse(diag, "its entries cannot be read");
        }
        crc = crc32(crc, entry, sizeof entry);
        failure = take_gpt_entry(device, entry, partitions, diag);
    }
    if (failure == 0) {
        failure = add_table(partitions, at * SECTOR_BYTES, (uint64_t)count * GPT_ENTRY_BYTES, diag);
    }
    if (failure == 0 && crc != little32(header + 88)) {
        failure = refuse(diag, "the checksum of its entries is wrong");
    }
    return failure;
}

static int read_gpt(const struct source *device, struct partitions *partitions, struct diag *diag) {
    uint8_t header[GPT_HEADER_BYTES];
    uint8_t zeroed[GPT_HEADER_BYTES];
    partitions->table = "gpt";
    if (source_read(device, SECTOR_BYTES, header, sizeof header) != 0 || memcmp(header, "EFI PART", 8) != 0 ||
        little32(header + 12) != GPT_HEADER_BYTES) {
        return refuse(diag, "the GPT header is missing");
    }
    memcpy(zeroed, header, sizeof zeroed);
    memset(zeroed + 16, 0, 4);
    if (crc32(0, zeroed, sizeof zeroed) != little32(header + 16)) {
        return refuse(diag, "the checksum of the GPT header is wrong");
    }
    uint64_t backup = little64(header + 32);
    if (backup < device->bytes / SECTOR_BYTES) {
        /* Its entries lie before the second header, as many as in the first. */
        uint64_t bytes = (uint64_t)34 * SECTOR_BYTES;
        uint64_t end = (backup + 1) * SECTOR_BYTES;
        int failure = add_table(partitions, end > bytes ? end - bytes : 0, bytes, diag);
        if (failure != 0) {
            return failure;
        }
    }
    return read_gpt_entries(device, header, partitions, diag);
}

static int by_start(const void *left, const void *right) {
    const struct partition *a = left;
    const struct partition *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static int check_order(struct partitions *partitions, struct diag *diag) {
    qsort(partitions->items, partitions->length, sizeof partitions->items[0], by_start);
    for (size_t i = 1; i < partitions->length; i++) {
        const struct partition *before = &partitions->items[i - 1];
        if (before->start + before->count > partitions->items[i].start) {
            return refuse(diag, "partitions overlap");
        }
    }
    return 0;
}

/** Whether a boot sector holds a table. A file system's has the same signature, but no valid entries. */
static bool has_entries(const uint8_t *sector) {
    unsigned types = 0;
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *entry = sector + MBR_ENTRIES + (size_t)i * MBR_ENTRY_BYTES;
        if ((entry[0] & 0x7f) != 0) {
            return false;
        }
        types += entry[4] != 0;
    }
    return types > 0;
}

int partitions_read(const struct source *device, struct partitions *partitions, struct diag *diag) {
    uint8_t sector[SECTOR_BYTES];
    memset(partitions, 0, sizeof *partitions);
    if (source_read(device, 0, sector, sizeof sector) != 0) {
        return refuse(diag, "the first sector cannot be read");
    }
    if (little16(sector + 510) != 0xaa55 || !has_entries(sector)) {
        return 0;
    }
    bool is_gpt = false;
    for (unsigned i = 0; i < 4; i++) {
        is_gpt |= sector[MBR_ENTRIES + (size_t)i * MBR_ENTRY_BYTES + 4] == TYPE_GPT;
    }
    int failure = is_gpt ? read_gpt(device, partitions, diag) : read_mbr(device, sector, partitions, diag);
    return failure == 0 ? check_order(partitions, diag) : failure;
}

enum boot partitions_boot(const struct source *device) {
    static struct partitions found;
    uint8_t sector[2 * SECTOR_BYTES];
    struct diag refusal = {{0}};
    if (source_read(device, 0, sector, sizeof sector) != 0) {
        return BOOT_UNKNOWN;
    }
    if (little16(sector + 510) != 0xaa55) {
        return memcmp(sector + SECTOR_BYTES, "EFI PART", 8) == 0 ? BOOT_UNKNOWN : BOOT_MISSING;
    }
    if (partitions_read(device, &found, &refusal) != 0 || found.table == NULL) {
        return BOOT_UNKNOWN;
    }
    bool has_code = false;
    for (size_t i = 0; i < MBR_CODE_BYTES; i++) {
        has_code |= sector[i] != 0;
    }
    return found.boots ? BOOT_THERE : has_code ? BOOT_UNKNOWN : BOOT_MISSING;
}
