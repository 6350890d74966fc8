/** Transfers with WinHTTP, which is part of Windows and does TLS with its certificates and its proxy. */
#include "system/transfer.h"

#include "system/file.h"
#include "system/interrupt.h"
#include "system/windows_error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <winhttp.h>

#define CONNECT_SECONDS 10u
#define PIECE_BYTES 65536u
/** What is uploaded is some lines of text. */
#define MOST_UPLOAD_BYTES (4u << 20)

/** One try. */
struct exchange {
    HINTERNET session;
    HINTERNET connection;
    HINTERNET request;
    DWORD status; /**< What the server answered; 0: nothing. */
    DWORD error;  /**< Of Windows. */
};

static bool note_error(struct exchange *exchange, bool is_good) {
    exchange->error = is_good ? 0 : GetLastError();
    return is_good;
}

static bool open_session(struct exchange *exchange, unsigned seconds) {
    int patience_ms = (int)(seconds * 1000);
    int connect_ms = (int)(CONNECT_SECONDS * 1000);
    exchange->session = WinHttpOpen(L"warmer", WINHTTP_ACCESS_TYPE_DEFAULT_PROXY, WINHTTP_NO_PROXY_NAME,
                                    WINHTTP_NO_PROXY_BYPASS, 0);
    return exchange->session != NULL &&
           WinHttpSetTimeouts(exchange->session, connect_ms, connect_ms, patience_ms, patience_ms);
}

static bool open_request(struct exchange *exchange, const wchar_t *url, const wchar_t *verb) {
    wchar_t host[256];
    URL_COMPONENTS parts = {.dwStructSize = sizeof parts,
                            .lpszHostName = host,
                            .dwHostNameLength = sizeof host / sizeof host[0],
                            .dwUrlPathLength = (DWORD)-1,
                            .dwSchemeLength = (DWORD)-1};
    if (!WinHttpCrackUrl(url, 0, 0, &parts)) {
        return false;
    }
    exchange->connection = WinHttpConnect(exchange->session, host, parts.nPort, 0);
    if (exchange->connection == NULL) {
        return false;
    }
    DWORD flags = WINHTTP_FLAG_ESCAPE_DISABLE | WINHTTP_FLAG_ESCAPE_DISABLE_QUERY;
    flags |= parts.nScheme == INTERNET_SCHEME_HTTPS ? WINHTTP_FLAG_SECURE : 0;
    /* The path goes on to the end of the text, so the query is part of it. */
    exchange->request = WinHttpOpenRequest(exchange->connection, verb, parts.lpszUrlPath, NULL,
                                           WINHTTP_NO_REFERER, WINHTTP_DEFAULT_ACCEPT_TYPES, flags);
    return exchange->request != NULL;
}

/** Send and read what the server answers, up to its status. */
static bool send_request(struct exchange *exchange, void *body, DWORD length) {
    DWORD size = sizeof exchange->status;
    return WinHttpSendRequest(exchange->request, WINHTTP_NO_ADDITIONAL_HEADERS, 0, body, length, length, 0) &&
           WinHttpReceiveResponse(exchange->request, NULL) &&
           WinHttpQueryHeaders(exchange->request, WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER,
                               WINHTTP_HEADER_NAME_BY_INDEX, &exchange->status, &size,
                               WINHTTP_NO_HEADER_INDEX);
}

static bool is_accepted(const struct exchange *exchange) {
    return exchange->status >= 200 && exchange->status < 300;
}

/** What the server sends, to its end. */
static bool save(struct exchange *exchange, const char *path) {
    char piece[PIECE_BYTES];
    DWORD count = 0;
    FILE *stream = file_create(path);
    bool is_good = stream != NULL;
    do {
        is_good = is_good && WinHttpReadData(exchange->request, piece, sizeof piece, &count) &&
                  fwrite(piece, 1, count, stream) == count && !interrupt_requested();
    } while (is_good && count > 0);
    return stream != NULL && fclose(stream) == 0 && is_good;
}

static void close_exchange(struct exchange *exchange) {
    WinHttpCloseHandle(exchange->request);
    WinHttpCloseHandle(exchange->connection);
    WinHttpCloseHandle(exchange->session);
}

/** A transfer, however often it is tried. */
struct job {
    const wchar_t *url;
    const char *path; /**< To save to; NULL: an upload. */
    void *body;
    DWORD length;
};

static bool try_once(const struct job *job, unsigned seconds, struct exchange *exchange) {
    const wchar_t *verb = job->path == NULL ? L"PUT" : L"GET";
    *exchange = (struct exchange){0};
    bool is_good =
        note_error(exchange, open_session(exchange, seconds) && open_request(exchange, job->url, verb) &&
                                 send_request(exchange, job->body, job->length));
    is_good = is_good && is_accepted(exchange);
    if (is_good && job->path != NULL) {
        is_good = note_error(exchange, save(exchange, job->path));
    }
    close_exchange(exchange);
    return is_good;
}

static int transfer(const struct job *job, struct transfer_patience patience, char *why, size_t size) {
    struct exchange exchange;
    for (unsigned i = 0; i <= patience.retries; i++) {
        if (try_once(job, patience.seconds, &exchange)) {
            return 0;
        }
        if (interrupt_requested()) {
            break;
        }
        if (i < patience.retries) {
            Sleep(1000 * (i + 1));
        }
    }
    if (exchange.status != 0) {
        snprintf(why, size, "the server answered %lu", (unsigned long)exchange.status);
    } else {
        snprintf(why, size, "error %lu of Windows", (unsigned long)exchange.error);
    }
    return -1;
}

static wchar_t *wide_url(const char *url, char *why, size_t size) {
    wchar_t *wide = windows_path(url);
    if (wide == NULL) {
        snprintf(why, size, "out of memory");
    }
    return wide;
}

int transfer_get(const char *url, const char *path, struct transfer_patience patience, char *why,
                 size_t size) {
    wchar_t *wide = wide_url(url, why, size);
    struct job job = {.url = wide, .path = path};
    int failure = wide == NULL ? -1 : transfer(&job, patience, why, size);
    free(wide);
    return failure;
}

int transfer_put(const char *url, const char *path, struct transfer_patience patience, char *why,
                 size_t size) {
    wchar_t *wide = wide_url(url, why, size);
    FILE *stream = file_open(path);
    void *body = malloc(MOST_UPLOAD_BYTES);
    int failure = -1;
    if (wide != NULL && stream != NULL && body != NULL) {
        struct job job = {.url = wide, .body = body};
        job.length = (DWORD)fread(body, 1, MOST_UPLOAD_BYTES, stream);
        failure = transfer(&job, patience, why, size);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    free(body);
    free(wide);
    return failure;
}
