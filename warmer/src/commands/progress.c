#include "commands/progress.h"

#include "system/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/** With the loop's tick added, still at least one line a second. */
#define JSON_INTERVAL_NS (900 * NS_PER_MILLISECOND)
#define BAR_INTERVAL_NS (200 * NS_PER_MILLISECOND)
#define BAR_WIDTH 30u
#define MIB 1048576.0

void progress_init(struct progress *progress, enum progress_style style) {
    *progress = (struct progress){.style = style};
}

/** Note the bytes of this second and answer the rate since the oldest one that is kept, in bytes a second. */
static double recent_rate(struct progress *progress, const struct warm_progress *now) {
    unsigned room = PROGRESS_RATE_SECONDS + 1;
    unsigned newest = (progress->marks + room - 1) % room;
    if (progress->marks == 0 || now->elapsed_ns - progress->mark_ns[newest] >= NS_PER_SECOND) {
        newest = progress->marks % room;
        progress->mark_ns[newest] = now->elapsed_ns;
        progress->mark_bytes[newest] = now->bytes_read;
        progress->marks++;
    }
    unsigned oldest = progress->marks <= room ? 0 : progress->marks % room;
    uint64_t span_ns = now->elapsed_ns - progress->mark_ns[oldest];
    uint64_t bytes = now->bytes_read - progress->mark_bytes[oldest];
    return span_ns == 0 ? 0 : (double)bytes * (double)NS_PER_SECOND / (double)span_ns;
}

/** The remaining seconds at this rate; not a number while the rate is unknown. */
static double eta_seconds(const struct warm_progress *now, double rate) {
    uint64_t left = now->bytes_total - now->bytes_done;
    if (left == 0) {
        return 0;
    }
    return rate > 0 ? (double)left / rate : (double)NAN;
}

void progress_put_latency(struct json *json, const char *key, const struct latency_summary *summary) {
    json_open(json, key, '{');
    json_number(json, "p50", summary->p50_ms);
    json_number(json, "p90", summary->p90_ms);
    json_number(json, "p99", summary->p99_ms);
    json_number(json, "max", summary->max_ms);
    json_number(json, "mean", summary->mean_ms);
    json_close(json, '}');
}

static void show_json(const struct progress *progress, const struct warm_progress *now, double rate) {
    struct json json = {.stream = stdout};
    struct latency_summary latency = latency_summarise(&now->latency);
    json_open(&json, NULL, '{');
    json_text(&json, "event", "progress");
    json_unsigned(&json, "bytesDone", now->bytes_done);
    json_unsigned(&json, "bytesTotal", now->bytes_total);
    json_unsigned(&json, "blocksDone", now->blocks_done);
    json_unsigned(&json, "blocksTotal", now->blocks_total);
    json_number(&json, "mibPerSecond", rate / MIB);
    json_number(&json, "etaSeconds", eta_seconds(now, rate));
    json_number(&json, "elapsedSeconds", (double)now->elapsed_ns / (double)NS_PER_SECOND);
    json_unsigned(&json, "depth", now->depth);
    json_unsigned(&json, "errors", now->blocks_failed);
    progress_put_latency(&json, "latencyMs", &latency);
    if (progress->put_more != NULL) {
        progress->put_more(progress->context, &json);
    }
    json_close(&json, '}');
    json_end_line(&json);
}

static void put_eta(double seconds) {
    if (isfinite(seconds)) {
        uint64_t whole = (uint64_t)ceil(seconds);
        fprintf(stderr, "%" PRIu64 ":%02u:%02u", whole / 3600, (unsigned)(whole / 60 % 60),
                (unsigned)(whole % 60));
    } else {
        fputs("-:--:--", stderr);
    }
}

static void show_bar(const struct warm_progress *now, double rate) {
    double share = now->bytes_total == 0 ? 1 : (double)now->bytes_done / (double)now->bytes_total;
    unsigned filled = (unsigned)(share * BAR_WIDTH);
    fputs("\r[", stderr);
    for (unsigned i = 0; i < BAR_WIDTH; i++) {
        fputc(i < filled ? '#' : '-', stderr);
    }
    fprintf(stderr, "] %5.1f%%  %.1f of %.1f MiB  %.1f MiB/s  ETA ", share * 100,
            (double)now->bytes_done / MIB, (double)now->bytes_total / MIB, rate / MIB);
    put_eta(eta_seconds(now, rate));
    fprintf(stderr, "  depth %u  errors %" PRIu64 "\033[K", now->depth, now->blocks_failed);
    fflush(stderr);
}

void progress_observe(void *context, const struct warm_progress *now) {
    struct progress *progress = context;
    if (progress->style == PROGRESS_NONE || now->elapsed_ns < progress->next_ns) {
        return;
    }
    double rate = recent_rate(progress, now);
    if (progress->style == PROGRESS_JSON) {
        show_json(progress, now, rate);
        /* One line at the start, one half a second later, then one a second. */
        progress->next_ns =
            now->elapsed_ns < NS_PER_SECOND / 2 ? NS_PER_SECOND / 2 : now->elapsed_ns + JSON_INTERVAL_NS;
    } else {
        show_bar(now, rate);
        progress->next_ns = now->elapsed_ns + BAR_INTERVAL_NS;
    }
}

void progress_end(struct progress *progress) {
    if (progress->style == PROGRESS_BAR) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
