/** Lines of fstab and mountinfo, and lists of options; a path that is called plain is one. */
#include "fuzz_target.h"
#include "mount/mount_options.h"
#include "mount/mount_tables.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const uint8_t *data, size_t bytes) {
    char *text = malloc(bytes + 1);
    if (text == NULL) {
        abort();
    }
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}

static void check_path(const char *path) {
    if (path[0] != '/' || strstr(path, "//") != NULL || strstr(path, "/./") != NULL ||
        (path[1] != '\0' && path[strlen(path) - 1] == '/') || path_is_below(path, path)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct fstab_line line;
    struct mount_line mount;
    char refused[MOUNT_OPTION_BYTES];
    char *text = copy(data, bytes);
    if (fstab_parse(text, &line)) {
        check_path(line.target);
        (void)mount_options_have(line.options, "noauto");
    }
    free(text);
    text = copy(data, bytes);
    if (mountinfo_parse(text, &mount) && mount.type[0] == '\0') {
        abort();
    }
    free(text);
    text = copy(data, bytes);
    if (mount_options_allow(text, MOUNT_ANY, refused) &&
        (mount_options_have(text, "suid") || strchr(text, '"') != NULL)) {
        abort();
    }
    udev_decode(text);
    free(text);
    return 0;
}
