/** What uses a device, from /proc and /sys. The device itself is not opened. */
#include "device/use_linux.h"

#include "system/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/** Whoever looks for new devices opens them all for a moment; so many looks tell them from the others. */
#define LOOKS 3u
#define MOST_PROCESSES 5u
#define PATH_BYTES 4096u

/** The disk, its partitions and what is made of them. */
struct family {
    const struct use_tree *tree;
    struct texts paths;   /**< /dev/… */
    struct texts numbers; /**< Major and minor, as mountinfo writes them. */
    struct texts made;    /**< In words: LVM, RAID, encryption, several paths. */
};

typedef void visit(const char *path, const char *name, void *context);

/** Calls for each entry of a folder. */
static void for_each(const char *path, visit *act, void *context) {
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        char whole[PATH_BYTES];
        if (entry->d_name[0] != '.' &&
            (size_t)snprintf(whole, sizeof whole, "%.2000s/%s", path, entry->d_name) < sizeof whole) {
            act(whole, entry->d_name, context);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/** The first line of a file, without its end; empty if there is none. */
static void read_line(const char *folder, const char *file, char *line, size_t size) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/%s", folder, file);
    FILE *stream = fopen(path, "r");
    line[0] = '\0';
    if (stream != NULL) {
        if (fgets(line, (int)size, stream) == NULL) {
            line[0] = '\0';
        }
        fclose(stream);
    }
    line[strcspn(line, "\n")] = '\0';
}

static void add_member(const char *folder, struct family *family);

static void add_holder(const char *path, const char *name, void *context) {
    struct family *family = context;
    char number[32];
    char kind[64];
    (void)name;
    read_line(path, "dev", number, sizeof number);
    read_line(path, "dm/uuid", kind, sizeof kind);
    kind[strcspn(kind, "-")] = '\0';
    for (char *letter = kind; *letter != '\0'; letter++) {
        *letter = (char)tolower((unsigned char)*letter);
    }
    if (number[0] != '\0' && !texts_has(&family->numbers, number)) {
        add_member(path, family);
        texts_add(&family->made, "%s %s", kind[0] == '\0' ? "raid" : kind,
                  family->paths.items[family->paths.count - 1]);
    }
}

static void add_part(const char *path, const char *name, void *context) {
    char number[16];
    (void)name;
    read_line(path, "partition", number, sizeof number);
    if (number[0] != '\0') {
        add_member(path, context);
    }
}

/** A block device by its folder in /sys, and what is made of it. */
static void add_member(const char *folder, struct family *family) {
    char holders[PATH_BYTES];
    char number[32];
    char name[256];
    read_line(folder, "dm/name", name, sizeof name);
    char *real = realpath(folder, NULL);
    if (name[0] != '\0') {
        texts_add(&family->paths, "/dev/mapper/%s", name);
    } else if (real != NULL) {
        texts_add(&family->paths, "/dev/%s", strrchr(real, '/') + 1);
    }
    read_line(folder, "dev", number, sizeof number);
    texts_add(&family->numbers, "%s", number);
    snprintf(holders, sizeof holders, "%.2000s/holders", folder);
    for_each(holders, add_holder, family);
    for_each(folder, add_part, family);
    free(real);
}

static bool number_of(const char *path, char *number, size_t size) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISBLK(status.st_mode)) {
        return false;
    }
    snprintf(number, size, "%u:%u", major(status.st_rdev), minor(status.st_rdev));
    return true;
}

const struct use_tree use_own_tree = {.root = "", .number_of = number_of};

static void find_family(const char *path, struct family *family) {
    char number[32];
    char folder[PATH_BYTES];
    char *real = realpath(path, NULL);
    texts_add(&family->paths, "%s", real == NULL ? path : real);
    free(real);
    if (family->tree->number_of(path, number, sizeof number)) {
        snprintf(folder, sizeof folder, "%.2000s/sys/dev/block/%s", family->tree->root, number);
        add_member(folder, family);
    }
}

/** A list of mounts or processes that grows. */
struct search {
    const struct family *family;
    struct texts *found;
};

/**
 * One line of mountinfo (proc(5)). A file system over several devices shows a number of its own, so its
 * source counts too.
 */
