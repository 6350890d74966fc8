/** The files of `warmer run`: what it downloads, what it uploads, and what it keeps for the next run. */
#include "commands/run_files.h"

#include "system/clock.h"
#include "system/file.h"
#include "system/folder.h"
#include "system/interrupt.h"
#include "system/transfer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A state is kept so long for a command that goes on. */
#define STATE_DAYS 7u
#define STEP_MS 100u

static const struct transfer_patience download_patience = {.seconds = 300};
static const struct transfer_patience progress_patience = {.seconds = 5};
/** A recording can be 2 MiB, and its last upload is the one that counts. */
static const struct transfer_patience recording_patience = {.seconds = 30};
static const struct transfer_patience last_patience = {.seconds = 60, .retries = 3, .is_last = true};

void run_note(const char *format, ...) {
    va_list arguments;
    fputs("warmer: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/** An address in the environment, where no other user sees it; NULL: none. */
static const char *find_url(const char *variable) {
    const char *url = getenv(variable);
    return url == NULL || url[0] == '\0' || strcmp(url, "none") == 0 ? NULL : url;
}

/** In steps that an interruption ends. */
static void pause_ms(uint64_t milliseconds) {
    for (uint64_t waited = 0; waited < milliseconds && !interrupt_requested(); waited += STEP_MS) {
        clock_pause_ms(STEP_MS);
    }
}

static int download(struct run_files *files, const char *variable, char *path, const char *name,
                    struct diag *diag) {
    const char *url = find_url(variable);
    char why[256] = "";
    if (url == NULL) {
        return 0;
    }
    snprintf(path, sizeof files->map, "%s/%s", folder_path(files->work), name);
    struct patience patience = patience_begin(files->patience_seconds);
    for (uint64_t wait_ms = 1; wait_ms > 0 && !interrupt_requested();) {
        enum fault fault = transfer_get(url, path, download_patience, why, sizeof why);
        if (fault == FAULT_NONE) {
            return 0;
        }
        wait_ms = patience_pause_ms(&patience, fault, clock_now_ns());
        pause_ms(wait_ms);
    }
    int status = interrupt_requested() ? WARMER_ENDED : WARMER_NO_TRANSFER;
    return diag_refuse(diag, status, "could not download the file of %s: %s", variable, why);
}

int run_files_prepare(struct run_files *files, const char *home, struct diag *diag) {
    int failure = folder_make_temporary(home, &files->work);
    if (failure != 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not make a folder in %s: %s",
                           file_temporary_folder(home), folder_explain(failure));
    }
    snprintf(files->progress, sizeof files->progress, "%s/progress", folder_path(files->work));
    files->progress_url = find_url("REWARM_PROGRESS_URL");
    failure = download(files, "REWARM_MAP_URL", files->map, "blocks.map", diag);
    return failure != 0 ? failure : download(files, "REWARM_FIRST_URL", files->first, "first.map", diag);
}

int run_files_keep_state(struct run_files *files, const char *home, const char *volume_id,
                         const char *attempt, struct diag *diag) {
    char folder[1024];
    snprintf(folder, sizeof folder, "%.900s/state", home);
    int failure = folder_make(folder);
    if (failure != 0 && attempt != NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot make %s: %s", folder, folder_explain(failure));
    }
    if (failure != 0) {
        run_note("the warm-up goes on without a state: cannot make %s: %s", folder, folder_explain(failure));
        snprintf(files->cold, sizeof files->cold, "%s/before", folder_path(files->work));
        return 0;
    }
    folder_forget(folder, STATE_DAYS, volume_id);
    snprintf(files->state, sizeof files->state, "%s/%s%s%s", folder, volume_id, attempt == NULL ? "" : ".",
             attempt == NULL ? "" : attempt);
    snprintf(files->cold, sizeof files->cold, "%s/%s.before", folder, volume_id);
    return 0;
}

void run_files_find_state(struct run_files *files, const char *home, const char *volume_id) {
    snprintf(files->state, sizeof files->state, "%.900s/state/%s", home, volume_id);
}

void run_files_publish(const struct run_files *files, const char *line) {
    char why[256];
    if (files->progress_url != NULL && line[0] != '\0' && run_files_put_line(files->progress, line)) {
        (void)transfer_put(files->progress_url, files->progress, progress_patience, why, sizeof why);
    }
}

static void delete_work(void *context) {
    struct run_files *files = context;
    (void)folder_delete(files->work);
}

void run_files_guard(struct run_files *files) {
    int failure = guard_start(delete_work, files, folder_descriptor(files->work), &files->guard);
    if (failure != 0) {
        run_note("nothing deletes the temporary files if this program is killed: %s", strerror(-failure));
    }
}

void run_files_publish_recording(const struct run_files *files, bool is_last) {
    char why[256] = "";
    FILE *stream = files->progress_url == NULL ? NULL : file_open_own(files->progress);
    if (stream == NULL) {
        return;
    }
    fclose(stream);
    enum fault fault = transfer_put(files->progress_url, files->progress,
                                    is_last ? last_patience : recording_patience, why, sizeof why);
    if (is_last && fault != FAULT_NONE) {
        run_note("could not upload the recording: %s", why);
    }
}

void run_files_close(struct run_files *files) {
    (void)folder_delete(files->work);
    guard_end(files->guard, false);
}

bool run_files_put_line(const char *path, const char *line) {
    FILE *stream = file_create(path);
    if (stream == NULL) {
        return false;
    }
    fprintf(stream, "%s\n", line);
    return fclose(stream) == 0;
}

bool run_files_get_line(const char *path, char *line, size_t size) {
    FILE *stream = file_open_own(path);
    if (stream == NULL) {
        return false;
    }
    bool is_read = fgets(line, (int)size, stream) != NULL;
    fclose(stream);
    line[is_read ? strcspn(line, "\r\n") : 0] = '\0';
    return is_read;
}
