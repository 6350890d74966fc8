/**
 * What uses a device, in trees of their own: each kind of user, under names that say nothing. A look that
 * finds a program takes its time, because programs may be gone a moment later.
 */
#include "fake_tree.h"
#include "system/interrupt.h"

#include <errno.h>
#include <signal.h>

#define DISK "259:1"
#define SYS "/sys/dev/block/" DISK "/"
#define DEVICE "/dev/nvme1n1"

static struct device_use use;

/** A disk with a partition, a process that is this one, and one that has nothing to do with it. */
static void begin(void) {
    clear_tree();
    put_machine();
    put(DEVICE, DISK);
    put("/dev/nvme1n1p1", "259:2");
    put("/dev/nvme9n1", "259:9");
    put(SYS "dev", DISK "\n");
    put(SYS "nvme1n1p1/partition", "1\n");
    put(SYS "nvme1n1p1/dev", "259:2\n");
    put("/proc/swaps", "Filename Type Size Used Priority\n");
    put("/proc/1/mountinfo", "20 1 259:8 / / rw - ext4 /dev/nvme0n1p1 rw\n");
    put("/proc/1/comm", "init\n");
    put_link("/proc/1/root", "/");
    put_link("/proc/1/fd/3", "/dev/nvme9n1");
    put_link("/proc/42/fd/5", DEVICE);
    put("/proc/42/fdinfo/5", "flags:\t0100002\n");
    put("/proc/42/mountinfo", "20 1 259:8 / / rw - ext4 /dev/nvme0n1p1 rw\n");
}

static void look(void) {
    char path[512];
    snprintf(path, sizeof path, "%s" DEVICE, root);
    use = (struct device_use){.mounts.count = 0};
    use_find_below(&fake_tree, path, &use);
}

/** Just one thing uses the device: it is mounted at `mount`, or, where that is NULL, `other` says what. */
static void expect(const char *mount, const char *other) {
    look();
    CHECK_EQ(use.mounts.count, mount != NULL);
    CHECK_EQ(use.others.count, other != NULL);
    if (mount != NULL) {
        CHECK_TEXT(use.mounts.items[0], mount);
    }
    if (other != NULL) {
        CHECK_TEXT(use.others.items[0], other);
    }
}

/** A process by its number and name, with a descriptor that is opened with these flags. */
static void put_process(const char *id, const char *name, const char *target, const char *flags) {
    char path[256];
    snprintf(path, sizeof path, "/proc/%s/comm", id);
    put(path, name);
    snprintf(path, sizeof path, "/proc/%s/fd/7", id);
    put_link(path, target);
    snprintf(path, sizeof path, "/proc/%s/fdinfo/7", id);
    put(path, flags);
}

static void the_own_descriptor_does_not_count(void) {
    begin();
    expect(NULL, NULL);
}

static void a_program_that_is_being_started_does_not_count(void) {
    begin();
    put_process("43", "warmer\n", DEVICE, "flags:\t0100002\n");
    put("/proc/43/stat", "43 (war) mer) S 42 1 1\n");
    expect(NULL, NULL);
}

static void a_reader_is_named(void) {
    begin();
    put_process("77", "blkid\n", "/dev/nvme1n1p1", "flags:\t0100000\n");
    put("/proc/77/stat", "77 (blkid) S 1 1 1\n");
    expect(NULL, "process 77 (blkid)");
}

static void a_writer_under_another_name_is_found(void) {
    begin();
    put("/proc/78/jail/xvda", DISK);
    put_process("78", "database\n", "/proc/78/jail/xvda", "pos:\t0\nflags:\t0100002\n");
    expect(NULL, "process 78 (database), which has /dev/259:1 open for writing");
}

static void a_descriptor_that_does_not_say_is_a_writer(void) {
    begin();
    put_process("78", "database\n", DEVICE, "");
    expect(NULL, "process 78 (database), which has /dev/259:1 open for writing");
}

static void put_thread(const char *number) {
    char path[64];
    put("/proc/79/comm", "threads\n");
    snprintf(path, sizeof path, "/proc/79/task/%s/fd/3", number);
    put_link(path, DEVICE);
    snprintf(path, sizeof path, "/proc/79/task/%s/fdinfo/3", number);
    put(path, "flags:\t02\n");
}

