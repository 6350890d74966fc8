#include "system/stream.h"

#include "system/file.h"
#include "system/process_native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES 4096u
#define ERROR_BYTES 400u
#define PAUSE_MS 50u
/** A child that was killed ends within this many pauses, unless it hangs in the kernel. */
#define LAST_PAUSES 200u

struct stream {
    FILE *file;                  /**< NULL: a child. */
    struct native_process *curl; /**< NULL: a file. */
    bool has_ended;
    int status;
    size_t error_length;
    char errors[ERROR_BYTES];
};

static bool is_remote(const char *address) {
    return strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
}

static int start_curl(const char *address, struct stream *stream) {
    /* Without --retry: what was printed before a failure would be printed again. */
    static const char *const words[] = {"curl",       "--fail",        "--silent",    "--show-error",
                                        "--location", "--proto",       "=http,https", "--connect-timeout",
                                        "10",         "--speed-limit", "1024",        "--speed-time",
                                        "30",         "--config",      "-",           NULL};
    char config[CONFIG_BYTES];
    if ((size_t)snprintf(config, sizeof config, "url = \"%s\"\n", address) >= sizeof config) {
        return -ENAMETOOLONG;
    }
    return native_start(words, config, &stream->curl);
}

int stream_open(const char *address, struct stream **opened, char *why, size_t size) {
    struct stream *stream = calloc(1, sizeof *stream);
    int failure = stream == NULL ? -ENOMEM : 0;
    if (failure == 0 && is_remote(address)) {
        failure = start_curl(address, stream);
    } else if (failure == 0) {
        stream->file = file_open(strncmp(address, "file://", 7) == 0 ? address + 7 : address);
        failure = stream->file == NULL ? -errno : 0;
    }
    if (failure != 0) {
        snprintf(why, size, "%s", strerror(-failure));
        free(stream);
        return -1;
    }
    *opened = stream;
    return 0;
}

static void collect_errors(struct stream *stream) {
    char bytes[256];
    for (size_t count; (count = native_read(stream->curl, NATIVE_ERRORS, bytes, sizeof bytes)) > 0;) {
        size_t room = ERROR_BYTES - 1 - stream->error_length;
        size_t kept = count < room ? count : room;
        memcpy(stream->errors + stream->error_length, bytes, kept);
        stream->error_length += kept;
    }
}

/** What was printed before the end is there once the end is known. */
static size_t read_curl(struct stream *stream, void *bytes, size_t length) {
    size_t got = native_read(stream->curl, NATIVE_OUTPUT, bytes, length);
    if (got > 0 || stream->has_ended) {
        return got;
    }
    stream->has_ended = native_has_ended(stream->curl, &stream->status);
    collect_errors(stream);
    if (stream->has_ended) {
        return native_read(stream->curl, NATIVE_OUTPUT, bytes, length);
    }
    native_pause(stream->curl, PAUSE_MS);
    return 0;
}

size_t stream_read(struct stream *stream, void *bytes, size_t length, bool (*is_stopped)(void *context),
                   void *context) {
    size_t got = 0;
    if (stream->file != NULL) {
        return fread(bytes, 1, length, stream->file);
    }
    while (got < length && (is_stopped == NULL || !is_stopped(context))) {
        bool had_ended = stream->has_ended;
        size_t more = read_curl(stream, (char *)bytes + got, length - got);
        got += more;
        if (more == 0 && had_ended) {
            break;
        }
    }
    return got;
}

bool stream_is_whole(struct stream *stream, char *why, size_t size) {
    if (stream->file != NULL) {
        snprintf(why, size, "%s", ferror(stream->file) ? "it cannot be read" : "it is too short");
        return !ferror(stream->file);
    }
    const char *reason = stream->status == 127 ? "curl is missing"
                         : !stream->has_ended  ? "it was stopped"
                         : stream->status == 0 ? "it is too short"
                                               : stream->errors;
    snprintf(why, size, "%.*s", (int)strcspn(reason, "\n"), reason);
    return stream->has_ended && stream->status == 0;
}

void stream_close(struct stream *stream) {
    if (stream == NULL) {
        return;
    }
    if (stream->file != NULL) {
        fclose(stream->file);
    }
    if (stream->curl != NULL) {
        if (!stream->has_ended) {
            native_kill(stream->curl);
        }
        for (unsigned i = 0; i < LAST_PAUSES && !stream->has_ended; i++) {
            stream->has_ended = native_has_ended(stream->curl, &stream->status);
            if (!stream->has_ended) {
                native_pause(stream->curl, PAUSE_MS);
            }
        }
        native_close(stream->curl);
    }
    free(stream);
}
