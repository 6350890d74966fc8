/** `warmer observe`: records which blocks of a disk are read, by whoever reads them, without reading any. */
#include "base/block_set.h"
#include "base/json.h"
#include "commands/commands.h"
#include "device/device.h"
#include "device/identity.h"
#include "loop/state.h"
#include "observe/disk.h"
#include "observe/recording.h"
#include "observe/source.h"
#include "observe/trace.h"
#include "plan/map.h"
#include "system/clock.h"
#include "system/folder_linux.h"
#include "system/interrupt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** The recording is written so often, and takes at most one part in so many of a core. */
#define WRITE_NS (10 * NS_PER_SECOND)
#define WRITE_PART 1000u
#define PROGRESS_NS (900 * NS_PER_MILLISECOND)
/** The state of a warm-up is looked at so often, and takes at most one part in so many of a core. */
#define LOOK_NS (2 * NS_PER_SECOND)
#define LOOK_PART 500u

struct observation {
    const struct options *options;
    struct disk disk;
    char volume_id[32];
    uint64_t bytes;
    int place;                         /**< The output's folder, open; -1: it is standard output. */
    char name[FOLDER_NAME_BYTES];      /**< The output's name in it. */
    char temporary[FOLDER_NAME_BYTES]; /**< Of a file that becomes the output. */
    struct trace *trace;
    struct recording *recording;
    struct source *source;
    struct recording_facts facts;
    struct state_identity identity; /**< Of a warm-up's state. */
    struct state_watch *warm_up;    /**< NULL: nobody says which blocks one has read. */
    struct block_set *written;      /**< NULL: any block may be. */
    uint64_t look_ns;               /**< When the state is looked at again. */
    bool is_gone;                   /**< The disk is. */
};

static int find_volume(struct observation *observation, struct diag *diag) {
    const struct options *options = observation->options;
    struct device *device = NULL;
    struct identity identity;
    int failure = device_open(observation->disk.path, &device, diag);
    if (failure != 0) {
        return failure;
    }
    observation->bytes = device_bytes(device);
    identity_find(observation->disk.path, device, &identity);
    if (identity.volume_id[0] == '\0') {
        identity_find(options->device, device, &identity);
    }
    device_close(device);
    /* As `warmer warm` calls it. */
    observation->identity.device_bytes = observation->bytes;
    snprintf(observation->identity.name, sizeof observation->identity.name, "%s",
             identity.volume_id[0] != '\0' ? identity.volume_id : identity.real_path);
    const char *volume_id = options->volume == NULL ? identity.volume_id : options->volume;
    snprintf(observation->volume_id, sizeof observation->volume_id, "%s", volume_id);
    return identity_confirm(&identity, options->device, options->volume, diag);
}

/** Write all that is known, so that a reader sees one recording or the next one, and never half of one. */
static int write_output(struct observation *observation) {
    bool is_file = observation->place >= 0;
    int file = is_file ? folder_create(observation->place, observation->temporary) : -1;
    if (is_file && file < 0) {
        return file;
    }
    FILE *stream = is_file ? fdopen(file, "w") : stdout;
    if (stream == NULL) {
        close(file);
        return -ENOMEM;
    }
    observation->facts.dropped = source_dropped(observation->source);
    observation->facts.has_warm_up =
        observation->warm_up != NULL && state_watch_is_there(observation->warm_up);
    int failure = recording_write(observation->recording, &observation->facts, stream);
    if (is_file && fclose(stream) != 0 && failure == 0) {
        failure = -errno;
    }
    if (is_file && failure == 0 &&
        renameat(observation->place, observation->temporary, observation->place, observation->name) != 0) {
        failure = -errno;
    }
    if (is_file && failure != 0) {
        (void)unlinkat(observation->place, observation->temporary, 0);
    }
    return failure;
}

static int refuse_output(const struct observation *observation, int failure, struct diag *diag) {
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot write %s: %s", observation->options->output,
                       folder_explain(failure));
}

/** Open the output's folder once: who can change names above it must not lead the next recording away. */
static int find_place(struct observation *observation, char litter[PATH_MAX]) {
    const char *output = observation->options->output;
    char *temporary = observation->temporary;
    litter[0] = '\0';
    observation->place = -1;
    if (strcmp(output, "-") == 0) {
        return 0;
    }
    int place = folder_walk_to(output, observation->name);
    if (place < 0) {
        return place;
    }
    observation->place = place;
    int length = snprintf(temporary, FOLDER_NAME_BYTES, "%s.%ld.new", observation->name, (long)getpid());
    int folder = (int)(strlen(output) - strlen(observation->name));
    snprintf(litter, PATH_MAX, "%.*s%s", folder, output, temporary);
    return (size_t)length < FOLDER_NAME_BYTES ? 0 : -ENAMETOOLONG;
}

