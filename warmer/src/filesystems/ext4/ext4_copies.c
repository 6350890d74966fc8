/** Copies of metadata blocks that wait in the journal: found by block, read as they were. */
#include "filesystems/ext4/ext4.h"

#include <stdlib.h>
#include <string.h>

/** What a copy that would look like one of the journal's own blocks begins with, before it is put there. */
static const uint8_t journal_magic[] = {0xc0, 0x3b, 0x39, 0x98};

const struct ext4_journal_copy *ext4_find_copies(const struct ext4 *fs, uint64_t block, size_t *count) {
    size_t low = 0;
    size_t high = fs->copies.length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fs->copies.items[middle].block < block) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    while (low + *count < fs->copies.length && fs->copies.items[low + *count].block == block) {
        ++*count;
    }
    return fs->copies.length == 0 ? NULL : fs->copies.items + low;
}

int ext4_read_copy(const struct ext4 *fs, const struct ext4_journal_copy *copy, uint8_t *buffer) {
    int failure = ext4_read_block(fs, copy->copy, buffer);
    if (failure == 0 && copy->is_escaped) {
        memcpy(buffer, journal_magic, sizeof journal_magic);
    }
    return failure;
}

void ext4_close(struct ext4 *fs) {
    free(fs->copies.items);
    fs->copies = (struct ext4_copies){0};
}
