/**
 * Reads of a disk, from the kernel's tracepoint block_rq_issue: a request goes to the disk's driver.
 *
 * A histogram is counted by the kernel, so many reads of one block cost nothing here; reading it costs with
 * the number of blocks, so it is read more seldom as it grows. Events are exact, and cost with their number.
 */
#include "observe/source.h"

#include "base/number.h"
#include "device/kernel_files_linux.h"
#include "observe/histogram.h"
#include "observe/ring_page.h"
#include "system/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENT "events/block/block_rq_issue"
/** Bounds of the kernel's histograms (kernel/trace/tracing_map.h). */
#define LEAST_ENTRIES 128u
#define MOST_ENTRIES 131072u
/** Of a core, for reading the histogram. */
#define HISTOGRAM_SHARE 0.003
#define HISTOGRAM_PAUSE_MS 2000u
#define EVENTS_MOST_PAUSE_MS 1000u
#define EVENTS_LEAST_PAUSE_MS 20u
/** All processors' buffers together, and the bounds of one. */
#define BUFFERS_KIB 32768u
#define LEAST_BUFFER_KIB 128u
#define MOST_BUFFER_KIB 1024u

struct source {
    const struct trace *trace;
    struct recording *recording;
    bool is_histogram;
    uint32_t pause_ms;
    /* Of a histogram. */
    uint64_t due_ns;
    uint64_t dropped;
    /* Of events. */
    struct ring_format format;
    uint8_t *page;
    uint64_t broken; /**< Pages that were not understood. */
    uint32_t buffer_bytes;
    int *buffers; /**< One of each processor. */
    unsigned count;
};

static uint64_t cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

/**
 * Reads of the disk; not this program's, nor those that the kernel's threads issue for it. A worker of
 * io_uring may read the last page of a block alone, so all that such workers read is left out.
 */
static void write_filter(const struct disk *disk, char *filter, size_t size) {
    snprintf(filter, size,
             "dev == %" PRIu64 " && rwbs ~ \"R*\" && !(comm ~ \"warmer*\") && !(comm ~ \"iou-wrk*\") && "
             "!(comm ~ \"kworker*\" && nr_sector >= 256)",
             (uint64_t)disk->major << 20 | disk->minor);
}

static int open_histogram(struct source *source, const char *filter, uint32_t most_blocks) {
    char trigger[600];
    uint32_t entries = LEAST_ENTRIES;
    while (entries < most_blocks && entries < MOST_ENTRIES) {
        entries *= 2;
    }
    snprintf(trigger, sizeof trigger,
             "hist:keys=sector.buckets=1024:size=%u:e=sector+nr_sector:onmax($e).save(nr_sector) if %s",
             entries, filter);
    source->pause_ms = HISTOGRAM_PAUSE_MS;
    source->is_histogram = true;
    (void)trace_write(source->trace, "buffer_size_kb", "4"); /* The list stays empty. */
    return trace_write(source->trace, EVENT "/trigger", trigger);
}

static void open_buffer(const char *path, const char *name, void *context) {
    struct source *source = context;
    char file[KERNEL_PATH_BYTES];
    snprintf(file, sizeof file, "%.2000s/trace_pipe_raw", path);
    int *buffers = realloc(source->buffers, (source->count + 1) * sizeof *buffers);
    if (strncmp(name, "cpu", 3) != 0 || buffers == NULL) {
        source->buffers = buffers == NULL ? source->buffers : buffers;
        return;
    }
    source->buffers = buffers;
    buffers[source->count] = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    source->count += buffers[source->count] >= 0;
}

static int size_buffers(struct source *source) {
    char text[16];
    uint32_t kib = BUFFERS_KIB / (uint32_t)(sysconf(_SC_NPROCESSORS_CONF) + 1);
    kib = kib < LEAST_BUFFER_KIB ? LEAST_BUFFER_KIB : kib > MOST_BUFFER_KIB ? MOST_BUFFER_KIB : kib;
    source->buffer_bytes = kib * 1024;
    snprintf(text, sizeof text, "%u", kib);
    return trace_write(source->trace, "buffer_size_kb", text);
}

static int open_events(struct source *source, const char *filter) {
    static char format[16384];
    static char header[4096];
    char folder[1024];
    source->is_histogram = false;
    source->pause_ms = EVENTS_LEAST_PAUSE_MS;
    int failure = size_buffers(source);
    trace_path(source->trace, "per_cpu", folder, sizeof folder);
    kernel_for_each(folder, open_buffer, source);
    if (failure != 0 || source->count == 0) {
        return failure != 0 ? failure : -ENODEV;
    }
    failure = trace_read(source->trace, EVENT "/format", format, sizeof format);
    failure =
        failure == 0 ? trace_read(source->trace, "/events/header_page", header, sizeof header) : failure;
    if (failure == 0 && !ring_format_parse(format, header, &source->format)) {
        failure = -EPROTO;
    }
    source->page = failure == 0 ? malloc(source->format.page_bytes) : NULL;
    failure = failure == 0 && source->page == NULL ? -ENOMEM : failure;
    failure = failure == 0 ? trace_write(source->trace, "trace_clock", "mono") : failure;
    failure = failure == 0 ? trace_write(source->trace, EVENT "/filter", filter) : failure;
    return failure == 0 ? trace_write(source->trace, EVENT "/enable", "1") : failure;
}

