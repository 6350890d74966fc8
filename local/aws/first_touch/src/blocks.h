/* What is known of each 512 KiB block: written in the snapshot, local by now, read by the host.
 *
 * Whole blocks are bits, so that a volume of many TiB costs a few MiB. Pages (4 KiB) of a block are kept only
 * where something happened; that array is sparse memory which the kernel fills when it is touched.
 */
#ifndef FIRST_TOUCH_BLOCKS_H
#define FIRST_TOUCH_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_BYTES 524288U
#define PAGE_BYTES 4096U
#define BLOCK_PAGES (BLOCK_BYTES / PAGE_BYTES)

struct fetch;

/* One bit for each page of a block. */
struct page_mask {
    uint64_t word[2];
};

struct block {
    struct page_mask local;
    struct page_mask read;
    /* Fetched at the expense of the throughput limit and not read by the host yet. */
    struct page_mask prepaid;
    /* Fetches that are queued or under way. */
    struct fetch *fetches;
};

struct block_map {
    uint64_t count;
    uint64_t *written;
    uint64_t *local;
    uint64_t *read;
    /* Some page was read more than once. */
    uint64_t *reread;
    struct block *blocks;
    uint64_t written_count;
    /* All of these count written blocks only. */
    uint64_t local_count;
    uint64_t read_count;
    uint64_t reread_count;
    /* Pages read that had been read before, as often as that happened. */
    uint64_t reread_pages;
    /* How far block_map_initialize has come, so that frequent small steps stay cheap. */
    uint64_t initialized_count;
    uint64_t initialized_end;
};

/* Makes a map of `count` blocks, none of them written; 0 or -errno. */
int block_map_create(struct block_map *map, uint64_t count);
void block_map_destroy(struct block_map *map);

void block_map_set_written(struct block_map *map, uint64_t block);
bool block_map_is_written(const struct block_map *map, uint64_t block);
/* True when a read of the block needs no fetch: unwritten, or all its pages are local. */
bool block_map_is_ready(const struct block_map *map, uint64_t block);

/* Those of `wanted` that are not local. */
struct page_mask block_map_missing(const struct block_map *map, uint64_t block, struct page_mask wanted);
void block_map_set_local(struct block_map *map, uint64_t block, struct page_mask pages);
void block_map_set_read(struct block_map *map, uint64_t block, struct page_mask pages);
/* Takes `pages` off the prepaid ones; returns how many of them were prepaid. */
unsigned block_map_take_prepaid(struct block_map *map, uint64_t block, struct page_mask pages);

/* Makes the first `fraction` of the written blocks local, in block order. */
void block_map_initialize(struct block_map *map, double fraction);
/* Makes the next written block at or after `*cursor` local; false when none is left. */
bool block_map_initialize_next(struct block_map *map, uint64_t *cursor);

/* The pages with at least one byte in [start, end) of a block. */
struct page_mask page_mask_touched(uint64_t start, uint64_t end);
/* The pages with every byte in [start, end) of a block. */
struct page_mask page_mask_covered(uint64_t start, uint64_t end);
struct page_mask page_mask_all(void);
bool page_mask_is_empty(struct page_mask mask);
struct page_mask page_mask_and(struct page_mask left, struct page_mask right);
struct page_mask page_mask_without(struct page_mask left, struct page_mask right);
struct page_mask page_mask_or(struct page_mask left, struct page_mask right);
unsigned page_mask_count(struct page_mask mask);
/* The index of the first page; the mask must not be empty. */
unsigned page_mask_first(struct page_mask mask);

#endif
