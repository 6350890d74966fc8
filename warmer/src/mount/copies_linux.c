/** What other mount namespaces have. One process of each is asked; one that no process is in cannot be seen.
 */
#include "mount/copies_linux.h"

#include "device/kernel_files_linux.h"
#include "device/mounts_linux.h"
#include "mount/mounted_linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACES 1024u

struct search {
    struct family *family;
    const struct ours *ours;
    const struct placed *placed; /**< NULL: copies of mounts are looked for, and no overlays. */
    enum overlay_look how;
    struct use_node spaces[SPACES]; /**< Those that were looked at. */
    size_t space_count;
    char *what;
    size_t size;
    bool is_found;
};

/** Find the mount namespace of a process. False: nobody may see which it is, so it is not known to be old. */
static bool find_space(const char *process, struct use_node *space) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/ns/mnt", process);
    return use_look(&use_own_tree, path, space);
}

static bool was_seen(const struct search *search, const struct use_node *space) {
    for (size_t i = 0; i < search->space_count; i++) {
        if (use_same_node(&search->spaces[i], space)) {
            return true;
        }
    }
    return false;
}

static void note_space(struct search *search, const struct use_node *space) {
    if (search->space_count < SPACES) {
        search->spaces[search->space_count++] = *space;
    }
}

/** Whether what is mounted on this line's mount follows what is mounted on one that we have. */
static bool follows(const struct ours *ours, const struct mount_line *parent) {
    for (size_t i = 0; i < ours->count; i++) {
        unsigned group = ours->items[i].group;
        if (group != 0 && (group == parent->group || group == parent->master)) {
            return true;
        }
    }
    return false;
}

static bool parent_follows(const char *name, const struct ours *ours, unsigned parent) {
    struct mountinfo mountinfo;
    struct mount_line line;
    bool found = false;
    mountinfo_open(name, &mountinfo);
    while (mountinfo_next(&mountinfo, &line)) {
        found |= line.id == parent && follows(ours, &line);
    }
    (void)mountinfo_close(&mountinfo); /* What is not known to follow stays. */
    return found;
}

/** Whether a folder of an overlay, as this process or that one would find it, is on the volume. */
static bool is_placed(const struct search *search, const char *process, const char *path) {
    char whole[KERNEL_PATH_BYTES + 80];
    snprintf(whole, sizeof whole, "%.64s/root%.4000s", process, path);
    int here = placed_has(search->placed, path);
    int there = placed_has(search->placed, whole);
    family_doubt(search->family, path, here);
    family_doubt(search->family, whole, there);
    return here > 0 || there > 0;
}

/** The folders of an overlay: lowerdir=A:B,upperdir=C,workdir=D. */
static bool is_overlay_of(const struct search *search, const char *process, char *options) {
    static const char *const keys[] = {"lowerdir=", "lowerdir+=", "datadir+=", "upperdir=", "workdir="};
    char *rest = NULL;
    for (char *option = strtok_r(options, ",", &rest); option != NULL; option = strtok_r(NULL, ",", &rest)) {
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            char *more = NULL;
            size_t length = strlen(keys[i]);
            if (strncmp(option, keys[i], length) != 0) {
                continue;
            }
            for (char *path = strtok_r(option + length, ":", &more); path != NULL;
                 path = strtok_r(NULL, ":", &more)) {
                bool is_known = path[0] == '/';
                if (is_known ? is_placed(search, process, path) : search->how == OVERLAYS_UNKNOWN_TOO) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void take_overlay(struct search *search, const char *process, const struct mount_line *line) {
    if (strcmp(line->type, "overlay") == 0 && line->options != NULL &&
        is_overlay_of(search, process, line->options)) {
        search->is_found = true;
        snprintf(search->what, search->size, "an overlay at %.300s %s a folder on it", line->point,
                 search->how == OVERLAYS_KNOWN ? "has" : "may have");
    }
}

static void take_copy(struct search *search, const char *process, const struct mount_line *line) {
    char root[KERNEL_PATH_BYTES];
    char program[64];
    const char *name = strrchr(process, '/') + 1;
    snprintf(root, sizeof root, "%.2000s/root", process);
    if (!ours_have(search->ours, line->id) && is_of_family(search->family, root, line) &&
        !parent_follows(name, search->ours, line->parent)) {
        search->is_found = true;
        kernel_read_line(process, "comm", program, sizeof program);
        snprintf(search->what, search->size,
                 "process %.20s (%s) has it mounted at %.300s in a mount namespace of its own", name, program,
                 line->point);
    }
}

static void take_space(const char *process, const char *name, void *context) {
    struct search *search = context;
    struct mountinfo mountinfo;
    struct mount_line line;
    struct use_node space;
    bool is_known = kernel_is_number(name) && find_space(process, &space);
    if (!kernel_is_number(name) || search->is_found || (is_known && was_seen(search, &space))) {
        return;
    }
    mountinfo_open(name, &mountinfo);
    while (!search->is_found && mountinfo_next(&mountinfo, &line)) {
        (search->placed == NULL ? take_copy : take_overlay)(search, process, &line);
    }
    int failure = mountinfo_close(&mountinfo);
    if (failure == 0 && is_known) { /* Else it may have ended, and others are in its namespace. */
        note_space(search, &space);
    }
    mounts_doubt(search->family, process, failure);
}

static bool search_spaces(struct search *search) {
    struct use_node space;
    if (search->placed == NULL && find_space("/proc/self", &space)) {
        note_space(search, &space); /* Only overlays of this process's own namespace count. */
    }
    family_doubt(search->family, "/proc", kernel_for_each("/proc", take_space, search));
    return search->is_found;
}

bool copies_find(struct family *family, const struct ours *ours, char *what, size_t size) {
    static struct search search;
    search = (struct search){.family = family, .ours = ours, .what = what, .size = size};
    return search_spaces(&search);
}

bool copies_find_overlay(struct family *family, const struct placed *placed, enum overlay_look how,
                         char *what, size_t size) {
    static struct search search;
    search = (struct search){.family = family, .placed = placed, .how = how, .what = what, .size = size};
    return search_spaces(&search);
}
