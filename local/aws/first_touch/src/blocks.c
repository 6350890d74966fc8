#include "blocks.h"

#include "memory.h"

#include <errno.h>
#include <sys/mman.h>

static bool get_bit(const uint64_t *bits, uint64_t index) {
    return bits[index / 64] >> (index % 64) & 1;
}

static void set_bit(uint64_t *bits, uint64_t index) {
    bits[index / 64] |= UINT64_C(1) << (index % 64);
}

int block_map_create(struct block_map *map, uint64_t count) {
    uint64_t words = (count + 63) / 64;
    void *blocks = mmap(NULL, count * sizeof(*map->blocks), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (blocks == MAP_FAILED)
        return -errno;
    *map = (struct block_map){
        .count = count,
        .written = must_calloc(words, sizeof(uint64_t)),
        .local = must_calloc(words, sizeof(uint64_t)),
        .read = must_calloc(words, sizeof(uint64_t)),
        .reread = must_calloc(words, sizeof(uint64_t)),
        .blocks = blocks,
    };
    return 0;
}

void block_map_destroy(struct block_map *map) {
    if (!map->blocks)
        return;
    munmap(map->blocks, map->count * sizeof(*map->blocks));
    free(map->written);
    free(map->local);
    free(map->read);
    free(map->reread);
}

void block_map_set_written(struct block_map *map, uint64_t block) {
    if (get_bit(map->written, block))
        return;
    set_bit(map->written, block);
    map->written_count++;
}

bool block_map_is_written(const struct block_map *map, uint64_t block) {
    return get_bit(map->written, block);
}

bool block_map_is_ready(const struct block_map *map, uint64_t block) {
    return !get_bit(map->written, block) || get_bit(map->local, block);
}

struct page_mask block_map_missing(const struct block_map *map, uint64_t block, struct page_mask wanted) {
    if (block_map_is_ready(map, block))
        return (struct page_mask){{0, 0}};
    return page_mask_without(wanted, map->blocks[block].local);
}

static void set_all_local(struct block_map *map, uint64_t block) {
    if (block_map_is_ready(map, block))
        return;
    set_bit(map->local, block);
    map->local_count++;
}

void block_map_set_local(struct block_map *map, uint64_t block, struct page_mask pages) {
    struct page_mask *local = &map->blocks[block].local;

    if (block_map_is_ready(map, block))
        return;
    *local = page_mask_or(*local, pages);
    if (page_mask_count(*local) == BLOCK_PAGES)
        set_all_local(map, block);
}

static void count_reread(struct block_map *map, uint64_t block, unsigned pages) {
    if (pages == 0)
        return;
    map->reread_pages += pages;
    if (get_bit(map->reread, block))
        return;
    set_bit(map->reread, block);
    map->reread_count++;
}

void block_map_set_read(struct block_map *map, uint64_t block, struct page_mask pages) {
    struct page_mask *read = &map->blocks[block].read;

    if (!get_bit(map->written, block))
        return;
    count_reread(map, block, page_mask_count(page_mask_and(*read, pages)));
    if (get_bit(map->read, block))
        return;
    *read = page_mask_or(*read, pages);
    if (page_mask_count(*read) < BLOCK_PAGES)
        return;
    set_bit(map->read, block);
    map->read_count++;
}

unsigned block_map_take_prepaid(struct block_map *map, uint64_t block, struct page_mask pages) {
    struct page_mask *prepaid = &map->blocks[block].prepaid;
    unsigned taken = page_mask_count(page_mask_and(*prepaid, pages));

    if (taken)
        *prepaid = page_mask_without(*prepaid, pages);
    return taken;
}

void block_map_initialize(struct block_map *map, double fraction) {
    uint64_t wanted = (uint64_t)(fraction * (double)map->written_count + 0.5);

    while (map->initialized_count < wanted) {
        uint64_t block = map->initialized_end++;

        if (!get_bit(map->written, block))
            continue;
        set_all_local(map, block);
        map->initialized_count++;
    }
}

bool block_map_initialize_next(struct block_map *map, uint64_t *cursor) {
    while (*cursor < map->count && block_map_is_ready(map, *cursor))
        (*cursor)++;
    if (*cursor == map->count)
        return false;
    set_all_local(map, *cursor);
    return true;
}
