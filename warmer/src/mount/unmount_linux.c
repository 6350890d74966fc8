#include "mount/unmount_linux.h"

#include "device/family_linux.h"
#include "device/holders_linux.h"
#include "device/kernel_files_linux.h"
#include "mount/copies_linux.h"
#include "mount/ours_linux.h"
#include "mount/users_linux.h"
#include "system/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define ROUND_MS 1000u
#define ASKING_ROUNDS 30u
#define ROUNDS 60u
/** The kernel lets go of what a process had open some time after it has ended. */
#define IDLE_ROUNDS 10u
#define RELEASE_ROUNDS 10u

/** How far it is. */
struct rounds {
    unsigned count;
    unsigned idle; /**< Rounds in a row in which nobody was found. */
    bool was_cut;
};

static int refuse(const char *disk, const char *what, struct diag *diag) {
    return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s cannot be unmounted: %s; nothing was ended", disk,
                       what);
}

/** Looks that failed count as users. Returns 0 or a refusal's status. */
static int check_known(const struct family *family, bool has_ended, struct diag *diag) {
    const char *disk = family->members[0].name;
    const char *unknown = family->unknown.items[0];
    if (family->unknown.count == 0) {
        return 0;
    }
    return has_ended
               ? diag_refuse(diag, WARMER_HELD,
                             "%s cannot be unmounted: it may be used by %s; unmount it with a document "
                             "of yours",
                             disk, unknown)
               : diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                             "%s cannot be unmounted: it may be used by %s; nothing was ended, so unmount "
                             "it with a document of yours",
                             disk, unknown);
}

/** Swap areas, of which one may be a file on the volume. */
struct swaps {
    struct family *family;
    const struct placed *placed;
    char *what;
    size_t size;
    bool is_found;
};

static void take_swap(char *area, void *context) {
    struct swaps *swaps = context;
    int found = placed_has(swaps->placed, area);
    family_doubt(swaps->family, area, found);
    if (found > 0) {
        swaps->is_found = true;
        snprintf(swaps->what, swaps->size, "it has the swap file %.300s", area);
    }
}

static bool find_swap(struct family *family, const struct placed *placed, char *what, size_t size) {
    struct swaps swaps = {.family = family, .placed = placed, .what = what, .size = size};
    family_doubt(family, "/proc/swaps", kernel_for_each_swap("/proc/swaps", take_swap, &swaps));
    return swaps.is_found;
}

/** What no end of a process can free. Returns 0 or a refusal's status. */
static int check_holders(const char *disk, struct family *family, const struct ours *ours,
                         struct diag *diag) {
    char what[512];
    if (family->made.count > 0) {
        snprintf(what, sizeof what, "%.400s is made of it", family->made.items[0]);
        return refuse(disk, what, diag);
    }
    if (ours->below[0] != '\0') {
        snprintf(what, sizeof what, "another file system is mounted below it, at %.300s", ours->below);
        return refuse(disk, what, diag);
    }
    if (find_swap(family, &ours->placed, what, sizeof what) ||
        copies_find_overlay(family, &ours->placed, OVERLAYS_KNOWN, what, sizeof what)) {
        return refuse(disk, what, diag);
    }
    return check_known(family, false, diag);
}

/** Unmount what can be, the last one first. Returns 0, -EBUSY if something is left, or a refusal's status. */
static int unmount_all(const struct ours *ours, struct diag *diag) {
    int result = 0;
    for (size_t i = ours->count; i > 0; i--) {
        const struct our_mount *mount = &ours->items[i - 1];
        unsigned id = 0;
        int failure = mount_of_path(mount->point, &id);
        if (failure != 0) {
            return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s cannot be unmounted: looking at it failed: %s",
                               mount->point, strerror(-failure));
        }
        if (id != mount->id) {
            return diag_refuse(diag, WARMER_NOT_MOUNTABLE,
                               "%s cannot be unmounted: something else is mounted over it", mount->point);
        }
        if (umount2(mount->point, UMOUNT_NOFOLLOW) == 0) {
            printf("%s is unmounted\n", mount->point);
        } else if (errno == EBUSY) {
            result = -EBUSY;
        } else {
            return diag_refuse(diag, WARMER_HELD, "%s cannot be unmounted: %s", mount->point,
                               strerror(errno));
        }
    }
    return result;
}

/** Whether the end of processes could free it, before the first is ended. */
static int check_copies(const char *disk, struct family *family, const struct ours *ours, struct diag *diag) {
    char what[512];
    if (ours->is_cut) {
        snprintf(what, sizeof what, "it has more than %u mounts, and one of them is in use", OURS_LIMIT);
        return refuse(disk, what, diag);
    }
    return copies_find(family, ours, what, sizeof what) ||
                   copies_find_overlay(family, &ours->placed, OVERLAYS_UNKNOWN_TOO, what, sizeof what)
               ? refuse(disk, what, diag)
               : check_known(family, false, diag);
}

