/**
 * Marks of owners, and where they lie: as libblkid (util-linux) looks for them, which names the format of
 * each, and GEOM's, which FreeBSD's geom(4) describes. Checksums are only checked where a mark is short,
 * because a mark too many costs time, and one too few leaves out data. Of the thirteen places in which
 * Promise's RAID may have its mark, those nearest to the end are looked at.
 */
#include "filesystems/owners.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR_BYTES 512u
#define KIB UINT64_C(1024)
#define MIB UINT64_C(1048576)
/** At the end: RAID of metadata 0.90 begins up to 128 KiB before it, DDF's second header 257 sectors. */
#define END_BYTES 139264u

/** Bytes that are at a place of a source: from its beginning, or back from its end. */
struct mark {
    const char *name;
    const char *bytes;
    uint32_t length;
    uint32_t at;
};

#define MARK(name, at, bytes) {name, bytes, sizeof(bytes) - 1, at}

/** From the beginning. The superblocks of ext4, XFS and NTFS lie within the first 8 KiB. */
static const struct mark first_marks[] = {
    MARK("LUKS", 0, "LUKS\xba\xbe"),
    MARK("LUKS", 16384, "SKUL\xba\xbe"),
    MARK("LUKS", 32768, "SKUL\xba\xbe"),
    MARK("LUKS", 65536, "SKUL\xba\xbe"),
    MARK("BitLocker", 3, "-FVE-FS-"),
    MARK("LVM", 0, "LABELONE"),
    MARK("LVM", 512, "LABELONE"),
    MARK("LVM", 1024, "LABELONE"),
    MARK("LVM", 1536, "LABELONE"),
    MARK("LVM", 0, "HM\x01\x00"),
    MARK("LVM", 0, "HM\x02\x00"),
    MARK("an LVM snapshot", 0, "SnAp"),
    MARK("dm-verity", 0, "verity\0\0"),
    MARK("dm-integrity", 0, "integrt\0"),
    MARK("VDO", 0, "dmvdo001"),
    MARK("Stratis", 516, "!Stra0tis\x86\xff\x02^\x41rh"),
    MARK("Stratis", 4612, "!Stra0tis\x86\xff\x02^\x41rh"),
    MARK("bcache", 4120, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    MARK("bcachefs", 4120, "\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    MARK("Ceph BlueStore", 0, "bluestore block device"),
    MARK("Oracle ASM", 32, "ORCLDISK"),
    MARK("DRBD", 0, "$DRBDmgr=q"),
    MARK("DRBD", 0, "DRBDdlh*"),
    MARK("dynamic disks of Windows", 3072, "PRIVHEAD"),
    MARK("HighPoint RAID", 4640, "\xf0\x16\x78\x5a"),
    MARK("HighPoint RAID", 4640, "\xfd\x16\x78\x5a"),
    MARK("mpool", 0, "mpoolDev"),
    MARK("UBI", 0, "UBI#"),
    MARK("APFS", 32, "NXSB"),
    MARK("btrfs", 65600, "_BHRfS_M"),
    MARK("JFS", 32768, "JFS1"),
    MARK("UDF", 32769, "BEA01"),
    MARK("ISO 9660", 32769, "CD001"),
    MARK("NILFS", 1024, "\x02\0\0\0\0\0\x34\x34"),
    MARK("F2FS", 1024, "\x10\x20\xf5\xf2"),
    MARK("ReiserFS", 65588, "ReIsEr"),
    MARK("ReiserFS", 8244, "ReIsEr"),
    MARK("Reiser4", 65536, "ReIsEr4"),
    MARK("GFS", 65536, "\x01\x16\x19\x70\0\0\0\x01"),
    MARK("OCFS2", 1024, "OCFSV2"),
    MARK("OCFS2", 2048, "OCFSV2"),
    MARK("OCFS2", 4096, "OCFSV2"),
    MARK("OCFS2", 8192, "OCFSV2"),
    MARK("OCFS", 8192, "OracleCFS"),
    MARK("UFS", 9564, "\x54\x19\x01\x00"),
    MARK("UFS", 66908, "\x19\x01\x54\x19"),
    MARK("VxFS", 1024, "\xf5\xfc\x01\xa5"),
    /* At the end of a page of memory. */
    MARK("swap space", 4086, "SWAPSPACE2"),
    MARK("swap space", 16374, "SWAPSPACE2"),
    MARK("swap space", 65526, "SWAPSPACE2"),
};

/** In sectors back from the end, whole sectors of the source. */
static const struct mark last_marks[] = {
    MARK("dynamic disks of Windows", 1, "PRIVHEAD"),
    MARK("GEOM", 1, "GEOM::"),
    MARK("LSI RAID", 1, "$XIDE$"),
    MARK("Adaptec RAID", 1, "\x37\xfc\x4d\x1e"),
    MARK("Intel RAID", 2, "Intel Raid ISM Cfg Sig. "),
    MARK("NVIDIA RAID", 2, "NVIDIA  "),
    MARK("HighPoint RAID", 11, "\xf3\x16\x78\x5a"),
    MARK("HighPoint RAID", 11, "\xfd\x16\x78\x5a"),
    MARK("Promise RAID", 16, "Promise Technology, Inc."),
    MARK("Promise RAID", 63, "Promise Technology, Inc."),
    MARK("Promise RAID", 255, "Promise Technology, Inc."),
    MARK("Promise RAID", 256, "Promise Technology, Inc."),
    MARK("DDF RAID", 1, "\xde\x11\xde\x11"),
    MARK("DDF RAID", 257, "\xde\x11\xde\x11"),
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/** What is read of one place. */
struct piece {
    uint64_t start;
    uint32_t length;
    uint8_t bytes[END_BYTES];
};

/** A look, and what it has found. */
struct look {
    const struct source *source;
    struct owner owner;
    struct piece piece; /**< The place that was read last. */
};

/** The first mark counts. */
static void found(struct look *look, const char *name, uint64_t at) {
    if (look->owner.answer == OWNER_NONE) {
        look->owner = (struct owner){OWNER_THERE, name, at};
    }
}

/** Read a place, as far as the source reaches. What cannot be read may name an owner. */
static bool read_piece(struct look *look, uint64_t start, uint32_t length) {
    const struct source *source = look->source;
    uint64_t rest = start < source->bytes ? source->bytes - start : 0;
    look->piece.start = start;
    look->piece.length = (uint32_t)(rest < length ? rest : length);
    if (look->owner.answer != OWNER_NONE || look->piece.length == 0) {
        return false;
    }
    if (source_read(source, start, look->piece.bytes, look->piece.length) != 0) {
        look->owner.answer = OWNER_UNSEEN;
        return false;
    }
    return true;
}

/** The bytes of the source at `at`, as many as `length`; NULL if the piece does not hold them. */
static const uint8_t *bytes_at(const struct look *look, uint64_t at, uint32_t length) {
    const struct piece *piece = &look->piece;
    bool is_there = at >= piece->start && at - piece->start <= piece->length &&
                    length <= piece->length - (at - piece->start);
    return is_there ? piece->bytes + (at - piece->start) : NULL;
}

static void look_for(struct look *look, const char *name, uint64_t at, const char *bytes, uint32_t length) {
    const uint8_t *here = bytes_at(look, at, length);
    if (here != NULL && memcmp(here, bytes, length) == 0) {
        found(look, name, at);
    }
}

/** Linux's RAID with metadata 1.x, which says itself at which sector of its device it lies. */
static void look_for_md(struct look *look, uint64_t at) {
    const uint8_t *here = bytes_at(look, at, 256);
    if (here != NULL && memcmp(here, "\xfc\x4e\x2b\xa9\x01\0\0\0", 8) == 0 &&
        little64(here + 144) == at / SECTOR_BYTES) {
        found(look, "RAID", at);
    }
}

/** Metadata 0.90, which is in the byte order of the machine that made it. */
static void look_for_old_md(struct look *look, uint64_t at) {
    look_for(look, "RAID", at, "\xfc\x4e\x2b\xa9\0\0\0\0", 8);
    look_for(look, "RAID", at, "\xa9\x2b\x4e\xfc\0\0\0\0", 8);
}

/** The list of names and values that begins a label of ZFS: XDR, of either byte order, names that are unique.
 */
static void look_for_zfs(struct look *look, uint64_t label) {
    uint64_t at = label + 16 * KIB;
    look_for(look, "ZFS", at, "\x01\x01\0\0\0\0\0\0\0\0\0\x01", 12);
    look_for(look, "ZFS", at, "\x01\x00\0\0\0\0\0\0\0\0\0\x01", 12);
}

static void look_for_drbd(struct look *look, uint64_t at) {
    look_for(look, "DRBD", at + 60, "\x83\x74\x02\x6b", 4);
    look_for(look, "DRBD", at + 60, "\x83\x74\x02\x6c", 4);
    look_for(look, "DRBD", at + 60, "\x83\x74\x02\x6d", 4);
}

static void look_for_first(struct look *look) {
    for (size_t i = 0; i < COUNT(first_marks); i++) {
        const struct mark *mark = &first_marks[i];
        look_for(look, mark->name, mark->at, mark->bytes, mark->length);
    }
    look_for_md(look, 0);
    look_for_md(look, 4096);
    look_for_zfs(look, 0);
    look_for_zfs(look, 256 * KIB);
    look_for(look, "VMFS", MIB, "\x0d\xd0\x01\xc0", 4);
}

/** The sum of numbers of 16 bits, which begin at `bytes`. */
static uint16_t sum16(const uint8_t *bytes, unsigned count) {
    uint16_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum = (uint16_t)(sum + little16(bytes + 2 * (size_t)i));
    }
    return sum;
}

/** RAID of controllers whose mark is short, so that its checksum counts as well. */
static void look_for_short_marks(struct look *look, uint64_t at) {
    const uint8_t *here = bytes_at(look, at, SECTOR_BYTES);
    if (here == NULL) {
        return;
    }
    uint8_t sum = 0;
    for (unsigned i = 0; i < 50; i++) {
        sum = (uint8_t)(sum + here[i]);
    }
    if (little16(here) == 0xaa55 && here[2] <= 2 && here[50] == sum) {
        found(look, "VIA RAID", at);
    }
    if (little32(here + 0x60) == 0x2f000000 && (uint16_t)(sum16(here, 159) + little16(here + 318)) == 0) {
        found(look, "Silicon Image RAID", at);
    }
    if (memcmp(here, "JM", 2) == 0 && here[0x30] <= 5 && sum16(here, 64) <= 1) {
        found(look, "JMicron RAID", at);
    }
}

static void look_for_last(struct look *look) {
    uint64_t bytes = look->source->bytes;
    uint64_t sectors = bytes / SECTOR_BYTES;
    uint64_t pages = bytes / 4096;
    uint64_t labels = bytes / (256 * KIB);
    for (size_t i = 0; i < COUNT(last_marks); i++) {
        const struct mark *mark = &last_marks[i];
        if (sectors >= mark->at) {
            look_for(look, mark->name, (sectors - mark->at) * SECTOR_BYTES, mark->bytes, mark->length);
        }
    }
    if (bytes >= 128 * KIB) {
        look_for_short_marks(look, (sectors - 1) * SECTOR_BYTES);
        look_for_old_md(look, (bytes / (64 * KIB) - 1) * (64 * KIB));
        look_for_md(look, (pages - 2) * 4096);
        look_for_drbd(look, (pages - 1) * 4096);
        look_for_drbd(look, (sectors - 8) * SECTOR_BYTES);
    }
    if (labels >= 4) {
        look_for_zfs(look, (labels - 2) * 256 * KIB);
        look_for_zfs(look, (labels - 1) * 256 * KIB);
    }
}

/** The places, the beginning first. The labels of ZFS and the header of VMFS have their own. */
static uint32_t list_places(const struct source *source, struct extent *places) {
    uint64_t label = source->bytes / (256 * KIB) * (256 * KIB);
    uint64_t end = source->bytes > END_BYTES ? source->bytes - END_BYTES : 0;
    uint32_t count = 0;
    places[count++] = (struct extent){0, 68 * KIB};
    places[count++] = (struct extent){272 * KIB, SECTOR_BYTES};
    places[count++] = (struct extent){MIB, SECTOR_BYTES};
    if (label >= MIB) {
        places[count++] = (struct extent){label - 496 * KIB, SECTOR_BYTES};
        places[count++] = (struct extent){label - 240 * KIB, SECTOR_BYTES};
    }
    places[count++] = (struct extent){end, END_BYTES};
    return count;
}

struct owner owner_find(const struct source *source, uint32_t most_places) {
    struct extent places[OWNER_PLACES];
    struct extents list = {0};
    struct look *look = calloc(1, sizeof *look);
    if (look == NULL) {
        return (struct owner){.answer = OWNER_UNSEEN};
    }
    look->source = source;
    uint32_t count = list_places(source, places);
    count = count < most_places ? count : most_places;
    for (uint32_t i = 0; i < count; i++) {
        (void)extents_append(&list, places[i].start, places[i].count);
    }
    source_expect(source, &list);
    for (uint32_t i = 0; i < count; i++) {
        if (read_piece(look, places[i].start, (uint32_t)places[i].count)) {
            look_for_first(look);
            look_for_last(look);
        }
    }
    struct owner owner = look->owner;
    free(look);
    return owner;
}
