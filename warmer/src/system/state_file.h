#ifndef WARMER_STATE_FILE_H
#define WARMER_STATE_FILE_H

#include <stddef.h>
#include <stdint.h>

/** A file that this process locks and maps into memory. One file per operating system implements it. */
struct state_file;

/**
 * Open the file, or create it, and lock it for this process, whatever it holds. Returns NULL, or the reason
 * why it cannot be used. The caller closes `*opened` in both cases.
 */
const char *state_file_open(const char *path, struct state_file **opened);

/** The size of the file now, in bytes. */
uint64_t state_file_bytes(const struct state_file *file);

/** Read up to `size` bytes from the beginning of the file. Returns the bytes read, or -errno. */
int64_t state_file_read(const struct state_file *file, void *bytes, size_t size);

/**
 * Allocate `size` bytes on the disk for the file and write its first bytes. Both are on the disk when this
 * returns 0. On failure it returns -errno, and the file is empty again.
 */
int state_file_make(struct state_file *file, uint64_t size, const void *head, size_t head_size);

/** Map all `size` bytes; state_file_close unmaps them. Returns NULL with errno set on failure. */
void *state_file_map(struct state_file *file, size_t size);

/** Release the memory of the mapping. What was written is kept; reading the mapping loads it again. */
void state_file_release(struct state_file *file);

/** Write the mapping to the disk, so that it survives a crash of the machine. */
void state_file_sync(struct state_file *file);

/** Unmap, unlock, close; NULL is allowed. */
void state_file_close(struct state_file *file);

#endif
