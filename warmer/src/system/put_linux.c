/** A PUT by a child `curl`: the address comes to it in a file descriptor, and the body on standard input. */
#include "base/number.h"
#include "system/curl.h"
#include "system/process_native.h"
#include "system/upload_kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES 4096u
#define ERROR_BYTES 400u
#define PAUSE_MS 50u
/** A child that was killed ends within this many pauses, unless it hangs in the kernel. */
#define LAST_PAUSES 200u

struct put {
    struct native_process *curl;
    bool has_ended;
    int exit_status;
    size_t answer_length;
    char answer[8]; /**< The status that the server answered, as digits. */
    size_t error_length;
    char errors[ERROR_BYTES];
};

static int start_curl(uint64_t bytes, const char *config, struct native_process **curl) {
    char length[48];
    snprintf(length, sizeof length, "Content-Length: %" PRIu64, bytes);
    /* Without Transfer-Encoding curl sends what it cannot measure as it comes, and not in chunks. */
    const char *const words[] = {"curl",
                                 "--silent",
                                 "--show-error",
                                 "--proto",
                                 "=http,https",
                                 "--upload-file",
                                 "-",
                                 "--header",
                                 length,
                                 "--header",
                                 "Transfer-Encoding:",
                                 "--header",
                                 "If-None-Match: *",
                                 "--output",
                                 "/dev/null",
                                 "--write-out",
                                 "%{http_code}",
                                 "--connect-timeout",
                                 "10",
                                 "--speed-limit",
                                 "1",
                                 "--speed-time",
                                 "60",
                                 "--config",
                                 "/dev/fd/3",
                                 NULL};
    return native_start_fed(words, config, curl);
}

int put_begin(const char *address, uint64_t bytes, struct put **begun) {
    char config[CONFIG_BYTES];
    if ((size_t)snprintf(config, sizeof config, "url = \"%s\"\n", address) >= sizeof config) {
        return -ENAMETOOLONG;
    }
    struct put *put = calloc(1, sizeof *put);
    int failure = put == NULL ? -ENOMEM : start_curl(bytes, config, &put->curl);
    if (failure != 0) {
        free(put);
        return failure;
    }
    *begun = put;
    return 0;
}

/** Keep what fits and drop the rest. */
static void collect(struct put *put, int stream, char *kept, size_t room, size_t *length) {
    char bytes[256];
    for (size_t count; (count = native_read(put->curl, stream, bytes, sizeof bytes)) > 0;) {
        size_t more = count < room - 1 - *length ? count : room - 1 - *length;
        memcpy(kept + *length, bytes, more);
        *length += more;
    }
}

static bool look(struct put *put) {
    put->has_ended = put->has_ended || native_has_ended(put->curl, &put->exit_status);
    collect(put, NATIVE_OUTPUT, put->answer, sizeof put->answer, &put->answer_length);
    collect(put, NATIVE_ERRORS, put->errors, sizeof put->errors, &put->error_length);
    return put->has_ended;
}

int64_t put_write(struct put *put, const void *bytes, size_t length) {
    int64_t count = native_write(put->curl, bytes, length);
    if (count == 0) {
        native_await_room(put->curl, PAUSE_MS);
        return look(put) ? -1 : 0;
    }
    return count;
}

void put_end(struct put *put) {
    native_end_input(put->curl);
}

bool put_has_ended(struct put *put) {
    if (!look(put)) {
        native_pause(put->curl, PAUSE_MS);
    }
    return put->has_ended;
}

bool put_is_good(const struct put *put) {
    return put->has_ended && put->exit_status == 0;
}

unsigned put_status(const struct put *put) {
    uint64_t code = 0;
    const char *end = number_take(put->answer, 999, &code);
    /* 100 only asks for the body. */
    return end == NULL || *end != '\0' || code < 200 ? 0 : (unsigned)code;
}

enum fault put_fault(const struct put *put, char *why, size_t size) {
    const char *reason = put->exit_status == 127 ? "curl is missing" : put->errors;
    snprintf(why, size, "%.*s", (int)strcspn(reason, "\n"), reason);
    return curl_fault(put->exit_status, put->errors);
}

void put_close(struct put *put) {
    if (!put->has_ended) {
        native_kill(put->curl);
    }
    for (unsigned i = 0; i < LAST_PAUSES && !put->has_ended; i++) {
        put->has_ended = native_has_ended(put->curl, &put->exit_status);
        if (!put->has_ended) {
            native_pause(put->curl, PAUSE_MS);
        }
    }
    native_close(put->curl);
    free(put);
}
