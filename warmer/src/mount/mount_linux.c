#include "mount/mount_linux.h"

#include "device/lock_linux.h"
#include "device/use_linux.h"
#include "mount/mount_options.h"
#include "mount/mounted_linux.h"
#include "mount/tool_linux.h"
#include "system/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define FSTAB "/etc/fstab"
#define LOCK_FILE "mount.lock"
#define LOCK_SECONDS 100u
#define LOCK_PAUSE_MS 50u
/** systemd acts on a new mount within that time. */
#define SYSTEMD_MS 1000u

/** What is mounted at a place. */
enum state { FREE, OURS, ANOTHER, UNKNOWN };

/** What a mount has is the device's number, or else, as of btrfs, its source's. */
static bool is_of(const struct mounted *mounted, const struct file_system *file_system) {
    struct use_node node;
    if (mounted->major == file_system->major && mounted->minor == file_system->minor) {
        return true;
    }
    return mounted->major == 0 && mounted_source_counts(mounted->type, mounted->source) &&
           use_look(&use_own_tree, mounted->source, &node) && node.kind == USE_BLOCK &&
           node.major == file_system->major && node.minor == file_system->minor;
}

static enum state look(const struct place *place, const struct file_system *file_system,
                       struct mounted *mounted) {
    int found = mounted_at(place->path, mounted);
    return found < 0 ? UNKNOWN : found == 0 ? FREE : is_of(mounted, file_system) ? OURS : ANOTHER;
}

/** One mount at a time, for as long as the process lives. Returns 0 or a refusal's status. */
static int lock(struct diag *diag) {
    uint64_t due_ns = clock_now_ns() + LOCK_SECONDS * NS_PER_SECOND;
    char place[LOCK_FOLDER_BYTES] = "";
    int held = lock_take(LOCK_FILE, place, sizeof place);
    while (held == -EWOULDBLOCK && clock_now_ns() < due_ns) {
        clock_pause_ms(LOCK_PAUSE_MS);
        held = lock_take(LOCK_FILE, place, sizeof place);
    }
    if (held == -EWOULDBLOCK) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "another warmer has mounted something for %u s",
                           LOCK_SECONDS);
    }
    return held >= 0 ? 0
                     : diag_refuse(diag, WARMER_NO_TRANSFER, "cannot lock " LOCK_FILE " in %s: %s", place,
                                   lock_explain(held));
}

/** Make a folder and those above it. Returns 0 or -errno. */
static int make_folders(const char *path) {
    char part[PLACE_PATH_BYTES];
    for (size_t length = 1; length <= strlen(path); length++) {
        if (path[length] == '/' || path[length] == '\0') {
            snprintf(part, sizeof part, "%.*s", (int)length, path);
            if (mkdir(part, 0755) != 0 && errno != EEXIST) {
                return -errno;
            }
        }
    }
    return 0;
}

/** Whether a folder is empty, or not there. Returns 0, or a refusal's status. */
static int check_empty(const char *path, struct diag *diag) {
    DIR *folder = opendir(path);
    unsigned count = 0;
    int failure = folder == NULL ? errno : 0;
    while (errno = 0, folder != NULL && readdir(folder) != NULL) {
        count++; /* Itself and the one above are two. */
    }
    failure = failure == 0 ? errno : failure;
    if (folder != NULL) {
        closedir(folder);
    }
    if (failure != 0 && failure != ENOENT) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s is no folder that can be read: %s", path,
                           strerror(failure));
    }
    return count <= 2 ? 0 : diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s is not empty", path);
}

/** Call mount(8) without the programs that some kinds bring of their own. Its status. */
static int call_mount(const struct file_system *file_system, const struct place *place, const char *more,
                      struct tool_output *output) {
    char options[PLACE_OPTIONS_BYTES + 16];
    snprintf(options, sizeof options, "%s%s", place->options, more);
    const char *words[] = {"mount",    "-i",        "-t",       file_system->type,
                           "-o",       options,     "--source", file_system->device,
                           "--target", place->path, NULL};
    return tool_run(words, output);
}

/** The serial number of what is mounted, for people. */
static void read_serial(const struct mounted *mounted, char *serial, size_t size) {
    char path[128];
    FILE *stream = NULL;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/device/serial", mounted->major, mounted->minor);
    stream = fopen(path, "re");
    snprintf(serial, size, "unknown");
    if (stream != NULL) {
        if (fgets(serial, (int)size, stream) == NULL) {
            snprintf(serial, size, "unknown");
        }
        fclose(stream);
    }
    serial[strcspn(serial, " \n")] = '\0';
}

static int refuse_unknown(const struct place *place, int code, struct diag *diag) {
    return diag_refuse(diag, code,
                       "it is not known what is mounted at %s, because " MOUNTED_LIST
                       " could not be read; mount it with a document of yours",
                       place->path);
}

