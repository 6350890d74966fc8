/** The parts of a manifest. Nothing of a part is used before its checksum is right. */
#include "delta/manifest.h"

#include "base/block_set.h"
#include "delta/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "rewarm-delta-1"
#define LONGEST_ADDRESS 4000u
/** The largest EBS volume, 64 TiB. */
#define MOST_BYTES (UINT64_C(64) << 40)
/** A pack holds whole blocks, and nobody makes one larger than S3 takes in one piece. */
#define MOST_PACK_BYTES (UINT64_C(5) << 30)

static int refuse(const struct manifest *manifest, struct diag *diag, const char *reason) {
    return diag_refuse(diag, WARMER_BAD_MANIFEST,
                       "the manifest cannot be used: part %" PRIu64 ", line %u: %s", manifest->head.part,
                       manifest->line, reason);
}

bool manifest_address_is_valid(const char *address) {
    static const char *const beginnings[] = {"https://", "http://", "file:///", "/"};
    bool is_known = false;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        is_known |= strncmp(address, beginnings[i], strlen(beginnings[i])) == 0;
    }
    for (const char *at = address; *at != '\0'; at++) {
        /* Whoever writes the manifest must not write options of curl. */
        if (*at <= ' ' || *at > '~' || *at == '"' || *at == '\\') {
            return false;
        }
    }
    return is_known && strlen(address) <= LONGEST_ADDRESS;
}

/** The next line without its end; false at the end of the part. The byte of the line feed may be written. */
static bool take_line(struct manifest *manifest, char **line, size_t *length) {
    if (manifest->at >= manifest->length) {
        return false;
    }
    *line = manifest->text + manifest->at;
    const char *end = memchr(*line, '\n', manifest->length - manifest->at);
    *length = end == NULL ? manifest->length - manifest->at : (size_t)(end - *line);
    manifest->at += *length + 1;
    manifest->line++;
    return true;
}

/** A text of letters, digits and hyphens that fits. */
static bool take_id(struct fields *fields, const char *name, const char *prefix, char *id, size_t size) {
    const char *text = NULL;
    if (!fields_text(fields, name, &text)) {
        return false;
    }
    size_t length = strlen(text);
    size_t skipped = strlen(prefix);
    if (length >= size || length <= skipped || strncmp(text, prefix, skipped) != 0 ||
        strspn(text + skipped, "0123456789abcdef") != length - skipped) {
        return false;
    }
    memcpy(id, text, length + 1);
    return true;
}

static const char *read_head(struct manifest *manifest, struct fields *fields) {
    struct manifest_head *head = &manifest->head;
    const char *format = NULL;
    uint64_t block_bytes = 0;
    if (!fields_text(fields, "format", &format) || strcmp(format, FORMAT) != 0) {
        return "it is not of the format " FORMAT;
    }
    if (!fields_number(fields, "part", &head->part)) {
        return "the number of the part is missing";
    }
    if (!take_id(fields, "volumeId", "vol-", head->volume_id, sizeof head->volume_id)) {
        return "volumeId is not an id of a volume";
    }
    if (!take_id(fields, "snapshotId", "snap-", head->snapshot_id, sizeof head->snapshot_id)) {
        return "snapshotId is not an id of a snapshot";
    }
    if (!fields_number(fields, "volumeBytes", &head->volume_bytes) || head->volume_bytes == 0 ||
        head->volume_bytes > MOST_BYTES) {
        return "volumeBytes is not a size of a volume";
    }
    if (!fields_number(fields, "blockBytes", &block_bytes) || block_bytes != BLOCK_BYTES) {
        return "blockBytes is not 524288";
    }
    if (fields_has(fields, "blocksTotal") && !fields_number(fields, "blocksTotal", &head->blocks_total)) {
        return "blocksTotal is not a number";
    }
    return fields_all_used(fields) ? NULL : "it has a member that this version does not know";
}

/** The checksum covers everything before the last line, which is read here as a copy. */
static const char *check_sum(const struct manifest *manifest, size_t last) {
    char line[LONGEST_ADDRESS + 400];
    char found[SHA256_TEXT];
    uint8_t digest[SHA256_BYTES];
    struct fields fields;
    const char *wanted = NULL;
    size_t length = manifest->length - last - 1;
    if (length >= sizeof line) {
        return "its last line is too long";
    }
    memcpy(line, manifest->text + last, length);
    if (!fields_read(line, length, &fields) || !fields_text(&fields, "sha256", &wanted)) {
        return "its last line has no checksum";
    }
    sha256(manifest->text, last, digest);
    sha256_print(digest, found);
    return strcmp(wanted, found) == 0 ? NULL : "its checksum is wrong";
}

/** Where the last line begins. */
static size_t last_line(const char *text, size_t length) {
    size_t at = length > 0 ? length - 1 : 0;
    while (at > 0 && text[at - 1] != '\n') {
        at--;
    }
    return at;
}

