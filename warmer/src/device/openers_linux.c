/**
 * Processes that have a device open, by what their descriptors lead to, whatever the path was called.
 *
 * Descriptors can be closed while the device stays open: it is mapped, or registered with io_uring. What
 * cannot be seen: a descriptor that is on its way in a socket's message, and what was open between two looks.
 * What is written to a private mapping never reaches the device, so whoever has one only reads.
 */
#include "device/openers_linux.h"

#include "device/kernel_files_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct search {
    const struct family *family;
    enum openers_look look;
    struct openers *found;
    unsigned long own;
    struct opener opener; /**< Of the process that is looked at. */
    bool is_opener;
    char place[64]; /**< Device and inode of the private mapping that was looked at last. */
};

/** Note that the process has this member open. */
static void note(struct search *search, const struct member *member, bool is_writing) {
    struct opener *opener = &search->opener;
    if (search->look == OPENERS_WRITERS && !is_writing) {
        return;
    }
    if (!search->is_opener || (is_writing && !opener->is_writing)) {
        snprintf(opener->name, sizeof opener->name, "%s", member->name);
    }
    search->is_opener = true;
    opener->is_writing |= is_writing;
}

/** The file of /proc that says more about a descriptor, by the descriptor's own path. */
static FILE *open_facts(const char *descriptor) {
    char path[KERNEL_PATH_BYTES];
    const char *name = strrchr(descriptor, '/') + 1;
    int length = (int)(name - descriptor) - (int)strlen("/fd/");
    snprintf(path, sizeof path, "%.*s/fdinfo/%s", length, descriptor, name);
    return fopen(path, "re");
}

/** Whether a descriptor is open for writing; one that does not say may be. */
static bool is_for_writing(const char *descriptor) {
    char line[128];
    unsigned flags = O_RDWR;
    FILE *stream = open_facts(descriptor);
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        if (sscanf(line, "flags: %o", &flags) == 1) {
            break;
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return (flags & O_ACCMODE) != O_RDONLY;
}

/** Files that are registered with a ring of io_uring, which may write to them. */
static void take_ring(const char *descriptor, struct search *search) {
    char root[KERNEL_PATH_BYTES];
    char line[KERNEL_PATH_BYTES];
    char path[KERNEL_PATH_BYTES];
    FILE *stream = open_facts(descriptor);
    const char *process_end = strstr(descriptor + strlen(search->family->tree->root) + strlen("/proc/"), "/");
    snprintf(root, sizeof root, "%.*s/root", (int)(process_end - descriptor), descriptor);
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        const struct member *member = NULL;
        if (sscanf(line, " %*u: %4095s", path) == 1 && path[0] == '/') {
            kernel_decode(path);
            member = family_at(search->family, root, path);
        }
        if (member != NULL) {
            note(search, member, true);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

/** Whether a descriptor still leads there: what was read of one that is closed may be another one's. */
static bool still_leads_to(const struct use_node *node, int folder, const char *name,
                           const struct search *search) {
    struct use_node now;
    return search->family->tree->look_in(folder, name, &now) && use_same_node(&now, node);
}

/** A descriptor by its name in the open folder, whose path is `path`. */
static void take_file(int folder, const char *path, const char *name, struct search *search) {
    char descriptor[KERNEL_PATH_BYTES];
    struct use_node node;
    if (!search->family->tree->look_in(folder, name, &node)) {
        return;
    }
    bool is_ring = node.kind == USE_RING && search->look == OPENERS_ALL;
    const struct member *member = family_member(search->family, &node);
    if (!is_ring && member == NULL) {
        return;
    }
    snprintf(descriptor, sizeof descriptor, "%.2000s/%.100s", path, name);
    if (is_ring) {
        take_ring(descriptor, search);
        return;
    }
    bool is_writing = is_for_writing(descriptor);
    if (still_leads_to(&node, folder, name, search)) {
        note(search, member, is_writing);
    }
}

/** What one task has open. Returns 0 or -errno. */
static int take_files(const char *task, struct search *search) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/fd", task);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return -errno;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (kernel_is_number(entry->d_name)) {
            take_file(dirfd(folder), path, entry->d_name, search);
        }
    }
    closedir(folder);
    return 0;
}

