/** Transfers with curl, which every image has that AWS supports; the agent has no TLS of its own. */
#include "system/transfer.h"

#include "system/curl.h"
#include "system/process.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/** `words` are NULL-terminated; the address goes over standard input. */
static enum fault call_curl(const char *const *words, const char *url, struct transfer_patience patience,
                            char *why, size_t size) {
    char config[4096];
    struct process *curl = NULL;
    if ((size_t)snprintf(config, sizeof config, "url = \"%s\"\n", url) >= sizeof config) {
        snprintf(why, size, "the address is too long");
        return FAULT_LASTING;
    }
    int failure = process_start(words, config, &curl);
    if (failure != 0) {
        snprintf(why, size, "%s", strerror(-failure));
        return FAULT_LASTING;
    }
    /* curl has ended by then: it waits for a second between two tries. */
    unsigned most_seconds = (patience.seconds + 1) * (patience.retries + 1);
    bool has_ended = patience.is_last ? process_finish(curl, most_seconds) : process_wait(curl, UINT64_MAX);
    int status = has_ended ? process_status(curl) : -1;
    const char *reason = !has_ended      ? "interrupted"
                         : status == 127 ? "curl is missing"
                                         : process_errors(curl);
    snprintf(why, size, "%.*s", (int)strcspn(reason, "\n"), reason);
    enum fault fault = status == 0 ? FAULT_NONE : curl_fault(status, reason);
    process_close(curl);
    return fault;
}

static enum fault transfer(const char *flag, const char *path, const char *url,
                           struct transfer_patience patience, char *why, size_t size) {
    char seconds[16];
    char retries[16];
    snprintf(seconds, sizeof seconds, "%u", patience.seconds);
    snprintf(retries, sizeof retries, "%u", patience.retries);
    const char *const words[] = {"curl",       "--fail",     "--silent", "--show-error",
                                 "--location", "--retry",    retries,    "--retry-delay",
                                 "1",          "--max-time", seconds,    "--connect-timeout",
                                 "10",         flag,         path,       "--config",
                                 "-",          NULL};
    return call_curl(words, url, patience, why, size);
}

enum fault transfer_get(const char *url, const char *path, struct transfer_patience patience, char *why,
                        size_t size) {
    return transfer("--output", path, url, patience, why, size);
}

enum fault transfer_put(const char *url, const char *path, struct transfer_patience patience, char *why,
                        size_t size) {
    return transfer("--upload-file", path, url, patience, why, size);
}