/** The disk, its volume, and a trace instance. */
static int find(struct observation *observation, struct diag *diag) {
    char litter[PATH_MAX];
    int failure = find_place(observation, litter);
    if (failure != 0) {
        return refuse_output(observation, failure, diag);
    }
    failure = disk_find(observation->options->device, &observation->disk, diag);
    if (failure == 0) {
        failure = trace_open(NULL, observation->disk.major, observation->disk.minor, litter,
                             &observation->trace, diag);
    }
    return failure == 0 ? find_volume(observation, diag) : failure;
}

/** What says whether a block was cold: which are written, and which of them a warm-up has read. */
static int watch_warm_up(struct observation *observation, struct diag *diag) {
    const struct options *options = observation->options;
    if (options->state_path != NULL) {
        observation->warm_up = state_watch_create(options->state_path, &observation->identity);
        if (observation->warm_up == NULL) {
            return diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
        }
        state_watch_look(observation->warm_up);
        state_watch_turn(observation->warm_up);
    }
    if (options->map_path != NULL) {
        observation->written = block_set_create(blocks_of_bytes(observation->bytes));
        return observation->written == NULL ? diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory")
                                            : map_load(options->map_path, observation->written, diag);
    }
    return 0;
}

static int begin(struct observation *observation, struct diag *diag) {
    const struct options *options = observation->options;
    int failure = find(observation, diag);
    failure = failure == 0 ? watch_warm_up(observation, diag) : failure;
    if (failure != 0) {
        return failure;
    }
    observation->recording = recording_create(observation->bytes, options->most_blocks);
    if (observation->recording == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
    }
    uint64_t blocks = blocks_of_bytes(observation->bytes);
    uint32_t most_blocks = blocks < options->most_blocks ? (uint32_t)blocks : options->most_blocks;
    observation->facts.begin_ns = observation->facts.end_ns = clock_now_ns();
    failure = source_open(options->source, observation->trace, &observation->disk, observation->recording,
                          most_blocks, &observation->source, diag);
    if (failure != 0) {
        return failure;
    }
    observation->facts.source = source_name(observation->source);
    observation->facts.volume_id = observation->volume_id;
    /* A file that cannot be written is refused now, and not after half an hour. */
    failure = observation->place < 0 ? 0 : write_output(observation);
    return failure == 0 ? 0 : refuse_output(observation, failure, diag);
}

static double cpu_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / (double)NS_PER_SECOND;
}

static void put_counts(const struct observation *observation, struct json *json) {
    const struct recording_facts *facts = &observation->facts;
    json_text(json, "command", "observe");
    json_number(json, "elapsedSeconds", (double)(facts->end_ns - facts->begin_ns) / (double)NS_PER_SECOND);
    json_unsigned(json, "blocks", recording_blocks(observation->recording));
    json_unsigned(json, "reads", recording_reads(observation->recording));
    json_unsigned(json, "dropped", facts->dropped + recording_dropped(observation->recording));
    json_number(json, "cpuSeconds", cpu_seconds());
}

static void show_progress(const struct observation *observation) {
    struct json json = {.stream = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "event", "progress");
    put_counts(observation, &json);
    json_close(&json, '}');
    json_end_line(&json);
}

static uint32_t pause_ms(const struct observation *observation, uint64_t end_ns) {
    uint64_t left_ms = (end_ns - observation->facts.end_ns) / NS_PER_MILLISECOND + 1;
    uint32_t wanted_ms = source_pause_ms(observation->source);
    return left_ms < wanted_ms ? (uint32_t)left_ms : wanted_ms;
}

/** How long to wait after what took processor time since `before`: at least so long, and longer if it took
 * much. */
static uint64_t rest_ns(double before, unsigned part, uint64_t least_ns) {
    uint64_t wanted_ns = (uint64_t)((cpu_seconds() - before) * part * (double)NS_PER_SECOND);
    return wanted_ns > least_ns ? wanted_ns : least_ns;
}