static void take_thread(const char *path, const char *name, void *context) {
    struct search *search = context;
    unsigned long thread = strtoul(name, NULL, 10);
    if (thread != search->opener.id && !search->family->tree->shares_files(search->opener.id, thread)) {
        (void)take_files(path, search);
    }
}

/**
 * What a process has mapped. Its mappings have links only for whoever may follow them; else the path of a
 * shared one is looked at as the process sees it. A program has some private ones of each of its libraries,
 * in a row, of which one is enough.
 */
static void take_mapping(const char *process, const char *line, struct search *search) {
    char range[64];
    char rights[8];
    char place[64];
    char file[KERNEL_PATH_BYTES];
    char path[KERNEL_PATH_BYTES + 80];
    struct use_node node;
    const struct member *member = NULL;
    if (sscanf(line, "%63s %7s %*s %63[^/]%4095[^\n]", range, rights, place, file) != 4) {
        return;
    }
    bool is_shared = rights[3] == 's';
    if (!is_shared && strcmp(place, search->place) == 0) {
        return;
    }
    snprintf(search->place, sizeof search->place, "%s", is_shared ? "" : place);
    snprintf(path, sizeof path, "%.2000s/map_files/%s", process, range);
    if (use_look(search->family->tree, path, &node)) {
        member = family_member(search->family, &node);
    } else if (is_shared) {
        snprintf(path, sizeof path, "%.2000s/root", process);
        member = family_at(search->family, path, file);
    }
    if (member != NULL) {
        note(search, member, is_shared && rights[1] == 'w');
    }
}

static void take_mappings(const char *process, struct search *search) {
    char line[KERNEL_PATH_BYTES];
    search->place[0] = '\0';
    snprintf(line, sizeof line, "%.2000s/maps", process);
    FILE *stream = fopen(line, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        take_mapping(process, line, search);
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

/** A program that this one is about to start still has this one's descriptors. */
static bool is_child(const char *process, unsigned long own) {
    char line[512];
    kernel_read_line(process, "stat", line, sizeof line);
    const char *tail = strrchr(line, ')');
    unsigned long parent = 0;
    return tail != NULL && sscanf(tail, ") %*c %lu", &parent) == 1 && parent == own;
}

static void take_process(const char *path, const char *name, void *context) {
    struct search *search = context;
    char folder[KERNEL_PATH_BYTES];
    search->opener = (struct opener){.id = strtoul(name, NULL, 10)};
    search->is_opener = false;
    if (!kernel_is_number(name) || search->opener.id == search->own ||
        search->found->count == OPENERS_LIMIT) {
        return;
    }
    int files = take_files(path, search);
    if (search->look == OPENERS_ALL && (files == -EACCES || files == -EPERM)) {
        search->is_opener = search->opener.is_writing = search->family->members[0].node.kind == USE_BLOCK;
    }
    if (search->look == OPENERS_ALL) {
        snprintf(folder, sizeof folder, "%.2000s/task", path);
        kernel_for_each(folder, take_thread, search);
        take_mappings(path, search);
    }
    /* One that has ended has nothing open, and cannot be asked whose child it was. */
    if (search->is_opener && !is_child(path, search->own) && access(path, F_OK) == 0) {
        kernel_read_line(path, "comm", search->opener.program, sizeof search->opener.program);
        search->found->items[search->found->count++] = search->opener;
    }
}

void openers_find(const struct family *family, enum openers_look look, struct openers *found) {
    struct search search = {.family = family, .look = look, .found = found};
    char folder[KERNEL_PATH_BYTES];
    char self[32];
    found->count = 0;
    snprintf(folder, sizeof folder, "%.2000s/proc/self", family->tree->root);
    ssize_t length = readlink(folder, self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    search.own = strtoul(self, NULL, 10);
    folder[strlen(folder) - strlen("/self")] = '\0';
    if (family->count > 0) {
        kernel_for_each(folder, take_process, &search);
    }
}

bool openers_has_writer(const struct openers *openers) {
    for (size_t i = 0; i < openers->count; i++) {
        if (openers->items[i].is_writing) {
            return true;
        }
    }
    return false;
}
