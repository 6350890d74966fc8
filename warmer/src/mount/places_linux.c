/** Where a file system belongs by fstab, and which folders may be taken. */
#include "mount/places_linux.h"

#include "device/identity.h"
#include "mount/mount_options.h"
#include "mount/mount_tables.h"
#include "mount/mounted_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/** A request's options. Those of fstab and our own, which keep programs from rights, have to fit behind them.
 */
#define WISH_BYTES (PLACE_OPTIONS_BYTES / 4)

/** Folders of the system, which no file system takes the place of; /var has too much below it that is data.
 */
static const char *const of_the_system[] = {"bin",    "boot", "dev",  "etc", "lib",  "lib32", "lib64",
                                            "libx32", "proc", "root", "run", "sbin", "sys",   "usr"};
/** Where a folder may be that fstab does not name; of the first also itself. */
static const char *const of_data[] = {"/data", "/media", "/mnt", "/srv"};
/** Options by which a part of a file system is on another device. */
static const char *const of_other_devices[] = {"device", "journal_dev", "journal_path", "logdev", "rtdev"};

/** Lines of fstab, one after the other. */
struct fstab {
    const char *path;
    FILE *stream;
    char *text;
    size_t size;
    int failure; /**< The errno of a line that could not be read; then there are no more. */
};

/** A file that is not there has no lines. Returns 0 or a refusal's status. */
static int fstab_open(const char *path, struct fstab *fstab, struct diag *diag) {
    *fstab = (struct fstab){.path = path, .stream = fopen(path, "re")};
    return fstab->stream != NULL || errno == ENOENT
               ? 0
               : diag_refuse(diag, WARMER_NO_TRANSFER, "could not read %s: %s", path, strerror(errno));
}

static bool fstab_next(struct fstab *fstab, struct fstab_line *line) {
    while (errno = 0, fstab->stream != NULL && getline(&fstab->text, &fstab->size, fstab->stream) >= 0) {
        if (fstab_parse(fstab->text, line)) {
            return true;
        }
    }
    fstab->failure = fstab->stream == NULL || feof(fstab->stream) != 0 ? 0 : errno == 0 ? EIO : errno;
    return false;
}

/** Close it after what was done with its lines. Returns that status, or a refusal's where lines are missing.
 */
static int fstab_close(struct fstab *fstab, int status, struct diag *diag) {
    if (fstab->stream != NULL) {
        fclose(fstab->stream);
    }
    free(fstab->text);
    return status != 0 || fstab->failure == 0
               ? status
               : diag_refuse(diag, WARMER_NO_TRANSFER, "could not read all of %s: %s", fstab->path,
                             strerror(fstab->failure));
}

/** Whether a name in by-id is that of the volume's disk, or of its partition. */
static bool is_by_id(const char *name, const struct file_system *file_system) {
    char volume_id[32];
    const char *part = strstr(name, "-part");
    unsigned long number = part == NULL ? 0 : strtoul(part + strlen("-part"), NULL, 10);
    return identity_volume_id(name, volume_id, sizeof volume_id) &&
           strcmp(volume_id, file_system->volume_id) == 0 && number == file_system->part_number;
}

/** What names a file system: by a tag NAME=…, or by a path that udev makes of it. */
struct naming {
    const char *tag;
    const char *folder;
    const char *value;
    bool has_case;
};

/** Whether the source of a line names the file system. */
static bool is_source(char *source, const struct file_system *file_system) {
    const struct naming namings[] = {
        {"UUID=", "/dev/disk/by-uuid/", file_system->uuid, false},
        {"LABEL=", "/dev/disk/by-label/", file_system->label, true},
        {"PARTUUID=", "/dev/disk/by-partuuid/", file_system->part_uuid, false},
        {"PARTLABEL=", "/dev/disk/by-partlabel/", file_system->part_label, true},
    };
    static const char by_id[] = "/dev/disk/by-id/";
    bool is_path = path_make_plain(source);
    if (is_path && strncmp(source, by_id, strlen(by_id)) == 0) {
        return is_by_id(source + strlen(by_id), file_system);
    }
    for (size_t i = 0; i < sizeof namings / sizeof namings[0]; i++) {
        const char *begin = is_path ? namings[i].folder : namings[i].tag;
        if (namings[i].value[0] == '\0' || strncmp(source, begin, strlen(begin)) != 0) {
            continue;
        }
        char *value = source + strlen(begin);
        if (is_path) {
            udev_decode(value);
        }
        return (namings[i].has_case ? strcmp : strcasecmp)(value, namings[i].value) == 0;
    }
    return false;
}

static int add(struct places *places, const char *path, const char *options, struct diag *diag) {
    if (places->count == PLACES_LIMIT || strlen(path) >= PLACE_PATH_BYTES ||
        strlen(options) >= PLACE_OPTIONS_BYTES / 2) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "fstab has too many or too long lines for it");
    }
    struct place *place = &places->items[places->count++];
    snprintf(place->path, sizeof place->path, "%s", path);
    snprintf(place->options, sizeof place->options, "%s", options);
    return 0;
}

