/**
 * `warmer run`: what a document of Systems Manager starts. It waits for the device, downloads the map, runs
 * `warmer warm`, `warmer verify`, `warmer apply` or `warmer observe` as a program of its own, uploads its
 * progress or its recording, and starts it again if something ends it.
 */
#include "base/words.h"
#include "commands/commands.h"
#include "commands/run_files.h"
#include "device/find.h"
#include "observe/trace.h"
#include "system/clock.h"
#include "system/file.h"
#include "system/interrupt.h"
#include "system/memory_kills.h"
#include "system/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/** An attached volume shows within seconds. */
#define DEVICE_SECONDS 60u
#define PUBLISH_NS (2 * NS_PER_SECOND)
#define RECORDING_NS (15 * NS_PER_SECOND)
/** Until the agent has said something: that it has the device is what somebody waits for. */
#define FIRST_PUBLISH_NS (200 * NS_PER_MILLISECOND)
#define RETRY_SECONDS 5u
/** An application is waited for where its starter has ended, and then it ends within seconds. */
#define APPLY_RETRY_SECONDS 1u
#define MOST_RESTARTS 3u
/** Reads in flight of a slow volume complete before the agent ends. */
#define STOP_SECONDS 20u
#define LINE_BYTES 65536u
#define VMSTAT "/proc/vmstat"

struct run {
    const struct options *options;
    char program[1024];
    char device[512];
    struct run_files files;
    struct process *agent;
    unsigned restarts;
    uint64_t recording_due_ns; /**< For the next upload. */
    uint64_t memory_kills;     /**< Before the agent was started. */
};

/** Wait in steps that an interruption ends; false if it did. */
static bool pause_seconds(unsigned seconds) {
    uint64_t due_ns = clock_now_ns() + seconds * NS_PER_SECOND;
    while (clock_now_ns() < due_ns && !interrupt_requested()) {
        clock_pause_ms(100);
    }
    return !interrupt_requested();
}

static bool has_device(struct run *run) {
    if (run->options->device == NULL) {
        return find_device(run->options->volume, run->device, sizeof run->device);
    }
    snprintf(run->device, sizeof run->device, "%s", run->options->device);
    return file_is_there(run->device);
}

static int wait_for_device(struct run *run, struct diag *diag) {
    for (unsigned second = 0; !has_device(run); second++) {
        if (second >= DEVICE_SECONDS) {
            return diag_refuse(diag, WARMER_NO_DEVICE, "no %s after %u s", run->device, DEVICE_SECONDS);
        }
        if (!pause_seconds(1)) {
            return diag_refuse(diag, WARMER_ENDED, "interrupted before there was a %s", run->device);
        }
    }
    return 0;
}

static bool is_warm_up(const struct run *run) {
    return run->options->action == ACTION_WARM;
}

static bool is_apply(const struct run *run) {
    return run->options->action == ACTION_APPLY;
}

static bool is_observation(const struct run *run) {
    return run->options->action == ACTION_OBSERVE;
}

/** Whether the agent keeps a state and says how far it is. */
static bool has_progress(const struct run *run) {
    return is_warm_up(run) || is_apply(run);
}

static void add_file(struct words *words, const char *option, const char *path) {
    if (path[0] != '\0') {
        words_add(words, option);
        words_add(words, path);
    }
}

static int start(struct run *run, const struct words *words, struct diag *diag) {
    process_close(run->agent);
    run->agent = NULL;
    run->memory_kills = memory_kills(VMSTAT);
    int failure = process_start(words->items, NULL, &run->agent);
    return failure == 0
               ? 0
               : diag_refuse(diag, WARMER_ENDED, "could not start the agent: %s", strerror(-failure));
}

