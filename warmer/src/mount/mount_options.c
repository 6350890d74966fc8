/** Which options of mount(8) a request may give: mount(8), ext4(5), xfs(5), btrfs(5). */
#include "mount/mount_options.h"

#include <string.h>

/** What stands behind the equals sign. */
enum value { NONE, NUMBER, SECONDS, SIZE, COMPRESSION, PATH, WORD };

struct rule {
    const char *name;
    unsigned kinds;
    enum value value;
    const char *word; /**< The only one. */
};

static const struct rule rules[] = {
    {"ro", MOUNT_ANY, NONE, NULL},
    {"rw", MOUNT_ANY, NONE, NULL},
    {"atime", MOUNT_ANY, NONE, NULL},
    {"noatime", MOUNT_ANY, NONE, NULL},
    {"relatime", MOUNT_ANY, NONE, NULL},
    {"strictatime", MOUNT_ANY, NONE, NULL},
    {"diratime", MOUNT_ANY, NONE, NULL},
    {"nodiratime", MOUNT_ANY, NONE, NULL},
    {"lazytime", MOUNT_ANY, NONE, NULL},
    {"nolazytime", MOUNT_ANY, NONE, NULL},
    {"noexec", MOUNT_ANY, NONE, NULL},
    {"nosuid", MOUNT_ANY, NONE, NULL},
    {"nodev", MOUNT_ANY, NONE, NULL},
    {"nosymfollow", MOUNT_ANY, NONE, NULL},
    {"sync", MOUNT_ANY, NONE, NULL},
    {"async", MOUNT_ANY, NONE, NULL},
    {"dirsync", MOUNT_ANY, NONE, NULL},
    {"discard", MOUNT_ANY, NONE, NULL},
    {"nodiscard", MOUNT_ANY, NONE, NULL},
    {"commit", MOUNT_EXT | MOUNT_BTRFS, SECONDS, NULL},
    {"data", MOUNT_EXT, WORD, "ordered"},
    {"data", MOUNT_EXT, WORD, "journal"},
    {"errors", MOUNT_EXT, WORD, "remount-ro"},
    {"stripe", MOUNT_EXT, NUMBER, NULL},
    {"nodelalloc", MOUNT_EXT, NONE, NULL},
    {"allocsize", MOUNT_XFS, SIZE, NULL},
    {"inode64", MOUNT_XFS, NONE, NULL},
    {"largeio", MOUNT_XFS, NONE, NULL},
    {"logbsize", MOUNT_XFS, SIZE, NULL},
    {"logbufs", MOUNT_XFS, NUMBER, NULL},
    {"nouuid", MOUNT_XFS, NONE, NULL},
    {"sunit", MOUNT_XFS, NUMBER, NULL},
    {"swidth", MOUNT_XFS, NUMBER, NULL},
    {"swalloc", MOUNT_XFS, NONE, NULL},
    {"wsync", MOUNT_XFS, NONE, NULL},
    {"autodefrag", MOUNT_BTRFS, NONE, NULL},
    {"noautodefrag", MOUNT_BTRFS, NONE, NULL},
    {"compress", MOUNT_BTRFS, COMPRESSION, NULL},
    {"compress-force", MOUNT_BTRFS, COMPRESSION, NULL},
    {"discard", MOUNT_BTRFS, WORD, "async"},
    {"discard", MOUNT_BTRFS, WORD, "sync"},
    {"flushoncommit", MOUNT_BTRFS, NONE, NULL},
    {"space_cache", MOUNT_BTRFS, WORD, "v2"},
    {"ssd", MOUNT_BTRFS, NONE, NULL},
    {"nossd", MOUNT_BTRFS, NONE, NULL},
    {"subvol", MOUNT_BTRFS, PATH, NULL},
    {"subvolid", MOUNT_BTRFS, NUMBER, NULL},
    {"thread_pool", MOUNT_BTRFS, NUMBER, NULL},
};

#define PATH_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@_.+-/"
#define MOST_DIGITS 9u
/** What was written longer ago is never lost. */
#define MOST_DIGITS_OF_SECONDS 3u

/** At least one digit, and then the text's end or one of `units`. */
static bool is_number(const char *text, size_t most_digits, const char *units) {
    size_t digits = strspn(text, "0123456789");
    const char *end = text + digits;
    bool has_unit = *end != '\0' && strchr(units, *end) != NULL;
    return digits > 0 && digits <= most_digits && end[has_unit ? 1 : 0] == '\0';
}

/** An algorithm, and for two of them its level. */
static bool is_compression(const char *text) {
    static const char *const algorithms[] = {"zlib", "zstd", "lzo", "no"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        size_t length = strlen(algorithms[i]);
        if (strncmp(text, algorithms[i], length) == 0) {
            const char *end = text + length;
            return *end == '\0' ||
                   (algorithms[i][0] == 'z' && *end == ':' && is_number(end + 1, MOST_DIGITS, ""));
        }
    }
    return false;
}

static bool fits(const struct rule *rule, const char *value) {
    if (value == NULL || rule->value == NONE) {
        return value == NULL && rule->value == NONE;
    }
    switch (rule->value) {
    case NUMBER:
        return is_number(value, MOST_DIGITS, "");
    case SECONDS:
        return is_number(value, MOST_DIGITS_OF_SECONDS, "");
    case SIZE:
        return is_number(value, MOST_DIGITS, "kmg");
    case COMPRESSION:
        return is_compression(value);
    case PATH:
        return *value != '\0' && value[strspn(value, PATH_LETTERS)] == '\0' && strstr(value, "..") == NULL;
    case WORD:
        return strcmp(value, rule->word) == 0;
    case NONE:
    default:
        return false;
    }
}

static bool is_allowed(char *option, unsigned kinds) {
    char *equals = strchr(option, '=');
    bool found = false;
    if (equals != NULL) {
        *equals = '\0';
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && !found; i++) {
        found = (rules[i].kinds & kinds) != 0 && strcmp(rules[i].name, option) == 0 &&
                fits(&rules[i], equals == NULL ? NULL : equals + 1);
    }
    if (equals != NULL) {
        *equals = '=';
    }
    return found;
}

size_t mount_options_next(const char **rest, const char **option) {
    bool is_quoted = false;
    size_t length = 0;
    *option = **rest == '\0' ? NULL : *rest;
    for (; (*rest)[length] != '\0' && ((*rest)[length] != ',' || is_quoted); length++) {
        is_quoted ^= (*rest)[length] == '"';
    }
    *rest += length + ((*rest)[length] == ',');
    return length;
}

bool mount_options_allow(const char *options, unsigned kinds, char refused[MOUNT_OPTION_BYTES]) {
    const char *option = NULL;
    for (size_t length = mount_options_next(&options, &option); option != NULL;
         length = mount_options_next(&options, &option)) {
        bool is_long = length >= MOUNT_OPTION_BYTES;
        length = is_long ? MOUNT_OPTION_BYTES - 1 : length;
        memcpy(refused, option, length);
        refused[length] = '\0';
        if (is_long || !is_allowed(refused, kinds)) {
            return false;
        }
    }
    return true;
}

bool mount_options_have(const char *options, const char *name) {
    const char *option = NULL;
    size_t wanted = strlen(name);
    for (size_t length = mount_options_next(&options, &option); option != NULL;
         length = mount_options_next(&options, &option)) {
        if (length >= wanted && memcmp(option, name, wanted) == 0 &&
            (length == wanted || option[wanted] == '=')) {
            return true;
        }
    }
    return false;
}
