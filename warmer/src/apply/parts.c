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
static size_t fetch(struct parts *parts, enum fault *fault, char *why, size_t size) {
    struct stream *stream = NULL;
    *fault = FAULT_LASTING;
    if (stream_open(parts->address, &stream, why, size) != 0) {
        return 0;
    }
    size_t length = stream_read(stream, parts->text, MANIFEST_BYTES + 1, parts->is_stopped, parts->context);
    bool is_whole = length > MANIFEST_BYTES || stream_is_whole(stream, why, size);
    *fault = stream_fault(stream);
    stream_close(stream);
    return is_whole ? length : 0;
}

static void pause_between_looks(const struct parts *parts) {
    for (unsigned waited = 0; waited < LOOK_MS && !is_stopped(parts); waited += STEP_MS) {
        clock_pause_ms(STEP_MS);
    }
}

/**
 * Whether to look once more, at `now_ns`: the part is not due yet, or nobody could say whether it is there. A
 * server that says that it is not begins this patience anew.
 */
static bool looks_again(struct patience *patience, enum fault fault, uint64_t now_ns, uint64_t due_ns) {
    if (fault == FAULT_LASTING) {
        *patience = patience_begin(patience->seconds);
    }
    bool may_pass = fault == FAULT_PASSING && patience_pause_ms(patience, fault, now_ns) > 0;
    return may_pass || now_ns < due_ns;
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
    struct patience patience = patience_begin(parts->patience_seconds);
    enum fault fault = FAULT_NONE;
    char why[200] = "";
    size_t length = 0;
    while ((length = fetch(parts, &fault, why, sizeof why)) == 0) {
        if (is_stopped(parts)) {
            return diag_refuse(diag, WARMER_INTERRUPTED, "interrupted while it waited for the manifest");
        }
        if (!looks_again(&patience, fault, clock_now_ns(), due_ns)) {
            return diag_refuse(diag, WARMER_NO_MANIFEST, "the manifest did not appear: %s", why);
        }
        pause_between_looks(parts);
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
