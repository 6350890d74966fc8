#include "system/upload.h"

#include <stdio.h>

/** WinHTTP could do it; nothing that needs it runs on Windows yet. */
bool upload_is_supported(void) {
    return false;
}

int upload_begin(const char *address, uint64_t bytes, struct upload **begun, char *why, size_t size) {
    (void)address;
    (void)bytes;
    *begun = NULL;
    snprintf(why, size, "there are no uploads on Windows");
    return -1;
}

bool upload_write(struct upload *upload, const void *bytes, size_t length, bool (*is_stopped)(void *context),
                  void *context) {
    (void)upload;
    (void)bytes;
    (void)length;
    (void)is_stopped;
    (void)context;
    return false;
}

enum upload_end upload_finish(struct upload *upload, bool (*is_stopped)(void *context), void *context,
                              char *why, size_t size) {
    (void)upload;
    (void)is_stopped;
    (void)context;
    snprintf(why, size, "there are no uploads on Windows");
    return UPLOAD_FAILED;
}

enum fault upload_fault(const struct upload *upload) {
    (void)upload;
    return FAULT_LASTING;
}

void upload_close(struct upload *upload) {
    (void)upload;
}
