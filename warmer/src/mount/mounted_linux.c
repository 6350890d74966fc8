#include "mount/mounted_linux.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mountinfo_open(const char *process, struct mountinfo *mountinfo) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.32s/mountinfo", process);
    *mountinfo = (struct mountinfo){.stream = fopen(path, "re")};
    mountinfo->failure = mountinfo->stream == NULL ? -errno : 0;
}

bool mountinfo_next(struct mountinfo *mountinfo, struct mount_line *line) {
    if (mountinfo->failure != 0) {
        return false;
    }
    while (errno = 0, getline(&mountinfo->text, &mountinfo->size, mountinfo->stream) >= 0) {
        if (mountinfo_parse(mountinfo->text, line)) {
            return true;
        }
    }
    mountinfo->failure = feof(mountinfo->stream) != 0 ? 0 : errno == 0 ? -EIO : -errno;
    return false;
}

int mountinfo_close(struct mountinfo *mountinfo) {
    int failure = mountinfo->failure;
    if (mountinfo->stream != NULL) {
        fclose(mountinfo->stream);
    }
    free(mountinfo->text);
    *mountinfo = (struct mountinfo){0};
    return failure;
}

bool mounted_source_counts(const char *type, const char *source) {
    return source != NULL && source[0] == '/' && strcmp(type, "btrfs") == 0;
}

int mounted_at(const char *path, struct mounted *found) {
    struct mountinfo mountinfo;
    struct mount_line line;
    bool is_there = false;
    mountinfo_open("self", &mountinfo);
    while (mountinfo_next(&mountinfo, &line)) {
        if (strcmp(line.point, path) == 0) {
            is_there = true;
            *found = (struct mounted){.major = line.major, .minor = line.minor};
            snprintf(found->type, sizeof found->type, "%s", line.type);
            snprintf(found->source, sizeof found->source, "%s", line.source == NULL ? "?" : line.source);
        }
    }
    int failure = mountinfo_close(&mountinfo);
    return failure != 0 ? failure : is_there;
}
