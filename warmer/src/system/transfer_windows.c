#include "system/transfer.h"

#include "system/exchange_windows.h"
#include "system/file.h"
#include "system/interrupt.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECE_BYTES 65536u
/** What is uploaded is some lines of text. */
#define MOST_UPLOAD_BYTES (4u << 20)

/** What the server sends, to its end. */
static bool save(struct exchange *exchange, const char *path) {
    char piece[PIECE_BYTES];
    DWORD count = 0;
    FILE *stream = file_create(path);
    bool is_good = stream != NULL;
    do {
        is_good = is_good && exchange_read(exchange, piece, sizeof piece, &count) &&
                  fwrite(piece, 1, count, stream) == count && !interrupt_requested();
    } while (is_good && count > 0);
    return stream != NULL && fclose(stream) == 0 && is_good;
}

/** However often it is tried. `path` is where the answer is saved; NULL: nowhere. */
static enum fault transfer(const struct exchange_request *request, const char *path,
                           struct transfer_patience patience, char *why, size_t size) {
    enum fault fault = FAULT_PASSING;
    for (unsigned i = 0; i <= patience.retries; i++) {
        struct exchange exchange = {0};
        bool is_good = exchange_open(&exchange, request) && (path == NULL || save(&exchange, path));
        fault = fault_of_answer(exchange.status);
        exchange_explain(&exchange, why, size);
        exchange_close(&exchange);
        if (is_good) {
            return FAULT_NONE;
        }
        if (interrupt_requested() && !patience.is_last) {
            break;
        }
        if (i < patience.retries) {
            Sleep(1000 * (i + 1));
        }
    }
    return fault == FAULT_NONE ? FAULT_PASSING : fault;
}

enum fault transfer_get(const char *url, const char *path, struct transfer_patience patience, char *why,
                        size_t size) {
    struct exchange_request request = {.url = url, .verb = L"GET", .seconds = patience.seconds};
    return transfer(&request, path, patience, why, size);
}

enum fault transfer_put(const char *url, const char *path, struct transfer_patience patience, char *why,
                        size_t size) {
    FILE *stream = file_open(path);
    void *body = malloc(MOST_UPLOAD_BYTES);
    enum fault fault = FAULT_LASTING;
    if (stream != NULL && body != NULL) {
        DWORD length = (DWORD)fread(body, 1, MOST_UPLOAD_BYTES, stream);
        struct exchange_request request = {
            .url = url, .verb = L"PUT", .body = body, .body_bytes = length, .seconds = patience.seconds};
        fault = transfer(&request, NULL, patience, why, size);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    free(body);
    return fault;
}
