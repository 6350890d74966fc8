/** Programs that this one starts. What they print is collected while they are waited for, without threads. */
#include "system/process.h"

#include "system/clock.h"
#include "system/interrupt.h"
#include "system/process_native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 65536u
#define ERROR_BYTES 6000u
#define PAUSE_MS 100u
/** A program that was killed ends within this time, unless it hangs in the kernel. */
#define KILL_SECONDS 10u

struct process {
    struct native_process *native;
    bool has_ended;
    int status;
    size_t length;           /**< Of the line that is not complete yet. */
    char line[LINE_BYTES];   /**< A longer line is cut short, and is no JSON object then. */
    char object[LINE_BYTES]; /**< The last complete line that is one. */
    size_t error_length;     /**< Of the following. */
    char errors[ERROR_BYTES + 1];
};

int process_start(const char *const *words, const char *input, struct process **started) {
    struct process *process = calloc(1, sizeof *process);
    if (process == NULL) {
        return -ENOMEM;
    }
    int failure = native_start(words, input, &process->native);
    if (failure != 0) {
        free(process);
        return failure;
    }
    *started = process;
    return 0;
}

static void end_line(struct process *process) {
    size_t length = process->length;
    if (length > 0 && process->line[length - 1] == '\r') {
        length--;
    }
    if (length >= 2 && process->line[0] == '{' && process->line[length - 1] == '}') {
        process->line[length] = '\0';
        memcpy(process->object, process->line, length + 1);
    }
    process->length = 0;
}

static void take_output(struct process *process, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            end_line(process);
        } else if (process->length < LINE_BYTES - 1) {
            process->line[process->length++] = bytes[i];
        } else {
            process->line[0] = '\0';
        }
    }
}

static void take_errors(struct process *process, const char *bytes, size_t count) {
    size_t skipped = count > ERROR_BYTES ? count - ERROR_BYTES : 0;
    size_t added = count - skipped;
    size_t kept = process->error_length + added > ERROR_BYTES ? ERROR_BYTES - added : process->error_length;
    memmove(process->errors, process->errors + process->error_length - kept, kept);
    memcpy(process->errors + kept, bytes + skipped, added);
    process->error_length = kept + added;
    process->errors[process->error_length] = '\0';
}

static void collect(struct process *process) {
    char bytes[4096];
    for (size_t count; (count = native_read(process->native, NATIVE_OUTPUT, bytes, sizeof bytes)) > 0;) {
        take_output(process, bytes, count);
    }
    for (size_t count; (count = native_read(process->native, NATIVE_ERRORS, bytes, sizeof bytes)) > 0;) {
        take_errors(process, bytes, count);
    }
}

/** What was printed before the end is collected after it is known. */
static bool look(struct process *process) {
    if (!process->has_ended) {
        bool has_ended = native_has_ended(process->native, &process->status);
        collect(process);
        process->has_ended = has_ended;
    }
    return process->has_ended;
}

bool process_wait(struct process *process, uint64_t due_ns) {
    while (!look(process) && clock_now_ns() < due_ns && !interrupt_requested()) {
        native_pause(process->native, PAUSE_MS);
    }
    return process->has_ended;
}

bool process_finish(struct process *process, unsigned seconds) {
    uint64_t due_ns = clock_now_ns() + seconds * NS_PER_SECOND;
    while (!look(process) && clock_now_ns() < due_ns) {
        native_pause(process->native, PAUSE_MS);
    }
    return process->has_ended;
}

void process_stop(struct process *process, unsigned seconds) {
    if (look(process)) {
        return;
    }
    if (seconds > 0) {
        native_ask(process->native);
    }
    if (!process_finish(process, seconds)) {
        native_kill(process->native);
        process_finish(process, KILL_SECONDS);
    }
}

int process_status(const struct process *process) {
    return process->status;
}

const char *process_line(const struct process *process) {
    return process->object;
}

const char *process_errors(const struct process *process) {
    return process->errors;
}

void process_close(struct process *process) {
    if (process == NULL) {
        return;
    }
    process_stop(process, 0);
    native_close(process->native);
    free(process);
}
