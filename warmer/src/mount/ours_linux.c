#include "mount/ours_linux.h"

#include "mount/mounted_linux.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool is_of_family(struct family *family, const char *root, const struct mount_line *line) {
    const struct use_node node = {.kind = USE_BLOCK, .major = line->major, .minor = line->minor};
    const struct member *member = family_member(family, &node);
    if (member == NULL && line->major == 0 && mounted_source_counts(line->type, line->source)) {
        member = family_at(family, root, line->source);
    }
    return member != NULL && member->is_own;
}

static const struct our_mount *find_id(const struct ours *ours, unsigned id) {
    for (size_t i = 0; i < ours->count; i++) {
        if (ours->items[i].id == id) {
            return &ours->items[i];
        }
    }
    return NULL;
}

/** A file system such as btrfs shows its files under other numbers than the mount. */
static void place(struct ours *ours, const struct mount_line *line) {
    struct stat status;
    placed_add_number(&ours->placed, line->major, line->minor);
    if (line->major == 0) {
        placed_add_mount(&ours->placed, line->id);
        int folder = open(line->point, O_PATH | O_CLOEXEC);
        if (folder >= 0 && mount_of(folder) == line->id && fstat(folder, &status) == 0) {
            placed_add_number(&ours->placed, major(status.st_dev), minor(status.st_dev));
        }
        if (folder >= 0) {
            close(folder);
        }
    }
}

void ours_find(struct family *family, struct ours *found) {
    struct mountinfo mountinfo;
    struct mount_line line;
    unsigned parents[OURS_LIMIT];
    *found = (struct ours){.count = 0};
    (void)mountinfo_open("self", &mountinfo);
    while (mountinfo_next(&mountinfo, &line)) {
        bool is_ours = is_of_family(family, "", &line);
        found->is_cut |= is_ours && found->count == OURS_LIMIT;
        if (is_ours && found->count < OURS_LIMIT) {
            parents[found->count] = line.parent;
            struct our_mount *mount = &found->items[found->count++];
            mount->id = line.id;
            snprintf(mount->point, sizeof mount->point, "%s", line.point);
            place(found, &line);
        } else if (!is_ours && find_id(found, line.parent) != NULL) {
            snprintf(found->below, sizeof found->below, "%.500s", line.point);
        }
    }
    mountinfo_close(&mountinfo);
    /* What they stand on may come later in the list. */
    (void)mountinfo_open("self", &mountinfo);
    while (mountinfo_next(&mountinfo, &line)) {
        for (size_t i = 0; i < found->count; i++) {
            if (parents[i] == line.id) {
                found->items[i].group = line.group;
            }
        }
    }
    mountinfo_close(&mountinfo);
}
