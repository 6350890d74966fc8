#include "system/folder.h"

#include "system/clock.h"
#include "system/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 1024u
#define DAY_SECONDS 86400.0
/** Names of folders for temporary files begin so, and go on with hexadecimal digits. */
#define TEMPORARY "rewarm-work-"

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
            (void)file_make_folder(part);
            part[i] = path[i];
        }
    }
    int failure = file_make_folder(path);
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

void folder_delete(const char *path) {
    for_each(path, delete_entry, NULL);
    (void)file_delete(path);
}

static bool is_temporary(const char *name) {
    size_t length = sizeof TEMPORARY - 1;
    size_t digits = strncmp(name, TEMPORARY, length) == 0 ? strspn(name + length, "0123456789abcdef") : 0;
    return digits > 0 && name[length + digits] == '\0';
}

/** What a process left that was killed. */
static void delete_left(const char *path, const char *name, void *context) {
    int folder = is_temporary(name) ? file_take_folder(path) : -EBUSY;
    (void)context;
    if (folder > 0) {
        folder_delete(path);
        close(folder);
    }
}

void folder_delete_left(const char *home) {
    for_each(file_temporary_folder(home), delete_left, NULL);
}

int folder_make_temporary(const char *home, char *path, size_t size) {
    const char *folder = file_temporary_folder(home);
    int failure = -EEXIST;
    /* Where it cannot be made, the next one cannot either, and says why. */
    (void)folder_make(folder);
    folder_delete_left(home);
    for (unsigned i = 0; i < 100 && failure == -EEXIST; i++) {
        int length =
            snprintf(path, size, "%s/" TEMPORARY "%llx", folder, (unsigned long long)(clock_now_ns() + i));
        failure = length < 0 || (size_t)length >= size ? -ENAMETOOLONG : file_make_folder(path);
        /* Another process that begins just now may take it for one that was left. */
        if (failure == 0 && file_take_folder(path) == -EBUSY) {
            failure = -EEXIST;
        }
    }
    return failure;
}