static int start_agent(struct run *run, struct diag *diag) {
    static const char *const commands[] = {[ACTION_WARM] = "warm",
                                           [ACTION_VERIFY] = "verify",
                                           [ACTION_APPLY] = "apply",
                                           [ACTION_OBSERVE] = "observe"};
    struct words words = {.items = {run->program}, .count = 1};
    words_add(&words, commands[run->options->action]);
    words_add(&words, run->device);
    add_file(&words, "--map", run->files.map);
    add_file(&words, "--first", run->files.first);
    add_file(&words, "--state", run->files.state);
    add_file(&words, "--volume", run->options->volume);
    if (is_observation(run)) {
        add_file(&words, "--output", run->files.progress);
    }
    if (has_progress(run)) {
        words_split(&words, "--progress json");
    }
    words_split(&words, run->options->arguments);
    run->recording_due_ns = clock_now_ns() + RECORDING_NS;
    return start(run, &words, diag);
}

/** Until the agent has ended, or was asked to because this program was. */
static void follow(struct run *run) {
    uint64_t pause_ns = FIRST_PUBLISH_NS;
    while (!process_wait(run->agent, clock_now_ns() + pause_ns)) {
        if (interrupt_requested()) {
            process_stop(run->agent, STOP_SECONDS);
            return;
        }
        const char *line = process_line(run->agent);
        if (has_progress(run)) {
            run_files_publish(&run->files, line);
        }
        if (is_observation(run) && clock_now_ns() >= run->recording_due_ns) {
            run_files_publish_recording(&run->files, false);
            run->recording_due_ns = clock_now_ns() + RECORDING_NS;
        }
        pause_ns = line[0] != '\0' || is_observation(run) ? PUBLISH_NS : FIRST_PUBLISH_NS;
    }
}

/** The measurement's result under another name, for the file beside the state. */
static void keep_measurement(const struct run *run) {
    static const char result[] = "{\"event\":\"result\"";
    const char *line = process_line(run->agent);
    char kept[LINE_BYTES + 16];
    if (strncmp(line, result, sizeof result - 1) == 0) {
        snprintf(kept, sizeof kept, "{\"event\":\"before\"%s", line + sizeof result - 1);
        (void)run_files_put_line(run->files.cold, kept);
    }
}

static bool exists(const char *path) {
    FILE *stream = path[0] == '\0' ? NULL : file_open_own(path);
    if (stream != NULL) {
        fclose(stream);
    }
    return stream != NULL;
}

static int measure(struct run *run, struct diag *diag) {
    struct words words = {.items = {run->program, "verify", run->device}, .count = 3};
    add_file(&words, "--map", run->files.map);
    add_file(&words, "--volume", run->options->volume);
    words_split(&words, run->options->cold_arguments);
    int failure = start(run, &words, diag);
    if (failure == 0) {
        follow(run);
        keep_measurement(run);
    }
    return failure;
}

/** How slow the volume is before anything has read it. A warm-up that goes on finds it beside its state. */
static int measure_cold(struct run *run, struct diag *diag) {
    char line[LINE_BYTES];
    int failure = 0;
    if (!is_warm_up(run) || run->options->cold_arguments[0] == '\0') {
        return 0;
    }
    if (!exists(run->files.cold) && !exists(run->files.state)) {
        failure = measure(run, diag);
    }
    if (run_files_get_line(run->files.cold, line, sizeof line)) {
        puts(line);
        fflush(stdout);
    }
    return failure;
}

/** Whether the agent ended without its last word, as where something killed it. */
static bool is_killed(const struct run *run) {
    return process_status(run->agent) < WARMER_OK ||
           strstr(process_line(run->agent), "\"event\":\"result\"") == NULL;
}

static void tell_killed(const struct run *run, const char *what_now) {
    int status = process_status(run->agent);
    bool is_signal = status < 0;
    run_note("the agent was ended %s %d%s and is %s", is_signal ? "by signal" : "with status",
             is_signal ? -status : status,
             memory_kills(VMSTAT) == run->memory_kills ? "" : " when the instance ran out of memory",
             what_now);
}

