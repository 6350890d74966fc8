/** `warmer inspect`: what a device is and how it can be read here. Reads none of its blocks. */
#include "base/block_set.h"
#include "base/json.h"
#include "commands/commands.h"
#include "commands/nvme_report.h"
#include "device/identity.h"
#include "device/nvme.h"
#include "device/nvme_log.h"
#include "engines/engine.h"

#include <stdio.h>
#include <string.h>

/** Reads in flight that an engine is tried with. */
#define TRIAL_DEPTH 32u

static void put_known(struct json *json, const char *key, uint64_t value) {
    if (value == 0) {
        json_null(json, key);
    } else {
        json_unsigned(json, key, value);
    }
}

static void put_engine(struct json *json, const struct engine_ops *ops,
                       const struct engine_settings *settings) {
    struct engine *engine = NULL;
    int failure = ops->open(settings, &engine);
    json_open(json, NULL, '{');
    json_text(json, "name", ops->name);
    json_text(json, "description", ops->description);
    json_bool(json, "usable", failure == 0);
    json_text(json, "note", failure == 0 ? "" : strerror(-failure));
    json_close(json, '}');
    if (failure == 0) {
        engine_close(engine);
    }
}

static void put_engines(struct json *json, const struct device *device, void *buffer) {
    struct engine_settings settings = {
        .device = device, .buffer = buffer, .buffer_bytes = BLOCK_BYTES, .max_in_flight = TRIAL_DEPTH};
    json_open(json, "engines", '[');
    for (size_t i = 0; engine_table[i] != NULL; i++) {
        put_engine(json, engine_table[i], &settings);
    }
    json_close(json, ']');
}

static void put_identity(struct json *json, const struct identity *identity) {
    json_text(json, "realPath", identity->real_path);
    json_text_or_null(json, "volumeId", identity->volume_id);
    json_text_or_null(json, "name", identity->name);
    json_text_or_null(json, "model", identity->model);
    json_text_or_null(json, "serial", identity->serial);
    put_known(json, "maxRequestBytes", identity->max_request_bytes);
    put_known(json, "readAheadBytes", identity->read_ahead_bytes);
    put_known(json, "queueDepth", identity->queue_depth);
    put_known(json, "logicalBlockBytes", identity->logical_block_bytes);
    put_known(json, "physicalBlockBytes", identity->physical_block_bytes);
    json_bool(json, "readOnly", identity->is_read_only);
}

/** EBS's counters, where the device has them; `page` takes a page. */
static void put_statistics(struct json *json, const struct device *device, uint8_t *page) {
    struct nvme_log log;
    bool has_log = nvme_read_log(device, page) == 0 && nvme_log_parse(page, NVME_LOG_BYTES, &log);
    nvme_report_put(json, has_log ? &log : NULL);
}

static void report(const struct options *options, const struct device *device,
                   const struct identity *identity, void *buffer) {
    struct json json = {.stream = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "inspect");
    json_text(&json, "verdict", "ok");
    json_text(&json, "device", options->device);
    json_text(&json, "type", device_is_block(device) ? "block" : "file");
    json_unsigned(&json, "sizeBytes", device_bytes(device));
    json_unsigned(&json, "blocks", blocks_of_bytes(device_bytes(device)));
    json_unsigned(&json, "blockBytes", BLOCK_BYTES);
    put_identity(&json, identity);
    json_bool(&json, "directIo", device_is_direct(device));
    json_text(&json, "deviceNote", device_note(device));
    put_engines(&json, device, buffer);
    put_statistics(&json, device, buffer);
    json_close(&json, '}');
    json_end_line(&json);
}

int command_inspect(const struct options *options, struct diag *diag) {
    struct device *device = NULL;
    struct identity identity;
    int failure = device_open(options->device, &device, diag);
    if (failure != 0) {
        return failure;
    }
    identity_find(options->device, device, &identity);
    void *buffer = device_alloc_buffer(BLOCK_BYTES);
    if (buffer == NULL) {
        failure = diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
    } else {
        report(options, device, &identity, buffer);
    }
    device_free_buffer(buffer);
    device_close(device);
    return failure;
}
