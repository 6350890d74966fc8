/** How a path is followed, name by name (path_resolution(7)), so that nobody else decides where it leads. */
#include "system/folder_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/** As many as the kernel follows. */
#define MOST_LINKS 40u

struct walk {
    int folder;   /**< Where it has come to; -1: nowhere yet. */
    bool is_safe; /**< Nobody else can change a name on the way so far. */
    bool is_open; /**< Others can add names to the folder. */
    unsigned links;
    char left[2 * PATH_MAX]; /**< What is still to be followed. */
};

static bool is_ours(const struct stat *status) {
    return status->st_uid == 0 || status->st_uid == geteuid();
}

/** Whether others than root and this user can write to a folder. */
static bool is_open(const struct stat *folder) {
    bool is_groups = (folder->st_mode & S_IWGRP) != 0 && folder->st_gid != 0 && folder->st_gid != getegid();
    return (folder->st_mode & S_IWOTH) != 0 || is_groups;
}

/** Go to a folder, which is open. */
static int move(struct walk *walk, int folder) {
    struct stat status;
    if (folder < 0 || fstat(folder, &status) != 0) {
        int failure = -errno;
        close(folder);
        return failure;
    }
    if (walk->folder >= 0) {
        close(walk->folder);
    }
    walk->folder = folder;
    walk->is_open = is_open(&status);
    /* With the sticky bit, others can only add names and change their own. */
    bool keeps_names = is_ours(&status) && (!walk->is_open || (status.st_mode & S_ISVTX) != 0);
    walk->is_safe = walk->is_safe && keeps_names;
    return 0;
}

static int begin(struct walk *walk, const char *start) {
    return move(walk, open(start, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/** The kernel's own links lead to what may have no other name. */
static bool is_kernels(int link) {
    struct statfs found;
    return fstatfs(link, &found) == 0 && found.f_type == PROC_SUPER_MAGIC;
}

/** Put what a link says in the place of its name. */
static int follow(struct walk *walk, int link, const char *name) {
    char target[PATH_MAX];
    char rest[sizeof walk->left];
    struct stat status;
    if (++walk->links > MOST_LINKS || fstat(link, &status) != 0) {
        return -ELOOP;
    }
    if (is_kernels(link)) {
        return move(walk, openat(walk->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    /* Where others can add names, one may be a hard link to a link of root's. */
    if (!walk->is_safe || !is_ours(&status) || (walk->is_open && status.st_nlink != 1)) {
        return -ELOOP;
    }
    ssize_t length = readlinkat(link, "", target, sizeof target - 1);
    if (length <= 0) {
        return length < 0 ? -errno : -ENOENT;
    }
    target[length] = '\0';
    memcpy(rest, walk->left, sizeof rest);
    if ((size_t)snprintf(walk->left, sizeof walk->left, "%s/%s", target, rest) >= sizeof walk->left) {
        return -ENAMETOOLONG;
    }
    return target[0] == '/' ? begin(walk, "/") : 0;
}

/** Cut the next name off what is left; empty: there is none. */
static int take_name(struct walk *walk, char name[static FOLDER_NAME_BYTES]) {
    const char *from = walk->left + strspn(walk->left, "/");
    size_t length = strcspn(from, "/");
    if (length >= FOLDER_NAME_BYTES) {
        return -ENAMETOOLONG;
    }
    memcpy(name, from, length);
    name[length] = '\0';
    memmove(walk->left, from + length, strlen(from + length) + 1);
    return 0;
}

static int step(struct walk *walk, const char *name, bool makes) {
    struct stat status;
    int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(walk->folder, name, flags);
    if (next < 0 && errno == ENOENT && makes) {
        /* One that cannot be made is there already, or the next look says why. */
        int failure = mkdirat(walk->folder, name, 0700) == 0 || errno == EEXIST ? 0 : -errno;
        next = failure == 0 ? openat(walk->folder, name, flags) : -1;
        errno = failure == 0 ? errno : -failure;
    }
    if (next < 0 || fstat(next, &status) != 0) {
        int failure = -errno;
        close(next);
        return failure;
    }
    if (S_ISDIR(status.st_mode)) {
        return move(walk, next);
    }
    int failure = S_ISLNK(status.st_mode) ? follow(walk, next, name) : -ENOTDIR;
    close(next);
    return failure;
}

int folder_walk(const char *path, bool makes) {
    char name[FOLDER_NAME_BYTES];
    struct walk walk = {.folder = -1, .is_safe = true};
    int failure = path[0] == '\0' ? -ENOENT : strlen(path) >= PATH_MAX ? -ENAMETOOLONG : 0;
    if (failure == 0) {
        snprintf(walk.left, sizeof walk.left, "%s", path);
        failure = begin(&walk, path[0] == '/' ? "/" : ".");
    }
    while (failure == 0 && (failure = take_name(&walk, name)) == 0 && name[0] != '\0') {
        failure = step(&walk, name, makes);
    }
    if (failure != 0 && walk.folder >= 0) {
        close(walk.folder);
    }
    return failure == 0 ? walk.folder : failure;
}

int folder_walk_to(const char *path, char name[static FOLDER_NAME_BYTES]) {
    char folder[PATH_MAX];
    const char *end = strrchr(path, '/');
    const char *last = end == NULL ? path : end + 1;
    size_t length = (size_t)(last - path);
    if (length >= sizeof folder || strlen(last) >= FOLDER_NAME_BYTES) {
        return -ENAMETOOLONG;
    }
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        return -EISDIR;
    }
    memcpy(folder, path, length);
    folder[length] = '\0';
    snprintf(name, FOLDER_NAME_BYTES, "%s", last);
    return folder_walk(length == 0 ? "." : folder, false);
}
