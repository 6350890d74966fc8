#include "system/stream.h"

#include "system/file.h"
#include "system/stream_remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct stream {
    FILE *file;            /**< NULL: an address. */
    struct remote *remote; /**< NULL: a file. */
};

static bool is_remote(const char *address) {
    return strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
}

/** `range` are the first and the last byte as curl and HTTP write them; NULL: all bytes from `offset` on. */
static int open_from(const char *address, const char *range, uint64_t offset, struct stream **opened,
                     char *why, size_t size) {
    struct stream *stream = calloc(1, sizeof *stream);
    int failure = stream == NULL ? -ENOMEM : 0;
    if (failure == 0 && is_remote(address)) {
        failure = remote_open(address, range, &stream->remote);
    } else if (failure == 0) {
        stream->file = file_open(strncmp(address, "file://", 7) == 0 ? address + 7 : address);
        bool is_good = stream->file != NULL && fseeko(stream->file, (off_t)offset, SEEK_SET) == 0;
        failure = is_good ? 0 : -errno;
    }
    if (failure != 0) {
        snprintf(why, size, "%s", strerror(-failure));
        stream_close(stream);
        return -1;
    }
    *opened = stream;
    return 0;
}

int stream_open(const char *address, struct stream **opened, char *why, size_t size) {
    return open_from(address, NULL, 0, opened, why, size);
}

int stream_open_part(const char *address, uint64_t offset, uint64_t length, struct stream **opened, char *why,
                     size_t size) {
    char range[64];
    snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, offset, offset + length - 1);
    return open_from(address, range, offset, opened, why, size);
}

size_t stream_read(struct stream *stream, void *bytes, size_t length, bool (*is_stopped)(void *context),
                   void *context) {
    size_t got = 0;
    if (stream->file != NULL) {
        return fread(bytes, 1, length, stream->file);
    }
    while (got < length && (is_stopped == NULL || !is_stopped(context))) {
        bool had_ended = remote_has_ended(stream->remote);
        size_t more = remote_read(stream->remote, (char *)bytes + got, length - got);
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
    bool is_whole = remote_is_whole(stream->remote, why, size);
    if (!remote_has_ended(stream->remote)) {
        snprintf(why, size, "it was stopped");
    } else if (is_whole) {
        snprintf(why, size, "it is too short");
    }
    return is_whole;
}

enum fault stream_fault(const struct stream *stream) {
    return stream->file != NULL ? FAULT_LASTING : remote_fault(stream->remote);
}

void stream_close(struct stream *stream) {
    if (stream == NULL) {
        return;
    }
    if (stream->file != NULL) {
        fclose(stream->file);
    }
    if (stream->remote != NULL) {
        remote_close(stream->remote);
    }
    free(stream);
}
