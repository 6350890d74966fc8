#include "system/folder.h"

#include "system/clock.h"
#include "system/file.h"
#include "system/windows_error.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <windows.h>

#define PATH_BYTES 1024u
#define DAY_SECONDS 86400.0
#define TEMPORARY "rewarm-work-"

struct folder {
    char path[PATH_BYTES];
};

static int make_one(const char *path) {
    wchar_t *wide = windows_path(path);
    bool is_made = wide != NULL && CreateDirectoryW(wide, NULL);
    DWORD error = GetLastError();
    free(wide);
    return is_made ? 0 : error == ERROR_ALREADY_EXISTS ? -EEXIST : -windows_errno(error);
}

int folder_make(const char *path) {
    char part[PATH_BYTES];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        return -ENAMETOOLONG;
    }
    memcpy(part, path, length + 1);
    for (size_t i = 1; i < length; i++) {
        if (part[i] == '/' || part[i] == '\\') {
            part[i] = '\0';
            /* One that cannot be made is there already, or the last one says why. */
            (void)make_one(part);
            part[i] = path[i];
        }
    }
    int failure = make_one(path);
    struct stat status;
    bool is_there = failure == -EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    return is_there ? 0 : failure;
}

/** Calls for each entry, with its whole path. */
static void for_each(const char *path, void (*act)(const char *path, const char *name, void *context),
                     void *context) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char whole[PATH_BYTES];
        int length = snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name);
        bool is_whole = length > 0 && (size_t)length < sizeof whole;
        if (is_whole && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            act(whole, entry->d_name, context);
        }
    }
    closedir(folder);
}

struct forgetting {
    unsigned days;
    const char *keep;
};

static void forget(const char *path, const char *name, void *context) {
    const struct forgetting *forgetting = context;
    struct stat status;
    if (strcmp(name, forgetting->keep) != 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        difftime(time(NULL), status.st_mtime) > forgetting->days * DAY_SECONDS) {
        (void)file_delete(path);
    }
}

void folder_forget(const char *path, unsigned days, const char *keep) {
    struct forgetting forgetting = {days, keep};
    for_each(path, forget, &forgetting);
}

static void delete_entry(const char *path, const char *name, void *context) {
    (void)name;
    (void)context;
    (void)file_delete(path);
}

bool folder_delete(struct folder *folder) {
    if (folder == NULL) {
        return true;
    }
    for_each(folder->path, delete_entry, NULL);
    bool is_gone = file_delete(folder->path) == 0;
    free(folder);
    return is_gone;
}

/** Nobody can tell which of these a process has. */
void folder_delete_left(const char *home) {
    (void)home;
}

int folder_make_temporary(const char *home, struct folder **made) {
    const char *place = file_temporary_folder(home);
    struct folder *folder = calloc(1, sizeof *folder);
    int failure = folder == NULL ? -ENOMEM : -EEXIST;
    /* Where it cannot be made, the next one cannot either, and says why. */
    (void)folder_make(place);
    for (unsigned i = 0; i < 100 && failure == -EEXIST; i++) {
        int length = snprintf(folder->path, sizeof folder->path, "%s/" TEMPORARY "%llx", place,
                              (unsigned long long)(clock_now_ns() + i));
        failure =
            length < 0 || (size_t)length >= sizeof folder->path ? -ENAMETOOLONG : make_one(folder->path);
    }
    if (failure != 0) {
        free(folder);
        return failure;
    }
    *made = folder;
    return 0;
}

const char *folder_path(const struct folder *folder) {
    return folder->path;
}

int folder_descriptor(const struct folder *folder) {
    (void)folder;
    return -1;
}

const char *folder_explain(int failure) {
    return strerror(-failure);
}
