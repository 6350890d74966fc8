/** Which blocks come before the rest, by what the file systems of a device hold. */
#include "filesystems/order/order.h"

#include "filesystems/order/search.h"
#include "filesystems/owners.h"
#include "filesystems/partitions.h"

#include <stdlib.h>

/** So many blocks are looked at, however often files name them. */
#define MOST_LOOKS (UINT64_C(1) << 21)
/** The share of the bytes that may be read which a journal may take. */
#define JOURNAL_SHARE 4u

static const char *const names[] = {[ORDER_STRUCTURES] = "structures",
                                    [ORDER_LISTS] = "lists",
                                    [ORDER_LOGS] = "logs",
                                    [ORDER_RECENT] = "recent"};

const char *order_source_name(enum order_source source) {
    return names[source];
}

static void open_part(struct search *search, const struct source *device, const struct partition *bytes) {
    struct part *part = &search->parts[search->part_count];
    if (search->part_count == SEARCH_PARTS) {
        return;
    }
    *part = (struct part){.source = source_slice(device, bytes->start, bytes->count)};
    uint64_t journal_bytes = search->limits->most_bytes / JOURNAL_SHARE;
    if (owner_find(&part->source, 1).answer != OWNER_THERE &&
        tree_open(&part->tree, &part->source, journal_bytes)) {
        part->newest = part->tree.written;
        search->part_count++;
    } else {
        tree_close(&part->tree);
    }
}

static void open_parts(struct search *search, const struct source *device) {
    struct diag diag = {{0}};
    struct partitions *partitions = malloc(sizeof *partitions);
    if (partitions != NULL && partitions_read(device, partitions, &diag) == 0) {
        struct partition whole = {.count = device->bytes};
        if (partitions->table == NULL) {
            open_part(search, device, &whole);
        } else {
            for (size_t i = 0; i < partitions->length; i++) {
                open_part(search, device, &partitions->items[i]);
            }
        }
    }
    free(partitions);
}

static void add_lists(struct search *search, struct part *part) {
    for (size_t i = 0; i < part->data_count && !search_is_full(search); i++) {
        search_postgres_list(search, part, &part->data[i]);
        search_innodb_list(search, part, &part->data[i]);
    }
}

static void add_logs(struct search *search, struct part *part) {
    for (size_t i = 0; i < part->data_count && !search_is_full(search); i++) {
        search_logs(search, part, &part->data[i]);
    }
}

/** The ages of the sets from `first` on, which are of this file system. */
static void set_ages(struct search *search, const struct part *part, size_t first) {
    for (size_t i = first; i < search->order->length; i++) {
        struct order_set *set = &search->order->sets[i];
        if (set->changed != ORDER_AGELESS) {
            set->age_seconds = part->newest > set->changed ? part->newest - set->changed : 0;
        }
    }
}

/** One source in each file system. */
static void add_source(struct search *search, void (*add)(struct search *search, struct part *part)) {
    for (size_t i = 0; i < search->part_count && !search_is_full(search); i++) {
        size_t first = search->order->length;
        add(search, &search->parts[i]);
        set_ages(search, &search->parts[i], first);
    }
}

static void search_all(struct search *search, const struct source *device, unsigned sources) {
    open_parts(search, device);
    for (size_t i = 0; i < search->part_count && (sources & (ORDER_LISTS | ORDER_LOGS)) != 0; i++) {
        search_walk(&search->parts[i]);
    }
    if ((sources & ORDER_LISTS) != 0) {
        add_source(search, add_lists);
    }
    if ((sources & ORDER_LOGS) != 0) {
        add_source(search, add_logs);
    }
    if ((sources & ORDER_RECENT) != 0) {
        add_source(search, search_recent);
    }
    for (size_t i = 0; i < search->part_count; i++) {
        tree_close(&search->parts[i].tree);
    }
}

/** Blocks that come earlier anyway count as listed. */
static int take_before(struct search *search, const struct extents *before) {
    int failure = 0;
    for (size_t i = 0; before != NULL && i < before->length && failure == 0; i++) {
        failure = block_set_add(search->taken, before->items[i].start, before->items[i].count);
    }
    return failure;
}

void order_find(const struct source *device, unsigned sources, const struct order_limits *limits,
                struct order *order) {
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL) {
        return;
    }
    search->limits = limits;
    search->order = order;
    search->room = limits->most_blocks;
    search->looks = MOST_LOOKS;
    search->taken = block_set_create(block_set_capacity(limits->wanted));
    if (search->taken != NULL && take_before(search, limits->before) == 0) {
        search_all(search, device, sources);
    }
    block_set_destroy(search->taken);
    free(search);
}
