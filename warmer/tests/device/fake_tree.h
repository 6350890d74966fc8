#ifndef WARMER_FAKE_TREE_H
#define WARMER_FAKE_TREE_H

/**
 * A machine as a folder with /sys, /proc and /dev of its own. A block device in it is a file with its number,
 * such as 259:1, and a descriptor is a link to one.
 */
#include "check.h"
#include "device/use_linux.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void clear_tree(void) {
    nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void choose_root(const char *test) {
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(root, sizeof root, "%s/warmer-%s-%ld", folder, test, (long)getpid());
}

/** Make the folders of a path below the root. */
static void make_folders(const char *path) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            mkdir(whole, 0700);
            *at = '/';
        }
    }
}

/** Add text to a file below the root. */
static void put(const char *path, const char *text) {
    char whole[512];
    make_folders(path);
    snprintf(whole, sizeof whole, "%s%s", root, path);
    FILE *stream = fopen(whole, "a");
    CHECK(stream != NULL);
    if (stream != NULL) {
        fputs(text, stream);
        fclose(stream);
    }
}

/** Make a link below the root; a target that begins with a slash is below it too. */
static void put_link(const char *path, const char *target) {
    char whole[512];
    char to[512];
    make_folders(path);
    snprintf(whole, sizeof whole, "%s%s", root, path);
    snprintf(to, sizeof to, "%s%s", target[0] == '/' ? root : "", target);
    CHECK(symlink(to, whole) == 0);
}

static bool read_node(int folder, const char *path, struct use_node *node) {
    int descriptor = openat(folder, path, O_RDONLY);
    char text[64] = "";
    unsigned long inode = 0;
    bool is_there = descriptor >= 0 && read(descriptor, text, sizeof text - 1) > 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    *node = (struct use_node){.kind = USE_BLOCK};
    if (is_there && sscanf(text, "file %u:%u %lu", &node->major, &node->minor, &inode) == 3) {
        node->kind = USE_FILE;
        node->inode = inode;
        return true;
    }
    return is_there && sscanf(text, "%u:%u", &node->major, &node->minor) == 2;
}

static bool fake_look(int folder, const char *path, struct use_node *node) {
    struct stat status;
    char target[64];
    ssize_t length = readlinkat(folder, path, target, sizeof target);
    if (fstatat(folder, path, &status, 0) == 0) {
        if (!read_node(folder, path, node)) {
            *node = (struct use_node){.kind = USE_OTHER, .inode = status.st_ino};
        }
        return true;
    }
    *node = (struct use_node){.kind = USE_RING};
    return length > 10 && strncmp(target, "anon_inode", 10) == 0;
}

/** What a loop device of this tree says that it stands on is in a file beside it. */
static bool fake_find_backing(const char *path, struct use_node *node) {
    char beside[512];
    snprintf(beside, sizeof beside, "%s.stands-on", path);
    return read_node(AT_FDCWD, beside, node);
}

/** In this tree a thread has files of its own where its number is below 1000. */
static bool fake_shares_files(unsigned long process, unsigned long thread) {
    (void)process;
    return thread >= 1000;
}

/** A device of this tree is held where a file beside it says so, with the number of the error. */
static int fake_take_alone(const char *path, const struct use_node *node) {
    char beside[512];
    int error = 0;
    (void)node;
    snprintf(beside, sizeof beside, "%s.held", path);
    FILE *stream = fopen(beside, "r");
    if (stream != NULL) {
        CHECK(fscanf(stream, "%d", &error) == 1);
        fclose(stream);
    }
    return -error;
}

/** What every tree has: the kernel's threads can be looked at, and block devices are listed. */
static inline void put_machine(void) {
    put("/proc/2/ns/pid", "file 0:4 4026531836");
    put_link("/proc/self", "42");
    put("/proc/42/comm", "warmer\n");
    make_folders("/sys/block/");
}

static const struct use_tree fake_tree = {.root = root,
                                          .look_in = fake_look,
                                          .find_backing = fake_find_backing,
                                          .shares_files = fake_shares_files,
                                          .take_alone = fake_take_alone};

#endif