static bool is_cold(void *context, uint64_t block) {
    const struct observation *observation = context;
    bool is_written = observation->written == NULL || block_set_contains(observation->written, block);
    return is_written && !state_watch_has(observation->warm_up, block);
}

/**
 * What was read since the last time. Whether a block was warm by then, a look says that is older than the
 * last time. So a block that the warm-up read meanwhile counts as cold, and no cold one as warm.
 */
static void collect(struct observation *observation, bool is_last) {
    struct state_watch *warm_up = observation->warm_up;
    bool is_look = warm_up != NULL && clock_now_ns() >= observation->look_ns;
    if (is_look) {
        double before = cpu_seconds();
        state_watch_look(warm_up);
        observation->look_ns = clock_now_ns() + rest_ns(before, LOOK_PART, LOOK_NS);
    }
    source_collect(observation->source, is_last);
    if (warm_up != NULL) {
        recording_count_cold(observation->recording, is_cold, observation);
    }
    if (is_look) {
        state_watch_turn(warm_up);
    }
}

/** Another disk may have its numbers by now, and what is read of that one is none of ours. */
static bool is_there(struct observation *observation) {
    observation->is_gone = observation->is_gone || !disk_is_there(&observation->disk);
    return !observation->is_gone;
}

/** Until the time is over, there is no room for another block, the disk is gone, or a signal comes. */
static void record(struct observation *observation) {
    struct recording_facts *facts = &observation->facts;
    uint64_t end_ns = facts->begin_ns + observation->options->seconds * NS_PER_SECOND;
    uint64_t write_ns = facts->begin_ns + WRITE_NS;
    uint64_t progress_ns = facts->begin_ns;
    while (!interrupt_requested() && !observation->is_gone && facts->end_ns < end_ns &&
           !recording_is_full(observation->recording)) {
        clock_pause_ms(pause_ms(observation, end_ns));
        facts->end_ns = clock_now_ns();
        if (is_there(observation) && source_is_due(observation->source)) {
            collect(observation, false);
        }
        if (observation->options->progress == PROGRESS_JSON && facts->end_ns >= progress_ns) {
            show_progress(observation);
            progress_ns = facts->end_ns + PROGRESS_NS;
        }
        if (facts->end_ns >= write_ns) {
            double before = cpu_seconds();
            /* What cannot be written now can be at the end, or is refused then. */
            (void)(observation->place < 0 ? 0 : write_output(observation));
            write_ns = facts->end_ns + rest_ns(before, WRITE_PART, WRITE_NS);
        }
    }
    facts->is_complete = facts->end_ns >= end_ns || recording_is_full(observation->recording);
}

static int report(const struct observation *observation) {
    const struct recording_facts *facts = &observation->facts;
    struct json json = {.stream = stdout};
    bool is_interrupted = !facts->is_complete && !observation->is_gone;
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    put_counts(observation, &json);
    json_text_or_null(&json, "volumeId", observation->volume_id);
    json_text(&json, "device", observation->disk.path);
    json_unsigned(&json, "bytes", observation->bytes);
    json_text(&json, "source", facts->source);
    if (facts->has_warm_up) {
        json_unsigned(&json, "coldBlocks", recording_cold(observation->recording));
    }
    json_bool(&json, "complete", facts->is_complete);
    json_text(&json, "verdict",
              observation->is_gone ? "incomplete"
              : is_interrupted     ? "interrupted"
                                   : "recorded");
    json_text_or_null(&json, "error", observation->is_gone ? "the device disappeared" : "");
    json_close(&json, '}');
    json_end_line(&json);
    return observation->is_gone ? WARMER_UNREADABLE : is_interrupted ? WARMER_INTERRUPTED : WARMER_OK;
}

int command_observe(const struct options *options, struct diag *diag) {
    struct observation observation = {.options = options, .place = -1};
    interrupt_catch();
    int status = begin(&observation, diag);
    if (status == 0) {
        record(&observation);
        if (is_there(&observation)) {
            collect(&observation, true);
        }
        int unwritten = write_output(&observation);
        status = unwritten == 0 ? report(&observation) : refuse_output(&observation, unwritten, diag);
    }
    source_close(observation.source);
    trace_close(observation.trace);
    recording_destroy(observation.recording);
    state_watch_destroy(observation.warm_up);
    block_set_destroy(observation.written);
    if (observation.place >= 0) {
        close(observation.place);
    }
    return status;
}
