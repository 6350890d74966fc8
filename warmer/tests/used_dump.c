/**
 * used_dump [--map] IMAGE: what used_scan says of an image, as text for the command-line tests: `known` or
 * `unknown`, `found …`, `note …`, `missing N` (blocks that hold something but are not called used), then
 * `used START COUNT` and `metadata START COUNT` lines in blocks of 512 KiB.
 *
 * `first START COUNT` lines are what metadata_find says: where the file systems keep their own structures.
 *
 * used_dump order IMAGE SOURCES: what order_find says, with all blocks wanted: `set SOURCE BLOCKS AGE WHAT`
 * lines, then `order START COUNT` lines. SOURCES is the sum of the sources' numbers, or `N,BLOCKS` to list so
 * many at most.
 *
 * BROKEN_BYTE=N in the environment: a read that touches this byte fails.
 *
 * With --map, its blocks that are not holes of the file are the ones that were ever written.
 *
 * used_dump [order] IMAGE … INPUT also writes an input for fuzz_used or fuzz_order: the sectors that were
 * read, unless they are zero.
 */
#include "filesystems/metadata.h"
#include "filesystems/order/order.h"
#include "filesystems/used.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR_BYTES 512u
#define MAX_SECTORS (1u << 24)

static bool was_read[MAX_SECTORS];
static uint64_t broken = UINT64_MAX;

static int read_file(void *context, uint64_t offset, void *buffer, size_t length) {
    FILE *file = context;
    for (uint64_t i = offset / SECTOR_BYTES; i <= (offset + length - 1) / SECTOR_BYTES && i < MAX_SECTORS;
         i++) {
        was_read[i] = true;
    }
    if ((broken >= offset && broken - offset < length) || fseeko(file, (off_t)offset, SEEK_SET) != 0 ||
        fread(buffer, 1, length, file) != length) {
        return -EIO;
    }
    return 0;
}

static void print_runs(const struct block_set *set) {
    uint64_t block = block_set_next(set, 0);
    while (block != BLOCK_NONE) {
        uint64_t end = block + 1;
        while (block_set_contains(set, end)) {
            end++;
        }
        printf("used %" PRIu64 " %" PRIu64 "\n", block, end - block);
        block = block_set_next(set, end);
    }
}

/** The first block at or after `block` that is not a hole of the file; BLOCK_NONE if the rest is holes. */
static uint64_t next_data(FILE *file, uint64_t block) {
    off_t offset = lseek(fileno(file), (off_t)(block * BLOCK_BYTES), SEEK_DATA);
    return offset < 0 ? BLOCK_NONE : (uint64_t)offset / BLOCK_BYTES;
}

/** How many blocks have a byte that is not zero, and are not in the set. */
static uint64_t count_missing(FILE *file, const struct source *source, const struct block_set *set) {
    static unsigned char bytes[BLOCK_BYTES];
    uint64_t missing = 0;
    for (uint64_t block = next_data(file, 0); block < block_set_capacity(set);
         block = next_data(file, block + 1)) {
        uint32_t length = block_length(block, source->bytes);
        if (!block_set_contains(set, block) && read_file(file, block * BLOCK_BYTES, bytes, length) == 0) {
            missing += bytes[0] != 0 || memcmp(bytes, bytes + 1, length - 1) != 0;
        }
    }
    return missing;
}

static void put_number(FILE *input, uint32_t number) {
    for (unsigned i = 0; i < 4; i++) {
        fputc((int)(number >> (8 * i) & 0xff), input);
    }
}

static int write_input(FILE *file, const struct source *source, const char *path) {
    unsigned char sector[SECTOR_BYTES];
    FILE *input = fopen(path, "wb");
    if (input == NULL) {
        return 2;
    }
    put_number(input, (uint32_t)(source->bytes / SECTOR_BYTES));
    for (uint32_t i = 0; i < MAX_SECTORS; i++) {
        if (was_read[i] && read_file(file, (uint64_t)i * SECTOR_BYTES, sector, sizeof sector) == 0 &&
            (sector[0] != 0 || memcmp(sector, sector + 1, sizeof sector - 1) != 0)) {
            put_number(input, i);
            fwrite(sector, 1, sizeof sector, input);
        }
    }
    return fclose(input) == 0 ? 0 : 2;
}

