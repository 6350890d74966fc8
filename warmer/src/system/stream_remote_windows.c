#include "system/exchange_windows.h"
#include "system/stream_remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/** An answer of which nothing comes for so long has failed. */
#define ANSWER_SECONDS 30u

struct remote {
    struct exchange exchange;
    bool has_ended;
    bool is_whole;
};

int remote_open(const char *address, const char *range, struct remote **opened) {
    struct exchange_request request = {
        .url = address, .verb = L"GET", .range = range, .seconds = ANSWER_SECONDS};
    struct remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL) {
        return -ENOMEM;
    }
    remote->has_ended = !exchange_open(&remote->exchange, &request);
    *opened = remote;
    return 0;
}

size_t remote_read(struct remote *remote, void *bytes, size_t length) {
    DWORD count = 0;
    if (remote->has_ended) {
        return 0;
    }
    bool is_good = exchange_read(&remote->exchange, bytes, (DWORD)length, &count);
    remote->has_ended = !is_good || count == 0;
    remote->is_whole = is_good && count == 0;
    return is_good ? count : 0;
}

bool remote_has_ended(const struct remote *remote) {
    return remote->has_ended;
}

bool remote_is_whole(const struct remote *remote, char *why, size_t size) {
    exchange_explain(&remote->exchange, why, size);
    return remote->is_whole;
}

enum fault remote_fault(const struct remote *remote) {
    enum fault fault = fault_of_answer(remote->exchange.status);
    return fault == FAULT_NONE ? FAULT_PASSING : fault;
}

void remote_close(struct remote *remote) {
    exchange_close(&remote->exchange);
    free(remote);
}
