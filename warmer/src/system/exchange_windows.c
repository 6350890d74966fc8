#include "system/exchange_windows.h"

#include "system/windows_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#define CONNECT_SECONDS 10u

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
static bool send_request(struct exchange *exchange, const struct exchange_request *request) {
    DWORD size = sizeof exchange->status;
    DWORD length = request->body_bytes;
    wchar_t range[80] = L"";
    const wchar_t *headers = WINHTTP_NO_ADDITIONAL_HEADERS;
    DWORD headers_length = 0; /* What -1 means without headers is not documented. */
    if (request->range != NULL) {
        swprintf(range, sizeof range / sizeof range[0], L"Range: bytes=%hs", request->range);
        headers = range;
        headers_length = (DWORD)-1;
    }
    return WinHttpSendRequest(exchange->request, headers, headers_length, request->body, length, length, 0) &&
           WinHttpReceiveResponse(exchange->request, NULL) &&
           WinHttpQueryHeaders(exchange->request, WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER,
                               WINHTTP_HEADER_NAME_BY_INDEX, &exchange->status, &size,
                               WINHTTP_NO_HEADER_INDEX);
}

static bool is_accepted(const struct exchange *exchange) {
    return exchange->status >= 200 && exchange->status < 300;
}

bool exchange_open(struct exchange *exchange, const struct exchange_request *request) {
    wchar_t *url = windows_path(request->url);
    if (url == NULL) {
        exchange->error = ERROR_OUTOFMEMORY;
        return false;
    }
    bool is_answered = note_error(exchange, open_session(exchange, request->seconds) &&
                                                open_request(exchange, url, request->verb) &&
                                                send_request(exchange, request));
    free(url);
    return is_answered && is_accepted(exchange);
}

bool exchange_read(struct exchange *exchange, void *bytes, DWORD length, DWORD *count) {
    return note_error(exchange, WinHttpReadData(exchange->request, bytes, length, count));
}

void exchange_explain(const struct exchange *exchange, char *why, size_t size) {
    if (exchange->error != 0) {
        snprintf(why, size, "error %lu of Windows", (unsigned long)exchange->error);
    } else if (is_accepted(exchange)) {
        snprintf(why, size, "it could not be kept");
    } else {
        snprintf(why, size, "the server answered %lu", (unsigned long)exchange->status);
    }
}

void exchange_close(struct exchange *exchange) {
    WinHttpCloseHandle(exchange->request);
    WinHttpCloseHandle(exchange->connection);
    WinHttpCloseHandle(exchange->session);
    *exchange = (struct exchange){0};
}
