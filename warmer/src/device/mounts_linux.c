/**
 * Mounts, from mountinfo (proc(5)). One look at each mount namespace, and at each root folder in it, is
 * enough: processes that share both see the same. What is unmounted while it is in use is in no list; the
 * kernel holds the device for it all the same, so it cannot be opened with O_EXCL.
 */
#include "device/mounts_linux.h"

#include "device/kernel_files_linux.h"
#include "system/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
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
    struct family *family;
    struct texts *mounts;
    struct texts *journals;
    const char *process;      /**< Whose mounts are looked at. */
    struct view views[VIEWS]; /**< Those that were looked at. */
    size_t view_count;
    kernel_take *take; /**< For each line of the mounts of a process. */
};

/** The parts of a line, which is changed; the place and the rest are empty where they are missing. */
struct mount {
    unsigned id;
    char number[32];
    const char *root;
    char *point;
    const char *kind;
    char *source;
    char *options;
};

static bool parse(char *line, struct mount *mount) {
    static char nothing[1];
    char *rest = NULL;
    char *tail = strstr(line, " - ");
    *mount = (struct mount){.root = nothing, .kind = nothing, .source = nothing, .options = nothing};
    if (tail != NULL) {
        *tail = '\0';
        mount->kind = strtok_r(tail + strlen(" - "), " ", &rest);
        mount->source = strtok_r(NULL, " ", &rest);
        mount->options = strtok_r(NULL, " ", &rest);
    }
    if (sscanf(line, "%u %*s %31s", &mount->id, mount->number) != 2) {
        return false;
    }
    (void)strtok_r(line, " ", &rest);
    (void)strtok_r(NULL, " ", &rest);
    (void)strtok_r(NULL, " ", &rest);
    mount->root = strtok_r(NULL, " ", &rest);
    mount->point = strtok_r(NULL, " ", &rest);
    mount->kind = mount->kind == NULL ? nothing : mount->kind;
    mount->source = mount->source == NULL ? nothing : mount->source;
    mount->options = mount->options == NULL ? nothing : mount->options;
    kernel_decode(mount->source);
    return mount->point != NULL;
}

/** A file system of btrfs by its folder in /sys: whether one of its devices is a member, and another is
 * `source`. */
struct pool {
    struct family *family;
    struct use_node source;
    bool has_member, has_source, has_other;
};

static void take_device(const char *path, const char *name, void *context) {
    struct pool *pool = context;
    char number[32];
    struct use_node node = {.kind = USE_BLOCK};
    (void)name;
    family_doubt(pool->family, path, kernel_read_line(path, "dev", number, sizeof number));
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
    family_doubt(pool.family, folder, kernel_for_each(folder, take_device, &pool));
    if (pool.has_source) {
        *(struct pool *)context = pool;
    }
}

/** Whether a file system over several devices, which shows one of them as its source, lies on a member too.
 */
static bool is_in_pool(struct family *family, const char *root, const char *source, bool *is_shared) {
    struct pool pool = {.family = family};
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s%.2000s", root, source);
    if (!family_look(family, path, &pool.source) || pool.source.kind != USE_BLOCK) {
        return false;
    }
    snprintf(path, sizeof path, "%.2000s" BTRFS, family->tree->root);
    family_doubt(family, path, kernel_for_each(path, take_pool, &pool));
    *is_shared = pool.has_other;
    return pool.has_member;
}

/**
 * Whether a member alone holds the file system (1), it and other disks (2), or it does not (0). Some file
 * systems, such as btrfs, show a number of their own that no device has; then their source counts.
 */