static void the_files_of_a_thread_are_looked_at_unless_they_are_its_processs(void) {
    begin();
    put_thread("80");
    expect(NULL, "process 79 (threads), which has /dev/259:1 open for writing");
    begin();
    put_thread("1080");
    expect(NULL, NULL);
}

static void a_file_that_is_registered_with_io_uring_is_found(void) {
    begin();
    put("/proc/81/comm", "ring\n");
    put_link("/proc/81/fd/4", "anon_inode:[io_uring]");
    put("/proc/81/jail/dev/disk one", DISK);
    put_link("/proc/81/root", "jail");
    put("/proc/81/fdinfo/4", "SqMask:\t0x3\nUserFiles:\t2\n    0: <none>\n    1: /dev/disk\\040one\n");
    expect(NULL, "process 81 (ring), which has /dev/259:1 open for writing");
}

/** A process of this number that has one ring, of which the kernel says this. */
static void put_ring(const char *id, const char *facts) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/comm", id);
    put(path, "ring\n");
    snprintf(path, sizeof path, "/proc/%s/fd/4", id);
    put_link(path, "anon_inode:[io_uring]");
    snprintf(path, sizeof path, "/proc/%s/fdinfo/4", id);
    put(path, facts);
}

static void where_a_kernel_hides_what_is_registered_it_counts_as_the_device(void) {
    static const char hidden[] = "process 83 (ring), whose open files cannot be seen";
    begin();
    put_ring("83", "UserFiles:\t2\n    0: <none>\n    1: nvme1n1\nUserBufs:\t0\n");
    expect(NULL, hidden);
    begin();
    put_ring("83", "UserFiles:\t1\n    0: another name\nUserBufs:\t0\n");
    expect(NULL, hidden);
    /* While a process submits requests, the kernel says how many files a ring has, or nothing. */
    begin();
    put_ring("83", "UserFiles:\t1\nUserBufs:\t0\n");
    expect(NULL, hidden);
    begin();
    put_ring("83", "pos:\t0\nflags:\t02000002\n");
    expect(NULL, hidden);
}

static void what_is_registered_and_is_seen_to_be_something_else_does_not_count(void) {
    begin();
    put("/proc/net/protocols", "protocol  size sockets\nTCPv6 2304 4\nTCP 2112 4\n");
    put_link("/proc/83/fd/5", "/dev/nvme9n1");
    put_ring("83", "UserFiles:\t5\n    0: <none>\n    1: nvme9n1\n    2: TCP\n    3: [eventfd]\n    4: \n"
                   "UserBufs:\t1\n    0: 0x7f4f27a1000/4096\n");
    expect(NULL, NULL);
    begin();
    put("/dev/null", "\n");
    put_ring("83", "UserFiles:\t5\n    1: /dev/null\n    3: socket:[276]\n    4: anon_inode:[eventfd]\n");
    expect(NULL, NULL);
    begin();
    put_ring("83", "UserFiles:\t0\nUserBufs:\t0\n");
    expect(NULL, NULL);
}

static void what_is_mapped_is_found(void) {
    begin();
    put("/proc/82/comm", "maps\n");
    put_link("/proc/82/root", "/");
    put("/proc/82/maps", "7f00-7f10 r--p 00000000 00:05 99 /dev/nvme1n1\n"
                         "7f20-7f30 rw-s 00000000 00:05 99                       /dev/nvme1n1\n");
    expect(NULL, "process 82 (maps), which has /dev/259:1 open for writing");
    begin();
    put("/proc/82/comm", "maps\n");
    put_link("/proc/82/map_files/7f20-7f30", DEVICE);
    put("/proc/82/maps", "7f20-7f30 r--s 00000000 00:05 99 /gone (deleted)\n");
    expect(NULL, "process 82 (maps)");
    begin();
    put("/proc/82/comm", "maps\n");
    put_link("/proc/82/map_files/7f30-7f40", DEVICE);
    put("/proc/82/maps", "7f00-7f10 r-xp 00000000 fd:00 99                       /lib/one\n"
                         "7f30-7f40 rw-p 00000000 00:05 99                       /dev/nvme1n1\n");
    expect(NULL, "process 82 (maps)");
}

