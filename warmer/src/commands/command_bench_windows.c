/**
 * `warmer bench`: copies a file twice and prints how long it took each time. The first copy has the first
 * touches.
 */
#include "base/json.h"
#include "commands/commands.h"
#include "system/clock.h"
#include "system/interrupt.h"
#include "system/windows_error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/** The report has three decimals, and a time of 0 would be none. */
#define SHORTEST_SECONDS 0.001

struct copy {
    wchar_t *file;
    wchar_t *folder;
    wchar_t target[1024];
    uint64_t bytes;
    double seconds[2];
};

static bool is_folder(const wchar_t *path, bool wanted) {
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) == wanted;
}

static int prepare(struct copy *copy, const struct options *options, struct diag *diag) {
    WIN32_FILE_ATTRIBUTE_DATA found;
    ULARGE_INTEGER room = {.QuadPart = UINT64_MAX};
    if (options->file == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "fio is run on Linux; here --file and --folder are needed");
    }
    copy->file = windows_path(options->file);
    copy->folder = windows_path(options->folder);
    if (copy->file == NULL || !is_folder(copy->file, false) ||
        !GetFileAttributesExW(copy->file, GetFileExInfoStandard, &found)) {
        return diag_refuse(diag, WARMER_NO_DEVICE, "there is no file %s", options->file);
    }
    if (copy->folder == NULL || !is_folder(copy->folder, true)) {
        return diag_refuse(diag, WARMER_NO_DEVICE, "there is no folder %s", options->folder);
    }
    copy->bytes = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow;
    if (GetDiskFreeSpaceExW(copy->folder, &room, NULL, NULL) && room.QuadPart < copy->bytes) {
        return diag_refuse(diag, WARMER_NO_ROOM, "%s has no room for %llu bytes", options->folder,
                           (unsigned long long)copy->bytes);
    }
    _snwprintf(copy->target, sizeof copy->target / sizeof copy->target[0] - 1,
               L"%ls\\rewarm-benchmark-%lu-%llu.tmp", copy->folder, (unsigned long)GetCurrentProcessId(),
               (unsigned long long)clock_now_ns());
    return 0;
}

/** Windows calls this while it copies. */
static DWORD CALLBACK ask_to_go_on(LARGE_INTEGER total, LARGE_INTEGER done, LARGE_INTEGER stream_total,
                                   LARGE_INTEGER stream_done, DWORD stream, DWORD reason, HANDLE from,
                                   HANDLE to, void *context) {
    (void)total, (void)done, (void)stream_total, (void)stream_done;
    (void)stream, (void)reason, (void)from, (void)to, (void)context;
    return interrupt_requested() ? PROGRESS_CANCEL : PROGRESS_CONTINUE;
}

static int copy_once(struct copy *copy, double *seconds, struct diag *diag) {
    uint64_t began_ns = clock_now_ns();
    bool is_copied =
        CopyFileExW(copy->file, copy->target, ask_to_go_on, NULL, NULL, COPY_FILE_FAIL_IF_EXISTS);
    DWORD error = GetLastError();
    *seconds = (double)(clock_now_ns() - began_ns) / (double)NS_PER_SECOND;
    DeleteFileW(copy->target);
    if (is_copied) {
        return 0;
    }
    int status = interrupt_requested() ? WARMER_ENDED : WARMER_UNREADABLE;
    return diag_refuse(diag, status, "the file could not be copied: %s", strerror(windows_errno(error)));
}

static void report(const struct copy *copy) {
    struct json json = {.stream = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "copy");
    json_unsigned(&json, "sizeBytes", copy->bytes);
    json_number(&json, "firstSeconds", fmax(copy->seconds[0], SHORTEST_SECONDS));
    json_number(&json, "secondSeconds", fmax(copy->seconds[1], SHORTEST_SECONDS));
    json_close(&json, '}');
    json_end_line(&json);
}

int command_bench(const struct options *options, struct diag *diag) {
    static struct copy copy;
    interrupt_catch();
    int status = prepare(&copy, options, diag);
    for (unsigned i = 0; i < 2 && status == 0; i++) {
        status = copy_once(&copy, &copy.seconds[i], diag);
    }
    if (status == 0) {
        report(&copy);
    }
    free(copy.file);
    free(copy.folder);
    return status;
}