static int holds(struct family *family, const char *root, const struct mount *mount,
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
static bool has_journal(struct family *family, const char *root, struct mount *mount) {
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

static void take_mount(char *line, void *context) {
    struct search *search = context;
    char root[KERNEL_PATH_BYTES];
    struct mount mount;
    const struct member *member;
    snprintf(root, sizeof root, "%.2000s/root", search->process);
    if (!parse(line, &mount)) {
        return;
    }
    if (holds(search->family, root, &mount, &member) > 0) {
        texts_add(search->mounts, "%s", mount.point);
    } else if (has_journal(search->family, root, &mount)) {
        texts_add(search->journals, "journal of %s", mount.point);
    }
}

/** Find what a process sees; false: it is not known. */
static bool find_view(const char *process, const struct use_tree *tree, struct view *view) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/ns/mnt", process);
    if (!use_look(tree, path, &view->space)) {
        return false;
    }
    snprintf(path, sizeof path, "%.2000s/root", process);
    return use_look(tree, path, &view->root);
}

static bool is_seen(const struct search *search, const struct view *view) {
    for (size_t i = 0; i < search->view_count; i++) {
        if (use_same_node(&search->views[i].space, &view->space) &&
            use_same_node(&search->views[i].root, &view->root)) {
            return true;
        }
    }
    return false;
}

void mounts_doubt(struct family *family, const char *process, int failure) {
    char mounts[KERNEL_PATH_BYTES];
    snprintf(mounts, sizeof mounts, "%.2000s/mountinfo", process);
    /* One that has ended has no namespace, and one that is gone cannot be looked at. */
    if (failure != -EINVAL && (access(process, F_OK) == 0 || !kernel_is_absence(-errno))) {
        family_doubt(family, mounts, failure);
    }
}

static void take_process(const char *path, const char *name, void *context) {
    struct search *search = context;
    char mounts[KERNEL_PATH_BYTES];
    struct view view;
    bool is_known = kernel_is_number(name) && find_view(path, search->family->tree, &view);
    if (!kernel_is_number(name) || (is_known && is_seen(search, &view))) {
        return;
    }
    search->process = path;
    snprintf(mounts, sizeof mounts, "%.2000s/mountinfo", path);
    int failure = kernel_for_each_line(mounts, search->take, search);
    /* If it failed, the process may have ended, and others see the same. */
    if (failure == 0 && is_known && search->view_count < VIEWS) {
        search->views[search->view_count++] = view;
    }
    mounts_doubt(search->family, path, failure);
}

static void look(struct search *search) {
    const char *folder = search->family->processes;
    family_doubt(search->family, folder, kernel_for_each(folder, take_process, search));
}

void mounts_find(struct family *family, struct texts *mounts, struct texts *journals) {
    struct search search = {.family = family, .mounts = mounts, .journals = journals, .take = take_mount};
    look(&search);
}

static void take_overlay(char *line, void *context) {
    struct search *search = context;
    struct mount mount;
    if (parse(line, &mount) && strcmp(mount.kind, "overlay") == 0) {
        texts_add(search->mounts, "the overlay at %s, which may stand on it", mount.point);
    }
}

void mounts_find_overlays(struct family *family, struct texts *found) {
    struct search search = {.family = family, .mounts = found, .take = take_overlay};
    look(&search);
}

/** A namespace that is entered by a thread of its own, which is the only one to see its mounts. */
struct visit {
    struct family *family;
    struct texts *found;
    const char *keeper;
    int space, processes;
    int failure;
};

static void take_kept_mount(char *line, void *context) {
    const struct visit *visit = context;
    struct mount mount;
    if (parse(line, &mount) && family_numbered(visit->family, mount.number) != NULL) {
        texts_add(visit->found, "a mount at %s in the mount namespace that %s keeps", mount.point,
                  visit->keeper);
    }
}

static void enter(void *context) {
    struct visit *visit = context;
    int mounts = -1;
    if (unshare(CLONE_FS) == 0 && setns(visit->space, CLONE_NEWNS) == 0) {
        mounts = openat(visit->processes, "thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
    }
    visit->failure = mounts < 0 ? -errno : kernel_for_each_line_of(mounts, take_kept_mount, visit);
}

/** A line of a mount that keeps a mount namespace, which processes may be in as well. */
static void take_keeper(char *line, void *context) {
    struct search *search = context;
    char path[KERNEL_PATH_BYTES];
    struct thread *thread = NULL;
    struct mount mount;
    if (!parse(line, &mount) || strncmp(mount.root, "mnt:[", 5) != 0) {
        return;
    }
    snprintf(path, sizeof path, "%.2000s/root%.2000s", search->process, mount.point);
    kernel_decode(path);
    struct visit visit = {.family = search->family, .found = search->mounts, .keeper = mount.point};
    visit.space = open(path, O_RDONLY | O_CLOEXEC);
    visit.processes = open(search->family->processes, O_PATH | O_DIRECTORY | O_CLOEXEC);
    visit.failure = visit.space < 0 || visit.processes < 0 ? -errno : thread_start(enter, &visit, &thread);
    if (thread != NULL) {
        thread_join(thread);
    }
    if (visit.space >= 0) {
        close(visit.space);
    }
    if (visit.processes >= 0) {
        close(visit.processes);
    }
    family_doubt(search->family, path, visit.failure);
}

void mounts_find_kept(struct family *family, struct texts *found) {
    struct search search = {.family = family, .mounts = found, .take = take_keeper};
    look(&search);
}

/**
 * Find the number of the mount that a path leads to, which may be another one above the one that is meant.
 * Returns 0 or -errno.
 */
static int mount_at(const char *point, unsigned *id) {
    int descriptor = open(point, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return -errno;
    }
    int failure = kernel_mount_of(descriptor, id);
    close(descriptor);
    return failure;
}

/** A mount that is to end. */
struct own_mount {
    unsigned id;
    char point[KERNEL_PATH_BYTES];
};

static void unmount(const struct own_mount *mount) {
    unsigned id = 0;
    int failure = mount_at(mount->point, &id);
    if (failure != 0) {
        fprintf(stderr, "warmer: cannot unmount %s: looking at it failed: %s\n", mount->point,
                strerror(-failure));
    } else if (id != mount->id) {
        fprintf(stderr, "warmer: cannot unmount %s: something else is mounted over it\n", mount->point);
    } else if (umount2(mount->point, UMOUNT_NOFOLLOW) != 0) {
        fprintf(stderr, "warmer: cannot unmount %s: %s\n", mount->point, strerror(errno));
    }
}

struct own_mounts {
    struct family *family;
    struct own_mount items[TEXTS_LIMIT];
    size_t count;
};

static void take_own(char *line, void *context) {
    struct own_mounts *found = context;
    const struct member *member;
    struct mount mount;
    if (found->count < TEXTS_LIMIT && parse(line, &mount) && holds(found->family, "", &mount, &member) == 1 &&
        member->is_own) {
        struct own_mount *own = &found->items[found->count++];
        own->id = mount.id;
        kernel_decode(mount.point);
        snprintf(own->point, sizeof own->point, "%s", mount.point);
    }
}

void mounts_end(struct family *family) {
    static struct own_mounts found;
    found.family = family;
    found.count = 0;
    int failure = kernel_for_each_line("/proc/self/mountinfo", take_own, &found);
    if (failure != 0) {
        fprintf(stderr, "warmer: cannot unmount all of it: looking at /proc/self/mountinfo failed: %s\n",
                strerror(-failure));
    }
    for (; found.count > 0; found.count--) {
        unmount(&found.items[found.count - 1]);
    }
}
