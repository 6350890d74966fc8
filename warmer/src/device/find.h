#ifndef WARMER_FIND_H
#define WARMER_FIND_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Find the device of an EBS volume that is attached to this instance, by the disk's serial number, which is
 * the volume's id without its dash. Writes the path; false, with what was looked for, if there is none.
 */
bool find_device(const char *volume_id, char *path, size_t size);

#endif