int manifest_open(char *text, size_t length, struct manifest *manifest, struct diag *diag) {
    struct fields fields;
    char *line = NULL;
    size_t line_length = 0;
    *manifest = (struct manifest){.text = text, .length = length};
    if (length > MANIFEST_BYTES) {
        return refuse(manifest, diag, "it is longer than 4 MiB");
    }
    if (length == 0 || text[length - 1] != '\n') {
        return refuse(manifest, diag, "it is cut off");
    }
    manifest->last = last_line(text, length);
    const char *reason = check_sum(manifest, manifest->last);
    if (reason != NULL) {
        return refuse(manifest, diag, reason);
    }
    if (!take_line(manifest, &line, &line_length) || !fields_read(line, line_length, &fields)) {
        return refuse(manifest, diag, "it is not a JSON object with texts and whole numbers");
    }
    reason = read_head(manifest, &fields);
    return reason == NULL ? 0 : refuse(manifest, diag, reason);
}

static uint64_t capacity(const struct manifest *manifest) {
    return blocks_of_bytes(manifest->head.volume_bytes);
}

static bool take_digest(struct fields *fields, const char *name, uint8_t digest[SHA256_BYTES]) {
    const char *text = NULL;
    return fields_text(fields, name, &text) && sha256_parse(text, digest);
}

/** Where the old bytes of the blocks of a line are kept. */
static const char *read_undo(struct fields *fields, struct manifest_item *item) {
    if (!fields_has(fields, "undo")) {
        return NULL;
    }
    if (!fields_text(fields, "undo", &item->undo) || !manifest_address_is_valid(item->undo)) {
        return "undo is not an address";
    }
    return item->blocks <= MANIFEST_UNDO_BLOCKS ? NULL : "a line with undo has more than 512 blocks";
}

static const char *read_pack(struct manifest *manifest, struct fields *fields, struct manifest_item *item) {
    item->kind = MANIFEST_PACK;
    if (!fields_text(fields, "pack", &item->address) || !manifest_address_is_valid(item->address)) {
        return "pack is not an address";
    }
    if (!fields_number(fields, "bytes", &item->bytes) || item->bytes == 0 || item->bytes > MOST_PACK_BYTES) {
        return "bytes is not the size of a pack";
    }
    if (!fields_number(fields, "blocks", &item->blocks) || item->blocks == 0 ||
        item->blocks > capacity(manifest)) {
        return "blocks is not a number of blocks";
    }
    if (!take_digest(fields, "index", item->digest)) {
        return "index is not a SHA-256";
    }
    manifest->packs++;
    manifest->blocks += item->blocks;
    return read_undo(fields, item);
}

static const char *read_zeros(struct manifest *manifest, struct fields *fields, struct manifest_item *item) {
    item->kind = MANIFEST_ZEROS;
    if (!fields_number(fields, "zeros", &item->block) || !fields_number(fields, "count", &item->blocks) ||
        item->blocks == 0 || item->block >= capacity(manifest) ||
        item->blocks > capacity(manifest) - item->block) {
        return "zeros and count do not name blocks of the volume";
    }
    manifest->blocks += item->blocks;
    return read_undo(fields, item);
}

static const char *read_sample(const struct manifest *manifest, struct fields *fields,
                               struct manifest_item *item) {
    item->kind = MANIFEST_SAMPLE;
    if (!fields_number(fields, "unchanged", &item->block) || item->block >= capacity(manifest)) {
        return "unchanged is not a block of the volume";
    }
    return take_digest(fields, "sha256", item->digest) ? NULL : "sha256 is not a SHA-256";
}

static const char *read_end(const struct manifest *manifest, struct fields *fields,
                            struct manifest_item *item) {
    uint64_t packs = 0;
    uint64_t blocks = 0;
    item->kind = MANIFEST_END;
    if (!fields_true(fields, "end") || !take_digest(fields, "sha256", item->digest)) {
        return "the last line is not the end";
    }
    if (!fields_number(fields, "packs", &packs) || !fields_number(fields, "blocks", &blocks) ||
        packs != manifest->packs || blocks != manifest->blocks) {
        return "the last line counts other packs or blocks than there are";
    }
    if (!fields_text_or_null(fields, "next", &item->address) ||
        (item->address != NULL && !manifest_address_is_valid(item->address))) {
        return "next is neither an address nor null";
    }
    return NULL;
}

static const char *read_item(struct manifest *manifest, struct fields *fields, bool is_last,
                             struct manifest_item *item) {
    const char *reason = NULL;
    if (is_last || fields_has(fields, "end")) {
        reason = is_last ? read_end(manifest, fields, item) : "the end comes before the last line";
    } else if (fields_has(fields, "pack")) {
        reason = read_pack(manifest, fields, item);
    } else if (fields_has(fields, "zeros")) {
        reason = read_zeros(manifest, fields, item);
    } else if (fields_has(fields, "unchanged")) {
        reason = read_sample(manifest, fields, item);
    } else {
        reason = "it is neither pack, zeros, unchanged nor end";
    }
    return reason != NULL || fields_all_used(fields) ? reason
                                                     : "it has a member that this version does not know";
}

int manifest_next(struct manifest *manifest, struct manifest_item *item, struct diag *diag) {
    struct fields fields;
    char *line = NULL;
    size_t length = 0;
    bool is_last = manifest->at == manifest->last;
    *item = (struct manifest_item){.kind = MANIFEST_END};
    if (!take_line(manifest, &line, &length)) {
        return refuse(manifest, diag, "there is no end");
    }
    if (!fields_read(line, length, &fields)) {
        return refuse(manifest, diag, "it is not a JSON object with texts and whole numbers");
    }
    const char *reason = read_item(manifest, &fields, is_last, item);
    return reason == NULL ? 0 : refuse(manifest, diag, reason);
}