static void take_mount(const char *line, struct search *search) {
    char number[32];
    char point[TEXT_BYTES];
    char source[TEXT_BYTES] = "";
    if (sscanf(line, "%*s %*s %31s %*s %511s", number, point) != 2) {
        return;
    }
    const char *tail = strstr(line, " - ");
    if (tail != NULL && sscanf(tail, " - %*s %511s", source) != 1) {
        source[0] = '\0';
    }
    if (texts_has(&search->family->numbers, number) || texts_has(&search->family->paths, source)) {
        texts_add(search->found, "%s", point);
    }
}

/** Of every process: a container has mounts of its own. */
static void take_mounts(const char *path, const char *name, void *context) {
    char line[PATH_BYTES];
    snprintf(line, sizeof line, "%.2000s/mountinfo", path);
    FILE *stream = isdigit((unsigned char)name[0]) ? fopen(line, "r") : NULL;
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        take_mount(line, context);
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

static void find_mounts(const struct family *family, struct texts *mounts) {
    struct search search = {family, mounts};
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%.2000s/proc", family->tree->root);
    for_each(folder, take_mounts, &search);
}

static void find_swaps(const struct family *family, struct texts *others) {
    char line[PATH_BYTES];
    char name[TEXT_BYTES];
    snprintf(line, sizeof line, "%.2000s/proc/swaps", family->tree->root);
    FILE *stream = fopen(line, "r");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        if (sscanf(line, "%511s", name) == 1 && texts_has(&family->paths, name)) {
            texts_add(others, "swap on %s", name);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

/** Whether one of a process's open files is a member of the family. */
struct open_files {
    const struct family *family;
    bool has_member;
};

static void take_file(const char *path, const char *name, void *context) {
    struct open_files *files = context;
    char target[TEXT_BYTES];
    ssize_t length = readlink(path, target, sizeof target - 1);
    (void)name;
    target[length > 0 ? length : 0] = '\0';
    files->has_member |= length > 0 && texts_has(&files->family->paths, target);
}

static void take_process(const char *path, const char *name, void *context) {
    struct search *search = context;
    struct open_files files = {search->family, false};
    char folder[PATH_BYTES];
    char program[64];
    if (!isdigit((unsigned char)name[0]) || search->found->count >= MOST_PROCESSES) {
        return;
    }
    snprintf(folder, sizeof folder, "%.2000s/fd", path);
    for_each(folder, take_file, &files);
    if (files.has_member) {
        read_line(path, "comm", program, sizeof program);
        texts_add(search->found, "process %s (%s)", name, program);
    }
}

static void find_processes(const struct family *family, struct texts *others) {
    static struct texts found;
    struct search search = {family, &found};
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%.2000s/proc", family->tree->root);
    for (unsigned look = 0; look < LOOKS; look++) {
        if (look > 0) {
            clock_pause_ms(1000);
        }
        found.count = 0;
        for_each(folder, take_process, &search);
        if (found.count == 0) {
            return;
        }
    }
    for (size_t i = 0; i < found.count; i++) {
        texts_add(others, "%s", found.items[i]);
    }
}

void use_find_below(const struct use_tree *tree, const char *path, struct device_use *use) {
    static struct family family;
    family = (struct family){.tree = tree};
    find_family(path, &family);
    find_mounts(&family, &use->mounts);
    find_swaps(&family, &use->others);
    for (size_t i = 0; i < family.made.count; i++) {
        texts_add(&use->others, "%s", family.made.items[i]);
    }
    find_processes(&family, &use->others);
}

void use_find(const char *path, struct device_use *use) {
    use_find_below(&use_own_tree, path, use);
}

/** A mount point as it is: \040 stands for a blank. */
static void decode(const char *text, char *plain) {
    for (; *text != '\0'; plain++) {
        if (text[0] == '\\' && text[1] != '\0' && text[2] != '\0' && text[3] != '\0') {
            *plain = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *plain = *text++;
        }
    }
    *plain = '\0';
}

void use_end(const char *path) {
    static struct family family;
    static struct texts mounts;
    family = (struct family){.tree = &use_own_tree};
    mounts.count = 0;
    find_family(path, &family);
    find_mounts(&family, &mounts);
    for (size_t i = mounts.count; i > 0; i--) {
        char point[TEXT_BYTES];
        decode(mounts.items[i - 1], point);
        if (umount2(point, UMOUNT_NOFOLLOW) != 0) {
            fprintf(stderr, "warmer: cannot unmount %s: %s\n", point, strerror(errno));
        }
    }
}

int use_begin(const char *path, const char *point, struct diag *diag) {
    (void)point;
    return diag_refuse(diag, WARMER_USAGE, "%s: only disks of Windows are brought online", path);
}