static void leave_out(struct places *places, const char *path) {
    size_t length = strlen(places->left_out);
    snprintf(places->left_out + length, sizeof places->left_out - length, "%s%.200s", length == 0 ? "" : ", ",
             path);
}

/** The folder that was wished for, where fstab names it; else no place is found. */
static int find_named(struct fstab *fstab, const struct file_system *file_system, const char *path,
                      struct places *places, struct diag *diag) {
    struct fstab_line line;
    while (fstab_next(fstab, &line)) {
        char source[300];
        snprintf(source, sizeof source, "%s", line.source);
        bool is_ours = is_source(line.source, file_system);
        if (strcmp(line.target, path) != 0 || places->count > 0) {
            if (is_ours) {
                leave_out(places, line.target);
            }
            continue;
        }
        if (!is_ours && strncmp(source, "LABEL=", 6) == 0) {
            return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "fstab has %s at %s, and %s has LABEL=%s", source,
                               path, file_system->volume_id, file_system->label);
        }
        if (!is_ours) {
            return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "fstab has %s at %s, and %s has UUID=%s", source,
                               path, file_system->volume_id, file_system->uuid);
        }
        int status = add(places, path, line.options, diag);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/** Every folder that fstab names for the file system; those with noauto count where there is no other. */
static int find_all(struct fstab *fstab, const struct file_system *file_system, struct places *places,
                    struct diag *diag) {
    struct fstab_line line;
    int status = 0;
    size_t kept = 0;
    while (status == 0 && fstab_next(fstab, &line)) {
        status = is_source(line.source, file_system) ? add(places, line.target, line.options, diag) : 0;
    }
    for (size_t i = 0; i < places->count; i++) {
        kept += !mount_options_have(places->items[i].options, "noauto");
    }
    size_t count = places->count;
    places->count = kept > 0 ? 0 : count;
    for (size_t i = 0; i < count && kept > 0; i++) {
        if (mount_options_have(places->items[i].options, "noauto")) {
            leave_out(places, places->items[i].path);
        } else {
            places->items[places->count++] = places->items[i];
        }
    }
    return status;
}

static bool is_of_the_system(const char *path) {
    if (strcmp(path, "/") == 0 || strcmp(path, "/var") == 0) {
        return true;
    }
    size_t length = strcspn(path + 1, "/");
    for (size_t i = 0; i < sizeof of_the_system / sizeof of_the_system[0]; i++) {
        if (strlen(of_the_system[i]) == length && strncmp(path + 1, of_the_system[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/** A folder that no line of fstab vouches for. */
static int check_free_folder(const char *path, struct diag *diag) {
    bool is_data = strcmp(path, of_data[0]) == 0;
    for (size_t i = 0; i < sizeof of_data / sizeof of_data[0]; i++) {
        is_data |= path_is_below(path, of_data[i]);
    }
    if (!is_data) {
        return diag_refuse(
            diag, WARMER_NOT_MOUNTABLE,
            "%s is not in fstab, and without a line there only folders below /data, /media, /mnt and "
            "/srv are taken",
            path);
    }
    return strstr(path, "/.") == NULL
               ? 0
               : diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s has a hidden folder", path);
}

/** Every folder above it is root's, and no part of it is a symbolic link. What is not there is made later. */
static int check_folders(const char *path, struct diag *diag) {
    char part[PLACE_PATH_BYTES];
    struct stat status;
    for (size_t length = 1; length <= strlen(path); length++) {
        if (path[length] != '/' && path[length] != '\0') {
            continue;
        }
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        if (lstat(part, &status) != 0) {
            return errno == ENOENT ? 0
                                   : diag_refuse(diag, WARMER_NO_TRANSFER, "could not look at %s: %s", part,
                                                 strerror(errno));
        }
        if (S_ISLNK(status.st_mode)) {
            return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s leads to another folder by a symbolic link",
                               path);
        }
        bool is_safe = S_ISDIR(status.st_mode) && status.st_uid == 0 && (status.st_mode & 022) == 0;
        if (path[length] == '/' && !is_safe) {
            return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s is not a folder that only root can write",
                               part);
        }
    }
    return 0;
}

/** Append to a place's options. There is room: fstab's are half of it at most, and a wish's a quarter. */
static void append(struct place *place, const char *options) {
    size_t length = strlen(place->options);
    snprintf(place->options + length, sizeof place->options - length, "%s%s",
             length > 0 && options[0] != '\0' ? "," : "", options);
}

/** Fstab's options are root's own, and count for more than those of the request. */
static int complete_options(struct place *place, const struct file_system *file_system, const char *wished,
                            struct diag *diag) {
    char of_fstab[PLACE_OPTIONS_BYTES];
    snprintf(of_fstab, sizeof of_fstab, "%s", place->options);
    for (size_t i = 0; i < sizeof of_other_devices / sizeof of_other_devices[0]; i++) {
        if (mount_options_have(of_fstab, of_other_devices[i])) {
            return diag_refuse(
                diag, WARMER_NOT_MOUNTABLE,
                "fstab has the option %s at %s, which puts a part of the file system on another device; "
                "mount it with a document of yours",
                of_other_devices[i], place->path);
        }
    }
    place->options[0] = '\0';
    append(place, wished);
    append(place, of_fstab);
    if (!mount_options_have(place->options, "suid") && !mount_options_have(place->options, "dev")) {
        append(place, "nosuid,nodev");
    }
    /* The superblock may ask for a panic of the kernel. */
    if (file_system->kind == MOUNT_EXT && !mount_options_have(place->options, "errors")) {
        append(place, "errors=remount-ro");
    }
    return 0;
}

static int check_wish(const struct file_system *file_system, const struct mount_wish *wish,
                      struct diag *diag) {
    char refused[MOUNT_OPTION_BYTES];
    if (strlen(wish->options) > WISH_BYTES) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "more than %u bytes of options are not allowed",
                           WISH_BYTES);
    }
    return mount_options_allow(wish->options, file_system->kind, refused)
               ? 0
               : diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                             "%s is not allowed for %s; allowed are " MOUNT_OPTIONS_TEXT, refused,
                             file_system->type);
}

