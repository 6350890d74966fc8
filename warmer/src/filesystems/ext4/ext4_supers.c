/**
 * The superblocks of an ext4 file system beside the one that was read: in its journal, and in its groups.
 *
 * A file system that was grown while mounted has its new size in the journal for a while. Then the place of
 * the new groups' structures is not certain before the journal is replayed, so it is not believed at all.
 *
 * mkfs writes copies into groups of certain numbers, and nothing else is ever put there. Where one of them is
 * gone, something else has written to the disk after this file system. That shows in groups from which ext4
 * never allocated, too, whose descriptors agree with everything.
 */
#include "base/bytes.h"
#include "filesystems/ext4/ext4.h"

#include <stdlib.h>

/** Half of them in the lowest groups, half in the highest. */
#define FEW_COPIES 8u

/** Whether two superblocks put all structures in the same places. */
static bool is_same_layout(const struct ext4 *a, const struct ext4 *b) {
    return a->blocks == b->blocks && a->block_bytes == b->block_bytes &&
           a->cluster_bytes == b->cluster_bytes && a->first_data_block == b->first_data_block &&
           a->blocks_per_group == b->blocks_per_group && a->inodes_per_group == b->inodes_per_group &&
           a->inode_bytes == b->inode_bytes && a->descriptor_bytes == b->descriptor_bytes &&
           a->has_meta_groups == b->has_meta_groups && a->first_meta_group == b->first_meta_group &&
           a->has_checksums == b->has_checksums;
}

/** Each copy of the superblock in the journal. */
static int check_journal(const struct ext4 *fs, uint8_t *block, struct diag *diag) {
    size_t count = 0;
    const struct ext4_journal_copy *copy = ext4_find_copies(fs, EXT4_SUPER_OFFSET / fs->block_bytes, &count);
    for (size_t i = 0; i < count; i++) {
        struct ext4 other = {.source = fs->source};
        struct diag reason = {{0}};
        if (ext4_read_copy(fs, &copy[i], block) != 0) {
            return diag_refuse(diag, -1, "ext4: a superblock in its journal cannot be read");
        }
        int known = ext4_decode_super(&other, block + EXT4_SUPER_OFFSET % fs->block_bytes, &reason);
        if (known <= 0 || !is_same_layout(fs, &other)) {
            return diag_refuse(diag, -1, "ext4: its journal changes its size or layout");
        }
    }
    return 0;
}

/** The groups whose copies are looked at; returns how many. */
static size_t choose_groups(const struct ext4 *fs, uint64_t *groups) {
    size_t count = 0;
    for (uint64_t group = 1; group < fs->groups && count < FEW_COPIES / 2; group++) {
        if (ext4_has_superblock(fs, group)) {
            groups[count++] = group;
        }
    }
    size_t lowest = count;
    for (uint64_t group = fs->groups; lowest > 0 && group-- > groups[lowest - 1] + 1 && count < FEW_COPIES;) {
        if (ext4_has_superblock(fs, group)) {
            groups[count++] = group;
        }
    }
    return count;
}

/**
 * Whether a copy divides the disk into the same groups. Its size and its features may be older, and its state
 * is never "clean".
 */
static bool is_copy_there(const struct ext4 *fs, const uint8_t *super) {
    uint32_t shift = little32(super + 0x18);
    return little16(super + 0x38) == EXT4_MAGIC && shift < 7 && 1024u << shift == fs->block_bytes &&
           little32(super + 0x20) == fs->blocks_per_group && little32(super + 0x28) == fs->inodes_per_group;
}

static int check_groups(const struct ext4 *fs, uint8_t *block, struct diag *diag) {
    uint64_t groups[FEW_COPIES];
    struct extents list = {0};
    size_t count = choose_groups(fs, groups);
    for (size_t i = 0; i < count; i++) {
        (void)extents_append(&list, ext4_group_start(fs, groups[i]) * fs->block_bytes, EXT4_SUPER_BYTES);
    }
    source_expect(fs->source, &list);
    for (size_t i = 0; i < count; i++) {
        size_t newer = 0;
        (void)ext4_find_copies(fs, ext4_group_start(fs, groups[i]), &newer);
        if (newer == 0 && (source_read(fs->source, ext4_group_start(fs, groups[i]) * fs->block_bytes, block,
                                       EXT4_SUPER_BYTES) != 0 ||
                           !is_copy_there(fs, block))) {
            return diag_refuse(diag, -1, "ext4: a copy of its superblock was overwritten");
        }
    }
    return 0;
}

int ext4_check_supers(const struct ext4 *fs, struct diag *diag) {
    uint8_t *block = malloc(fs->block_bytes);
    if (block == NULL) {
        return diag_refuse(diag, -1, "ext4: out of memory");
    }
    int failure = check_journal(fs, block, diag);
    failure = failure == 0 ? check_groups(fs, block, diag) : failure;
    free(block);
    return failure;
}
