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
#include <sys/vfs.h>
#include <unistd.h>

#define FUSE_MAGIC 0x65735546
#define FIRST_PROCESS 1u

/** How often a ring is looked at that is busy, and the pause before the next look. */
#define RING_LOOKS 200u
#define RING_PAUSE_MS 5u

struct search {
    struct family *family;
    enum openers_look look;
    struct openers *found;
    unsigned long own;
    bool has_other_numbers; /**< The processes are listed by other numbers than the ones kcmp takes. */
    const char *process;    /**< The folder of the one that is looked at. */
    struct opener opener;   /**< Of that process. */
    bool is_opener;
    bool is_hidden; /**< It has something open, or may have, of which nobody says what it is. */
    char place[64]; /**< Device and inode of the private mapping that was looked at last. */
};

/** A look at something of the process failed: what is gone is not open, and what is not seen may be. */
static void doubt(struct search *search, int failure) {
    search->is_hidden |= failure < 0 && !kernel_is_absence(failure);
}

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
static void put_facts(const char *descriptor, char *path, size_t size) {
    const char *name = strrchr(descriptor, '/') + 1;
    int length = (int)(name - descriptor) - (int)strlen("/fd/");
    snprintf(path, size, "%.*s/fdinfo/%s", length, descriptor, name);
}

static void take_flags(char *line, void *context) {
    (void)sscanf(line, "flags: %o", (unsigned *)context);
}

/** Whether a descriptor is open for writing; one that does not say may be. */
static bool is_for_writing(const char *descriptor) {
    char path[KERNEL_PATH_BYTES];
    unsigned flags = O_RDWR;
    put_facts(descriptor, path, sizeof path);
    (void)kernel_for_each_line(path, take_flags, &flags);
    return (flags & O_ACCMODE) != O_RDONLY;
}

/** A protocol, and whether it is in the kernel's list. */
struct protocol {
    const char *name;
    bool is_there;
};

static void take_protocol(char *line, void *context) {
    struct protocol *protocol = context;
    line[strcspn(line, " ")] = '\0';
    protocol->is_there |= strcmp(line, protocol->name) == 0;
}

/** Whether a socket has this name where a kernel names the files of a ring: that of its protocol. */
static bool is_protocol(const struct search *search, const char *name) {
    char path[KERNEL_PATH_BYTES];
    struct protocol protocol = {.name = name};
    snprintf(path, sizeof path, "%.250s/net/protocols", search->family->processes);
    (void)kernel_for_each_line(path, take_protocol, &protocol);
    return protocol.is_there;
}

/** Whether a link beside another one leads to a whole path, or to something of this name. */
struct beside {
    const char *name;
    bool is_there;
};

static void take_beside(const char *path, const char *name, void *context) {
    struct beside *beside = context;
    char target[KERNEL_PATH_BYTES];
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *last = beside->name[0] == '/' ? target : strrchr(target, '/');
    (void)name;
    beside->is_there |= last != NULL && strcmp(beside->name[0] == '/' ? last : last + 1, beside->name) == 0;
}

/** Whether a descriptor beside this one leads to a file of this name; if it is a member, it is found itself.
 */
static bool is_open_beside(const char *descriptor, const char *name) {
    char path[KERNEL_PATH_BYTES];
    struct beside beside = {.name = name};
    snprintf(path, sizeof path, "%.*s", (int)(strrchr(descriptor, '/') - descriptor), descriptor);
    (void)kernel_for_each(path, take_beside, &beside);
    return beside.is_there;
}

/**
 * The member that a path leads to, which the kernel writes as it sees it, or as the process does. A path that
 * leads nowhere, as of a node that is gone, may be any node's.
 */
static const struct member *member_at(struct search *search, const char *path, bool *is_known) {
    struct family *family = search->family;
    size_t unknown = family->unknown.count;
    char whole[KERNEL_PATH_BYTES];
    struct use_node node;
    snprintf(whole, sizeof whole, "%.2000s/root", search->process);
    const struct member *member = family_at(family, whole, path);
    member = member == NULL ? family_at(family, family->tree->root, path) : member;
    family->unknown.count = unknown; /* The process is the one that is not known. */
    snprintf(whole, sizeof whole, "%.2000s/root%.2000s", search->process, path);
    *is_known = member != NULL || use_look(family->tree, whole, &node);
    snprintf(whole, sizeof whole, "%.2000s%.2000s", family->tree->root, path);
    *is_known = *is_known || use_look(family->tree, whole, &node);
    return member;
}

/** A ring, by its descriptor's path, and what its file of facts said so far. */
struct ring {
    struct search *search;
    const char *descriptor;
    unsigned count, listed;
    bool is_said, is_file;
};

/**
 * One file of a ring. Kernels before 6.13 write just the last part of its path (io_uring/fdinfo.c), which may
 * be any node's. It counts as a member unless it is seen to be something else.
 */
