/**
 * Which file system a volume has. blkid says what is on a device; the superblocks say whether a part of the
 * file system is on another device, which was not copied at the same time: an external journal or log would
 * be replayed over data that it does not belong to.
 */
#include "mount/file_system_linux.h"

#include "base/bytes.h"
#include "device/family_linux.h"
#include "device/find.h"
#include "mount/mount_options.h"
#include "mount/mount_tables.h"
#include "mount/ours_linux.h"
#include "mount/tool_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Statuses of blkid(8): nothing is known of the device; several things are, which exclude each other. */
#define BLKID_NOTHING 2
#define BLKID_AMBIVALENT 8

#define SUPERBLOCK_BYTES 1024u
#define EXT_PLACE 1024
#define BTRFS_PLACE 65536

/** Copy the value of a line NAME=value. */
static void read_value(const char *text, const char *name, char *value, size_t size) {
    size_t wanted = strlen(name);
    value[0] = '\0';
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, wanted) == 0 && line[wanted] == '=') {
            line += wanted + 1;
            snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
            udev_decode(value);
            return;
        }
    }
}

/** What blkid reads from the device itself. Its status; negative: it could not be asked. */
static int probe(const char *device, struct tool_output *output) {
    const char *words[] = {"blkid", "-p", "-o", "udev", device, NULL};
    return tool_run(words, output);
}

static int refuse_probe(const char *device, int status, const struct tool_output *output, struct diag *diag) {
    return diag_refuse(diag, WARMER_NO_TRANSFER, "blkid could not say what is on %s (status %d): %s", device,
                       status, output->errors);
}

/** Whether what blkid finds nothing on can be read where file systems begin: its status does not say. */
static int check_readable(const char *device, struct diag *diag) {
    static unsigned char bytes[BTRFS_PLACE + SUPERBLOCK_BYTES];
    int descriptor = open(device, O_RDONLY | O_CLOEXEC);
    ssize_t count = descriptor < 0 ? -1 : pread(descriptor, bytes, sizeof bytes, 0);
    int failure = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return count >= 0 ? 0
                      : diag_refuse(diag, WARMER_NO_TRANSFER,
                                    "it is not known what is on %s, because it could not be read: %s", device,
                                    strerror(failure));
}

/** The disk and its partitions, as many as have something; more than one is an answer, too. */
struct finding {
    struct file_system *found;
    unsigned count;
    char names[256];
};

/** Look at one device. Returns 0 or a refusal's status. */
static int look_at(const struct member *member, struct finding *finding, struct diag *diag) {
    static struct tool_output output;
    char type[32];
    char number[16];
    int status = probe(member->name, &output);
    if (status == BLKID_AMBIVALENT) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                           "%s has signatures that exclude each other; mount it with a document of yours",
                           member->name);
    }
    if (status != 0 && status != BLKID_NOTHING) {
        return refuse_probe(member->name, status, &output, diag);
    }
    read_value(output.text, "ID_FS_TYPE", type, sizeof type);
    if (status == BLKID_NOTHING || type[0] == '\0') {
        return check_readable(member->name, diag);
    }
    struct file_system *found = finding->found;
    size_t length = strlen(finding->names);
    snprintf(finding->names + length, sizeof finding->names - length, "%s%s", length == 0 ? "" : " ",
             member->name);
    if (finding->count++ > 0) {
        return 0;
    }
    snprintf(found->device, sizeof found->device, "%s", member->name);
    snprintf(found->type, sizeof found->type, "%s", type);
    found->major = member->node.major;
    found->minor = member->node.minor;
    read_value(output.text, "ID_FS_UUID_ENC", found->uuid, sizeof found->uuid);
    read_value(output.text, "ID_FS_LABEL_ENC", found->label, sizeof found->label);
    read_value(output.text, "ID_PART_ENTRY_UUID", found->part_uuid, sizeof found->part_uuid);
    read_value(output.text, "ID_PART_ENTRY_NAME", found->part_label, sizeof found->part_label);
    read_value(output.text, "ID_PART_ENTRY_NUMBER", number, sizeof number);
    found->part_number = (unsigned)strtoul(number, NULL, 10);
    return 0;
}

/** A disk that has many partitions, as one of Xen's, has some of another major number. */
static bool is_later(const struct member *one, const struct member *other) {
    return one->node.major != other->node.major ? one->node.major > other->node.major
                                                : one->node.minor > other->node.minor;
}

/** The partition with the next number; NULL: there is none. */
static const struct member *next_part(struct family *family, const struct member *last) {
    const struct member *next = NULL;
    for (size_t i = 1; i < family->count; i++) {
        const struct member *member = &family->members[i];
        bool is_left = member->is_own && (last == NULL || is_later(member, last));
        if (is_left && (next == NULL || is_later(next, member))) {
            next = member;
        }
    }
    return next;
}

/** The disk itself counts first: what has a file system has no partitions. */
static int find_one(const char *disk, struct file_system *found, struct diag *diag) {
    static struct family family;
    struct finding finding = {.found = found};
    int status = ours_begin(disk, &family, diag);
    if (status != 0) {
        return status;
    }
    if (family.unknown.count > 0) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s has %s; mount it with a document of yours", disk,
                           family.unknown.items[0]);
    }
    found->disk_major = family.members[0].node.major;
    found->disk_minor = family.members[0].node.minor;
    status = look_at(&family.members[0], &finding, diag);
    const struct member *part = finding.count > 0 ? NULL : next_part(&family, NULL);
    for (; status == 0 && part != NULL; part = next_part(&family, part)) {
        status = look_at(part, &finding, diag);
    }
    if (status != 0) {
        return status;
    }
    if (finding.count > 1) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                           "%s has several partitions (%s); mount them with a document of yours",
                           found->volume_id, finding.names);
    }
    return finding.count == 1
               ? 0
               : diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                             "%s has no file system that blkid knows; mount it with a document "
                             "of yours",
                             found->volume_id);
}

