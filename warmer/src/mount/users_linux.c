#include "mount/users_linux.h"

#include "device/kernel_files_linux.h"
#include "device/use_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void placed_add_number(struct placed *placed, unsigned major, unsigned minor) {
    if (placed->number_count < PLACED_NUMBERS) {
        placed->numbers[placed->number_count].major = major;
        placed->numbers[placed->number_count++].minor = minor;
    }
}

void placed_add_mount(struct placed *placed, unsigned id) {
    if (placed->mount_count < PLACED_MOUNTS) {
        placed->mounts[placed->mount_count++] = id;
    }
}

static bool has_number(const struct placed *placed, unsigned major, unsigned minor) {
    for (size_t i = 0; i < placed->number_count; i++) {
        if (placed->numbers[i].major == major && placed->numbers[i].minor == minor) {
            return true;
        }
    }
    return false;
}

int mount_of_path(const char *path, unsigned *id) {
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) {
        return -errno;
    }
    int failure = kernel_mount_of(descriptor, id);
    close(descriptor);
    return failure;
}

/** Whether a file is in one of the mounts (1) or not (0); else -errno. Only where it may be: a file of a
 * share that hangs is not opened. */
static int is_in_mount(const struct placed *placed, const struct use_node *node, const char *path) {
    unsigned id = 0;
    if (placed->mount_count == 0 || node->major != 0) {
        return 0;
    }
    int failure = mount_of_path(path, &id);
    for (size_t i = 0; i < placed->mount_count && failure == 0; i++) {
        if (placed->mounts[i] == id) {
            return 1;
        }
    }
    return failure;
}

int placed_has(const struct placed *placed, const char *path) {
    struct use_node node;
    int found = use_look(&use_own_tree, path, &node) ? 0 : -errno;
    if (found == 0 && node.kind != USE_BLOCK) {
        found = has_number(placed, node.major, node.minor) ? 1 : is_in_mount(placed, &node, path);
    }
    return kernel_is_absence(found) ? 0 : found;
}

/** A look at one process. */
struct look {
    const struct placed *placed;
    unsigned long id;
    bool is_user;
    bool is_hidden;
};

/** Note what a look has found: 1, 0, a number of entries, or -errno. */
static void note_failure(struct look *look, int found) {
    look->is_hidden |= found < 0 && !kernel_is_absence(found);
}

static void take_path(const char *path, const char *name, void *context) {
    struct look *look = context;
    (void)name;
    int found = look->is_user ? 0 : placed_has(look->placed, path);
    look->is_user |= found > 0;
    note_failure(look, found);
}

static void take_link(const char *task, const char *name, struct look *look) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/%s", task, name);
    take_path(path, name, look);
}

static void take_files(const char *task, struct look *look) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/fd", task);
    note_failure(look, look->is_user ? 0 : kernel_for_each(path, take_path, look));
}

/** Threads can have folders and files of their own. */
static void take_thread(const char *path, const char *name, void *context) {
    struct look *look = context;
    unsigned long thread = strtoul(name, NULL, 10);
    if (thread == look->id || look->is_user) {
        return;
    }
    take_link(path, "cwd", look);
    take_link(path, "root", look);
    if (!use_own_tree.shares_files(look->id, thread)) {
        take_files(path, look);
    }
}

static void take_mapping(char *line, void *context) {
    struct look *look = context;
    unsigned major = 0;
    unsigned minor = 0;
    look->is_user |= sscanf(line, "%*s %*s %*s %x:%x", &major, &minor) == 2 && (major | minor) != 0 &&
                     has_number(look->placed, major, minor);
}

static void take_mappings(const char *process, struct look *look) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/maps", process);
    note_failure(look, look->is_user ? 0 : kernel_for_each_line(path, take_mapping, look));
}

static void look_at(const char *process, struct look *look) {
    char path[KERNEL_PATH_BYTES];
    look->is_user = look->is_hidden = false;
    take_link(process, "cwd", look);
    take_link(process, "root", look);
    take_link(process, "exe", look);
    take_files(process, look);
    take_mappings(process, look);
    snprintf(path, sizeof path, "%.2000s/task", process);
    note_failure(look, look->is_user ? 0 : kernel_for_each(path, take_thread, look));
}

/** When the process began, in ticks; 0: it has ended. */
static unsigned long long began(const char *process) {
    char line[2048];
    unsigned long long ticks = 0;
    kernel_read_line(process, "stat", line, sizeof line);
    const char *tail = strrchr(line, ')');
    return tail != NULL && sscanf(tail,
                                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                                  "%*d %*d %llu",
                                  &ticks) == 1
               ? ticks
               : 0;
}

/** Kernels before 5.3 have no descriptors of processes; then the start time says whether it is the same one.
 */
static void send(const char *process, struct look *look, int signal) {
    unsigned long long ticks = began(process);
    int descriptor = (int)syscall(SYS_pidfd_open, (pid_t)look->id, 0);
    bool has_none = descriptor < 0 && errno == ENOSYS;
    look_at(process, look);
    if (descriptor >= 0) {
        if (look->is_user) {
            (void)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0);
        }
        close(descriptor);
    } else if (has_none && look->is_user && ticks != 0 && began(process) == ticks) {
        kill((pid_t)look->id, signal);
    }
}

struct walk {
    const struct placed *placed;
    int signal;
    struct users *found;
};

static void take_process(const char *path, const char *name, void *context) {
    struct walk *walk = context;
    struct users *found = walk->found;
    struct look look = {.placed = walk->placed, .id = strtoul(name, NULL, 10)};
    if (!kernel_is_number(name) || look.id == (unsigned long)getpid()) {
        return;
    }
    look_at(path, &look);
    found->is_hidden |= look.is_hidden && !look.is_user && access(path, F_OK) == 0;
    if (!look.is_user) {
        return;
    }
    found->has_init |= look.id == 1;
    if (found->count++ == 0) {
        found->first = look.id;
        kernel_read_line(path, "comm", found->first_program, sizeof found->first_program);
    }
    if (walk->signal != 0 && look.id != 1) {
        send(path, &look, walk->signal);
    }
}

void users_find(const struct placed *placed, int signal, struct users *found) {
    struct walk walk = {.placed = placed, .signal = signal, .found = found};
    *found = (struct users){0};
    found->is_hidden |= kernel_for_each("/proc", take_process, &walk) < 0;
}
