#include "mount/ours_linux.h"

#include "device/kernel_files_linux.h"
#include "mount/mounted_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int ours_begin(const char *disk, struct family *family, struct diag *diag) {
    struct use_node node;
    family_find(&use_own_tree, disk, family);
    if (family->count > 0) {
        return 0;
    }
    bool is_gone = !use_look(&use_own_tree, disk, &node) && kernel_is_absence(-errno);
    return is_gone ? diag_refuse(diag, WARMER_NO_DEVICE, "%s is gone", disk)
                   : diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s is %s", disk, family->unknown.items[0]);
}

bool is_of_family(struct family *family, const char *root, const struct mount_line *line) {
    const struct use_node node = {.kind = USE_BLOCK, .major = line->major, .minor = line->minor};
    const struct member *member = family_member(family, &node);
    if (member == NULL && line->major == 0 && mounted_source_counts(line->type, line->source)) {
        member = family_at(family, root, line->source);
    }
    return member != NULL && member->is_own;
}

bool ours_have(const struct ours *ours, unsigned id) {
    for (size_t i = 0; i < ours->count; i++) {
        if (ours->items[i].id == id) {
            return true;
        }
    }
    return false;
}

/** Add the number under which a file system such as btrfs shows its files, which is not the mount's. Returns
 * 0 or -errno. */
static int place_files(struct ours *ours, const struct mount_line *line) {
    struct stat status;
    unsigned id = 0;
    int folder = open(line->point, O_PATH | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    int failure = kernel_mount_of(folder, &id);
    if (failure == 0 && id == line->id) {
        failure = fstat(folder, &status) == 0 ? 0 : -errno;
    }
    if (failure == 0 && id == line->id) {
        placed_add_number(&ours->placed, major(status.st_dev), minor(status.st_dev));
    }
    close(folder);
    return failure;
}

static void place(struct family *family, struct ours *ours, const struct mount_line *line) {
    placed_add_number(&ours->placed, line->major, line->minor);
    if (line->major == 0) {
        placed_add_mount(&ours->placed, line->id);
        family_doubt(family, line->point, place_files(ours, line));
    }
}

static void note_end(struct family *family, struct mountinfo *mountinfo) {
    int failure = mountinfo_close(mountinfo);
    if (failure != 0) {
        family_miss(family, MOUNTED_LIST, failure);
    }
}

void ours_find(struct family *family, struct ours *found) {
    struct mountinfo mountinfo;
    struct mount_line line;
    unsigned parents[OURS_LIMIT];
    *found = (struct ours){.count = 0};
    mountinfo_open("self", &mountinfo);
    while (mountinfo_next(&mountinfo, &line)) {
        bool is_ours = is_of_family(family, "", &line);
        found->is_cut |= is_ours && found->count == OURS_LIMIT;
        if (is_ours && found->count < OURS_LIMIT) {
            parents[found->count] = line.parent;
            struct our_mount *mount = &found->items[found->count++];
            mount->id = line.id;
            snprintf(mount->point, sizeof mount->point, "%s", line.point);
            place(family, found, &line);
        } else if (!is_ours && ours_have(found, line.parent)) {
            snprintf(found->below, sizeof found->below, "%.500s", line.point);
        }
    }
    note_end(family, &mountinfo);
    /* What they stand on may come later in the list. */
    mountinfo_open("self", &mountinfo);
    while (mountinfo_next(&mountinfo, &line)) {
        for (size_t i = 0; i < found->count; i++) {
            if (parents[i] == line.id) {
                found->items[i].group = line.group;
            }
        }
    }
    note_end(family, &mountinfo);
}
