/**
 * Which devices may be written to: random arrangements of a machine, each as a tree of its own with /sys,
 * /proc and /dev. The test knows what it has arranged; 200 of them, and with LONG_TESTS in the environment
 * 10,000.
 */
#include "base/random.h"
#include "check.h"
#include "device/claim_linux.h"
#include "fake_tree.h"

#define VOLUME "vol-0123456789abcdef0"
#define SERIAL "vol0123456789abcdef0"
#define OTHER "vol0123456789abcdef1"
#define DISK "259:1"
#define PART "259:2"
#define SYS "/sys/dev/block/" DISK "/"

static char device[128];
static struct random chance = {.state = 15};

static void link_id(const char *volume, const char *name) {
    char target[64];
    char path[256];
    snprintf(path, sizeof path, "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_%s", volume);
    snprintf(target, sizeof target, "../../%s", name);
    put_link(path, target);
}

static bool happens(unsigned percent) {
    return random_below(&chance, 100) < percent;
}

/** What was arranged: whether the device may be written to, and the statuses that may be the answer. */
struct arrangement {
    unsigned statuses; /**< A bit for each from WARMER_NOT_WHOLE. */
};

static void forbid(struct arrangement *arrangement, int status) {
    arrangement->statuses |= 1u << (status - WARMER_NOT_WHOLE);
}

static void arrange_identity(struct arrangement *arrangement) {
    unsigned serial = (unsigned)random_below(&chance, 8);
    bool has_other = happens(10);
    bool has_stale = happens(15);
    if (serial < 4) {
        put(SYS "device/serial", SERIAL "\n");
    } else if (serial == 4) {
        put(SYS "device/serial", OTHER "\n");
        forbid(arrangement, WARMER_WRONG_VOLUME);
    } else if (serial == 5) {
        put(SYS "device/serial", "AWS01234567\n");
    }
    /* A stale link of this name leads to another disk; a second link may name this disk otherwise. */
    link_id(SERIAL, has_stale ? "nvme2n1" : "nvme1n1");
    if (has_other) {
        link_id(OTHER, "nvme1n1");
    }
    if (serial >= 5 && (has_stale || has_other)) {
        forbid(arrangement, WARMER_WRONG_VOLUME);
    }
}

static void arrange_kind(struct arrangement *arrangement) {
    static const char *const not_whole[] = {SYS "partition", SYS "dm/name", SYS "md/level",
                                            SYS "bcache/state", SYS "slaves/sdb/dev"};
    put_machine();
    put("/dev/nvme2n1", "259:9");
    put(SYS "dev", DISK "\n");
    put(SYS "ro", happens(4) ? (forbid(arrangement, WARMER_READ_ONLY), "1\n") : "0\n");
    if (happens(4)) {
        put("/dev/nvme1n1", "");
        forbid(arrangement, WARMER_NOT_WHOLE);
    } else {
        put("/dev/nvme1n1", DISK);
    }
    if (happens(10)) {
        put(not_whole[random_below(&chance, 5)], "1\n");
        forbid(arrangement, WARMER_NOT_WHOLE);
    }
}

static void arrange_holders(struct arrangement *arrangement) {
    if (happens(6)) {
        put(SYS "holders/dm-0/dev", "253:0\n");
        put(SYS "holders/dm-0/dm/uuid", "LVM-abc\n");
        put(SYS "holders/dm-0/dm/name", "vg-root\n");
        forbid(arrangement, WARMER_HELD);
        if (happens(50)) {
            put("/proc/9/mountinfo", "30 1 253:0 / /data rw - ext4 /dev/mapper/vg-root rw\n");
            forbid(arrangement, WARMER_MOUNTED);
        }
    }
    if (happens(50)) {
        put(SYS "nvme1n1p1/partition", "1\n");
        put(SYS "nvme1n1p1/dev", PART "\n");
        if (happens(8)) {
            put(SYS "nvme1n1p1/holders/md0/dev", "9:0\n");
            forbid(arrangement, WARMER_HELD);
        }
        if (happens(8)) {
            put("/proc/7/mountinfo", "30 1 " PART " / /a rw - xfs /dev/nvme1n1p1 rw\n");
            forbid(arrangement, WARMER_MOUNTED);
        }
    }
}

