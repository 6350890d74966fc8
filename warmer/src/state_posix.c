/**
 * The state file: a header of one page, then one bit a block, mapped into memory.
 *
 * A bit is set only after its block is read to the end, so whatever part of the file reaches the disk is
 * true: a kill loses nothing (the kernel holds the page), a crash of the machine the last few seconds. The
 * room is reserved when the file is made, because a full disk must not show itself as a fault in the middle
 * of the run.
 */
#include "state.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "rewarm-warmer-1\n"
#define HEADER_BYTES 4096u
#define SAVE_INTERVAL_NS (5 * NS_PER_SECOND)

/** The first bytes of the file. */
struct header {
    char magic[16];
    uint32_t block_bytes;
    uint32_t reserved;
    struct state_identity identity;
};

struct state {
    int descriptor;
    size_t bytes;
    uint64_t blocks;
    void *memory;
    uint8_t *bits;
    uint64_t saved_ns;
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

/** Give a new file its room and header; 0 or -errno. */
static int make_file(struct state *state, const struct state_identity *identity) {
    struct header header = make_header(identity);
    int failure = posix_fallocate(state->descriptor, 0, (off_t)state->bytes);
    if (failure != 0) {
        return -failure;
    }
    ssize_t written = pwrite(state->descriptor, &header, sizeof header, 0);
    if (written != (ssize_t)sizeof header) {
        return written < 0 ? -errno : -EIO;
    }
    return fsync(state->descriptor) == 0 ? 0 : -errno;
}

/** Is there no header yet? An empty file, or what a kill between the two steps of make_file leaves. */
static bool is_new(const struct state *state, off_t size) {
    static const struct header nothing;
    struct header found;
    memset(&found, 0, sizeof found);
    if (size == 0) {
        return true;
    }
    return size == (off_t)state->bytes &&
           pread(state->descriptor, &found, sizeof found, 0) == (ssize_t)sizeof found &&
           memcmp(&found, &nothing, sizeof found) == 0;
}

/** NULL if the file is this device's, or why it is not. */
static const char *check_file(const struct state *state, const struct state_identity *identity, off_t size) {
    struct header expected = make_header(identity);
    struct header found;
    memset(&found, 0, sizeof found);
    if (pread(state->descriptor, &found, sizeof found, 0) != (ssize_t)sizeof found ||
        memcmp(found.magic, expected.magic, sizeof found.magic) != 0) {
        return "it is not a state file of this program";
    }
    if (memcmp(&found, &expected, sizeof found) != 0 || size != (off_t)state->bytes) {
        return "it belongs to another device";
    }
    return NULL;
}

/** Lock, then make or check; NULL or why not. */
static const char *prepare(struct state *state, const char *path, const struct state_identity *identity) {
    struct stat status;
    state->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->descriptor < 0) {
        return strerror(errno);
    }
    if (flock(state->descriptor, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? "another warmer is using it" : strerror(errno);
    }
    if (fstat(state->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        return "it is not a regular file";
    }
    if (!is_new(state, status.st_size)) {
        return check_file(state, identity, status.st_size);
    }
    int failure = make_file(state, identity);
    if (failure != 0) {
        /* Empty again, so that the next start does not find half a header. */
        (void)!ftruncate(state->descriptor, 0);
        return strerror(-failure);
    }
    return NULL;
}

int state_open(const char *path, const struct state_identity *identity, struct state **opened,
               struct diag *diag) {
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot use state file %s: out of memory", path);
    }
    state->descriptor = -1;
    state->blocks = blocks_of_bytes(identity->device_bytes);
    state->bytes = HEADER_BYTES + (size_t)((state->blocks + 7) / 8);
    const char *reason = prepare(state, path, identity);
    if (reason != NULL) {
        return refuse(state, path, reason, diag);
    }
    void *memory = mmap(NULL, state->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, state->descriptor, 0);
    if (memory == MAP_FAILED) {
        return refuse(state, path, strerror(errno), diag);
    }
    state->memory = memory;
    state->bits = (uint8_t *)memory + HEADER_BYTES;
    *opened = state;
    return 0;
}

uint64_t state_subtract(const struct state *state, struct block_set *wanted) {
    uint64_t removed = 0;
    for (uint64_t block = block_set_next(wanted, 0); block != BLOCK_NONE;
         block = block_set_next(wanted, block + 1)) {
        if ((state->bits[block / 8] >> (block % 8) & 1) != 0) {
            removed += block_set_remove(wanted, block);
        }
    }
    return removed;
}

void state_remember(struct state *state, uint64_t block) {
    state->bits[block / 8] |= (uint8_t)(1u << (block % 8));
}

void state_save(struct state *state, uint64_t now_ns, bool now) {
    if (now || now_ns - state->saved_ns >= SAVE_INTERVAL_NS) {
        msync(state->memory, state->bytes, MS_SYNC);
        state->saved_ns = now_ns;
    }
}

void state_close(struct state *state) {
    if (state == NULL) {
        return;
    }
    if (state->memory != NULL) {
        state_save(state, 0, true);
        munmap(state->memory, state->bytes);
    }
    if (state->descriptor >= 0) {
        close(state->descriptor);
    }
    free(state);
}
