#include "observe/trace.h"

#include "device/kernel_files_linux.h"
#include "system/clock.h"
#include "system/file.h"
#include "system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX "rewarm-"
#define EVENT "/events/block/block_rq_issue"
#define TRIGGERS "events/block/block_rq_issue/trigger"
#define LOCKDOWN "/sys/kernel/security/lockdown"
/** Not in every C library's headers: linux/mount.h, FSCONFIG_CMD_CREATE. */
#define CONFIG_CREATE 6
/** What a process had open is closed within moments of its end. */
#define REMOVE_MS 10000u
#define STEP_MS 20u

struct trace {
    char root[512];
    char name[64];
    char litter[PATH_MAX];
    int mount; /**< A mount that only this process has; -1: none. */
    int lock;  /**< The instance's folder, locked while this process lives; -1: none. */
    struct guard *guard;
};

static int refuse(struct diag *diag, const char *reason) {
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot observe: %s", reason);
}

static int refuse_errno(struct diag *diag, const char *what, int error) {
    char reason[400];
    snprintf(reason, sizeof reason, "%s: %s", what, strerror(error));
    return refuse(diag, reason);
}

/** Then tracefs is empty, or none of its files can be opened (LOCKDOWN_TRACEFS of the kernel's security.h).
 */
static bool is_locked_down(void) {
    char modes[128];
    kernel_read_line("", LOCKDOWN, modes, sizeof modes);
    return strstr(modes, "[confidentiality]") != NULL;
}

static bool is_folder(const char *root, const char *name) {
    char path[1024];
    struct stat status;
    snprintf(path, sizeof path, "%.500s%.400s", root, name);
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/** A mount of tracefs at no place of the file system: it goes with this process. Returns it or -errno. */
static int mount_own(void) {
    int context = (int)syscall(SYS_fsopen, "tracefs", 1u);
    if (context < 0) {
        return -errno;
    }
    int mount = -1;
    if (syscall(SYS_fsconfig, context, CONFIG_CREATE, NULL, NULL, 0) == 0) {
        mount = (int)syscall(SYS_fsmount, context, 1u, 0u);
    }
    int failure = mount < 0 ? -errno : 0;
    close(context);
    return failure == 0 ? mount : failure;
}

static int find_root(struct trace *trace, struct diag *diag) {
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    if (geteuid() != 0) {
        return refuse(diag, "only root may trace the kernel");
    }
    if (is_locked_down()) {
        return refuse(diag, "the kernel is locked down (confidentiality), and then nobody may trace it");
    }
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (is_folder(places[i], "/instances")) {
            snprintf(trace->root, sizeof trace->root, "%s", places[i]);
            return 0;
        }
    }
    trace->mount = mount_own();
    if (trace->mount < 0) {
        bool is_absent = trace->mount == -ENODEV;
        return is_absent ? refuse(diag, "the kernel has no tracefs")
                         : refuse_errno(diag, "nobody has mounted tracefs, and it cannot be had otherwise",
                                        -trace->mount);
    }
    snprintf(trace->root, sizeof trace->root, "/proc/self/fd/%d", trace->mount);
    return 0;
}

/** The folder of all instances, locked: whoever makes or removes one of ours has it. -1: it cannot be had. */
static int lock_instances(const char *root) {
    char path[1024];
    snprintf(path, sizeof path, "%.500s/instances", root);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && flock(folder, LOCK_EX) != 0) {
        close(folder);
        return -1;
    }
    return folder;
}

/** A histogram keeps its instance, so it goes first: opened empty, the file forgets its triggers. */
static void remove_triggers(int folder) {
    int triggers = openat(folder, TRIGGERS, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (triggers >= 0) {
        close(triggers);
    }
}

/** Remove an instance that no process holds. */
static int remove_unheld(const char *path) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    int failure = flock(folder, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
    if (failure == 0) {
        remove_triggers(folder);
        failure = rmdir(path) == 0 ? 0 : -errno;
    }
    close(folder);
    return failure;
}

static void remove_stale(const char *path, const char *name, void *context) {
    (void)context;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) == 0) {
        (void)remove_unheld(path);
    }
}

/** What the guard does: the instance goes once its process has. Another one may have made it again by then.
 */
static void clean_up(void *context) {
    const struct trace *trace = context;
    char path[1024];
    int failure = -EBUSY;
    if (trace->litter[0] != '\0') {
        (void)file_delete(trace->litter);
    }
    snprintf(path, sizeof path, "%.500s/instances/%s", trace->root, trace->name);
    for (unsigned waited = 0; waited < REMOVE_MS && failure != 0 && failure != -ENOENT; waited += STEP_MS) {
        int lock = lock_instances(trace->root);
        failure = remove_unheld(path);
        close(lock);
        if (failure != 0) {
            clock_pause_ms(STEP_MS);
        }
    }
}