static void arrange_use(struct arrangement *arrangement) {
    put("/proc/1/mountinfo",
        "20 1 259:8 / / rw - ext4 /dev/nvme0n1p1 rw\n21 1 0:5 / /dev rw - devtmpfs udev rw\n");
    put("/proc/swaps", "Filename Type Size Used Priority\n");
    if (happens(8)) {
        put("/proc/1/mountinfo", "30 1 " DISK " / /data rw,noatime shared:1 - ext4 /dev/nvme1n1 rw\n");
        forbid(arrangement, WARMER_MOUNTED);
    }
    if (happens(5)) {
        /* btrfs shows a number of its own; a container sees other mounts. */
        put_link("/proc/4711/root", "../..");
        put("/proc/4711/mountinfo", "31 1 0:44 / /b rw - btrfs /dev/nvme1n1 rw\n");
        forbid(arrangement, WARMER_MOUNTED);
    }
    if (happens(5)) {
        put("/proc/swaps", "/dev/nvme1n1 partition 1 0 -2\n");
        forbid(arrangement, WARMER_SWAP);
    } else if (happens(20)) {
        put("/proc/swaps", "/dev/nvme2n1 partition 1 0 -2\n");
    }
}

/** What stands on the disk without having it for itself alone. */
static void arrange_hidden(struct arrangement *arrangement) {
    if (happens(20)) {
        bool is_ours = happens(30);
        put("/sys/block/loop3/loop/backing_file", "/gone\n");
        put("/sys/block/loop3/dev", "7:3\n");
        put("/dev/loop3.stands-on", is_ours ? DISK : "259:8");
        if (is_ours) {
            forbid(arrangement, WARMER_HELD);
            if (happens(50)) {
                put("/proc/8/mountinfo", "30 1 7:3 / /l rw - ext4 /dev/loop3 rw\n");
                forbid(arrangement, WARMER_MOUNTED);
            }
        }
    }
    if (happens(6)) {
        put("/sys/kernel/config/nvmet/subsystems/s/namespaces/1/device_path", "/dev/nvme1n1\n");
        forbid(arrangement, WARMER_HELD);
    }
    /* A program whose root folder has the node under another name, and swap that has. */
    if (happens(2)) {
        put("/proc/99/jail/xvda", DISK);
        put_link("/proc/99/fd/3", "/proc/99/jail/xvda");
        put("/proc/99/fdinfo/3", "pos:\t0\nflags:\t0100002\n");
        forbid(arrangement, WARMER_HELD);
    }
}

static unsigned allowed, refused;

static void look_at_one(void) {
    const struct claim claim = {.path = device, .volume_id = VOLUME};
    struct arrangement arrangement = {0};
    struct diag diag = {{0}};
    arrange_kind(&arrangement);
    arrange_identity(&arrangement);
    arrange_holders(&arrangement);
    arrange_use(&arrangement);
    arrange_hidden(&arrangement);
    int status = claim_look_below(&fake_tree, &claim, &diag);
    *(status == 0 ? &allowed : &refused) += 1;
    CHECK_EQ(status == 0, arrangement.statuses == 0);
    CHECK_EQ(status == 0, diag.text[0] == '\0');
    CHECK(status == 0 || (arrangement.statuses >> (status - WARMER_NOT_WHOLE) & 1) == 1);
    clear_tree();
}

static void no_device_is_taken_that_must_not_be(void) {
    unsigned count = getenv("LONG_TESTS") != NULL ? 10000 : 200;
    choose_root("claim");
    snprintf(device, sizeof device, "%s/dev/nvme1n1", root);
    for (unsigned i = 0; i < count && !check_failed; i++) {
        look_at_one();
    }
    printf("# %u arrangements allowed, %u refused\n", allowed, refused);
    CHECK(allowed > count / 10 && refused > count / 4);
}

int main(void) {
    RUN(no_device_is_taken_that_must_not_be);
    return CHECK_RESULT();
}
