#include "device/kernel_files_linux.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int kernel_for_each(const char *path, kernel_visit *visit, void *context) {
    DIR *folder = opendir(path);
    int count = 0;
    if (folder == NULL) {
        return -errno;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char whole[KERNEL_PATH_BYTES];
        if (entry->d_name[0] != '.' &&
            (size_t)snprintf(whole, sizeof whole, "%.2000s/%s", path, entry->d_name) < sizeof whole) {
            count++;
            visit(whole, entry->d_name, context);
        }
    }
    closedir(folder);
    return count;
}

void kernel_read_line(const char *folder, const char *file, char *line, size_t size) {
    char path[KERNEL_PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/%.1000s", folder, file);
    FILE *stream = fopen(path, "re");
    line[0] = '\0';
    if (stream != NULL) {
        if (fgets(line, (int)size, stream) == NULL) {
            line[0] = '\0';
        }
        fclose(stream);
    }
    line[strcspn(line, "\n")] = '\0';
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
