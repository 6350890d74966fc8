/**
 * Which devices may be written to: random arrangements of a machine, each as a tree of its own with /sys,
 * /proc and /dev. The test knows what it has arranged; 200 of them, and with LONG_TESTS in the environment
 * 10,000.
 */
#include "base/random.h"
#include "check.h"
#include "device/claim_linux.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLUME "vol-0123456789abcdef0"
#define SERIAL "vol0123456789abcdef0"
#define OTHER "vol0123456789abcdef1"
#define DISK "259:1"
#define PART "259:2"
#define SYS "/sys/dev/block/" DISK "/"

static char root[64];
static char device[128];
static struct random chance = {.state = 15};

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void clear_tree(void) {
    nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/** Make the folders of a path below the root. */
static void make_folders(const char *path) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            mkdir(whole, 0700);
            *at = '/';
        }
    }
}

/** Write a file below the root. */
static void put(const char *path, const char *text) {
    char whole[512];
    make_folders(path);
    snprintf(whole, sizeof whole, "%s%s", root, path);
    FILE *stream = fopen(whole, "a");
    CHECK(stream != NULL);
    if (stream != NULL) {
        fputs(text, stream);
        fclose(stream);
    }
}

/** A device of this tree is a file with its number. */
static bool number_of(const char *path, char *number, size_t size) {
    FILE *stream = fopen(path, "r");
    bool has_number = stream != NULL && fgets(number, (int)size, stream) != NULL;
    if (stream != NULL) {
        fclose(stream);
    }
    return has_number;
}

static void link_id(const char *volume, const char *name) {
    char target[64];
    char path[256];
    snprintf(path, sizeof path, "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_%s", volume);
    snprintf(target, sizeof target, "../../%s", name);
    make_folders(path);
    snprintf(path, sizeof path, "%s/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_%s", root, volume);
    CHECK(symlink(target, path) == 0);
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
        char line[256];
        snprintf(line, sizeof line, "31 1 0:44 / /b rw - btrfs %s rw\n", device);
        put("/proc/4711/mountinfo", line);
        forbid(arrangement, WARMER_MOUNTED);
    }
    if (happens(5)) {
        char line[256];
        snprintf(line, sizeof line, "%s partition 1 0 -2\n", device);
        put("/proc/swaps", line);
        forbid(arrangement, WARMER_SWAP);
    } else if (happens(20)) {
        put("/proc/swaps", "/dev/nvme2n1 partition 1 0 -2\n");
    }
}

static unsigned allowed, refused;

static void look_at_one(void) {
    const struct use_tree tree = {.root = root, .number_of = number_of};
    const struct claim claim = {.path = device, .volume_id = VOLUME};
    struct arrangement arrangement = {0};
    struct diag diag = {{0}};
    arrange_kind(&arrangement);
    arrange_identity(&arrangement);
    arrange_holders(&arrangement);
    arrange_use(&arrangement);
    int status = claim_look_below(&tree, &claim, &diag);
    *(status == 0 ? &allowed : &refused) += 1;
    CHECK_EQ(status == 0, arrangement.statuses == 0);
    CHECK_EQ(status == 0, diag.text[0] == '\0');
    CHECK(status == 0 || (arrangement.statuses >> (status - WARMER_NOT_WHOLE) & 1) == 1);
    clear_tree();
}

static void no_device_is_taken_that_must_not_be(void) {
    unsigned count = getenv("LONG_TESTS") != NULL ? 10000 : 200;
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(root, sizeof root, "%s/warmer-claim-%ld", folder, (long)getpid());
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