/** A name may have become another volume's, and systemd may unmount at once, or mount over it. */
static int check_mounted(const struct file_system *file_system, const struct place *place,
                         struct diag *diag) {
    struct mounted mounted;
    char serial[64];
    enum state state = look(place, file_system, &mounted);
    if (state == FREE) {
        return diag_refuse(diag, WARMER_NO_TRANSFER,
                           "%s was unmounted as soon as %s was mounted there: see fstab and systemctl status",
                           place->path, file_system->device);
    }
    if (state == UNKNOWN) {
        return refuse_unknown(place, WARMER_NO_TRANSFER, diag);
    }
    if (state == ANOTHER) {
        return diag_refuse(diag, WARMER_NO_TRANSFER,
                           "%s was mounted at %s over %s: see fstab and systemctl status", mounted.source,
                           place->path, file_system->volume_id);
    }
    if (file_system_is_of_volume(file_system)) {
        return 0;
    }
    read_serial(&mounted, serial, sizeof serial);
    bool is_unmounted = umount2(place->path, UMOUNT_NOFOLLOW) == 0;
    return diag_refuse(diag, WARMER_NO_TRANSFER, "%s at %s is not %s any more (serial %s), %s",
                       file_system->device, place->path, file_system->volume_id, serial,
                       is_unmounted ? "so it is unmounted again" : "and could not be unmounted");
}

static void say_there_already(const struct file_system *file_system, const struct place *place) {
    printf("%s was mounted at %s already\n", file_system->device, place->path);
}

/** Two XFS with one UUID may only be mounted beside each other if the second one's is not looked at. */
static int try_without_uuid(const struct file_system *file_system, struct place *place,
                            struct tool_output *output) {
    if (file_system->kind != MOUNT_XFS || mount_options_have(place->options, "nouuid")) {
        return -1;
    }
    int status = call_mount(file_system, place, ",nouuid", output);
    if (status == 0) {
        printf("another file system has the same UUID and is mounted, so nouuid is added\n");
        strncat(place->options, ",nouuid", sizeof place->options - strlen(place->options) - 1);
    }
    return status;
}

static int mount_at(const struct file_system *file_system, struct place *place, struct diag *diag) {
    static struct tool_output output;
    static struct tool_output again;
    struct mounted mounted;
    int failure = make_folders(place->path);
    if (failure != 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not make %s: %s", place->path,
                           strerror(-failure));
    }
    if (call_mount(file_system, place, "", &output) != 0 &&
        try_without_uuid(file_system, place, &again) != 0) {
        if (look(place, file_system, &mounted) == OURS) { /* Somebody else was faster. */
            say_there_already(file_system, place);
            return 0;
        }
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not mount %s (%s) at %s: %s", file_system->device,
                           file_system->type, place->path, output.errors);
    }
    int status = check_mounted(file_system, place, diag);
    if (status == 0) {
        clock_pause_ms(SYSTEMD_MS);
        status = check_mounted(file_system, place, diag);
    }
    if (status == 0) {
        printf("%s (%s, UUID=%s) is mounted at %s with %s\n", file_system->device, file_system->type,
               file_system->uuid, place->path, place->options);
    }
    return status;
}

static int take_place(const struct file_system *file_system, struct places *places, size_t index,
                      struct diag *diag) {
    struct place *place = &places->items[index];
    struct mounted mounted;
    enum state state = look(place, file_system, &mounted);
    if (state == OURS) {
        say_there_already(file_system, place);
        return 0;
    }
    if (state == UNKNOWN) {
        return refuse_unknown(place, WARMER_NOT_MOUNTABLE, diag);
    }
    if (state == ANOTHER) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s has %s mounted", place->path, mounted.source);
    }
    int status = places_check_above(FSTAB, places, index, diag);
    if (status == 0) {
        status = check_empty(place->path, diag);
    }
    return status == 0 ? mount_at(file_system, place, diag) : status;
}

/** Find the file system, on a disk that stays open: no other volume can get its name until this process ends.
 */
static int find_file_system(const char *volume_id, const char *disk, struct file_system *found,
                            struct diag *diag) {
    if (open(disk, O_RDONLY | O_CLOEXEC) < 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not open %s: %s", disk, strerror(errno));
    }
    int status = file_system_find(volume_id, disk, found, diag);
    if (status == 0 && !file_system_is_of_volume(found)) {
        status = diag_refuse(diag, WARMER_WRONG_VOLUME, "%s is not %s any more", disk, volume_id);
    }
    return status;
}

int mount_volume(const char *volume_id, const char *disk, const struct mount_wish *wish, struct diag *diag) {
    static struct file_system file_system;
    static struct places places;
    umask(022); /* Folders that are made are for the application, too. */
    int status = lock(diag);
    if (status == 0) {
        status = find_file_system(volume_id, disk, &file_system, diag);
    }
    if (status == 0) {
        status = places_find(FSTAB, &file_system, wish, &places, diag);
    }
    for (size_t i = 0; status == 0 && i < places.count; i++) {
        status = take_place(&file_system, &places, i, diag);
    }
    if (status == 0 && places.left_out[0] != '\0') {
        printf("fstab names further folders for it, which are not mounted: %s\n", places.left_out);
    }
    return status;
}
