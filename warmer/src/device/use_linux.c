/** What uses a device, from /proc and /sys. The device itself is not opened. */
#include "device/use_linux.h"

#include "device/family_linux.h"
#include "device/kernel_files_linux.h"
#include "device/mounts_linux.h"
#include "device/openers_linux.h"
#include "system/clock.h"
#include "system/interrupt.h"

#include <stdio.h>

/**
 * Whoever looks for new devices, as udev does, opens them all for a moment and for reading. So a process that
 * only reads is waited for, and looked at after each of these pauses. Two looks are enough where one may
 * write: that is no such moment.
 */
static const unsigned pauses_ms[] = {0, 250, 250, 500, 1000};
#define LOOKS (sizeof pauses_ms / sizeof pauses_ms[0])

static void find_swaps(const struct family *family, struct texts *others) {
    char line[KERNEL_PATH_BYTES];
    char name[TEXT_BYTES];
    snprintf(line, sizeof line, "%.2000s/proc/swaps", family->tree->root);
    FILE *stream = fopen(line, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        if (sscanf(line, "%511s", name) != 1) {
            continue;
        }
        kernel_decode(name);
        const struct member *member = family_at(family, family->tree->root, name);
        if (member != NULL) {
            texts_add(others, "swap on %s", member->name);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
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

static void find_processes(const struct family *family, struct texts *others) {
    struct openers found = {.count = 0};
    bool had_writer = false;
    /* An interruption ends the waiting, and not the first look: nobody may take its absence for an answer. */
    for (size_t look = 0; look < LOOKS && (look == 0 || !interrupt_requested()); look++) {
        clock_pause_ms(pauses_ms[look]);
        openers_find(family, OPENERS_ALL, &found);
        if (found.count == 0) {
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

void use_find_below(const struct use_tree *tree, const char *path, struct device_use *use) {
    static struct family family;
    static struct texts journals;
    journals.count = 0;
    family_find(tree, path, &family);
    mounts_find(&family, &use->mounts, &journals);
    find_swaps(&family, &use->others);
    for (size_t i = 0; i < family.made.count; i++) {
        texts_add(&use->others, "%s", family.made.items[i]);
    }
    for (size_t i = 0; i < journals.count; i++) {
        texts_add(&use->others, "%s", journals.items[i]);
    }
    find_processes(&family, &use->others);
}

void use_find(const char *path, struct device_use *use) {
    use_find_below(&use_own_tree, path, use);
}

bool use_watch(const struct use_tree *tree, const char *number, char *who, size_t size) {
    static struct family family;
    static struct device_use use;
    struct openers found;
    struct use_node node = {.kind = USE_BLOCK};
    use.mounts.count = use.others.count = 0;
    if (sscanf(number, "%u:%u", &node.major, &node.minor) != 2) {
        return false;
    }
    family_of(tree, &node, number, &family);
    mounts_find(&family, &use.mounts, &use.others);
    find_swaps(&family, &use.others);
    openers_find(&family, OPENERS_WRITERS, &found);
    if (use.mounts.count > 0) {
        snprintf(who, size, "%s was mounted at %s", family.members[0].name, use.mounts.items[0]);
    } else if (found.count > 0) {
        snprintf(who, size, "process %lu (%s) opened %s for writing", found.items[0].id,
                 found.items[0].program, found.items[0].name);
    } else if (family.made.count > 0 || use.others.count > 0) {
        snprintf(who, size, "%s is in use: %s", family.members[0].name,
                 family.made.count > 0 ? family.made.items[0] : use.others.items[0]);
    } else {
        return false;
    }
    return true;
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
