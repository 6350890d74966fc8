/**
 * Mounts, from mountinfo (proc(5)). One look at each mount namespace, and at each root folder in it, is
 * enough: processes that share both see the same. A namespace that no process is in cannot be seen, nor can
 * what is unmounted while it is in use; but the kernel holds the device for such a file system, so it cannot
 * be opened with O_EXCL.
 */
#include "device/mounts_linux.h"

#include "device/kernel_files_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define BTRFS "/sys/fs/btrfs"
#define VIEWS 256u

/** What a process sees: its mount namespace and its root folder. */
struct view {
    struct use_node space, root;
};

struct search {
    const struct family *family;
    struct texts *mounts;
    struct texts *journals;
    struct view views[VIEWS]; /**< Those that were looked at. */
    size_t view_count;
};

/** The part of a line that is between two others. */
struct mount {
    unsigned id;
    char number[32];
    char point[TEXT_BYTES];
    char source[TEXT_BYTES];
    char options[TEXT_BYTES];
};

static bool parse(const char *line, struct mount *mount) {
    *mount = (struct mount){.id = 0};
    if (sscanf(line, "%u %*s %31s %*s %511s", &mount->id, mount->number, mount->point) != 3) {
        return false;
    }
    const char *tail = strstr(line, " - ");
    if (tail != NULL) {
        (void)sscanf(tail, " - %*s %511s %511s", mount->source, mount->options);
    }
    kernel_decode(mount->source);
    return true;
}

/** A file system of btrfs by its folder in /sys: whether one of its devices is a member, and another is
 * `source`. */
struct pool {
    const struct family *family;
    struct use_node source;
    bool has_member, has_source, has_other;
};

static void take_device(const char *path, const char *name, void *context) {
    struct pool *pool = context;
    char number[32];
    struct use_node node = {.kind = USE_BLOCK};
    (void)name;
    kernel_read_line(path, "dev", number, sizeof number);
    if (sscanf(number, "%u:%u", &node.major, &node.minor) == 2) {
        bool is_member = family_member(pool->family, &node) != NULL;
        pool->has_member |= is_member;
        pool->has_other |= !is_member;
        pool->has_source |= use_same_node(&node, &pool->source);
    }
}

static void take_pool(const char *path, const char *name, void *context) {
    const struct pool *asked = context;
    struct pool pool = {.family = asked->family, .source = asked->source};
    char folder[KERNEL_PATH_BYTES];
    (void)name;
    snprintf(folder, sizeof folder, "%.2000s/devices", path);
    kernel_for_each(folder, take_device, &pool);
    if (pool.has_source) {
        *(struct pool *)context = pool;
    }
}

/** Whether a file system over several devices, which shows one of them as its source, lies on a member too.
 */
static bool is_in_pool(const struct family *family, const char *root, const char *source, bool *is_shared) {
    struct pool pool = {.family = family};
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s%.2000s", root, source);
    if (!use_look(family->tree, path, &pool.source) || pool.source.kind != USE_BLOCK) {
        return false;
    }
    snprintf(path, sizeof path, "%.2000s" BTRFS, family->tree->root);
    kernel_for_each(path, take_pool, &pool);
    *is_shared = pool.has_other;
    return pool.has_member;
}

/**
 * Whether a member alone holds the file system (1), it and other disks (2), or it does not (0). Some file
 * systems, such as btrfs, show a number of their own that no device has; then their source counts.
 */
static int holds(const struct family *family, const char *root, const struct mount *mount,
                 const struct member **member) {
    bool is_shared = false;
    *member = family_numbered(family, mount->number);
    if (*member != NULL) {
        return 1;
    }
    if (strncmp(mount->number, "0:", 2) != 0 || mount->source[0] != '/') {
        return 0;
    }
    *member = family_at(family, root, mount->source);
    if (is_in_pool(family, root, mount->source, &is_shared)) {
        return is_shared ? 2 : 1;
    }
    return *member != NULL ? 1 : 0;
}

