#include "system/folder_linux.h"

#include "system/clock.h"
#include "system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_SECONDS 86400.0
#define TEMPORARY "rewarm-work-"
/** A file by which a folder is known as made here: another one of this user's can be given its name. */
#define MARK ".rewarm-own"
#define MOST_TRIES 100u
/** Of those, how often somebody may have changed the name of a new folder. */
#define MOST_CHANGES 3u
/** Whoever can make names makes any number of them; the next run looks at the rest. */
#define MOST_LEFT 1000u

struct folder {
    int descriptor;
    char name[FOLDER_NAME_BYTES];
    char path[32];
};

static bool is_same(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool is_own(const struct stat *status) {
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int folder_open(int place) {
    int folder = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 ? -errno : folder;
}

int folder_keep_names(int place) {
    int folder = folder_open(place);
    int failure = folder < 0 ? folder : fsync(folder) != 0 ? -errno : 0;
    if (folder >= 0) {
        close(folder);
    }
    return failure;
}

int folder_create(int place, const char *name) {
    int file = -1;
    for (unsigned i = 0; i < MOST_TRIES && file < 0; i++) {
        file = openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && (errno != EEXIST || unlinkat(place, name, 0) != 0)) {
            return -errno;
        }
    }
    return file < 0 ? -EEXIST : file;
}

/** Call for each name until `act` says that it is enough. The names are those of another open file. */
static void for_each(int folder, bool (*act)(int folder, const char *name, void *context), void *context) {
    int names = folder_open(folder);
    DIR *stream = names < 0 ? NULL : fdopendir(names);
    if (stream == NULL && names >= 0) {
        close(names);
    }
    for (struct dirent *entry = NULL; stream != NULL && (entry = readdir(stream)) != NULL;) {
        bool is_name = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        if (is_name && !act(folder, entry->d_name, context)) {
            break;
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

static bool find_any(int folder, const char *name, void *context) {
    bool *is_there = context;
    (void)folder;
    (void)name;
    *is_there = true;
    return false;
}

static bool is_empty(int folder) {
    bool is_there = false;
    for_each(folder, find_any, &is_there);
    return !is_there;
}

/** The mark goes last, so that what a kill leaves is still known. */
static bool delete_name(int folder, const char *name, void *context) {
    (void)context;
    if (strcmp(name, MARK) != 0 && unlinkat(folder, name, 0) != 0) {
        (void)unlinkat(folder, name, AT_REMOVEDIR);
    }
    return true;
}

/** Remove an empty folder from `place`, if it still has this name there. */
static bool remove_name(int folder, int place, const char *name) {
    struct stat ours;
    struct stat named;
    return fstat(folder, &ours) == 0 && fstatat(place, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_same(&ours, &named) && unlinkat(place, name, AT_REMOVEDIR) == 0;
}

static bool delete_all(int folder, int place, const char *name) {
    for_each(folder, delete_name, NULL);
    (void)unlinkat(folder, MARK, 0);
    return remove_name(folder, place, name);
}

static bool has_mark(int folder) {
    struct stat mark;
    return fstatat(folder, MARK, &mark, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(mark.st_mode) && is_own(&mark);
}

/** The folder that was just made, open, this user's and nobody else's, and marked; or -errno. */
static int take_new(int place, const char *name) {
    struct stat status;
    /* Without O_CLOEXEC: programs that are started work in it by /proc/self/fd. */
    int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (folder < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? -EREMCHG : -errno;
    }
    int failure = fstat(folder, &status) != 0 ? -errno : 0;
    if (failure == 0 && (!is_own(&status) || !is_empty(folder))) {
        failure = -EREMCHG;
    }
    /* Another process that begins just now may take it for one that was left. */
    if (failure == 0 && flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        failure = -EEXIST;
    }
    if (failure == 0) {
        int mark = openat(folder, MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        failure = mark < 0 ? -errno : 0;
        close(mark);
    }
    if (failure != 0) {
        (void)remove_name(folder, place, name);
        close(folder);
    }
    return failure == 0 ? folder : failure;
}

int folder_make_own(int place, const char *prefix, struct folder **made) {
    struct folder *folder = calloc(1, sizeof *folder);
    int failure = folder == NULL ? -ENOMEM : -EEXIST;
    unsigned changes = 0;
    for (unsigned i = 0; i < MOST_TRIES && (failure == -EEXIST || failure == -EREMCHG); i++) {
        int length = snprintf(folder->name, sizeof folder->name, "%s%llx", prefix,
                              (unsigned long long)(clock_now_ns() + i));
        failure = length < 0 || (size_t)length >= sizeof folder->name ? -ENAMETOOLONG : 0;
        failure = failure == 0 && mkdirat(place, folder->name, 0700) != 0 ? -errno : failure;
        folder->descriptor = failure == 0 ? take_new(place, folder->name) : -1;
        failure = failure == 0 && folder->descriptor < 0 ? folder->descriptor : failure;
        if (failure == -EREMCHG && ++changes == MOST_CHANGES) {
            break;
        }
    }
    if (failure != 0) {
        free(folder);
        return failure;
    }
    snprintf(folder->path, sizeof folder->path, "/proc/self/fd/%d", folder->descriptor);
    *made = folder;
    return 0;
}

const char *folder_path(const struct folder *folder) {
    return folder->path;
}

int folder_descriptor(const struct folder *folder) {
    return folder->descriptor;
}

bool folder_delete(struct folder *folder) {
    if (folder == NULL) {
        return true;
    }
    int place = openat(folder->descriptor, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_gone = delete_all(folder->descriptor, place, folder->name);
    if (place >= 0) {
        close(place);
    }
    close(folder->descriptor);
    free(folder);
    return is_gone;
}

struct leaving {
    const char *prefix;
    bool is_locked;
    dev_t device;
    unsigned seen;
    folder_notice *notice;
    void *context;
};

/** Why a folder is left alone; NULL: it may be deleted; empty: another process has it. */
static const char *why_left(int folder, const struct leaving *leaving) {
    struct stat status;
    if (fstat(folder, &status) != 0 || !is_own(&status)) {
        return "it belongs to another user, or others can write to it";
    }
    if (status.st_dev != leaving->device) {
        return "another file system is mounted there";
    }
    if (flock(folder, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || leaving->is_locked)) {
        return "";
    }
    return has_mark(folder) || is_empty(folder) ? NULL : "this program has not made it";
}

static bool delete_left(int place, const char *name, void *context) {
    struct leaving *leaving = context;
    if (strncmp(name, leaving->prefix, strlen(leaving->prefix)) != 0) {
        return true;
    }
    int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_gone = folder < 0 && errno == ENOENT;
    const char *reason = is_gone ? "" : folder < 0 ? "it is no folder" : why_left(folder, leaving);
    if (reason == NULL) {
        reason = delete_all(folder, place, name) ? "" : "not all of it can be deleted";
    }
    if (reason[0] != '\0' && leaving->notice != NULL) {
        leaving->notice(leaving->context, name, reason);
    }
    if (folder >= 0) {
        close(folder);
    }
    return ++leaving->seen < MOST_LEFT;
}

void folder_delete_own(int place, const char *prefix, bool is_locked, folder_notice *notice, void *context) {
    struct stat status;
    struct leaving leaving = {.prefix = prefix, .is_locked = is_locked, .notice = notice, .context = context};
    if (fstat(place, &status) == 0) {
        leaving.device = status.st_dev;
        for_each(place, delete_left, &leaving);
    }
}

void folder_delete_left(const char *home) {
    int place = folder_walk(file_temporary_folder(home), false);
    if (place >= 0) {
        folder_delete_own(place, TEMPORARY, true, NULL, NULL);
        close(place);
    }
}

int folder_make_temporary(const char *home, struct folder **made) {
    int place = folder_walk(file_temporary_folder(home), true);
    if (place < 0) {
        return place;
    }
    folder_delete_own(place, TEMPORARY, true, NULL, NULL);
    int failure = folder_make_own(place, TEMPORARY, made);
    close(place);
    return failure;
}

int folder_make(const char *path) {
    int place = folder_walk(path, true);
    if (place >= 0) {
        close(place);
    }
    return place < 0 ? place : 0;
}

struct forgetting {
    unsigned days;
    const char *keep;
};

static bool forget(int folder, const char *name, void *context) {
    const struct forgetting *forgetting = context;
    struct stat status;
    if (strcmp(name, forgetting->keep) != 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && difftime(time(NULL), status.st_mtime) > forgetting->days * DAY_SECONDS) {
        (void)unlinkat(folder, name, 0);
    }
    return true;
}

void folder_forget(const char *path, unsigned days, const char *keep) {
    struct forgetting forgetting = {days, keep};
    int place = folder_walk(path, false);
    if (place >= 0) {
        for_each(place, forget, &forgetting);
        close(place);
    }
}

const char *folder_explain(int failure) {
    switch (failure) {
    case -ELOOP:
        return "it is a symbolic link, or others can change one on the way: name the place that it leads to";
    case -EMLINK:
        return "it is not a regular file of this user's own with no other name";
    case -EREMCHG:
        return "a new folder there belongs to another user or was replaced: choose a place where only root "
               "can change names, and that keeps root's files root's";
    default:
        return strerror(-failure);
    }
}
