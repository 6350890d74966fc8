#ifndef WARMER_FILE_LINUX_H
#define WARMER_FILE_LINUX_H

/**
 * Open a file that this program keeps from run to run, with these flags of open(2). Returns a descriptor or
 * -errno: -ELOOP where it is a link, and -EMLINK where it is no regular file, another user's, or has another
 * name as well, by which it may be somebody's.
 */
int file_keep(const char *path, int flags);

#endif
