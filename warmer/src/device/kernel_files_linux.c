#include "device/kernel_files_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int kernel_for_each(const char *path, kernel_visit *visit, void *context) {
    DIR *folder = opendir(path);
    int count = 0;
    if (folder == NULL) {
        return -errno;
    }
    struct dirent *entry = NULL;
    while (errno = 0, (entry = readdir(folder)) != NULL) {
        char whole[KERNEL_PATH_BYTES];
        if (entry->d_name[0] != '.' &&
            (size_t)snprintf(whole, sizeof whole, "%.2000s/%s", path, entry->d_name) < sizeof whole) {
            count++;
            visit(whole, entry->d_name, context);
        }
    }
    int failure = -errno;
    closedir(folder);
    return failure == 0 ? count : failure;
}

int kernel_read_line(const char *folder, const char *file, char *line, size_t size) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/%.1000s", folder, file);
    line[0] = '\0';
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return -errno;
    }
    errno = 0;
    bool is_read = fgets(line, (int)size, stream) != NULL || ferror(stream) == 0;
    int failure = is_read ? 0 : errno == 0 ? -EIO : -errno;
    fclose(stream);
    line[failure == 0 ? strcspn(line, "\n") : 0] = '\0';
    return failure;
}

int kernel_for_each_line_of(int descriptor, kernel_take *take, void *context) {
    FILE *stream = fdopen(descriptor, "r");
    char *line = NULL;
    size_t room = 0;
    if (stream == NULL) {
        int failure = -errno;
        close(descriptor);
        return failure;
    }
    errno = 0;
    for (ssize_t length; (length = getline(&line, &room, stream)) >= 0; errno = 0) {
        line[strcspn(line, "\n")] = '\0';
        take(line, context);
    }
    int failure = feof(stream) != 0 ? 0 : errno == 0 ? -EIO : -errno;
    free(line);
    fclose(stream);
    return failure;
}

int kernel_for_each_line(const char *path, kernel_take *take, void *context) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return descriptor < 0 ? -errno : kernel_for_each_line_of(descriptor, take, context);
}

/** Who gets the paths of swap areas. */
struct swaps {
    kernel_take *take;
    void *context;
};

static void take_swap(char *line, void *context) {
    const struct swaps *swaps = context;
    line[strcspn(line, " \t")] = '\0';
    if (line[0] == '/') { /* The first line is a heading. */
        kernel_decode(line);
        swaps->take(line, swaps->context);
    }
}

int kernel_for_each_swap(const char *path, kernel_take *take, void *context) {
    struct swaps swaps = {take, context};
    return kernel_for_each_line(path, take_swap, &swaps);
}

static void take_id(char *line, void *context) {
    (void)sscanf(line, "mnt_id: %u", (unsigned *)context);
}

int kernel_mount_of(int descriptor, unsigned *id) {
    char path[64];
    *id = 0;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    int failure = kernel_for_each_line(path, take_id, id);
    return failure == 0 && *id == 0 ? -ENODATA : failure;
}

bool kernel_is_absence(int failure) {
    return failure == -ENOENT || failure == -ENOTDIR || failure == -ESRCH || failure == -ENXIO ||
           failure == -ENODEV;
}

static bool is_octal(char digit) {
    return digit >= '0' && digit <= '7';
}

void kernel_decode(char *text) {
    char *plain = text;
    for (; *text != '\0'; plain++) {
        if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3])) {
            *plain = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *plain = *text++;
        }
    }
    *plain = '\0';
}

bool kernel_is_number(const char *name) {
    return name[0] >= '0' && name[0] <= '9';
}