/** Options that say where a file system keeps its journal or its log, or other data, as XFS and ext4 do. */
static bool has_journal(const struct family *family, const char *root, struct mount *mount) {
    static const char *const keys[] = {"logdev=", "rtdev=", "journal_path=", "journal_dev="};
    char *rest = NULL;
    for (char *option = strtok_r(mount->options, ",", &rest); option != NULL;
         option = strtok_r(NULL, ",", &rest)) {
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            size_t length = strlen(keys[i]);
            if (strncmp(option, keys[i], length) != 0) {
                continue;
            }
            kernel_decode(option + length);
            if (family_at(family, root, option + length) != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void take_mounts_of(const char *process, struct search *search) {
    char line[KERNEL_PATH_BYTES];
    char root[KERNEL_PATH_BYTES];
    struct mount mount;
    const struct member *member;
    snprintf(root, sizeof root, "%.2000s/root", process);
    snprintf(line, sizeof line, "%.2000s/mountinfo", process);
    FILE *stream = fopen(line, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        if (!parse(line, &mount)) {
            continue;
        }
        if (holds(search->family, root, &mount, &member) > 0) {
            texts_add(search->mounts, "%s", mount.point);
        } else if (has_journal(search->family, root, &mount)) {
            texts_add(search->journals, "journal of %s", mount.point);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

/** Whether what this process sees was looked at; if not, it is noted. */
static bool is_seen(const char *process, struct search *search) {
    const struct use_tree *tree = search->family->tree;
    char path[KERNEL_PATH_BYTES];
    struct view view;
    snprintf(path, sizeof path, "%.2000s/ns/mnt", process);
    if (!use_look(tree, path, &view.space)) {
        return false;
    }
    snprintf(path, sizeof path, "%.2000s/root", process);
    if (!use_look(tree, path, &view.root)) {
        return false;
    }
    for (size_t i = 0; i < search->view_count; i++) {
        if (use_same_node(&search->views[i].space, &view.space) &&
            use_same_node(&search->views[i].root, &view.root)) {
            return true;
        }
    }
    if (search->view_count < VIEWS) {
        search->views[search->view_count++] = view;
    }
    return false;
}

static void take_process(const char *path, const char *name, void *context) {
    if (kernel_is_number(name) && !is_seen(path, context)) {
        take_mounts_of(path, context);
    }
}

void mounts_find(const struct family *family, struct texts *mounts, struct texts *journals) {
    struct search search = {.family = family, .mounts = mounts, .journals = journals};
    char folder[KERNEL_PATH_BYTES];
    snprintf(folder, sizeof folder, "%.2000s/proc", family->tree->root);
    kernel_for_each(folder, take_process, &search);
}

/** The number of the mount that a path leads to, which may be another one above the one that is meant. */
static unsigned mount_at(const char *point) {
    char path[64];
    char line[128];
    unsigned id = 0;
    int descriptor = open(point, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return 0;
    }
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    FILE *stream = fopen(path, "re");
    while (stream != NULL && id == 0 && fgets(line, sizeof line, stream) != NULL) {
        id = sscanf(line, "mnt_id: %u", &id) == 1 ? id : 0;
    }
    if (stream != NULL) {
        fclose(stream);
    }
    close(descriptor);
    return id;
}

static void unmount(struct mount *mount) {
    kernel_decode(mount->point);
    if (mount_at(mount->point) != mount->id) {
        fprintf(stderr, "warmer: cannot unmount %s: something else is mounted over it\n", mount->point);
    } else if (umount2(mount->point, UMOUNT_NOFOLLOW) != 0) {
        fprintf(stderr, "warmer: cannot unmount %s: %s\n", mount->point, strerror(errno));
    }
}

void mounts_end(const struct family *family) {
    static struct mount found[TEXTS_LIMIT];
    char line[KERNEL_PATH_BYTES];
    const struct member *member;
    size_t count = 0;
    FILE *stream = fopen("/proc/self/mountinfo", "re");
    while (stream != NULL && count < TEXTS_LIMIT && fgets(line, sizeof line, stream) != NULL) {
        if (parse(line, &found[count]) && holds(family, "", &found[count], &member) == 1 && member->is_own) {
            count++;
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    for (; count > 0; count--) {
        unmount(&found[count - 1]);
    }
}
