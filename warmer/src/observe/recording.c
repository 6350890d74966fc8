#include "observe/recording.h"

#include "base/block_set.h"
#include "base/json.h"
#include "system/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECTORS_PER_BLOCK (BLOCK_BYTES / 512u)
/** Spreads neighbours over the table (Knuth's multiplicative hashing). */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

struct entry {
    uint64_t block;
    uint64_t reads;
    uint64_t first_ns;
};

struct recording {
    uint64_t device_bytes;
    uint64_t device_blocks;
    uint32_t most;
    uint32_t count;
    uint64_t dropped;
    uint32_t asked; /**< Entries that were counted as cold, or were not. */
    uint64_t cold;
    unsigned shift;        /**< 64 less the bits of the table's size. */
    uint32_t *table;       /**< 0: empty, else the number of an entry and 1; never more than half full. */
    struct entry *entries; /**< In the order in which they came. */
};

struct recording *recording_create(uint64_t device_bytes, uint32_t most_blocks) {
    struct recording *recording = calloc(1, sizeof *recording);
    unsigned bits = 1;
    if (recording == NULL) {
        return NULL;
    }
    recording->device_bytes = device_bytes;
    recording->device_blocks = blocks_of_bytes(device_bytes);
    recording->most = most_blocks;
    while ((UINT64_C(1) << bits) < 2 * (uint64_t)most_blocks) {
        bits++;
    }
    recording->shift = 64 - bits;
    recording->table = calloc((size_t)1 << bits, sizeof *recording->table);
    recording->entries = calloc(most_blocks, sizeof *recording->entries);
    if (recording->table == NULL || recording->entries == NULL) {
        recording_destroy(recording);
        return NULL;
    }
    return recording;
}

void recording_destroy(struct recording *recording) {
    if (recording != NULL) {
        free(recording->table);
        free(recording->entries);
        free(recording);
    }
}

/** The entry of a block, which is made if it is missing; NULL: there is no room. */
static struct entry *entry_of(struct recording *recording, uint64_t block) {
    uint32_t mask = (uint32_t)((UINT64_C(1) << (64 - recording->shift)) - 1);
    uint32_t at = (uint32_t)(block * SPREAD >> recording->shift);
    while (recording->table[at] != 0) {
        struct entry *entry = &recording->entries[recording->table[at] - 1];
        if (entry->block == block) {
            return entry;
        }
        at = (at + 1) & mask;
    }
    if (recording->count == recording->most) {
        return NULL;
    }
    struct entry *entry = &recording->entries[recording->count++];
    *entry = (struct entry){.block = block, .first_ns = UINT64_MAX};
    recording->table[at] = recording->count;
    return entry;
}

static void note_time(struct entry *entry, uint64_t time_ns) {
    entry->first_ns = time_ns < entry->first_ns ? time_ns : entry->first_ns;
}

/** The last block before sector `end`, which may lie beyond the device. */
static uint64_t last_block(const struct recording *recording, uint64_t end) {
    uint64_t last = (end - 1) / SECTORS_PER_BLOCK;
    return last < recording->device_blocks ? last : recording->device_blocks - 1;
}

void recording_add_read(struct recording *recording, uint64_t sector, uint64_t sectors, uint64_t time_ns) {
    uint64_t first = sector / SECTORS_PER_BLOCK;
    if (sectors == 0 || sectors > UINT64_MAX - sector || first >= recording->device_blocks) {
        return;
    }
    for (uint64_t block = first; block <= last_block(recording, sector + sectors); block++) {
        struct entry *entry = entry_of(recording, block);
        if (entry == NULL) {
            recording->dropped++;
            return;
        }
        entry->reads++;
        note_time(entry, time_ns);
    }
}

void recording_set_reads(struct recording *recording, uint64_t block, uint64_t reads, uint64_t end,
                         uint64_t time_ns) {
    if (reads == 0 || block >= recording->device_blocks) {
        return;
    }
    uint64_t last = end > block * SECTORS_PER_BLOCK ? last_block(recording, end) : block;
    for (uint64_t touched = block; touched <= last; touched++) {
        struct entry *entry = entry_of(recording, touched);
        if (entry == NULL) {
            return;
        }
        uint64_t least = touched == block ? reads : 1;
        entry->reads = entry->reads < least ? least : entry->reads;
        note_time(entry, time_ns);
    }
}

uint64_t recording_blocks(const struct recording *recording) {
    return recording->count;
}

uint64_t recording_reads(const struct recording *recording) {
    uint64_t reads = 0;
    for (uint32_t i = 0; i < recording->count; i++) {
        reads += recording->entries[i].reads;
    }
    return reads;
}

uint64_t recording_dropped(const struct recording *recording) {
    return recording->dropped;
}

void recording_count_cold(struct recording *recording, recording_ask_cold *is_cold, void *context) {
    for (; recording->asked < recording->count; recording->asked++) {
        recording->cold += is_cold(context, recording->entries[recording->asked].block);
    }
}

uint64_t recording_cold(const struct recording *recording) {
    return recording->cold;
}

bool recording_is_full(const struct recording *recording) {
    return recording->count == recording->most;
}

static int compare(const void *one, const void *other) {
    const struct entry *left = one;
    const struct entry *right = other;
    if (left->first_ns != right->first_ns) {
        return left->first_ns < right->first_ns ? -1 : 1;
    }
    return left->block < right->block ? -1 : left->block > right->block;
}

static void write_head(const struct recording *recording, const struct recording_facts *facts, FILE *stream) {
    struct json json = {.stream = stream};
    json_open(&json, NULL, '{');
    json_unsigned(&json, "recording", 1);
    json_text_or_null(&json, "volumeId", facts->volume_id);
    json_unsigned(&json, "bytes", recording->device_bytes);
    json_unsigned(&json, "blockBytes", BLOCK_BYTES);
    json_unsigned(&json, "seconds", (facts->end_ns - facts->begin_ns) / NS_PER_SECOND);
    json_text(&json, "source", facts->source);
    json_unsigned(&json, "dropped", facts->dropped + recording->dropped);
    if (facts->has_warm_up) {
        json_unsigned(&json, "coldBlocks", recording->cold);
    }
    json_bool(&json, "complete", facts->is_complete);
    json_close(&json, '}');
    json_end_line(&json);
}

int recording_write(const struct recording *recording, const struct recording_facts *facts, FILE *stream) {
    /* The numbers of the entries are in the table, so a copy is sorted. */
    struct entry *sorted = malloc((recording->count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return -ENOMEM;
    }
    memcpy(sorted, recording->entries, recording->count * sizeof *sorted);
    qsort(sorted, recording->count, sizeof *sorted, compare);
    errno = 0; /* Whichever write fails, its reason stays. */
    write_head(recording, facts, stream);
    for (uint32_t i = 0; i < recording->count; i++) {
        uint64_t first_ns = sorted[i].first_ns > facts->begin_ns ? sorted[i].first_ns - facts->begin_ns : 0;
        fprintf(stream, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sorted[i].block, sorted[i].reads,
                first_ns / NS_PER_SECOND);
    }
    free(sorted);
    return !ferror(stream) ? 0 : errno != 0 ? -errno : -EIO;
}
