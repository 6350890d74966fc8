/**
 * The entries of XFS directories (XFS Algorithms & Data Structures, "Directories"): in the inode, or in
 * blocks of which those with entries come before the index and look alike, whatever the directory's form.
 */
#include "filesystems/xfs/xfs_tree.h"

#include "base/bytes.h"

#define FORMAT_LOCAL 1u
#define MAGIC_BLOCK 0x58443242u
#define MAGIC_BLOCK_V5 0x58444233u
#define MAGIC_DATA 0x58443244u
#define MAGIC_DATA_V5 0x58444433u
#define HEADER_BYTES 16u
#define HEADER_BYTES_V5 64u
#define FREE_TAG 0xffffu

static enum tree_kind kind_of(uint8_t kind) {
    return kind == 0 ? TREE_UNKNOWN : kind == 1 ? TREE_FILE : kind == 2 ? TREE_DIRECTORY : TREE_OTHER;
}

bool xfs_tree_inline_names(const struct tree *tree, const struct tree_inode *inode, tree_name_hook *take,
                           void *context) {
    const struct xfs_state *state = tree->state;
    if (inode->format != FORMAT_LOCAL) {
        return false;
    }
    uint32_t bytes = inode->bytes < inode->fork_bytes ? (uint32_t)inode->bytes : inode->fork_bytes;
    if (bytes < 6) {
        return true;
    }
    const uint8_t *fork = inode->fork;
    uint32_t number_bytes = fork[1] > 0 ? 8 : 4;
    uint32_t count = fork[1] > 0 ? fork[1] : fork[0];
    uint32_t at = 2 + number_bytes;
    for (uint32_t i = 0; i < count && at + 3 <= bytes; i++) {
        uint32_t length = fork[at];
        uint32_t kind_at = at + 3 + length;
        uint32_t number_at = kind_at + (state->has_kinds ? 1 : 0);
        if (number_at + number_bytes > bytes) {
            break;
        }
        struct tree_name name = {.text = (const char *)fork + at + 3,
                                 .length = length,
                                 .inode =
                                     number_bytes == 8 ? big64(fork + number_at) : big32(fork + number_at),
                                 .kind = state->has_kinds ? kind_of(fork[kind_at]) : TREE_UNKNOWN};
        if (!take(context, &name)) {
            break;
        }
        at = number_at + number_bytes;
    }
    return true;
}

/** Where the entries of a block end: of a directory of one block its index follows. */
static uint32_t end_of_entries(const uint8_t *block, uint32_t bytes, uint32_t magic) {
    if (magic != MAGIC_BLOCK && magic != MAGIC_BLOCK_V5) {
        return bytes;
    }
    uint64_t index_bytes = 8 + (uint64_t)big32(block + bytes - 8) * 8;
    return index_bytes < bytes ? bytes - (uint32_t)index_bytes : 0;
}

static bool is_dots(const uint8_t *text, uint32_t length) {
    return (length == 1 || (length == 2 && text[1] == '.')) && text[0] == '.';
}

bool xfs_tree_block_names(const struct tree *tree, const uint8_t *block, tree_name_hook *take,
                          void *context) {
    const struct xfs_state *state = tree->state;
    uint32_t magic = big32(block);
    bool is_known = state->fs.is_v5 ? magic == MAGIC_BLOCK_V5 || magic == MAGIC_DATA_V5
                                    : magic == MAGIC_BLOCK || magic == MAGIC_DATA;
    uint32_t end = is_known ? end_of_entries(block, tree->directory_block_bytes, magic) : 0;
    uint32_t at = state->fs.is_v5 ? HEADER_BYTES_V5 : HEADER_BYTES;
    while (at + 16 <= end) {
        const uint8_t *entry = block + at;
        if (big16(entry) == FREE_TAG) {
            uint32_t free_bytes = big16(entry + 2);
            if (free_bytes < 8 || free_bytes % 8 != 0) {
                break;
            }
            at += free_bytes;
            continue;
        }
        uint32_t length = entry[8];
        uint32_t kind_at = 9 + length;
        uint32_t entry_bytes = (kind_at + (state->has_kinds ? 1 : 0) + 2 + 7) / 8 * 8;
        if (length == 0 || entry_bytes > end - at) {
            break;
        }
        struct tree_name name = {.text = (const char *)entry + 9,
                                 .length = length,
                                 .inode = big64(entry),
                                 .kind = state->has_kinds ? kind_of(entry[kind_at]) : TREE_UNKNOWN};
        if (!is_dots(entry + 9, length) && !take(context, &name)) {
            return false;
        }
        at += entry_bytes;
    }
    return true;
}