static int check_place(struct place *place, bool is_in_fstab, const struct file_system *file_system,
                       const char *options, struct diag *diag) {
    int status = 0;
    if (!is_in_fstab) {
        status = check_free_folder(place->path, diag);
    } else if (is_of_the_system(place->path)) {
        status = diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                             "%s belongs to the system; mount it with a document of yours", place->path);
    }
    if (status == 0) {
        status = check_folders(place->path, diag);
    }
    return status == 0 ? complete_options(place, file_system, options, diag) : status;
}

int places_find(const char *fstab, const struct file_system *file_system, const struct mount_wish *wish,
                struct places *places, struct diag *diag) {
    struct fstab lines;
    char path[PLACE_PATH_BYTES];
    snprintf(path, sizeof path, "%s", wish->path == NULL ? "" : wish->path);
    places->count = 0;
    places->left_out[0] = '\0';
    if (wish->path != NULL && (strlen(wish->path) >= sizeof path || !path_make_plain(path))) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%.200s is no plain path", wish->path);
    }
    int status = check_wish(file_system, wish, diag);
    status = status == 0 ? fstab_open(fstab, &lines, diag) : status;
    if (status != 0) {
        return status;
    }
    status = wish->path == NULL ? find_all(&lines, file_system, places, diag)
                                : find_named(&lines, file_system, path, places, diag);
    status = fstab_close(&lines, status, diag);
    bool is_in_fstab = places->count > 0;
    if (status == 0 && !is_in_fstab) {
        status = wish->path != NULL
                     ? add(places, path, "", diag)
                     : diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                                   "fstab has no line for UUID=%s of %s; name the folder in the request",
                                   file_system->uuid, file_system->volume_id);
    }
    for (size_t i = 0; status == 0 && i < places->count; i++) {
        status = check_place(&places->items[i], is_in_fstab, file_system, wish->options, diag);
    }
    return status;
}

/** Whether something is mounted there (1) or not (0), or -errno. What is mounted by its first use is used for
 * that. */
static int is_mounted(const char *path) {
    static struct mounted found;
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor >= 0) {
        close(descriptor);
    }
    int count = mounted_at(path, &found);
    return count > 0 && strcmp(found.type, "autofs") == 0 ? 0 : count;
}

static bool is_before(const struct places *places, size_t place, const char *path) {
    for (size_t i = 0; i < place; i++) {
        if (strcmp(places->items[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

int places_check_above(const char *fstab, const struct places *places, size_t place, struct diag *diag) {
    struct fstab lines;
    struct fstab_line line;
    const char *path = places->items[place].path;
    int status = fstab_open(fstab, &lines, diag);
    while (status == 0 && fstab_next(&lines, &line)) {
        bool is_above = path_is_below(path, line.target) && strcmp(line.target, "/") != 0 &&
                        !is_before(places, place, line.target);
        int found = is_above ? is_mounted(line.target) : 1;
        if (found < 0) {
            status = diag_refuse(diag, WARMER_NO_TRANSFER, "could not read " MOUNTED_LIST ": %s",
                                 strerror(-found));
        } else if (found == 0) {
            status = diag_refuse(
                diag, WARMER_NOT_MOUNTABLE,
                "fstab has a file system at %s, which is not mounted; it would hide %s, so mount it "
                "first",
                line.target, path);
        }
    }
    return fstab_close(&lines, status, diag);
}