static void a_mount_is_found_by_its_number(void) {
    begin();
    put("/proc/5/mountinfo", "30 1 259:2 / /data rw shared:1 - xfs /dev/whatever rw\n");
    expect("/data", NULL);
}

static void a_mount_without_a_number_is_found_by_its_source_as_its_process_sees_it(void) {
    begin();
    put("/proc/5/jail/dev/my disk", DISK);
    put_link("/proc/5/root", "jail");
    put("/proc/5/mountinfo", "30 1 0:44 / /data rw - fuse.ntfs /dev/my\\040disk rw\n");
    expect("/data", NULL);
}

static void the_second_disk_of_a_btrfs_is_in_use(void) {
    begin();
    put("/sys/fs/btrfs/uuid/devices/nvme9n1/dev", "259:9\n");
    put("/sys/fs/btrfs/uuid/devices/nvme1n1p1/dev", "259:2\n");
    put("/proc/1/mountinfo", "30 1 0:44 / /pool rw - btrfs /dev/nvme9n1 rw\n");
    expect("/pool", NULL);
}

static void a_btrfs_of_other_disks_is_none_of_ours(void) {
    begin();
    put("/sys/fs/btrfs/uuid/devices/nvme9n1/dev", "259:9\n");
    put("/sys/fs/btrfs/other/devices/nvme1n1p1/dev", "259:2\n");
    put("/proc/1/mountinfo", "30 1 0:44 / /pool rw - btrfs /dev/nvme9n1 rw\n");
    expect(NULL, NULL);
}

static void the_log_of_a_file_system_elsewhere_is_named(void) {
    begin();
    put("/proc/1/mountinfo", "30 1 259:9 / /data rw - xfs /dev/nvme9n1 rw,logdev=/dev/nvme1n1p1,noquota\n");
    expect(NULL, "journal of /data");
}

static void put_space(const char *id, const char *space, const char *mount) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/mnt", id);
    put(path, space);
    snprintf(path, sizeof path, "/proc/%s/root", id);
    put_link(path, "/");
    snprintf(path, sizeof path, "/proc/%s/mountinfo", id);
    put(path, mount);
}

/** Of two processes that share a namespace, whichever comes first is asked. */
static void each_namespace_is_looked_at_once(void) {
    begin();
    put_space("90", "file 0:4 1", "30 1 259:1 / /one rw - xfs /dev/nvme1n1 rw\n");
    put_space("91", "file 0:4 1", "30 1 259:1 / /two rw - xfs /dev/nvme1n1 rw\n");
    put_space("92", "file 0:4 2", "30 1 259:1 / /container rw - xfs /dev/nvme1n1 rw\n");
    look();
    CHECK_EQ(use.mounts.count, 2);
    CHECK(texts_has(&use.mounts, "/container"));
}

/** Whichever is asked first has no mounts to be read any more, because it ends. */
static void a_process_that_ends_hides_no_mount_of_others_in_its_namespace(void) {
    begin();
    for (unsigned id = 90; id < 98; id++) {
        char path[128];
        snprintf(path, sizeof path, "%u", id);
        put_space(path, "file 0:4 1", "30 1 259:1 / /one rw - xfs /dev/nvme1n1 rw\n");
        snprintf(path, sizeof path, "%s/proc/%u/mountinfo", root, id);
        CHECK(id == 93 || remove(path) == 0);
    }
    expect("/one", NULL);
}

static void swap_is_found_under_any_name(void) {
    begin();
    put("/dev/swap here", "259:2");
    put("/proc/swaps", "/dev/swap\\040here partition 1 0 -2\n");
    expect(NULL, "swap on /dev/nvme1n1p1");
}

static void a_loop_device_on_a_partition_is_a_member(void) {
    begin();
    put("/sys/block/loop5/loop/backing_file", "/not/ours\n");
    put("/sys/block/loop5/dev", "7:5\n");
    put("/dev/loop5.stands-on", "259:2");
    expect(NULL, "loop /dev/loop5");
    put("/proc/1/mountinfo", "30 1 7:5 / /mnt rw - ext4 /dev/loop5 rw\n");
    expect("/mnt", "loop /dev/loop5");
}

