#ifndef WARMER_UPLOAD_KINDS_H
#define WARMER_UPLOAD_KINDS_H

/** The two kinds of uploads of upload_posix.c: to a file, and by a child `curl`. Nothing else includes this.
 */
#include "system/upload.h"

struct new_file;

/** Returns 0 or -errno. */
int new_file_begin(const char *path, struct new_file **begun);
bool new_file_write(struct new_file *file, const void *bytes, size_t length);
/** Keep it on the disk under its name. Returns 0, -EEXIST or another -errno. */
int new_file_keep(struct new_file *file);
void new_file_close(struct new_file *file);

struct put;

/** Returns 0 or -errno. */
int put_begin(const char *address, uint64_t bytes, struct put **begun);
/** Some of the bytes; 0: it takes none at the moment; -1: it has ended. */
int64_t put_write(struct put *put, const void *bytes, size_t length);
/** All bytes are given. */
void put_end(struct put *put);
/** Whether it has ended, after a moment. */
bool put_has_ended(struct put *put);
/** Whether it ended well. */
bool put_is_good(const struct put *put);
/** The status that the server answered; 0: none. */
unsigned put_status(const struct put *put);
/** What curl says of a failure without an answer. */
enum fault put_fault(const struct put *put, char *why, size_t size);
void put_close(struct put *put);

#endif