static int check_type(struct file_system *found, struct diag *diag) {
    static const struct {
        const char *type;
        unsigned kind;
    } kinds[] = {{"ext2", MOUNT_EXT},
                 {"ext3", MOUNT_EXT},
                 {"ext4", MOUNT_EXT},
                 {"xfs", MOUNT_XFS},
                 {"btrfs", MOUNT_BTRFS}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(found->type, kinds[i].type) == 0) {
            found->kind = kinds[i].kind;
            return 0;
        }
    }
    if (strcmp(found->type, "crypto_LUKS") == 0) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                           "%s is encrypted with LUKS; open and mount it with a document of yours",
                           found->volume_id);
    }
    if (strcmp(found->type, "LVM2_member") == 0) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                           "%s belongs to LVM; activate and mount it with a document of yours",
                           found->volume_id);
    }
    return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s is %s; mount it with a document of yours",
                       found->volume_id, found->type);
}

static int read_superblock(const struct file_system *found, off_t place, unsigned char *bytes) {
    int descriptor = open(found->device, O_RDONLY | O_CLOEXEC);
    ssize_t count = descriptor < 0 ? -1 : pread(descriptor, bytes, SUPERBLOCK_BYTES, place);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return count == (ssize_t)SUPERBLOCK_BYTES ? 0 : -1;
}

/** The part of ext3 or ext4 on another device (Documentation/filesystems/ext4, "Super Block"); NULL: none. */
static const char *part_of_ext(const unsigned char *superblock) {
    bool has_journal = (little32(superblock + 0x5c) & 0x4u) != 0;
    bool is_journal = (little32(superblock + 0x60) & 0x8u) != 0;
    uint32_t inode = little32(superblock + 0xe0);
    uint32_t device = little32(superblock + 0xe4);
    return is_journal || (has_journal && (inode == 0 || device != 0)) ? "journal" : NULL;
}

/** The same of XFS: no place for the log in it, or blocks of a realtime device (xfsprogs, "Superblocks"). */
static const char *part_of_xfs(const unsigned char *superblock) {
    return big64(superblock + 48) == 0 ? "log" : big64(superblock + 16) != 0 ? "realtime section" : NULL;
}

/** How many devices have this file system, by what blkid finds on all of them now; 0: it could not be asked.
 */
static unsigned count_devices(const char *uuid) {
    static struct tool_output output;
    char tag[80];
    unsigned count = 0;
    snprintf(tag, sizeof tag, "UUID=%s", uuid);
    const char *words[] = {"blkid", "-c", "/dev/null", "-t", tag, "-o", "device", NULL};
    if (tool_run(words, &output) != 0) {
        return 0;
    }
    for (const char *at = output.text; *at != '\0'; at++) {
        count += *at == '\n';
    }
    return count;
}

/** The same of btrfs, whose superblock counts its devices; a second device with its UUID can be taken for
 * one. */
static const char *part_of_btrfs(unsigned devices, const unsigned char *superblock) {
    return little64(superblock + 0x88) != 1 || devices != 1 ? "data" : NULL;
}

static int check_parts(const struct file_system *found, struct diag *diag) {
    unsigned char superblock[SUPERBLOCK_BYTES];
    off_t place = found->kind == MOUNT_EXT ? EXT_PLACE : found->kind == MOUNT_BTRFS ? BTRFS_PLACE : 0;
    if (read_superblock(found, place, superblock) != 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not read the superblock of %s", found->device);
    }
    unsigned devices = found->kind == MOUNT_BTRFS ? count_devices(found->uuid) : 1;
    if (devices == 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER,
                           "blkid could not say which devices have btrfs %s of %s; mount it with a document "
                           "of yours",
                           found->uuid, found->volume_id);
    }
    const char *part = found->kind == MOUNT_EXT   ? part_of_ext(superblock)
                       : found->kind == MOUNT_XFS ? part_of_xfs(superblock)
                                                  : part_of_btrfs(devices, superblock);
    if (part == NULL) {
        return 0;
    }
    if (found->kind == MOUNT_BTRFS) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                           "btrfs %s of %s is on several devices; mount it with a document of yours",
                           found->uuid, found->volume_id);
    }
    return diag_refuse(
        diag, WARMER_NOT_MOUNTABLE,
        "%s has its %s on another device, which may have another state than this copy; mount it "
        "with a document of yours",
        found->volume_id, part);
}

int file_system_find(const char *volume_id, const char *disk, struct file_system *found, struct diag *diag) {
    *found = (struct file_system){0};
    snprintf(found->volume_id, sizeof found->volume_id, "%s", volume_id);
    snprintf(found->disk, sizeof found->disk, "%s", disk);
    int status = find_one(disk, found, diag);
    if (status == 0) {
        status = check_type(found, diag);
    }
    return status == 0 ? check_parts(found, diag) : status;
}

bool file_system_is_of_volume(const struct file_system *file_system) {
    char path[512];
    struct use_node node;
    return find_device(file_system->volume_id, path, sizeof path) && use_look(&use_own_tree, path, &node) &&
           node.kind == USE_BLOCK && node.major == file_system->disk_major &&
           node.minor == file_system->disk_minor;
}