static void take_registered(const struct ring *ring, char *name) {
    struct search *search = ring->search;
    const struct member *member = NULL;
    bool is_known = true;
    name += strspn(name, " \t");
    if (name[0] == '/') {
        kernel_decode(name);
        member = member_at(search, name, &is_known);
        is_known = is_known || is_open_beside(ring->descriptor, name);
    } else if (name[0] != '\0' && name[0] != '[' && strcmp(name, "<none>") != 0 &&
               strstr(name, ":[") == NULL) {
        is_known = is_open_beside(ring->descriptor, name) || is_protocol(search, name);
    }
    search->is_hidden |= !is_known;
    if (member != NULL) {
        note(search, member, true);
    }
}

static void take_fact(char *line, void *context) {
    struct ring *ring = context;
    int name = 0;
    if (sscanf(line, "UserFiles: %u", &ring->count) == 1) {
        ring->is_said = ring->is_file = true;
        return;
    }
    ring->is_file = ring->is_file && sscanf(line, " %*u:%n", &name) == 0 && name > 0;
    if (ring->is_file) {
        ring->listed++;
        take_registered(ring, line + name);
    }
}

/** The files of a ring. Returns whether they could be read: not while its process submits requests. */
static bool take_ring_once(const char *descriptor, struct search *search) {
    char path[KERNEL_PATH_BYTES];
    struct ring ring = {.search = search, .descriptor = descriptor};
    put_facts(descriptor, path, sizeof path);
    int failure = kernel_for_each_line(path, take_fact, &ring);
    doubt(search, failure);
    return failure != 0 || (ring.is_said && (ring.count == 0 || ring.listed > 0));
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

/** Whether a descriptor still leads there, as far as anybody can see: what was read of one that is closed may
 * be another one's. */
static bool still_leads_to(const struct use_node *node, int folder, const char *name,
                           const struct search *search) {
    struct use_node now;
    return search->family->tree->look_in(folder, name, &now) ? use_same_node(&now, node)
                                                             : !kernel_is_absence(-errno);
}

/** A file or a folder on a member: the file system that it lies on. */
static const struct member *member_below(const struct search *search, const struct use_node *node) {
    struct use_node below = {.kind = USE_BLOCK, .major = node->major, .minor = node->minor};
    bool is_place = node->kind == USE_FILE || node->kind == USE_OTHER;
    return is_place ? family_member(search->family, &below) : NULL;
}

/**
 * Whether a failed look at a descriptor is one at a file of another user's FUSE, which nobody else may look
 * at. Such a mount has no device nodes, so it is none of ours (`nodev`, mount.fuse3(8)).
 */
static bool is_of_fuse(int folder, const char *name, int failure) {
    struct statfs status;
    int descriptor = failure == -EACCES ? openat(folder, name, O_PATH | O_CLOEXEC) : -1;
    bool is_one = descriptor >= 0 && fstatfs(descriptor, &status) == 0 && status.f_type == FUSE_MAGIC;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return is_one;
}

/** A descriptor by its name in the open folder, whose path is `path`. */
static void take_file(int folder, const char *path, const char *name, struct search *search) {
    char descriptor[KERNEL_PATH_BYTES];
    struct use_node node;
    if (!search->family->tree->look_in(folder, name, &node)) {
        int failure = -errno;
        doubt(search, is_of_fuse(folder, name, failure) ? 0 : failure);
        return;
    }
    if (search->look == OPENERS_FILES) {
        const struct member *below = member_below(search, &node);
        if (below != NULL) {
            note(search, below, false);
        }
        return;
    }
    const struct member *member = family_member(search->family, &node);
    snprintf(descriptor, sizeof descriptor, "%.2000s/%.100s", path, name);
    if (node.kind == USE_RING) {
        take_ring(descriptor, search);
    } else if (member != NULL) {
        bool is_writing = is_for_writing(descriptor);
        if (still_leads_to(&node, folder, name, search)) {
            note(search, member, is_writing);
        }
    }
}

/** What one task has open, and where it works. */
static void take_files(const char *task, struct search *search) {
    static const char *const places[] = {"cwd", "root"};
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/fd", task);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        doubt(search, -errno);
        return;
    }
    struct dirent *entry = NULL;
    while (errno = 0, (entry = readdir(folder)) != NULL) {
        if (kernel_is_number(entry->d_name)) {
            take_file(dirfd(folder), path, entry->d_name, search);
        }
    }
    doubt(search, -errno);
    closedir(folder);
    for (size_t i = 0; search->look == OPENERS_FILES && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%.2000s/%s", task, places[i]);
        take_file(AT_FDCWD, task, path, search);
    }
}

static void take_thread(const char *path, const char *name, void *context) {
    struct search *search = context;
    unsigned long thread = strtoul(name, NULL, 10);
    bool shares_files =
        thread == search->opener.id ||
        (!search->has_other_numbers && search->family->tree->shares_files(search->opener.id, thread));
    bool was_hidden = search->is_hidden;
    if (!shares_files) {
        take_files(path, search);
    }
    /* A thread that has ended cannot be looked at. */
    search->is_hidden = was_hidden || (search->is_hidden && access(path, F_OK) == 0);
}

