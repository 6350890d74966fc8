#ifndef WARMER_USE_H
#define WARMER_USE_H

#include "base/diag.h"
#include "base/texts.h"

/** What uses a device. */
struct device_use {
    struct texts mounts; /**< Where its file systems are mounted; blanks in octal, as proc(5) writes them. */
    struct texts others; /**< What cannot be unmounted, in words. */
};

/** Find out what uses a device, whatever its path is called. Begin with {0}. Nothing is changed. */
void use_find(const char *path, struct device_use *use);

/**
 * Unmount what this process's mount namespace has of the device's own file systems, the last one first; on
 * Windows take the disk offline, which is how EBS wants it before it is detached. What is in use stays, and
 * standard error says why.
 */
void use_end(const char *path);

/**
 * Bring a disk of Windows online and writable, and wait until its file systems are mounted. Then its volume
 * gets the drive letter or folder `point`; NULL: what Windows gives it. Where it cannot be had, standard
 * error says why. Linux has no such state. Returns 0, or a refusal's status.
 */
int use_begin(const char *path, const char *point, struct diag *diag);

#endif
