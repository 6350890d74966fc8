/**
 * Whether this program sees all processes of the machine. In a namespace of process ids it sees those of the
 * namespace alone, and with `hidepid` (proc(5)) or without CAP_SYS_PTRACE not what others have open. Whoever
 * may follow a link of the kernel's own thread, which is process 2 on every machine, has neither limit.
 */
#include "device/sight_linux.h"

#include "device/kernel_files_linux.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/** The machine's own namespace of process ids, on every kernel (PID_NS_INIT_INO in linux/nsfs.h). */
#define FIRST_NAMESPACE 4026531836u

/** Whether a folder lists all processes; false: errno is the reason, 0 where it lists a namespace's. */
static bool lists_all(const struct family *family, const char *folder) {
    char path[KERNEL_PATH_BYTES];
    struct use_node node;
    snprintf(path, sizeof path, "%.2000s/2/ns/pid", folder);
    if (!use_look(family->tree, path, &node)) {
        return false;
    }
    errno = 0;
    return node.inode == FIRST_NAMESPACE;
}

struct search {
    struct family *family;
    bool is_found;
};

/** A container may see the machine's own list at another place. */
static void take_mount(char *line, void *context) {
    struct search *search = context;
    char point[FAMILY_NAME_BYTES];
    if (search->is_found || strstr(line, " - proc ") == NULL ||
        sscanf(line, "%*s %*s %*s %*s %250s", point) != 1) {
        return;
    }
    kernel_decode(point);
    if (lists_all(search->family, point)) {
        snprintf(search->family->processes, sizeof search->family->processes, "%s", point);
        search->is_found = true;
    }
}

void sight_find(struct family *family) {
    struct search search = {.family = family};
    char path[KERNEL_PATH_BYTES];
    if (!family_is_block(family) || lists_all(family, family->processes)) {
        return;
    }
    int failure = errno;
    snprintf(path, sizeof path, "%.250s/self/mountinfo", family->processes);
    (void)kernel_for_each_line(path, take_mount, &search);
    if (search.is_found) {
        return;
    }
    texts_add(&family->unknown,
              failure == 0
                  ? "a process that this one cannot see, because it runs in a namespace of process ids%s"
                  : "a process that this one cannot see, because the kernel's own threads cannot be "
                    "looked at: %s",
              failure == 0 ? "" : strerror(failure));
}