int source_open(enum source_kind kind, const struct trace *trace, const struct disk *disk,
                struct recording *recording, uint32_t most_blocks, struct source **opened,
                struct diag *diag) {
    char filter[300];
    struct source *source = calloc(1, sizeof *source);
    int failure = source == NULL ? -ENOMEM : -ENOTSUP;
    write_filter(disk, filter, sizeof filter);
    if (source != NULL) {
        source->trace = trace;
        source->recording = recording;
    }
    if (source != NULL && kind != SOURCE_EVENTS) {
        failure = open_histogram(source, filter, most_blocks);
    }
    if (source != NULL && failure != 0 && kind != SOURCE_HISTOGRAM) {
        failure = open_events(source, filter);
    }
    if (failure != 0) {
        source_close(source);
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot observe %s: the kernel's %s: %s", disk->path,
                           kind == SOURCE_HISTOGRAM ? "histogram" : "list of reads", strerror(-failure));
    }
    *opened = source;
    return 0;
}

static void collect_histogram(struct source *source) {
    char path[1024];
    char line[512];
    uint64_t before_ns = cpu_ns();
    struct histogram histogram = {.recording = source->recording, .time_ns = clock_now_ns()};
    trace_path(source->trace, EVENT "/hist", path, sizeof path);
    FILE *stream = fopen(path, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        histogram_take(&histogram, line);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    source->dropped = histogram.dropped;
    uint64_t pause_ns = (uint64_t)((double)(cpu_ns() - before_ns) / HISTOGRAM_SHARE);
    if (pause_ns < HISTOGRAM_PAUSE_MS * NS_PER_MILLISECOND) {
        pause_ns = HISTOGRAM_PAUSE_MS * NS_PER_MILLISECOND;
    }
    source->due_ns = clock_now_ns() + pause_ns;
}

static void take_event(void *context, uint64_t time_ns, uint64_t sector, uint32_t sectors) {
    recording_add_read(context, sector, sectors, time_ns);
}

/** One processor's list; what comes meanwhile may wait. Returns the pages read. */
static uint32_t drain(struct source *source, int buffer) {
    uint32_t most = 2 * source->buffer_bytes / source->format.page_bytes + 1;
    uint32_t pages = 0;
    ssize_t bytes = 1;
    while (bytes > 0 && pages < most) {
        bytes = read(buffer, source->page, source->format.page_bytes);
        if (bytes > 0) {
            source->broken +=
                !ring_page_read(&source->format, source->page, (size_t)bytes, take_event, source->recording);
            pages++;
        }
    }
    return pages;
}

/** A buffer that is a quarter full is read sooner the next time, and one that is almost empty later. */
static void collect_events(struct source *source) {
    uint32_t most = 0;
    uint32_t room = source->buffer_bytes / source->format.page_bytes;
    for (unsigned i = 0; i < source->count; i++) {
        uint32_t pages = drain(source, source->buffers[i]);
        most = pages > most ? pages : most;
    }
    if (most > room / 4 && source->pause_ms / 2 >= EVENTS_LEAST_PAUSE_MS) {
        source->pause_ms /= 2;
    } else if (most < room / 16) {
        source->pause_ms =
            source->pause_ms * 2 > EVENTS_MOST_PAUSE_MS ? EVENTS_MOST_PAUSE_MS : source->pause_ms * 2;
    }
}

bool source_is_due(const struct source *source) {
    return !source->is_histogram || clock_now_ns() >= source->due_ns;
}

void source_collect(struct source *source, bool is_last) {
    if (!source->is_histogram) {
        if (is_last) {
            (void)trace_write(source->trace, EVENT "/enable", "0");
        }
        collect_events(source);
    } else {
        collect_histogram(source);
    }
}

uint32_t source_pause_ms(const struct source *source) {
    return source->is_histogram ? EVENTS_MOST_PAUSE_MS : source->pause_ms;
}

static void add_dropped(const char *path, const char *name, void *context) {
    static const char *const keys[] = {"\noverrun: ", "\ncommit overrun: ", "\ndropped events: "};
    uint64_t *dropped = context;
    char file[KERNEL_PATH_BYTES];
    char text[512] = "\n";
    (void)name;
    snprintf(file, sizeof file, "%.2000s/stats", path);
    FILE *stream = fopen(file, "re");
    if (stream == NULL) {
        return;
    }
    text[1 + fread(text + 1, 1, sizeof text - 2, stream)] = '\0';
    fclose(stream);
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *found = strstr(text, keys[i]);
        uint64_t count = 0;
        (void)number_take_after(found, keys[i], UINT64_MAX, &count);
        *dropped += count;
    }
}

uint64_t source_dropped(struct source *source) {
    char folder[1024];
    if (!source->is_histogram) {
        source->dropped = source->broken;
        trace_path(source->trace, "per_cpu", folder, sizeof folder);
        kernel_for_each(folder, add_dropped, &source->dropped);
    }
    return source->dropped;
}

const char *source_name(const struct source *source) {
    return source->is_histogram ? "histogram" : "events";
}

void source_close(struct source *source) {
    if (source == NULL) {
        return;
    }
    for (unsigned i = 0; i < source->count; i++) {
        close(source->buffers[i]);
    }
    free(source->buffers);
    free(source->page);
    free(source);
}
