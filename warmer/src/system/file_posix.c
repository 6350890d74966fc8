#include "system/file.h"

FILE *file_open(const char *path) {
    return fopen(path, "rb");
}