static struct block_set *find_written(FILE *file, const struct source *source) {
    uint64_t blocks = blocks_of_bytes(source->bytes);
    struct block_set *written = block_set_create(blocks);
    for (uint64_t block = next_data(file, 0); written != NULL && block < blocks;
         block = next_data(file, block + 1)) {
        (void)block_set_add(written, block, 1);
    }
    return written;
}

static int dump_used(FILE *file, const struct source *source, bool has_map, const char *input) {
    struct used used;
    struct block_set *written = has_map ? find_written(file, source) : NULL;
    if (used_init(&used, source->bytes) != 0) {
        return 2;
    }
    puts(used_scan(source, written, &used) ? "known" : "unknown");
    block_set_destroy(written);
    struct metadata metadata;
    metadata_find(source, &metadata);
    int failure = input == NULL ? 0 : write_input(file, source, input);
    printf("found %s\nnote %s\nfirst_found %s\n", used.found, used.note, metadata.found);
    printf("missing %" PRIu64 "\n", count_missing(file, source, used.blocks));
    print_runs(used.blocks);
    for (size_t i = 0; i < used.metadata.length; i++) {
        printf("metadata %" PRIu64 " %" PRIu64 "\n", used.metadata.items[i].start,
               used.metadata.items[i].count);
    }
    for (size_t i = 0; i < metadata.blocks.length; i++) {
        printf("first %" PRIu64 " %" PRIu64 "\n", metadata.blocks.items[i].start,
               metadata.blocks.items[i].count);
    }
    extents_clear(&metadata.blocks);
    used_clear(&used);
    return failure;
}

static int dump_order(FILE *file, const struct source *source, const char *sources, const char *input) {
    uint64_t blocks = blocks_of_bytes(source->bytes);
    char *rest = NULL;
    unsigned wanted_sources = (unsigned)strtoul(sources, &rest, 10);
    struct block_set *wanted = block_set_create(blocks);
    if (wanted == NULL || block_set_add(wanted, 0, blocks) != 0) {
        return 2;
    }
    struct order order = {0};
    struct order_limits limits = {.wanted = wanted,
                                  .most_blocks = *rest == ',' ? strtoull(rest + 1, NULL, 10) : blocks,
                                  .most_bytes = UINT64_C(64) << 20};
    order_find(source, wanted_sources, &limits, &order);
    for (size_t i = 0; i < order.length; i++) {
        const struct order_set *set = &order.sets[i];
        printf("set %s %" PRIu64 " %" PRId64 " %s\n", order_source_name(set->source), set->blocks,
               set->age_seconds == ORDER_AGELESS ? -1 : set->age_seconds, set->what);
    }
    for (size_t i = 0; i < order.blocks.length; i++) {
        printf("order %" PRIu64 " %" PRIu64 "\n", order.blocks.items[i].start, order.blocks.items[i].count);
    }
    extents_clear(&order.blocks);
    block_set_destroy(wanted);
    return input == NULL ? 0 : write_input(file, source, input);
}

int main(int count, char **arguments) {
    bool has_map = count >= 2 && strcmp(arguments[1], "--map") == 0;
    count -= has_map;
    arguments += has_map;
    bool is_order = count >= 4 && strcmp(arguments[1], "order") == 0;
    const char *broken_byte = getenv("BROKEN_BYTE");
    broken = broken_byte == NULL ? broken : strtoull(broken_byte, NULL, 10);
    const char *path = count < 2 ? "" : arguments[is_order ? 2 : 1];
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseeko(file, 0, SEEK_END) != 0) {
        return 2;
    }
    struct source source = {.read = read_file, .context = file, .bytes = (uint64_t)ftello(file)};
    int failure = is_order ? dump_order(file, &source, arguments[3], count == 5 ? arguments[4] : NULL)
                           : dump_used(file, &source, has_map, count == 3 ? arguments[2] : NULL);
    fclose(file);
    return failure;
}
