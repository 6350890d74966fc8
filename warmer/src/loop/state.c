/**
 * The state file: a header of one page, then one bit a block, mapped into memory.
 *
 * A bit is set only after its block is read to the end, so whatever part of the file reaches the disk is
 * correct. A kill loses nothing, because the kernel has the page; a crash of the machine loses the last few
 * seconds. The space is allocated when the file is created, so that a full disk does not end
 * the run in the middle.
 */
#include "loop/state.h"

#include "system/clock.h"
#include "system/state_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "rewarm-warmer-1\n"
#define HEADER_BYTES 4096u
#define SAVE_INTERVAL_NS (5 * NS_PER_SECOND)

/** The mapping is looked at piece by piece, so that a large volume's 16 MiB are never in memory at once. */
#define PIECE_BYTES (1u << 19)
#define PAGE_BYTES 4096u
#define MOST_PAGES 64u

/** The first bytes of the file. */
struct header {
    char magic[16];
    uint32_t block_bytes;
    uint32_t depth; /**< At which the last search came to rest; 0: not known. */
    struct state_identity identity;
};

struct state {
    struct state_file *file;
    size_t bytes;
    uint64_t blocks;
    struct header *header; /**< NULL until the file is mapped. */
    uint8_t *bits;         /**< NULL until the file is mapped. */
    uint64_t saved_ns;
    uint64_t page;  /**< Of the bits: where the last one was set. */
    unsigned pages; /**< Looked at since memory was given back. */
};

static int refuse(struct state *state, const char *path, const char *reason, struct diag *diag) {
    state_close(state);
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot use state file %s: %s", path, reason);
}

static struct header make_header(const struct state_identity *identity) {
    struct header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, MAGIC, sizeof header.magic);
    header.block_bytes = BLOCK_BYTES;
    header.identity.device_bytes = identity->device_bytes;
    memcpy(header.identity.name, identity->name, strnlen(identity->name, sizeof header.identity.name - 1));
    return header;
}

/** Is there no header yet? An empty file, or what a kill in the middle of state_file_make leaves. */
static bool is_new(const struct state *state, uint64_t size) {
    static const struct header nothing;
    struct header found;
    memset(&found, 0, sizeof found);
    if (size == 0) {
        return true;
    }
    return size == state->bytes &&
           state_file_read(state->file, &found, sizeof found) == (int64_t)sizeof found &&
           memcmp(&found, &nothing, sizeof found) == 0;
}

/** NULL if the file is this device's, or why it is not. */
static const char *check_file(const struct state *state, const struct state_identity *identity,
                              uint64_t size) {
    struct header expected = make_header(identity);
    struct header found;
    memset(&found, 0, sizeof found);
    if (state_file_read(state->file, &found, sizeof found) != (int64_t)sizeof found ||
        memcmp(found.magic, expected.magic, sizeof found.magic) != 0) {
        return "it is not a state file of this program";
    }
    expected.depth = found.depth;
    if (memcmp(&found, &expected, sizeof found) != 0 || size != state->bytes) {
        return "it belongs to another device";
    }
    return NULL;
}

/** Lock, then make or check, then map; NULL or why not. */
static const char *prepare(struct state *state, const char *path, const struct state_identity *identity) {
    const char *reason = state_file_open(path, &state->file);
    if (reason != NULL) {
        return reason;
    }
    uint64_t size = state_file_bytes(state->file);
    if (is_new(state, size)) {
        struct header header = make_header(identity);
        int failure = state_file_make(state->file, state->bytes, &header, sizeof header);
        reason = failure != 0 ? strerror(-failure) : NULL;
    } else {
        reason = check_file(state, identity, size);
    }
    if (reason != NULL) {
        return reason;
    }
    uint8_t *memory = state_file_map(state->file, state->bytes);
    if (memory == NULL) {
        return strerror(errno);
    }
    state->header = (struct header *)(void *)memory;
    state->bits = memory + HEADER_BYTES;
    return NULL;
}

int state_open(const char *path, const struct state_identity *identity, struct state **opened,
               struct diag *diag) {
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot use state file %s: out of memory", path);
    }
    state->blocks = blocks_of_bytes(identity->device_bytes);
    state->bytes = HEADER_BYTES + (size_t)((state->blocks + 7) / 8);
    const char *reason = prepare(state, path, identity);
    if (reason != NULL) {
        return refuse(state, path, reason, diag);
    }
    *opened = state;
    return 0;
}

int state_subtract(const struct state *state, struct block_set *wanted, struct block_set *done) {
    uint64_t bytes = (state->blocks + 7) / 8;
    int failure = 0;
    for (uint64_t at = 0; at < bytes && failure == 0; at += PIECE_BYTES) {
        uint64_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        failure = block_set_move(wanted, at * 8, state->bits + at, piece, done);
        state_file_release(state->file);
    }
    return failure;
}

void state_remember(struct state *state, uint64_t block) {
    uint64_t page = block / 8 / PAGE_BYTES;
    if (page != state->page && ++state->pages >= MOST_PAGES) {
        state_file_release(state->file);
        state->pages = 1;
    }
    state->page = page;
    state->bits[block / 8] |= (uint8_t)(1u << (block % 8));
}

unsigned state_depth(const struct state *state) {
    return state->header->depth;
}

void state_remember_depth(struct state *state, unsigned depth) {
    state->header->depth = depth;
}

void state_save(struct state *state, uint64_t now_ns, bool now) {
    if (now || now_ns - state->saved_ns >= SAVE_INTERVAL_NS) {
        state_file_sync(state->file);
        state->saved_ns = now_ns;
    }
}

void state_close(struct state *state) {
    if (state == NULL) {
        return;
    }
    if (state->bits != NULL) {
        state_save(state, 0, true);
    }
    state_file_close(state->file);
    free(state);
}