/** Make the instance's folder and lock it, while nobody else makes or removes one. */
static int make_locked(struct trace *trace, struct diag *diag) {
    char path[1024];
    snprintf(path, sizeof path, "%.500s/instances/%s", trace->root, trace->name);
    if (mkdir(path, 0700) != 0) {
        return errno == EEXIST ? refuse(diag, "another warmer is observing this device")
                               : refuse_errno(diag, "no trace instance can be made", errno);
    }
    trace->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (trace->lock < 0 || flock(trace->lock, LOCK_EX | LOCK_NB) != 0) {
        int failure = refuse_errno(diag, "the trace instance cannot be locked", errno);
        rmdir(path);
        return failure;
    }
    return 0;
}

static void remove_all_stale(const char *root) {
    char path[1024];
    snprintf(path, sizeof path, "%.500s/instances", root);
    kernel_for_each(path, remove_stale, NULL);
}

static int make_instance(struct trace *trace, struct diag *diag) {
    if (!is_folder(trace->root, EVENT)) {
        return refuse(diag, "the kernel does not trace block requests (no event block_rq_issue)");
    }
    int lock = lock_instances(trace->root);
    if (lock < 0) {
        return refuse_errno(diag, "the trace instances cannot be read", errno);
    }
    remove_all_stale(trace->root);
    int failure = make_locked(trace, diag);
    close(lock);
    return failure;
}

/** Before the instance is there, so that none is ever without a guard. It has no say while this process
 * lives. */
static int start_guard(struct trace *trace, struct diag *diag) {
    int failure = guard_start(clean_up, trace, trace->mount, &trace->guard);
    return failure == 0 ? 0 : refuse_errno(diag, "no guard can be started", -failure);
}

int trace_open(const char *root, unsigned major, unsigned minor, const char *litter, struct trace **opened,
               struct diag *diag) {
    struct trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return refuse(diag, strerror(ENOMEM));
    }
    trace->mount = trace->lock = -1;
    snprintf(trace->root, sizeof trace->root, "%s", root == NULL ? "" : root);
    snprintf(trace->name, sizeof trace->name, PREFIX "%u-%u", major, minor);
    snprintf(trace->litter, sizeof trace->litter, "%s", litter == NULL ? "" : litter);
    int failure = root == NULL ? find_root(trace, diag) : 0;
    failure = failure == 0 ? start_guard(trace, diag) : failure;
    failure = failure == 0 ? make_instance(trace, diag) : failure;
    if (failure != 0) {
        trace_close(trace);
        return failure;
    }
    *opened = trace;
    return 0;
}

void trace_close(struct trace *trace) {
    if (trace == NULL) {
        return;
    }
    bool is_made = trace->lock >= 0;
    if (is_made) {
        close(trace->lock);
    }
    guard_end(trace->guard, is_made);
    if (is_made) {
        clean_up(trace); /* Should something have ended the guard. */
    }
    if (trace->mount >= 0) {
        close(trace->mount);
    }
    free(trace);
}

void trace_sweep(void) {
    struct trace trace = {.mount = -1};
    struct diag unsaid;
    int lock = find_root(&trace, &unsaid) == 0 ? lock_instances(trace.root) : -1;
    if (lock >= 0) {
        remove_all_stale(trace.root);
        close(lock);
    }
    if (trace.mount >= 0) {
        close(trace.mount);
    }
}

void trace_path(const struct trace *trace, const char *file, char *path, size_t size) {
    snprintf(path, size, "%.500s/instances/%s/%s", trace->root, trace->name, file);
}

int trace_write(const struct trace *trace, const char *file, const char *text) {
    char path[1024];
    trace_path(trace, file, path, sizeof path);
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor < 0) {
        return -errno;
    }
    int failure = write(descriptor, text, strlen(text)) < 0 ? -errno : 0;
    close(descriptor);
    return failure;
}

int trace_read(const struct trace *trace, const char *file, char *text, size_t size) {
    char path[1024];
    if (file[0] == '/') {
        snprintf(path, sizeof path, "%.500s%.500s", trace->root, file);
    } else {
        trace_path(trace, file, path, sizeof path);
    }
    FILE *stream = fopen(path, "re");
    text[0] = '\0';
    if (stream == NULL) {
        return -errno;
    }
    text[fread(text, 1, size - 1, stream)] = '\0';
    fclose(stream);
    return 0;
}