/** End whatever uses it, or find that nothing does. Returns 0 or a refusal's status. */
static int end_users(const struct ours *ours, unsigned round, unsigned *idle, struct diag *diag) {
    struct users users;
    const char *point = ours->items[ours->count - 1].point;
    users_find(&ours->placed, 0, &users);
    if (users.has_init) {
        return diag_refuse(diag, WARMER_NOT_MOUNTABLE, "%s cannot be unmounted: process 1 (%s) uses it",
                           point, users.first_program);
    }
    if (users.count > 0) {
        *idle = 0;
        users_find(&ours->placed, round < ASKING_ROUNDS ? SIGTERM : SIGKILL, &users);
    } else if (++*idle > IDLE_ROUNDS) {
        return diag_refuse(diag, WARMER_HELD, "%s is in use, and %s", point,
                           users.is_hidden ? "of some processes it cannot be seen what they use"
                                           : "no process that uses it can be found");
    }
    return round < ROUNDS
               ? 0
               : diag_refuse(diag, WARMER_HELD,
                             "%s is in use and could not be unmounted: process %lu (%s) did not end", point,
                             users.first, users.first_program);
}

/** Who may hold it, in words that follow its name; empty: nobody knows. */
static void find_holder(struct family *family, char *what, size_t size) {
    static const struct ours none;
    char holder[400];
    what[0] = '\0';
    if (copies_find(family, &none, holder, sizeof holder)) {
        snprintf(what, size, ": %s", holder);
    } else if (family->made.count > 0) {
        snprintf(what, size, ": %.400s is made of it", family->made.items[0]);
    } else if (family->unknown.count > 0) {
        snprintf(what, size, ": %.400s", family->unknown.items[0]);
    }
}

/** Whether a disk is detached; then nobody holds it. Its name may be another disk's by now. */
static bool is_gone(const struct use_node *disk, int failure) {
    char entry[64];
    snprintf(entry, sizeof entry, "/sys/dev/block/%u:%u", disk->major, disk->minor);
    return failure == -ENXIO || failure == -ENOENT ||
           (failure == -ENODEV && access(entry, F_OK) != 0 && errno == ENOENT);
}

static int check_released(struct family *family, struct diag *diag) {
    const struct member *disk = &family->members[0];
    char what[512];
    int failure = holders_try(family, disk->name);
    for (unsigned round = 0; failure == -EBUSY && round < RELEASE_ROUNDS; round++) {
        clock_pause_ms(ROUND_MS);
        failure = holders_try(family, disk->name);
    }
    if (failure == -EBUSY) {
        find_holder(family, what, sizeof what);
        return diag_refuse(diag, WARMER_HELD, "the kernel still holds %s%s", disk->name, what);
    }
    return failure == 0 || is_gone(&disk->node, failure)
               ? 0
               : diag_refuse(diag, WARMER_HELD, "the kernel does not say whether it still holds %s: %s",
                             disk->name, strerror(-failure));
}

/** Look at the mounts. Returns 0 or a refusal's status. */
static int look(struct family *family, struct ours *ours, unsigned round, struct diag *diag) {
    ours_find(family, ours);
    return check_known(family, round > 0, diag);
}

/** What could not be unmounted is in use: end the users, if that can free it. Returns 0 or a refusal's
 * status. */
static int free_it(struct family *family, struct ours *ours, struct rounds *rounds, struct diag *diag) {
    int status = look(family, ours, rounds->count, diag);
    ours->is_cut |= rounds->was_cut; /* Nobody has looked at what is behind the end of the list. */
    if (status == 0 && (rounds->count == 0 || rounds->was_cut)) {
        status = check_copies(family->members[0].name, family, ours, diag);
    }
    if (status == 0 && ours->count > 0) {
        status = end_users(ours, rounds->count, &rounds->idle, diag);
        clock_pause_ms(ROUND_MS);
    }
    return status;
}

int unmount_disk(const char *disk, struct diag *diag) {
    static struct family family;
    static struct ours ours;
    struct rounds rounds = {.count = 0};
    int status = ours_begin(disk, &family, diag);
    for (; status == 0; rounds.count++) {
        status = look(&family, &ours, rounds.count, diag);
        if (status == 0 && ours.count == 0) {
            return check_released(&family, diag);
        }
        rounds.was_cut |= ours.is_cut;
        if (status == 0 && rounds.count == 0) {
            status = check_holders(family.members[0].name, &family, &ours, diag);
        }
        status = status == 0 ? unmount_all(&ours, diag) : status;
        if (status == -EBUSY) {
            status = free_it(&family, &ours, &rounds, diag);
        }
    }
    return status;
}
