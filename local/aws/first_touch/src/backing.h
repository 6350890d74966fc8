/* The volume's bytes, in sparse files of at most 8 TiB each: ext4 cannot hold a larger EBS volume in one
 * file. */
#ifndef FIRST_TOUCH_BACKING_H
#define FIRST_TOUCH_BACKING_H

#include <stddef.h>
#include <stdint.h>

#define SEGMENT_BYTES (UINT64_C(8) << 40)

struct backing {
    int *files;
    size_t count;
};

/* Opens `path` (and path.1, path.2, ... beyond 8 TiB), each extended to its share of `size_bytes`; 0 or
 * -errno. */
int backing_open(struct backing *backing, const char *path, uint64_t size_bytes);
void backing_close(struct backing *backing);
/* Reads or writes all of it; 0 or -errno. */
int backing_read(const struct backing *backing, char *buffer, size_t length, uint64_t offset);
int backing_write(const struct backing *backing, const char *buffer, size_t length, uint64_t offset);

#endif
