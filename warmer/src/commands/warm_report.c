/** How a warm-up ended: a JSON object on standard output, messages on standard error, the exit status. */
#include "commands/warm_report.h"

#include "base/json.h"
#include "system/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Runs of unreadable blocks that are listed; the count is always whole. */
#define LISTED_FAILURES 100u
#define MIB 1048576.0

static bool is_complete(const struct warm_result *result) {
    return result->progress.blocks_done == result->progress.blocks_total;
}

static const char *verdict(const struct warm_result *result) {
    if (result->was_interrupted) {
        return "interrupted";
    }
    return is_complete(result) ? "complete" : "incomplete";
}

static void put_error(struct json *json, const struct warm_result *result) {
    char text[160];
    int error = result->engine_error != 0 ? result->engine_error : result->first_error;
    if (result->gone != NULL) {
        snprintf(text, sizeof text, "the device disappeared: %s", result->gone);
        json_text(json, "error", text);
    } else if (error != 0) {
        json_text(json, "error", strerror(error));
    } else {
        json_null(json, "error");
    }
}

static void put_failures(struct json *json, const struct warm_result *result) {
    const struct extents *failed = &result->failed;
    json_unsigned(json, "failedBlockCount", result->progress.blocks_failed);
    json_open(json, "failedBlocks", '[');
    for (size_t i = 0; i < failed->length && i < LISTED_FAILURES; i++) {
        json_open(json, NULL, '[');
        json_unsigned(json, NULL, failed->items[i].start);
        json_unsigned(json, NULL, failed->items[i].count);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_bool(json, "failedBlocksTruncated", failed->length > LISTED_FAILURES);
    put_error(json, result);
}

void warm_report_put_first(struct json *json, const struct warm_progress *progress) {
    json_unsigned(json, "firstBlocksDone", progress->first_done);
    json_unsigned(json, "firstBlocksTotal", progress->first_total);
}

static void put_counts(struct json *json, const struct warm_progress *progress) {
    double seconds = (double)progress->elapsed_ns / (double)NS_PER_SECOND;
    json_unsigned(json, "bytesDone", progress->bytes_done);
    json_unsigned(json, "bytesTotal", progress->bytes_total);
    json_unsigned(json, "blocksDone", progress->blocks_done);
    json_unsigned(json, "blocksTotal", progress->blocks_total);
    warm_report_put_first(json, progress);
    if (progress->first_total > 0 && progress->first_done == progress->first_total) {
        json_number(json, "firstSeconds", (double)progress->first_ns / (double)NS_PER_SECOND);
    } else {
        json_null(json, "firstSeconds");
    }
    json_unsigned(json, "bytesResumed", progress->bytes_resumed);
    json_unsigned(json, "bytesRead", progress->bytes_read);
    json_unsigned(json, "reads", progress->reads);
    json_unsigned(json, "shortReads", progress->short_reads);
    json_unsigned(json, "retries", progress->retries);
    json_number(json, "elapsedSeconds", seconds);
    json_number(json, "mibPerSecond", seconds > 0 ? (double)progress->bytes_read / MIB / seconds : 0);
    json_unsigned(json, "depth", progress->depth);
    json_unsigned(json, "errors", progress->blocks_failed);
}

static void put_means(struct json *json, const struct warm_report *report) {
    json_text(json, "engine", report->engine->ops->name);
    json_text(json, "engineNote", report->engine_note);
    json_text(json, "engineFeatures", report->engine->features != NULL ? report->engine->features : "");
    json_bool(json, "directIo", device_is_direct(report->device));
    json_text(json, "deviceNote", device_note(report->device));
}

static void put_metadata_first(struct json *json, const struct order_told *told) {
    json_open(json, "metadataFirst", '{');
    json_text(json, "fileSystem", told->file_systems);
    json_unsigned(json, "blocks", told->structure_blocks);
    json_close(json, '}');
}

static void put_set(struct json *json, const struct order_set *set) {
    json_open(json, NULL, '{');
    json_text(json, "source", order_source_name(set->source));
    json_unsigned(json, "blocks", set->blocks);
    json_text(json, "what", set->what);
    if (set->age_seconds == ORDER_AGELESS) {
        json_null(json, "ageSeconds");
    } else {
        json_unsigned(json, "ageSeconds", (uint64_t)set->age_seconds);
    }
    json_close(json, '}');
}

/** What came before the rest, set by set, in the order of reading. */
static void put_order(struct json *json, const struct order_told *told) {
    bool has_structures = told->file_systems != NULL && told->file_systems[0] != '\0';
    if (has_structures) {
        put_metadata_first(json, told);
    } else {
        json_null(json, "metadataFirst");
    }
    json_open(json, "order", '[');
    if (has_structures) {
        struct order_set set = {ORDER_STRUCTURES, told->file_systems, told->structure_blocks, 0,
                                ORDER_AGELESS};
        put_set(json, &set);
    }
    for (size_t i = 0; told->order != NULL && i < told->order->length; i++) {
        put_set(json, &told->order->sets[i]);
    }
    json_close(json, ']');
}

static void put_result(const struct warm_report *report) {
    struct json json = {.stream = stdout};
    const struct warm_progress *progress = &report->result->progress;
    struct latency_summary latency = latency_summarise(&progress->latency);
    struct latency_summary probes = latency_summarise(&progress->probes);
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "warm");
    json_text(&json, "verdict", verdict(report->result));
    json_text(&json, "device", report->options->device);
    json_text_or_null(&json, "volumeId", report->identity->volume_id);
    put_counts(&json, progress);
    put_failures(&json, report->result);
    put_means(&json, report);
    progress_put_latency(&json, "latencyMs", &latency);
    json_unsigned(&json, "probeReads", progress->probes.count);
    progress_put_latency(&json, "probeLatencyMs", &probes);
    scope_put(&json, report->scope);
    put_order(&json, report->told);
    touch_put(&json, report->touch);
    json_close(&json, '}');
    json_end_line(&json);
}

/** Say on standard error what a person must know. */
static void explain(const struct warm_report *report) {
    const struct warm_result *result = report->result;
    const struct warm_progress *progress = &result->progress;
    const char *next = report->options->state_path != NULL ? "the state is saved, the same command goes on"
                                                           : "without --state";
    if (result->engine_error != 0) {
        fprintf(stderr, "warmer: the engine %s gave up: %s\n", report->engine->ops->name,
                strerror(result->engine_error));
    }
    if (progress->blocks_failed > 0) {
        fprintf(stderr, "warmer: blocks that could not be read: %" PRIu64 " (first error: %s)\n",
                progress->blocks_failed, strerror(result->first_error));
    }
    if (result->gone != NULL) {
        fprintf(stderr, "warmer: the device disappeared: %s; blocks not read: %" PRIu64 "; %s\n",
                result->gone, progress->blocks_total - progress->blocks_done, next);
    }
    if (result->was_interrupted) {
        fprintf(stderr, "warmer: interrupted; %s\n", next);
    }
}

int warm_report_put(const struct warm_report *report) {
    put_result(report);
    explain(report);
    if (report->result->was_interrupted) {
        return WARMER_INTERRUPTED;
    }
    return is_complete(report->result) ? WARMER_OK : WARMER_UNREADABLE;
}
