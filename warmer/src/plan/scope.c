/** `--scope used`: from what the file systems say to what is read. */
#include "plan/scope.h"

#include "filesystems/used.h"

#include <errno.h>
#include <stdio.h>

static void take_result(const struct used *used, bool is_known, struct scope_result *result) {
    if (is_known) {
        result->scope = "used";
    }
    snprintf(result->file_systems, sizeof result->file_systems, "%s", is_known ? used->found : "");
    snprintf(result->note, sizeof result->note, "%s", used->note);
}

/** Collect the metadata: what the scan has read, and journals and the like in addition. */
static void take_metadata(const struct source *source, const struct used *used, bool is_known,
                          struct metadata *metadata) {
    metadata_find(source, metadata);
    for (size_t i = 0; is_known && i < used->metadata.length; i++) {
        const struct extent *extent = &used->metadata.items[i];
        if (extents_append(&metadata->blocks, extent->start, extent->count) != 0) {
            break;
        }
    }
    extents_sort(&metadata->blocks);
}

int scope_narrow(const struct device *device, const char *engine, bool is_map, struct block_set *wanted,
                 struct metadata *metadata, struct scope_result *result, struct diag *diag) {
    struct used used = {0};
    struct cold_source *cold = cold_source_open(device, engine, NULL, NULL);
    int failure = cold == NULL ? -ENOMEM : used_init(&used, device_bytes(device));
    if (failure == 0) {
        struct source source = cold_source_of(cold);
        bool is_known = used_scan(&source, is_map ? wanted : NULL, &used);
        take_metadata(&source, &used, is_known, metadata);
        result->counts = cold_source_counts(cold);
        take_result(&used, is_known, result);
        failure = used.is_short ? -ENOMEM : block_set_intersect(wanted, used.blocks);
    }
    used_clear(&used);
    cold_source_close(cold);
    return failure == 0 ? 0 : diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
}

void scope_put(struct json *json, const struct scope_result *result) {
    json_text(json, "scope", result->scope);
    json_text(json, "scopeNote", result->note);
    json_text_or_null(json, "fileSystems", result->file_systems);
    json_unsigned(json, "metadataReads", result->counts.reads);
    json_unsigned(json, "metadataBytesRead", result->counts.bytes);
}
