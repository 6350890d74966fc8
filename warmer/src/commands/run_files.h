#ifndef WARMER_RUN_FILES_H
#define WARMER_RUN_FILES_H

#include "base/diag.h"
#include "system/folder.h"
#include "system/process.h"

#include <stdbool.h>
#include <stddef.h>

/** The files of a `warmer run`. Empty: there is none. */
struct run_files {
    struct folder *work; /**< It goes at the end; NULL: there is none. */
    char map[1100];      /**< Which blocks are read. */
    char first[1100];    /**< Which of them first. */
    char progress[1100]; /**< What is uploaded: a line of progress, or a recording. */
    char state[1100];    /**< Which blocks are read already; it outlives a run that is interrupted. */
    char cold[1100];     /**< What was measured before the first block was read. */
    const char *progress_url;
    unsigned patience_seconds; /**< For a download that fails. */
    struct guard *guard;       /**< Of the folder; NULL: none. */
};

/** Make the folder, and download what the environment names. Returns 0 or an exit status. */
int run_files_prepare(struct run_files *files, const char *home, struct diag *diag);

/** Prepare the state of this volume, and of an attempt to write it (NULL: of reading); forget those that
 * nobody came back for. Returns 0 or an exit status: only what reads can do without a state. */
int run_files_keep_state(struct run_files *files, const char *home, const char *volume_id,
                         const char *attempt, struct diag *diag);

/** Find the state that a warm-up of this volume has or will have. */
void run_files_find_state(struct run_files *files, const char *home, const char *volume_id);

/** Delete the folder even if something ends this program. Call this before the first thread. */
void run_files_guard(struct run_files *files);

/** Upload the recording, if there is one; say so if the last upload fails. */
void run_files_publish_recording(const struct run_files *files, bool is_last);

/** Upload a line of progress; one that does not come through is followed by the next one. */
void run_files_publish(const struct run_files *files, const char *line);

/** Delete the folder. */
void run_files_close(struct run_files *files);

/** Write a file of one line, or read it; false if there is none. */
bool run_files_put_line(const char *path, const char *line);
bool run_files_get_line(const char *path, char *line, size_t size);

/** Tell a person something that does not end the run. */
void run_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
