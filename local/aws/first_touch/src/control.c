#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_BYTES 1024

/* Runs one command with its arguments; NULL, or why it was refused. */
typedef const char *handler(struct volume *volume, const char *arguments, char *answer);

static bool is_amount(double value) {
    return isfinite(value) && value >= 0;
}

static const char *answer_stats(struct volume *volume, const char *arguments, char *answer) {
    const struct traffic *reads = &volume->reads, *writes = &volume->writes;

    (void)arguments;
    snprintf(answer, ANSWER_BYTES,
             "{\"read_ops\": %" PRIu64 ", \"read_bytes\": %" PRIu64
             ", \"read_seconds\": %.9f, \"read_errors\": %" PRIu64 ", \"asked_bytes\": %" PRIu64
             ", \"write_ops\": %" PRIu64 ", \"write_bytes\": %" PRIu64
             ", \"write_seconds\": %.9f, \"write_errors\": %" PRIu64 ", \"written_blocks\": %" PRIu64
             ", \"fetched_blocks\": %" PRIu64 ", \"read_blocks\": %" PRIu64 ", \"reread_blocks\": %" PRIu64
             ", \"reread_bytes\": %" PRIu64 ", \"in_flight\": %" PRIu64 ", \"fetches_started\": %" PRIu64
             ", \"fetches_in_flight\": %" PRIu64 ", \"first_read_ns\": %" PRIu64
             ", \"last_read_ns\": %" PRIu64 "}\n",
             reads->operations, reads->bytes, reads->seconds, reads->errors, volume->asked_bytes,
             writes->operations, writes->bytes, writes->seconds, writes->errors, volume->blocks.written_count,
             volume->blocks.local_count, volume->blocks.read_count, volume->blocks.reread_count,
             volume->blocks.reread_pages * PAGE_BYTES, volume->pending_count, volume->fetcher.started,
             volume->fetcher.running_count, volume->first_read_ns, volume->last_read_ns);
    return NULL;
}

static const char *set_limits(struct volume *volume, const char *arguments, char *answer) {
    double iops, throughput_mib_s;
    char rest;

    (void)answer;
    if (sscanf(arguments, "%lf %lf %c", &iops, &throughput_mib_s, &rest) != 2)
        return "limits needs IOPS and MIB_S";
    if (!is_amount(iops) || !is_amount(throughput_mib_s) || iops <= 0 || throughput_mib_s <= 0)
        return "limits must be positive";
    volume->limits.iops = iops;
    volume->limits.throughput_mib_s = throughput_mib_s;
    return NULL;
}

static const char *initialize(struct volume *volume, const char *arguments, char *answer) {
    double fraction;
    char rest;

    (void)answer;
    if (sscanf(arguments, "%lf %c", &fraction, &rest) != 1 || !is_amount(fraction) || fraction > 1)
        return "initialize needs a fraction between 0 and 1";
    block_map_initialize(&volume->blocks, fraction);
    return NULL;
}

static const char *add_block_fault(struct volume *volume, const char *arguments) {
    struct fault fault = {.times = FAULT_ALWAYS};
    char rest;
    int found = sscanf(arguments, "eio %" SCNu64 " %" SCNu64 " %" SCNu64 " %c", &fault.first_block,
                       &fault.block_count, &fault.times, &rest);

    if (found == 2 || found == 3) {
        fault.kind = FAULT_EIO;
    } else {
        found = sscanf(arguments, "slow %" SCNu64 " %" SCNu64 " %lf %c", &fault.first_block,
                       &fault.block_count, &fault.seconds, &rest);
        if (found != 3 || !is_amount(fault.seconds))
            return "fault needs eio FIRST COUNT [TIMES], slow FIRST COUNT SECONDS, "
                   "stall SECONDS or clear";
        fault.kind = FAULT_SLOW;
    }
    if (fault.first_block >= volume->blocks.count ||
        fault.block_count > volume->blocks.count - fault.first_block)
        return "fault lies outside the volume";
    faults_add(&volume->faults, fault);
    return NULL;
}

static const char *inject_fault(struct volume *volume, const char *arguments, char *answer) {
    double seconds;
    char rest;

    (void)answer;
    if (strcmp(arguments, "clear") == 0) {
        faults_clear(&volume->faults);
        return NULL;
    }
    if (sscanf(arguments, "stall %lf %c", &seconds, &rest) != 1)
        return add_block_fault(volume, arguments);
    if (!is_amount(seconds))
        return "stall needs a number of seconds";
    volume->faults.stall_until_ns = clock_now_ns() + (uint64_t)(seconds * (double)NANOSECONDS);
    return NULL;
}

static const struct {
    const char *name;
    handler *handle;
} COMMANDS[] = {
    {"stats", answer_stats},
    {"limits", set_limits},
    {"initialize", initialize},
    {"fault", inject_fault},
};

static void run_line(struct control *control) {
    char answer[ANSWER_BYTES] = "{\"ok\": true}\n";
    const char *complaint = "the commands are stats, limits, initialize and fault";
    size_t name_length = strcspn(control->line, " ");
    const char *arguments = control->line + name_length + (control->line[name_length] == ' ');

    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++)
        if (strlen(COMMANDS[i].name) == name_length &&
            strncmp(COMMANDS[i].name, control->line, name_length) == 0)
            complaint = COMMANDS[i].handle(control->volume, arguments, answer);
    if (complaint)
        snprintf(answer, sizeof(answer), "{\"error\": \"%s\"}\n", complaint);
    /* The other side reads each answer before it asks again, so a full socket means that it is gone. */
    (void)!send(control->socket, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take(struct control *control, char character) {
    if (character == '\n') {
        control->line[control->length] = '\0';
        run_line(control);
        control->length = 0;
    } else if (control->length < sizeof(control->line) - 1) {
        control->line[control->length++] = character;
    }
}

bool control_serve(struct control *control) {
    char received[512];
    ssize_t count = recv(control->socket, received, sizeof(received), MSG_DONTWAIT);

    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    for (ssize_t i = 0; i < count; i++)
        take(control, received[i]);
    return count > 0;
}
