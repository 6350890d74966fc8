/** Parts of manifests: as they are, and with a last line whose checksum is right. */
#include "base/block_set.h"
#include "delta/manifest.h"
#include "fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_item(const struct manifest *manifest, const struct manifest_item *item) {
    uint64_t blocks = blocks_of_bytes(manifest->head.volume_bytes);
    bool names_blocks = item->kind == MANIFEST_ZEROS || item->kind == MANIFEST_SAMPLE;
    if ((names_blocks && item->block >= blocks) ||
        (item->kind == MANIFEST_ZEROS && item->blocks > blocks - item->block) ||
        (item->address != NULL && !manifest_address_is_valid(item->address)) ||
        (item->undo != NULL &&
         (!manifest_address_is_valid(item->undo) || item->blocks > MANIFEST_UNDO_BLOCKS)) ||
        (item->kind == MANIFEST_PACK && (item->address == NULL || item->bytes == 0 || item->blocks == 0))) {
        abort();
    }
}

static void read_all(char *text, size_t length) {
    struct manifest manifest;
    struct manifest_item item;
    struct diag diag = {{0}};
    if (manifest_open(text, length, &manifest, &diag) != 0) {
        if (diag.text[0] == '\0') {
            abort();
        }
        return;
    }
    while (manifest_next(&manifest, &item, &diag) == 0) {
        check_item(&manifest, &item);
        if (item.kind == MANIFEST_END) {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    uint8_t digest[SHA256_BYTES];
    char sum[SHA256_TEXT];
    char *text = malloc(bytes + 300);
    if (text == NULL) {
        return 0;
    }
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    read_all(text, bytes);
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    sha256(data, bytes, digest);
    sha256_print(digest, sum);
    int added = snprintf(text + bytes, 300,
                         "{\"end\":true,\"packs\":1,\"blocks\":1,\"sha256\":\"%s\",\"next\":null}\n", sum);
    read_all(text, bytes + (size_t)added);
    free(text);
    return 0;
}
