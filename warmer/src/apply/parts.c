#include "apply/parts.h"

#include "system/clock.h"
#include "system/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Between two looks for a part that is not there. */
#define LOOK_MS 1000u
#define STEP_MS 50u

int parts_open(struct parts *parts, const char *address, uint64_t wait_seconds, struct diag *diag) {
    *parts = (struct parts){.wait_seconds = wait_seconds};
    snprintf(parts->address, sizeof parts->address, "%s", address);
    parts->text = malloc(MANIFEST_BYTES + 2);
    return parts->text != NULL ? 0 : diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
}

static bool is_stopped(const struct parts *parts) {
    return parts->is_stopped != NULL && parts->is_stopped(parts->context);
}

/** The bytes of the part; 0: it is not there. One byte more than allowed shows that it is too long. */
static size_t fetch(struct parts *parts, char *why, size_t size) {
    struct stream *stream = NULL;
    if (stream_open(parts->address, &stream, why, size) != 0) {
        return 0;
    }
    size_t length = stream_read(stream, parts->text, MANIFEST_BYTES + 1, parts->is_stopped, parts->context);
    bool is_whole = length > MANIFEST_BYTES || stream_is_whole(stream, why, size);
    stream_close(stream);
    return is_whole ? length : 0;
}

static void pause_between_looks(const struct parts *parts, uint64_t due_ns) {
    for (unsigned waited = 0; waited < LOOK_MS && clock_now_ns() < due_ns && !is_stopped(parts);
         waited += STEP_MS) {
        clock_pause_ms(STEP_MS);
    }
}

static int check_head(const struct manifest_head *first, const struct manifest_head *head,
                      struct diag *diag) {
    if (strcmp(first->volume_id, head->volume_id) != 0 ||
        strcmp(first->snapshot_id, head->snapshot_id) != 0 || first->volume_bytes != head->volume_bytes ||
        head->part != first->part + 1) {
        return diag_refuse(diag, WARMER_BAD_MANIFEST,
                           "the manifest cannot be used: part %" PRIu64 " does not go on with part %" PRIu64,
                           head->part, first->part);
    }
    return 0;
}

int parts_load(struct parts *parts, struct diag *diag) {
    struct manifest_head before = parts->manifest.head;
    uint64_t due_ns = clock_now_ns() + parts->wait_seconds * NS_PER_SECOND;
    char why[200] = "";
    size_t length = 0;
    while ((length = fetch(parts, why, sizeof why)) == 0) {
        if (is_stopped(parts)) {
            return diag_refuse(diag, WARMER_INTERRUPTED, "interrupted while it waited for the manifest");
        }
        if (clock_now_ns() >= due_ns) {
            return diag_refuse(diag, WARMER_NO_MANIFEST, "the manifest did not appear: %s", why);
        }
        pause_between_looks(parts, due_ns);
    }
    int status = manifest_open(parts->text, length, &parts->manifest, diag);
    if (status == 0 && parts->has_part) {
        status = check_head(&before, &parts->manifest.head, diag);
    }
    parts->has_part = true;
    return status;
}

bool parts_go_on(struct parts *parts, const char *address) {
    if (address == NULL) {
        return false;
    }
    snprintf(parts->address, sizeof parts->address, "%s", address);
    return true;
}

void parts_close(struct parts *parts) {
    free(parts->text);
    parts->text = NULL;
}