static void loop_devices_on_each_other_are_members_in_any_order(void) {
    begin();
    put("/sys/block/loop1/loop/backing_file", "/dev/loop6\n");
    put("/sys/block/loop1/dev", "7:1\n");
    put("/dev/loop1.stands-on", "7:6");
    put("/sys/block/loop6/loop/backing_file", DEVICE "\n");
    put("/sys/block/loop6/dev", "7:6\n");
    put("/sys/block/loop6/loop6p1/partition", "1\n");
    put("/sys/block/loop6/loop6p1/dev", "259:33\n");
    put("/proc/1/mountinfo", "30 1 259:33 / /deep rw - ext4 /dev/loop6p1 rw\n");
    look();
    CHECK_EQ(use.others.count, 2);
    CHECK_EQ(use.mounts.count, 1);
    CHECK_TEXT(use.mounts.items[0], "/deep");
}

static void a_loop_device_that_cannot_be_asked_is_known_by_its_path(void) {
    begin();
    put("/sys/block/loop5/loop/backing_file", DEVICE "\n");
    put("/sys/block/loop5/dev", "7:5\n");
    expect(NULL, "loop /dev/loop5");
}

static void a_loop_device_on_a_file_of_the_disk_is_a_member(void) {
    begin();
    put("/sys/block/loop5/loop/backing_file", "/unmounted/image\n");
    put("/sys/block/loop5/dev", "7:5\n");
    put("/dev/loop5.stands-on", "file 259:2 77");
    expect(NULL, "loop /dev/loop5");
}

static void other_loop_devices_are_none_of_ours(void) {
    begin();
    put("/sys/block/loop5/loop/backing_file", "/image\n");
    put("/sys/block/loop5/dev", "7:5\n");
    put("/dev/loop5.stands-on", "file 259:8 77");
    put("/sys/block/loop6/dev", "7:6\n");
    expect(NULL, NULL);
}

static void what_is_made_of_a_partition_is_named_by_its_kind(void) {
    begin();
    put(SYS "nvme1n1p1/holders/bcache0/dev", "252:0\n");
    put(SYS "nvme1n1p1/holders/dm-3/dev", "253:3\n");
    put(SYS "nvme1n1p1/holders/dm-3/dm/uuid", "CRYPT-LUKS2-abc\n");
    put(SYS "nvme1n1p1/holders/dm-3/dm/name", "secret\n");
    put(SYS "nvme1n1p1/holders/md127/dev", "9:127\n");
    look();
    CHECK_EQ(use.others.count, 3);
    CHECK(texts_has(&use.others, "bcache /dev/bcache0"));
    CHECK(texts_has(&use.others, "crypt /dev/mapper/secret"));
    CHECK(texts_has(&use.others, "raid /dev/md127"));
}

static void a_loop_device_on_a_mapping_is_found(void) {
    begin();
    put(SYS "holders/dm-3/dev", "253:3\n");
    put("/sys/block/loop5/loop/backing_file", "/x\n");
    put("/sys/block/loop5/dev", "7:5\n");
    put("/dev/loop5.stands-on", "253:3");
    look();
    CHECK(texts_has(&use.others, "loop /dev/loop5"));
}

static void zram_that_writes_to_it_is_found(void) {
    begin();
    put("/sys/block/zram0/backing_dev", DEVICE "\n");
    put("/sys/block/zram1/backing_dev", "none\n");
    expect(NULL, "zram /dev/zram0");
}

static void what_is_exported_is_found(void) {
    static const char *const files[] = {
        "/sys/kernel/config/target/core/iblock_0/disk/udev_path",
        "/sys/kernel/config/nvmet/subsystems/nqn/namespaces/1/device_path",
        "/sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0/file",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        begin();
        put(files[i], "/dev/nvme1n1p1\n");
        expect(NULL, "export of /dev/nvme1n1p1");
    }
    begin();
    put("/sys/kernel/config/target/core/fileio_0/disk/info",
        "Status: ACTIVATED\n        TCM FILEIO ID: 0        File: /dev/nvme1n1  Size: 1 Mode: O_DSYNC\n");
    expect(NULL, "export of /dev/259:1");
}

