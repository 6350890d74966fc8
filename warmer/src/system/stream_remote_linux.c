/** Streams from addresses by a child `curl`. */
#include "system/curl.h"
#include "system/process_native.h"
#include "system/stream_remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES 4096u
#define ERROR_BYTES 400u
#define PAUSE_MS 50u
/** A child that was killed ends within this many pauses, unless it hangs in the kernel. */
#define LAST_PAUSES 200u

struct remote {
    struct native_process *curl;
    bool has_ended;
    int status;
    size_t error_length;
    char errors[ERROR_BYTES];
};

int remote_open(const char *address, const char *range, struct remote **opened) {
    /* Without --retry: what was printed before a failure would be printed again. */
    const char *const words[] = {"curl",        "--fail",
                                 "--silent",    "--show-error",
                                 "--location",  "--proto",
                                 "=http,https", "--connect-timeout",
                                 "10",          "--speed-limit",
                                 "1024",        "--speed-time",
                                 "30",          "--config",
                                 "-",           range == NULL ? NULL : "--range",
                                 range,         NULL};
    char config[CONFIG_BYTES];
    if ((size_t)snprintf(config, sizeof config, "url = \"%s\"\n", address) >= sizeof config) {
        return -ENAMETOOLONG;
    }
    struct remote *remote = calloc(1, sizeof *remote);
    int failure = remote == NULL ? -ENOMEM : native_start(words, config, &remote->curl);
    if (failure != 0) {
        free(remote);
        return failure;
    }
    *opened = remote;
    return 0;
}

static void collect_errors(struct remote *remote) {
    char bytes[256];
    for (size_t count; (count = native_read(remote->curl, NATIVE_ERRORS, bytes, sizeof bytes)) > 0;) {
        size_t room = ERROR_BYTES - 1 - remote->error_length;
        size_t kept = count < room ? count : room;
        memcpy(remote->errors + remote->error_length, bytes, kept);
        remote->error_length += kept;
    }
}

/** What was printed before the end is there once the end is known. */
size_t remote_read(struct remote *remote, void *bytes, size_t length) {
    size_t got = native_read(remote->curl, NATIVE_OUTPUT, bytes, length);
    if (got > 0 || remote->has_ended) {
        return got;
    }
    remote->has_ended = native_has_ended(remote->curl, &remote->status);
    collect_errors(remote);
    if (remote->has_ended) {
        return native_read(remote->curl, NATIVE_OUTPUT, bytes, length);
    }
    native_pause(remote->curl, PAUSE_MS);
    return 0;
}

bool remote_has_ended(const struct remote *remote) {
    return remote->has_ended;
}

bool remote_is_whole(const struct remote *remote, char *why, size_t size) {
    const char *reason = remote->status == 127 ? "curl is missing" : remote->errors;
    snprintf(why, size, "%.*s", (int)strcspn(reason, "\n"), reason);
    return remote->has_ended && remote->status == 0;
}

enum fault remote_fault(const struct remote *remote) {
    return curl_fault(remote->status, remote->errors);
}

void remote_close(struct remote *remote) {
    if (!remote->has_ended) {
        native_kill(remote->curl);
    }
    for (unsigned i = 0; i < LAST_PAUSES && !remote->has_ended; i++) {
        remote->has_ended = native_has_ended(remote->curl, &remote->status);
        if (!remote->has_ended) {
            native_pause(remote->curl, PAUSE_MS);
        }
    }
    native_close(remote->curl);
    free(remote);
}
