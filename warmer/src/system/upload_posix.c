/** Uploads to files and to addresses. */
#include "system/upload_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Answers of S3 to a PUT with If-None-Match: the object exists; another PUT of it is on its way. */
enum { KEPT = 200, CONFLICT = 409, EXISTS = 412 };

struct upload {
    struct new_file *file; /**< NULL: an address. */
    struct put *put;       /**< NULL: a file. */
    uint64_t left;         /**< Bytes that are not given yet. */
    enum fault fault;
};

bool upload_is_supported(void) {
    return true;
}

static bool is_remote(const char *address) {
    return strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
}

int upload_begin(const char *address, uint64_t bytes, struct upload **begun, char *why, size_t size) {
    struct upload *upload = calloc(1, sizeof *upload);
    int failure = upload == NULL ? -ENOMEM : 0;
    if (failure == 0 && is_remote(address)) {
        failure = put_begin(address, bytes, &upload->put);
    } else if (failure == 0) {
        failure = new_file_begin(strncmp(address, "file://", 7) == 0 ? address + 7 : address, &upload->file);
    }
    if (failure != 0) {
        snprintf(why, size, "%s", strerror(-failure));
        free(upload);
        return -1;
    }
    upload->left = bytes;
    *begun = upload;
    return 0;
}

bool upload_write(struct upload *upload, const void *bytes, size_t length, bool (*is_stopped)(void *context),
                  void *context) {
    const char *at = bytes;
    if (upload->file != NULL) {
        bool is_taken = new_file_write(upload->file, bytes, length);
        upload->left -= is_taken ? length : 0;
        return is_taken;
    }
    while (length > 0) {
        int64_t count = put_write(upload->put, at, length);
        if (count < 0 || is_stopped(context)) {
            return false;
        }
        at += count;
        length -= (size_t)count;
        upload->left -= (uint64_t)count;
    }
    return true;
}

static enum upload_end keep_file(struct upload *upload, char *why, size_t size) {
    int failure = upload->left > 0 ? -EIO : new_file_keep(upload->file);
    upload->fault = FAULT_LASTING;
    snprintf(why, size, "%s", strerror(-failure));
    return failure == 0 ? UPLOAD_KEPT : failure == -EEXIST ? UPLOAD_EXISTS : UPLOAD_FAILED;
}

enum upload_end upload_finish(struct upload *upload, bool (*is_stopped)(void *context), void *context,
                              char *why, size_t size) {
    if (upload->file != NULL) {
        return keep_file(upload, why, size);
    }
    put_end(upload->put);
    while (!put_has_ended(upload->put)) {
        if (is_stopped(context)) {
            snprintf(why, size, "it was stopped");
            return UPLOAD_FAILED;
        }
    }
    unsigned status = put_status(upload->put);
    upload->fault = put_fault(upload->put, why, size);
    if (status != 0) {
        snprintf(why, size, "the server answered %u", status);
        upload->fault = status == CONFLICT ? FAULT_PASSING : fault_of_answer(status);
        upload->fault = upload->fault == FAULT_NONE ? FAULT_LASTING : upload->fault;
    }
    /* An answer to a body that was cut off says nothing. */
    bool is_kept = status == KEPT && upload->left == 0 && put_is_good(upload->put);
    return is_kept ? UPLOAD_KEPT : status == EXISTS ? UPLOAD_EXISTS : UPLOAD_FAILED;
}

enum fault upload_fault(const struct upload *upload) {
    return upload->fault;
}

void upload_close(struct upload *upload) {
    if (upload == NULL) {
        return;
    }
    if (upload->file != NULL) {
        new_file_close(upload->file);
    }
    if (upload->put != NULL) {
        put_close(upload->put);
    }
    free(upload);
}
