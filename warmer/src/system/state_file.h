#ifndef WARMER_STATE_FILE_H
#define WARMER_STATE_FILE_H

#include <stddef.h>
#include <stdint.h>

/** A file of this process alone, mapped into memory. One file per operating system implements this. */
struct state_file;

/**
 * Open the file, or create it, and lock it for this process, whatever it holds. Returns NULL, or the reason
 * why it cannot be used. The caller closes `*opened` in both cases.
 */
const char *state_file_open(const char *path, struct state_file **opened);

/** Its size now. */
uint64_t state_file_bytes(const struct state_file *file);

/** Up to `size` bytes from its beginning; bytes read or -errno. */
int64_t state_file_read(const struct state_file *file, void *bytes, size_t size);

/**
 * Give it `size` bytes of room, all of it really there, and write its first bytes; safe against a crash when
 * this returns. 0 or -errno, and then the file is empty again.
 */
int state_file_make(struct state_file *file, uint64_t size, const void *head, size_t head_size);

/** Map all `size` bytes; NULL and errno when that fails. Unmapped with state_file_close. */
void *state_file_map(struct state_file *file, size_t size);

/** Give back the memory that the mapping takes; the system keeps what was written, and brings back what is
 * read. */
void state_file_release(struct state_file *file);

/** Make what was written to the mapping safe against a crash of the machine. */
void state_file_sync(struct state_file *file);

/** Unmap, unlock, close; NULL is allowed. */
void state_file_close(struct state_file *file);

#endif
