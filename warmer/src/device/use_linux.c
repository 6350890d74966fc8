/** What uses a device: from /proc and /sys, and by the kernel's own word, which counts. */
#include "device/use_linux.h"

#include "device/family_linux.h"
#include "device/holders_linux.h"
#include "device/kernel_files_linux.h"
#include "device/mounts_linux.h"
#include "device/openers_linux.h"
#include "device/sight_linux.h"
#include "system/clock.h"
#include "system/interrupt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/**
 * Whoever looks for new devices, as udev does, opens them all for a moment and for reading. So a process that
 * only reads is waited for, and looked at after each of these pauses. Two looks are enough where one may
 * write: that is no such moment.
 */
static const unsigned pauses_ms[] = {0, 250, 250, 500, 1000};
#define LOOKS (sizeof pauses_ms / sizeof pauses_ms[0])
#define WATCH_LOOKS 3u
#define WATCH_PAUSE_MS 50u

/** Swap, and whom it is told. */
struct swaps {
    struct family *family;
    struct texts *others;
};

static void take_swap(char *area, void *context) {
    const struct swaps *swaps = context;
    const struct member *member = family_at(swaps->family, swaps->family->tree->root, area);
    if (member != NULL) {
        texts_add(swaps->others, "swap on %s", member->name);
    }
}

static void find_swaps(struct family *family, struct texts *others) {
    struct swaps swaps = {family, others};
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.250s/swaps", family->processes);
    family_doubt(family, path, kernel_for_each_swap(path, take_swap, &swaps));
}

static void put_opener(const struct opener *opener, struct texts *others) {
    if (opener->name[0] == '\0') {
        texts_add(others, "process %lu (%s), whose open files cannot be seen", opener->id, opener->program);
    } else if (opener->is_writing) {
        texts_add(others, "process %lu (%s), which has %s open for writing", opener->id, opener->program,
                  opener->name);
    } else {
        texts_add(others, "process %lu (%s)", opener->id, opener->program);
    }
}

static void find_processes(struct family *family, struct texts *others) {
    struct openers found = {.count = 0};
    bool had_writer = false;
    size_t unknown = family->unknown.count;
    /* An interruption ends the waiting, and not the first look: nobody may take its absence for an answer. */
    for (size_t look = 0; look < LOOKS && (look == 0 || !interrupt_requested()); look++) {
        clock_pause_ms(pauses_ms[look]);
        family->unknown.count = unknown;
        openers_find(family, OPENERS_ALL, &found);
        if (found.count == 0 && family->unknown.count == 0) {
            return;
        }
        bool has_writer = openers_has_writer(&found);
        if (had_writer && has_writer) {
            break;
        }
        had_writer = has_writer;
    }
    for (size_t i = 0; i < found.count; i++) {
        put_opener(&found.items[i], others);
    }
}

static void add_all(struct texts *to, const struct texts *from) {
    for (size_t i = 0; i < from->count; i++) {
        texts_add(to, "%s", from->items[i]);
    }
}

/** What the lists of the kernel show, by every look that there is. */
static void find_visible(struct family *family, struct device_use *use) {
    static struct texts journals;
    journals.count = 0;
    sight_find(family);
    mounts_find(family, &use->mounts, &journals);
    find_swaps(family, &use->others);
    add_all(&use->others, &family->made);
    add_all(&use->others, &journals);
    find_processes(family, &use->others);
    add_all(&use->others, &family->unknown);
}

/** What holds the disk and is in no list; somebody may have had it for a moment, as this look itself has. */
static void find_holders(struct family *family, const char *path, struct texts *others) {
    int failure = -EBUSY;
    for (size_t look = 0; look < LOOKS && failure == -EBUSY && (look == 0 || !interrupt_requested());
         look++) {
        clock_pause_ms(pauses_ms[look]);
        failure = holders_try(family, path);
    }
    if (failure == -EBUSY) {
        holders_find(family, others);
    } else if (failure != 0) {
        texts_add(others, "something that is not known, because %s cannot be opened: %s", path,
                  strerror(-failure));
    }
}

void use_find_below(const struct use_tree *tree, const char *path, struct device_use *use) {
    static struct family family;
    family_find(tree, path, &family);
    find_visible(&family, use);
    if (use->mounts.count + use->others.count == 0) {
        find_holders(&family, path, &use->others);
    }
}

void use_find_visible(const struct use_tree *tree, const char *path, struct device_use *use) {
    static struct family family;
    family_find(tree, path, &family);
    find_visible(&family, use);
}

void use_name_holder(const struct use_tree *tree, const char *path, char *who, size_t size) {
    static struct family family;
    static struct texts found;
    found.count = 0;
    family_find(tree, path, &family);
    if (family.count > 0) {
        holders_find(&family, &found);
    }
    snprintf(who, size, "%s", found.count > 0 ? found.items[0] : family.unknown.items[0]);
}

void use_find(const char *path, struct device_use *use) {
    use_find_below(&use_own_tree, path, use);
}

/** One look; false: nobody uses it, as far as anybody knows. */
static bool watch_once(struct family *family, char *who, size_t size) {
    static struct device_use use;
    struct openers found;
    const char *name = family->members[0].name;
    use.mounts.count = use.others.count = 0;
    sight_find(family);
    mounts_find(family, &use.mounts, &use.others);
    find_swaps(family, &use.others);
    openers_find(family, OPENERS_WRITERS, &found);
    add_all(&use.others, &family->unknown);
    if (use.mounts.count > 0) {
        snprintf(who, size, "%s was mounted at %s", name, use.mounts.items[0]);
    } else if (found.count > 0 && found.items[0].name[0] == '\0') {
        snprintf(who, size, "process %lu (%s) may use %s: its open files cannot be seen", found.items[0].id,
                 found.items[0].program, name);
    } else if (found.count > 0) {
        snprintf(who, size, "process %lu (%s) opened %s for writing", found.items[0].id,
                 found.items[0].program, found.items[0].name);
    } else if (family->made.count > 0 || use.others.count > 0) {
        snprintf(who, size, "%s is in use: %s", name,
                 family->made.count > 0 ? family->made.items[0] : use.others.items[0]);
    } else {
        return false;
    }
    return true;
}

bool use_watch(const struct use_tree *tree, const char *number, char *who, size_t size) {
    static struct family family;
    struct use_node node = {.kind = USE_BLOCK};
    bool is_used = true;
    if (sscanf(number, "%u:%u", &node.major, &node.minor) != 2) {
        return false;
    }
    /* A look may fail for a moment, as where this process itself has many files open. */
    for (unsigned look = 0; look < WATCH_LOOKS && is_used && (look == 0 || family.unknown.count > 0);
         look++) {
        clock_pause_ms(look == 0 ? 0 : WATCH_PAUSE_MS);
        family_of(tree, &node, number, &family);
        is_used = watch_once(&family, who, size);
    }
    return is_used;
}

void use_end(const char *path) {
    static struct family family;
    family_find(&use_own_tree, path, &family);
    mounts_end(&family);
}

int use_begin(const char *path, const char *point, struct diag *diag) {
    (void)point;
    return diag_refuse(diag, WARMER_USAGE, "%s: only disks of Windows are brought online", path);
}
