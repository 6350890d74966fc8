#ifndef WARMER_EXCHANGE_WINDOWS_H
#define WARMER_EXCHANGE_WINDOWS_H

/** A request by HTTP with WinHTTP, which is part of Windows and does TLS with its certificates and its proxy.
 */
#include <stdbool.h>
#include <stdint.h>
#include <windows.h>

#include <winhttp.h>

/** One request and its answer. Begin with {0}, and close it. */
struct exchange {
    HINTERNET session;
    HINTERNET connection;
    HINTERNET request;
    DWORD status; /**< What the server answered; 0: nothing. */
    DWORD error;  /**< Of Windows; 0: none. */
};

/** What is sent. */
struct exchange_request {
    const char *url; /**< UTF-8. */
    const wchar_t *verb;
    void *body; /**< NULL: none. */
    DWORD body_bytes;
    const char *range; /**< FIRST-LAST; NULL: all. */
    unsigned seconds;  /**< For each step of the exchange. */
};

/** Send a request. Returns whether the server accepted it; its answer can be read then. */
bool exchange_open(struct exchange *exchange, const struct exchange_request *request);

/** Read some of the answer; 0 bytes are its end. Returns false where it fails. */
bool exchange_read(struct exchange *exchange, void *bytes, DWORD length, DWORD *count);

/** Why the exchange failed, in words. */
void exchange_explain(const struct exchange *exchange, char *why, size_t size);

void exchange_close(struct exchange *exchange);

#endif