static void expect_disturbed(const char *who) {
    char found[512] = "";
    CHECK_EQ(use_watch(&fake_tree, DISK, found, sizeof found), who[0] != '\0');
    CHECK_TEXT(found, who);
}

static void a_watch_sees_mounts_writers_and_what_is_made(void) {
    begin();
    put_process("77", "blkid\n", DEVICE, "flags:\t0100000\n");
    expect_disturbed("");
    put_process("78", "mkfs\n", "/dev/nvme1n1p1", "flags:\t0100001\n");
    expect_disturbed("process 78 (mkfs) opened /dev/nvme1n1p1 for writing");
    begin();
    put("/proc/5/mountinfo", "30 1 259:2 / /data rw - xfs /dev/nvme1n1p1 rw\n");
    expect_disturbed("/dev/259:1 was mounted at /data");
    begin();
    put("/sys/block/loop5/loop/backing_file", DEVICE "\n");
    put("/sys/block/loop5/dev", "7:5\n");
    expect_disturbed("/dev/259:1 is in use: loop /dev/loop5");
    begin();
    put("/proc/swaps", "/dev/nvme1n1p1 partition 1 0 -2\n");
    expect_disturbed("/dev/259:1 is in use: swap on /dev/nvme1n1p1");
}

static void what_the_kernel_holds_is_never_free(void) {
    begin();
    put(DEVICE ".held", "16");
    expect(NULL, "the kernel, which holds /dev/259:1 and shows no holder");
    begin();
    put(DEVICE ".held", "16");
    put("/sys/fs/ext4/259:1/errors", "0\n");
    expect(NULL, "the file system (ext4) on /dev/259:1, which is alive and mounted nowhere in sight");
    begin();
    put(DEVICE ".held", "16");
    put("/lost/file", "file 259:1 5");
    put_process("77", "tail\n", "/lost/file", "flags:\t0100000\n");
    expect(NULL, "process 77 (tail), which has a file or folder on /dev/259:1 open");
}

static void what_cannot_be_opened_is_not_known(void) {
    char expected[256];
    begin();
    put(DEVICE ".held", "13");
    snprintf(expected, sizeof expected,
             "something that is not known, because %s" DEVICE " cannot be opened: Permission denied", root);
    expect(NULL, expected);
}

static void a_machine_whose_processes_are_hidden_is_not_known(void) {
    begin();
    char path[512];
    snprintf(path, sizeof path, "%s/proc/2/ns/pid", root);
    unlink(path);
    expect(NULL, "a process that this one cannot see, because the kernel's own threads cannot be looked at: "
                 "No such file or directory");
    put("/proc/2/ns/pid", "file 0:4 4026532000");
    expect(NULL, "a process that this one cannot see, because it runs in a namespace of process ids");
}

/** The look of this number fails with this error; the others are as they are. */
static unsigned looks_done, failing_look;
static int failing_error;

static bool look_and_fail(int folder, const char *path, struct use_node *node) {
    if (++looks_done == failing_look) {
        errno = failing_error;
        return false;
    }
    return fake_look(folder, path, node);
}

/** Who is interrupted looks once, which is enough here, and saves the pauses. */
static void a_look_that_fails_hides_no_writer(void) {
    static const int errors[] = {EACCES, EPERM, EMFILE, ENFILE, ENOMEM, ELOOP, EIO};
    struct use_tree tree = fake_tree;
    char path[512];
    tree.look_in = look_and_fail;
    snprintf(path, sizeof path, "%s" DEVICE, root);
    begin();
    put_process("78", "database\n", DEVICE, "flags:\t0100002\n");
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        failing_error = errors[i];
        looks_done = 1;
        for (failing_look = 1; failing_look <= looks_done; failing_look++) {
            looks_done = 0;
            use = (struct device_use){.mounts.count = 0};
            use_find_below(&tree, path, &use);
            CHECK(use.mounts.count + use.others.count > 0);
        }
        CHECK(looks_done > 5);
    }
}

/** A process that closes its descriptor, which is `closing`, just after somebody has looked at it. */
static char closing[512];

static bool look_and_close(int folder, const char *path, struct use_node *node) {
    bool is_there = fake_look(folder, path, node);
    if (strcmp(path, "7") == 0) {
        unlink(closing);
    }
    return is_there;
}

