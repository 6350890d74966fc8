#include "mount/tool_linux.h"

#include "system/clock.h"
#include "system/process_native.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MOST_SECONDS 60u
#define PAUSE_MS 100u

/** Add what was printed; what does not fit is read all the same. */
static void collect(struct native_process *native, int stream, char *text, size_t size) {
    char bytes[4096];
    for (size_t count; (count = native_read(native, stream, bytes, sizeof bytes)) > 0;) {
        size_t length = strlen(text);
        size_t room = size - 1 - length;
        count = count < room ? count : room;
        memcpy(text + length, bytes, count);
        text[length + count] = '\0';
    }
}

static void keep_last_line(char *text) {
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n') {
        text[--length] = '\0';
    }
    const char *last = strrchr(text, '\n');
    if (last != NULL) {
        memmove(text, last + 1, strlen(last));
    }
}

int tool_run(const char *const *words, struct tool_output *output) {
    struct native_process *native = NULL;
    int status = 0;
    output->text[0] = output->errors[0] = '\0';
    int failure = native_start(words, NULL, &native);
    if (failure != 0) {
        return failure;
    }
    uint64_t due_ns = clock_now_ns() + MOST_SECONDS * NS_PER_SECOND;
    bool is_killed = false;
    for (bool has_ended = false; !has_ended;) {
        has_ended = native_has_ended(native, &status);
        collect(native, NATIVE_OUTPUT, output->text, sizeof output->text);
        collect(native, NATIVE_ERRORS, output->errors, sizeof output->errors);
        if (!has_ended && !is_killed && clock_now_ns() >= due_ns) {
            native_kill(native);
            is_killed = true;
        }
        if (!has_ended) {
            native_pause(native, PAUSE_MS);
        }
    }
    native_close(native);
    keep_last_line(output->errors);
    return is_killed ? -ETIMEDOUT : status;
}
