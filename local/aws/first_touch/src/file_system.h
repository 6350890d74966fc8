/* The FUSE file system with one file, the volume. */
#ifndef FIRST_TOUCH_FILE_SYSTEM_H
#define FIRST_TOUCH_FILE_SYSTEM_H

#include "volume.h"

/* Mounts, serves until a signal, the end of the control socket or an unmount, and unmounts. Returns an exit
 * status. */
int file_system_run(struct volume *volume);

#endif