/** What is unknown of such a descriptor says nothing, and the process may be as harmless as blkid. */
static void what_is_closed_during_a_look_disturbs_nobody(void) {
    struct use_tree tree = fake_tree;
    char found[512] = "";
    tree.look_in = look_and_close;
    begin();
    put_process("77", "blkid\n", DEVICE, "");
    snprintf(closing, sizeof closing, "%s/proc/77/fd/7", root);
    CHECK(!use_watch(&tree, DISK, found, sizeof found));
    CHECK_TEXT(found, "");
    CHECK(access(closing, F_OK) != 0);
}

/** A process that ends once it is known what it has open. */
static bool look_and_end(int folder, const char *path, struct use_node *node) {
    static unsigned looks;
    bool is_there = fake_look(folder, path, node);
    if (strcmp(path, "7") == 0 && ++looks == 2) {
        char process[512];
        snprintf(process, sizeof process, "%s/proc/43", root);
        nftw(process, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    return is_there;
}

static void a_program_that_ends_during_a_look_disturbs_nobody(void) {
    struct use_tree tree = fake_tree;
    char found[512] = "";
    tree.look_in = look_and_end;
    begin();
    put_process("43", "warmer\n", DEVICE, "flags:\t0100002\n");
    put("/proc/43/stat", "43 (warmer) S 42 1 1\n");
    CHECK(!use_watch(&tree, DISK, found, sizeof found));
    CHECK_TEXT(found, "");
}

static void who_is_interrupted_looks_once(void) {
    begin();
    put_process("77", "blkid\n", DEVICE, "flags:\t0100000\n");
    interrupt_catch();
    raise(SIGTERM);
    expect(NULL, "process 77 (blkid)");
}

int main(void) {
    choose_root("use");
    RUN(the_own_descriptor_does_not_count);
    RUN(a_program_that_is_being_started_does_not_count);
    RUN(a_reader_is_named);
    RUN(a_writer_under_another_name_is_found);
    RUN(a_descriptor_that_does_not_say_is_a_writer);
    RUN(the_files_of_a_thread_are_looked_at_unless_they_are_its_processs);
    RUN(a_file_that_is_registered_with_io_uring_is_found);
    RUN(where_a_kernel_hides_what_is_registered_it_counts_as_the_device);
    RUN(what_is_registered_and_is_seen_to_be_something_else_does_not_count);
    RUN(what_is_mapped_is_found);
    RUN(a_mount_is_found_by_its_number);
    RUN(a_mount_without_a_number_is_found_by_its_source_as_its_process_sees_it);
    RUN(the_second_disk_of_a_btrfs_is_in_use);
    RUN(a_btrfs_of_other_disks_is_none_of_ours);
    RUN(the_log_of_a_file_system_elsewhere_is_named);
    RUN(each_namespace_is_looked_at_once);
    RUN(a_process_that_ends_hides_no_mount_of_others_in_its_namespace);
    RUN(swap_is_found_under_any_name);
    RUN(a_loop_device_on_a_partition_is_a_member);
    RUN(loop_devices_on_each_other_are_members_in_any_order);
    RUN(a_loop_device_that_cannot_be_asked_is_known_by_its_path);
    RUN(a_loop_device_on_a_file_of_the_disk_is_a_member);
    RUN(other_loop_devices_are_none_of_ours);
    RUN(what_is_made_of_a_partition_is_named_by_its_kind);
    RUN(a_loop_device_on_a_mapping_is_found);
    RUN(zram_that_writes_to_it_is_found);
    RUN(what_is_exported_is_found);
    RUN(what_the_kernel_holds_is_never_free);
    RUN(what_cannot_be_opened_is_not_known);
    RUN(a_machine_whose_processes_are_hidden_is_not_known);
    RUN(a_watch_sees_mounts_writers_and_what_is_made);
    RUN(what_is_closed_during_a_look_disturbs_nobody);
    RUN(a_program_that_ends_during_a_look_disturbs_nobody);
    RUN(who_is_interrupted_looks_once); /* Nothing takes the interruption back. */
    RUN(a_look_that_fails_hides_no_writer);
    clear_tree();
    return CHECK_RESULT();
}
