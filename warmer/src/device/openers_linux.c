/**
 * Processes that have a device open, by what their descriptors lead to, whatever the path was called.
 *
 * Descriptors can be closed while the device stays open: it is mapped, or registered with io_uring. What
 * cannot be seen: a descriptor that is on its way in a socket's message, a ring that is itself registered and
 * has no descriptor, and what was open between two looks.
 * What is written to a private mapping never reaches the device, so whoever has one only reads.
 */
#include "device/openers_linux.h"

#include "device/kernel_files_linux.h"
#include "system/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** How often a ring is looked at that is busy, and the pause before the next look. */
#define RING_LOOKS 200u
#define RING_PAUSE_MS 5u

struct search {
    const struct family *family;
    enum openers_look look;
    struct openers *found;
    unsigned long own;
    struct opener opener; /**< Of the process that is looked at. */
    bool is_opener;
    bool is_hidden; /**< It has registered a file of which nobody says where it is. */
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

/** Whether a socket has this name where a kernel names the files of a ring: that of its protocol. */
static bool is_protocol(const struct search *search, const char *name) {
    char path[KERNEL_PATH_BYTES];
    char line[512];
    char protocol[64];
    bool is_one = false;
    snprintf(path, sizeof path, "%.2000s/proc/net/protocols", search->family->tree->root);
    FILE *stream = fopen(path, "re");
    while (stream != NULL && !is_one && fgets(line, sizeof line, stream) != NULL) {
        is_one = sscanf(line, "%63s", protocol) == 1 && strcmp(protocol, name) == 0;
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return is_one;
}

/** Whether a descriptor beside this one leads to a file of this name; if it is a member, it is found itself.
 */
static bool is_open_beside(const char *descriptor, const char *name) {
    char path[KERNEL_PATH_BYTES];
    char target[KERNEL_PATH_BYTES];
    bool is_there = false;
    snprintf(path, sizeof path, "%.*s", (int)(strrchr(descriptor, '/') - descriptor), descriptor);
    DIR *folder = opendir(path);
    for (struct dirent *entry = NULL; folder != NULL && !is_there && (entry = readdir(folder)) != NULL;) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        const char *last = strrchr(target, '/');
        is_there = last != NULL && strcmp(last + 1, name) == 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is_there;
}

/**
 * One file of a ring. Kernels before 6.13 write just the last part of its path (io_uring/fdinfo.c), which may
 * be any node's. It counts as a member unless it is seen to be something else.
 */
static void take_registered(const char *descriptor, char *name, struct search *search) {
    char root[KERNEL_PATH_BYTES];
    const char *process_end = strstr(descriptor + strlen(search->family->tree->root) + strlen("/proc/"), "/");
    const struct member *member = NULL;
    name += strspn(name, " \t");
    name[strcspn(name, "\n")] = '\0';
    if (name[0] == '/') {
        kernel_decode(name);
        snprintf(root, sizeof root, "%.*s/root", (int)(process_end - descriptor), descriptor);
        member = family_at(search->family, root, name);
    } else if (name[0] != '\0' && name[0] != '[' && strcmp(name, "<none>") != 0 &&
               strstr(name, ":[") == NULL) {
        search->is_hidden |= !is_open_beside(descriptor, name) && !is_protocol(search, name);
    }
    if (member != NULL) {
        note(search, member, true);
    }
}

/** The files of a ring. Returns whether they could be read: not while its process submits requests. */
static bool take_ring_once(const char *descriptor, struct search *search) {
    char line[KERNEL_PATH_BYTES];
    unsigned count = 0;
    unsigned listed = 0;
    bool is_said = false;
    bool is_file = false;
    FILE *stream = open_facts(descriptor);
    bool is_gone = stream == NULL;
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        int name = 0;
        if (sscanf(line, "UserFiles: %u", &count) == 1) {
            is_said = is_file = true;
            continue;
        }
        is_file = is_file && sscanf(line, " %*u:%n", &name) == 0 && name > 0;
        if (is_file) {
            listed++;
            take_registered(descriptor, line + name, search);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return is_gone || (is_said && (count == 0 || listed > 0));
}

/** Files that are registered with a ring of io_uring, which may write to them. */
static void take_ring(const char *descriptor, struct search *search) {
    char target[64];
    ssize_t length = readlink(descriptor, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    if (strcmp(target, "anon_inode:[io_uring]") != 0) {
        return;
    }
    for (unsigned look = 0; look < RING_LOOKS; look++) {
        if (take_ring_once(descriptor, search)) {
            return;
        }
        clock_pause_ms(RING_PAUSE_MS);
    }
    search->is_hidden = true;
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
    search->is_opener = search->is_hidden = false;
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
    if (search->is_hidden && !search->is_opener) {
        search->is_opener = search->opener.is_writing = true;
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
