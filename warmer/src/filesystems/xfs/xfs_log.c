/**
 * Checks whether an XFS log is clean (XFS Algorithms & Data Structures, "Journaling Log").
 *
 * The log is a ring of 512-byte blocks, each stamped with its cycle number. The head is where the number
 * falls. A clean unmount leaves a record of one operation with the unmount flag just before the head.
 * Anything else, also a record that wraps around the end, counts as a log that must be replayed.
 */
#include "base/bytes.h"
#include "filesystems/xfs/xfs.h"

#include <string.h>

#define LOG_BLOCK 512u
#define RECORD_MAGIC 0xfeedbabeu
#define CYCLE_BYTES 32768u
#define UNMOUNT_FLAG 0x20u
/** A record of one operation is padded to the log's stripe unit, 256 KiB at most. */
#define MAX_BACK ((256u + 32u) * 2u)

static int refuse(struct diag *diag, const char *reason) {
    return diag_refuse(diag, -1, "xfs: %s", reason);
}

static int read_log_block(const struct xfs *fs, uint64_t index, uint8_t *buffer) {
    return source_read(fs->source, fs->log_offset + index * LOG_BLOCK, buffer, LOG_BLOCK);
}

/** The turn that wrote a block; 0 where none has. */
static int read_cycle(const struct xfs *fs, uint64_t index, uint32_t *cycle) {
    uint8_t block[LOG_BLOCK];
    int failure = read_log_block(fs, index, block);
    if (failure == 0) {
        *cycle = big32(block) == RECORD_MAGIC ? big32(block + 4) : big32(block);
    }
    return failure;
}

/** The first block that the last turn did not write; the log's length where it wrote all. */
static int find_head(const struct xfs *fs, uint64_t *head) {
    uint64_t low = 0;
    uint64_t high = fs->log_bytes / LOG_BLOCK;
    uint32_t first = 0;
    int failure = read_cycle(fs, 0, &first);
    while (failure == 0 && low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint32_t cycle = 0;
        failure = read_cycle(fs, middle, &cycle);
        if (cycle == first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *head = low;
    return failure;
}

/** Blocks that the header of a record takes. */
static uint64_t header_blocks(const uint8_t *header) {
    uint32_t record_bytes = big32(header + 320);
    bool is_long = (big32(header + 8) & 2u) != 0 && record_bytes > CYCLE_BYTES;
    return is_long ? record_bytes / CYCLE_BYTES + (record_bytes % CYCLE_BYTES != 0) : 1;
}

/** Is the record that begins at `index` the one of an unmount, and does it end at `head`? */
static bool is_unmount(const struct xfs *fs, const uint8_t *header, uint64_t index, uint64_t head) {
    uint8_t operation[LOG_BLOCK];
    uint64_t headers = header_blocks(header);
    uint64_t data = big32(header + 12) / LOG_BLOCK + (big32(header + 12) % LOG_BLOCK != 0);
    if (index + headers + data != head || data == 0 || big32(header + 40) != 1) {
        return false;
    }
    return read_log_block(fs, index + headers, operation) == 0 && (operation[9] & UNMOUNT_FLAG) != 0;
}

int xfs_check_log(const struct xfs *fs, struct diag *diag) {
    uint8_t block[LOG_BLOCK];
    uint32_t first = 0;
    uint64_t head = 0;
    if (read_cycle(fs, 0, &first) != 0 || find_head(fs, &head) != 0) {
        return refuse(diag, "its log cannot be read");
    }
    if (first == 0) {
        return head == fs->log_bytes / LOG_BLOCK ? 0 : refuse(diag, "its log is damaged");
    }
    for (uint64_t back = 1; back <= MAX_BACK && back <= head; back++) {
        if (read_log_block(fs, head - back, block) != 0) {
            return refuse(diag, "its log cannot be read");
        }
        if (big32(block) == RECORD_MAGIC) {
            return is_unmount(fs, block, head - back, head) ? 0 : refuse(diag, "its log must be replayed");
        }
    }
    return refuse(diag, "its log must be replayed");
}