/**
 * What a process has mapped. Its mappings have links only for whoever may follow them; else the path of a
 * shared one is looked at as the process sees it. A program has some private ones of each of its libraries,
 * in a row, of which one is enough; none of them writes.
 */
static void take_mapping(char *line, void *context) {
    struct search *search = context;
    char range[64];
    char rights[8];
    char place[64];
    int file = 0;
    char path[KERNEL_PATH_BYTES];
    struct use_node node;
    const char *after = strchr(line, ' ');
    bool is_shared = after != NULL && strnlen(after, 5) == 5 && after[4] == 's';
    if ((!is_shared && search->look == OPENERS_WRITERS) ||
        sscanf(line, "%63s %7s %*s %63[^/]%n", range, rights, place, &file) != 3 || line[file] != '/' ||
        (!is_shared && strcmp(place, search->place) == 0)) {
        return;
    }
    const struct member *member = NULL;
    bool is_known = true;
    snprintf(search->place, sizeof search->place, "%s", is_shared ? "" : place);
    snprintf(path, sizeof path, "%.2000s/map_files/%s", search->process, range);
    if (use_look(search->family->tree, path, &node)) {
        member = search->look == OPENERS_FILES ? member_below(search, &node)
                                               : family_member(search->family, &node);
    } else if (is_shared && search->look != OPENERS_FILES) {
        int failure = -errno;
        member = member_at(search, line + file, &is_known);
        /* It may be unmapped since. */
        is_known = is_known || failure == -ENOENT || is_of_fuse(AT_FDCWD, path, failure);
    }
    search->is_hidden |= !is_known;
    if (member != NULL) {
        note(search, member, is_shared && rights[1] == 'w');
    }
}

/** A program that this one is about to start still has this one's descriptors. */
static bool is_child(const char *process, unsigned long own) {
    char line[512];
    (void)kernel_read_line(process, "stat", line, sizeof line);
    const char *tail = strrchr(line, ')');
    unsigned long parent = 0;
    return tail != NULL && sscanf(tail, ") %*c %lu", &parent) == 1 && parent == own;
}

static void look_at(const char *path, struct search *search) {
    char folder[KERNEL_PATH_BYTES];
    take_files(path, search);
    snprintf(folder, sizeof folder, "%.2000s/task", path);
    doubt(search, kernel_for_each(folder, take_thread, search));
    search->place[0] = '\0';
    snprintf(folder, sizeof folder, "%.2000s/maps", path);
    doubt(search, kernel_for_each_line(folder, take_mapping, search));
}

/**
 * What cannot be seen counts as a block device; who has a regular file open is looked for as well as can be.
 * Some systems let nobody look into the machine's first process, which keeps no disk open.
 */
static void count_hidden(struct search *search) {
    bool counts = search->is_hidden && search->opener.id != FIRST_PROCESS &&
                  family_is_block(search->family) && search->look != OPENERS_FILES;
    if (counts && !search->is_opener) {
        search->is_opener = search->opener.is_writing = true;
    }
}

static void take_process(const char *path, const char *name, void *context) {
    struct search *search = context;
    struct texts *unknown = &search->family->unknown;
    size_t unknown_before = unknown->count;
    search->opener = (struct opener){.id = strtoul(name, NULL, 10)};
    search->is_opener = search->is_hidden = false;
    search->process = path;
    if (!kernel_is_number(name) || search->opener.id == search->own ||
        search->found->count == OPENERS_LIMIT) {
        return;
    }
    look_at(path, search);
    count_hidden(search);
    /* One that has ended has nothing open, and cannot be asked whose child it was. */
    bool is_there = access(path, F_OK) == 0;
    unknown->count = is_there ? unknown->count : unknown_before;
    if (search->is_opener && is_there && !is_child(path, search->own)) {
        (void)kernel_read_line(path, "comm", search->opener.program, sizeof search->opener.program);
        search->found->items[search->found->count++] = search->opener;
    }
}

void openers_find(struct family *family, enum openers_look look, struct openers *found) {
    struct search search = {.family = family, .look = look, .found = found};
    char folder[KERNEL_PATH_BYTES];
    char self[32];
    found->count = 0;
    snprintf(folder, sizeof folder, "%.250s/self", family->processes);
    ssize_t length = readlink(folder, self, sizeof self - 1);
    if (length < 0 && family_is_block(family)) {
        texts_add(&family->unknown, "something that is not known, because looking at %s failed: %s", folder,
                  strerror(errno));
    }
    self[length > 0 ? length : 0] = '\0';
    search.own = strtoul(self, NULL, 10);
    search.has_other_numbers = family->tree == &use_own_tree && search.own != (unsigned long)getpid();
    if (family->count > 0) {
        family_doubt(family, family->processes, kernel_for_each(family->processes, take_process, &search));
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