/** Whether the agent refused for this reason. */
static bool is_refused(const struct run *run, const char *reason) {
    int status = process_status(run->agent);
    return (status == WARMER_CANNOT_OPEN || status == WARMER_HELD) &&
           strstr(process_line(run->agent), reason) != NULL;
}

/** Whether to start the agent once more; it has ended. */
static bool goes_on(struct run *run) {
    /* What was recorded is uploaded; another agent would begin anew, and a second one is not wanted. */
    if (interrupt_requested() || is_observation(run)) {
        return false;
    }
    /* SendCommand has no client token: where its answer was lost, there are two commands, and only one of
       them is known. It goes after the other one; what is warm by then is read in no time. */
    if (is_refused(run, "another warmer is ")) {
        return pause_seconds(is_apply(run) ? APPLY_RETRY_SECONDS : RETRY_SECONDS);
    }
    if (is_warm_up(run) && run->files.state[0] != '\0' && is_refused(run, "cannot use state file")) {
        run_note("the warm-up goes on without a state: %s", process_errors(run->agent));
        (void)file_delete(run->files.state);
        run->files.state[0] = '\0';
        return true;
    }
    /* What an agent that was killed had open may be held for longer than the next one waits for it. */
    if (process_status(run->agent) == WARMER_HELD && run->restarts > 0 && run->restarts < MOST_RESTARTS) {
        run->restarts++;
        run_note("the device is still in use after a kill; the agent is started again");
        return pause_seconds(RETRY_SECONDS);
    }
    if (is_killed(run) && run->restarts < MOST_RESTARTS) {
        run->restarts++;
        tell_killed(run, "started again");
        return true;
    }
    return false;
}

/** What the agent said last, and its status as this program's. */
static int tell(struct run *run) {
    int status = process_status(run->agent);
    /* Of an application that is sent twice, the second one finds in the state that all is done. What an
       observer looks at is another's. */
    if (status == WARMER_OK && is_warm_up(run)) {
        (void)file_delete(run->files.state);
        (void)file_delete(run->files.cold);
    }
    if (has_progress(run)) {
        run_files_publish(&run->files, process_line(run->agent));
    }
    if (is_observation(run)) {
        run_files_publish_recording(&run->files, true);
    }
    fputs(process_errors(run->agent), stderr);
    if (process_line(run->agent)[0] != '\0') {
        puts(process_line(run->agent));
    }
    if (is_killed(run)) {
        tell_killed(run, "not started again");
        return WARMER_ENDED;
    }
    return status;
}

static int prepare(struct run *run, struct diag *diag) {
    if (!process_own_program(run->program, sizeof run->program)) {
        return diag_refuse(diag, WARMER_ENDED, "the path of this program is not known");
    }
    int failure = wait_for_device(run, diag);
    if (failure == 0) {
        failure = run_files_prepare(&run->files, run->options->home, diag);
    }
    if (failure == 0 && is_observation(run)) {
        run_files_guard(&run->files);
        run_files_find_state(&run->files, run->options->home, run->options->volume);
    }
    if (failure == 0 && has_progress(run)) {
        failure = run_files_keep_state(&run->files, run->options->home, run->options->volume,
                                       run->options->attempt, diag);
    }
    if (failure == 0) {
        failure = measure_cold(run, diag);
    }
    return failure == 0 && interrupt_requested() ? diag_refuse(diag, WARMER_ENDED, "interrupted") : failure;
}

int command_run(const struct options *options, struct diag *diag) {
    static struct run run;
    run.options = options;
    run.files.patience_seconds = options->patience_seconds;
    interrupt_catch();
    process_end_with_starter();
    trace_sweep();
    int status = prepare(&run, diag);
    do {
        if (status == 0) {
            status = start_agent(&run, diag);
        }
        if (status == 0) {
            follow(&run);
        }
    } while (status == 0 && goes_on(&run));
    if (status == 0) {
        status = tell(&run);
    }
    process_close(run.agent);
    run_files_close(&run.files);
    return status;
}
