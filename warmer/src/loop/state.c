/**
 * The state file: a header of one page, then a part of 8 bytes for every 32 blocks, mapped into memory.
 *
 * A part holds one bit a block and a checksum of these bits and of the part's place. Both are written at
 * once, so no kill and no crash separates them. A part whose checksum is wrong counts as empty: its blocks
 * are read again. A part of zeros is empty too, as in a file that was just made.
 *
 * A bit is set only after its block is read to the end, so whatever part of the file reaches the disk is
 * correct. A kill loses nothing, because the kernel has the page; a crash of the machine loses the last few
 * seconds. The space is allocated when the file is created, so that a full disk does not end
 * the run in the middle.
 */
#include "loop/state.h"

#include "base/bytes.h"
#include "base/random.h"
#include "system/clock.h"
#include "system/file.h"
#include "system/state_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "rewarm-warmer-2\n"
/** One bit a block without a checksum: nobody can tell a damaged one from a good one. */
#define EARLIER_MAGIC "rewarm-warmer-1\n"
#define HEADER_BYTES 4096u
#define SAVE_INTERVAL_NS (5 * NS_PER_SECOND)

/** The mapping is looked at piece by piece, so that a large volume's 16 MiB are never in memory at once. */
#define PART_BLOCKS 32u
#define PIECE_PARTS 1024u
#define RELEASE_PARTS (1u << 16)
#define PAGE_PARTS 512u
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
    struct header *header; /**< NULL until the file is mapped. */
    uint64_t *parts;       /**< NULL until the file is mapped. */
    uint64_t part_count;
    uint64_t saved_ns;
    uint64_t page;  /**< Of the parts: where the last bit was set. */
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
    bool has_header = state_file_read(state->file, &found, sizeof found) == (int64_t)sizeof found;
    if (has_header && memcmp(found.magic, EARLIER_MAGIC, sizeof found.magic) == 0) {
        return "an earlier version of this program wrote it, without checksums";
    }
    if (!has_header || memcmp(found.magic, expected.magic, sizeof found.magic) != 0) {
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
    state->parts = (uint64_t *)(void *)(memory + HEADER_BYTES);
    return NULL;
}

static uint64_t parts_of(const struct state_identity *identity) {
    return (blocks_of_bytes(identity->device_bytes) + PART_BLOCKS - 1) / PART_BLOCKS;
}

int state_open(const char *path, const struct state_identity *identity, struct state **opened,
               struct diag *diag) {
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot use state file %s: out of memory", path);
    }
    state->part_count = parts_of(identity);
    state->bytes = HEADER_BYTES + (size_t)state->part_count * sizeof *state->parts;
    const char *reason = prepare(state, path, identity);
    if (reason != NULL) {
        return refuse(state, path, reason, diag);
    }
    *opened = state;
    return 0;
}

/** The bits in the lower half, the checksum in the upper one. */
static uint64_t make_part(uint64_t index, uint32_t bits) {
    struct random mixed = {.state = index << 32 | bits};
    return random_next(&mixed) >> 32 << 32 | bits;
}

static bool is_whole(uint64_t index, uint64_t part) {
    return part == 0 || part == make_part(index, (uint32_t)part);
}

/** The bits of a part; none if it is damaged. */
static uint32_t read_part(const struct state *state, uint64_t index, uint64_t *damaged) {
    uint64_t part = __atomic_load_n(&state->parts[index], __ATOMIC_RELAXED);
    if (is_whole(index, part)) {
        return (uint32_t)part;
    }
    ++*damaged;
    return 0;
}

int state_subtract(const struct state *state, struct block_set *wanted, struct block_set *done,
                   uint64_t *damaged) {
    uint8_t bits[PIECE_PARTS * PART_BLOCKS / 8];
    int failure = 0;
    *damaged = 0;
    for (uint64_t at = 0; at < state->part_count && failure == 0; at += PIECE_PARTS) {
        uint64_t parts = state->part_count - at < PIECE_PARTS ? state->part_count - at : PIECE_PARTS;
        for (uint64_t i = 0; i < parts; i++) {
            put_little32(bits + 4 * i, read_part(state, at + i, damaged));
        }
        failure = block_set_move(wanted, at * PART_BLOCKS, bits, parts * PART_BLOCKS / 8, done);
        if ((at + parts) % RELEASE_PARTS == 0) {
            state_file_release(state->file);
        }
    }
    state_file_release(state->file);
    return failure;
}

bool state_has(const struct state *state, uint64_t block) {
    uint64_t damaged = 0;
    return (read_part(state, block / PART_BLOCKS, &damaged) >> (block % PART_BLOCKS) & 1) != 0;
}

void state_remember(struct state *state, uint64_t block) {
    uint64_t index = block / PART_BLOCKS;
    uint64_t page = index / PAGE_PARTS;
    if (page != state->page && ++state->pages >= MOST_PAGES) {
        state_file_release(state->file);
        state->pages = 1;
    }
    state->page = page;
    uint64_t damaged = 0;
    uint32_t bits = read_part(state, index, &damaged) | UINT32_C(1) << (block % PART_BLOCKS);
    /* One store of 8 bytes: what a kill leaves is the part as it was, or as it is now. */
    __atomic_store_n(&state->parts[index], make_part(index, bits), __ATOMIC_RELAXED);
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
    if (state->parts != NULL) {
        state_save(state, 0, true);
    }
    state_file_close(state->file);
    free(state);
}

/** Two copies of the file's parts, of which `parts` is the older one between a look and a turn. */
struct state_watch {
    const char *path;
    struct header header; /**< Which the file must have. */
    FILE *file;           /**< NULL: there was none so far. */
    uint64_t part_count;
    uint64_t *parts;
    uint64_t *latest;
};

struct state_watch *state_watch_create(const char *path, const struct state_identity *identity) {
    struct state_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return NULL;
    }
    watch->header = make_header(identity);
    watch->part_count = parts_of(identity);
    watch->path = path;
    watch->parts = calloc(watch->part_count + 1, sizeof *watch->parts);
    watch->latest = calloc(watch->part_count + 1, sizeof *watch->latest);
    if (watch->parts == NULL || watch->latest == NULL) {
        state_watch_destroy(watch);
        return NULL;
    }
    return watch;
}

/** Read the parts of a file that is this device's. A mapping would end this program where one is cut. */
static bool read_parts(struct state_watch *watch, FILE *file) {
    struct header found;
    memset(&found, 0, sizeof found);
    bool has_header = fseek(file, 0, SEEK_SET) == 0 && fread(&found, sizeof found, 1, file) == 1;
    found.depth = watch->header.depth;
    return has_header && memcmp(&found, &watch->header, sizeof found) == 0 &&
           fseek(file, HEADER_BYTES, SEEK_SET) == 0 &&
           fread(watch->latest, sizeof *watch->latest, watch->part_count + 1, file) == watch->part_count;
}

void state_watch_look(struct state_watch *watch) {
    FILE *file = file_open_own(watch->path);
    if (file != NULL) {
        /* What was read before must not be given again. */
        setvbuf(file, NULL, _IONBF, 0);
        if (read_parts(watch, file)) {
            if (watch->file != NULL) {
                fclose(watch->file);
            }
            watch->file = file;
            return;
        }
        fclose(file);
    }
    if (watch->file == NULL || !read_parts(watch, watch->file)) {
        memcpy(watch->latest, watch->parts, watch->part_count * sizeof *watch->parts);
    }
}

void state_watch_turn(struct state_watch *watch) {
    uint64_t *parts = watch->parts;
    watch->parts = watch->latest;
    watch->latest = parts;
}

bool state_watch_is_there(const struct state_watch *watch) {
    return watch->file != NULL;
}

bool state_watch_has(const struct state_watch *watch, uint64_t block) {
    uint64_t index = block / PART_BLOCKS;
    uint64_t part = index < watch->part_count ? watch->parts[index] : 0;
    return is_whole(index, part) && (part >> (block % PART_BLOCKS) & 1) != 0;
}

void state_watch_destroy(struct state_watch *watch) {
    if (watch == NULL) {
        return;
    }
    if (watch->file != NULL) {
        fclose(watch->file);
    }
    free(watch->parts);
    free(watch->latest);
    free(watch);
}
