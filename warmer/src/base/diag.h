#ifndef WARMER_DIAG_H
#define WARMER_DIAG_H

/** The exit status of the process; warmer.1.md documents it. */
enum warmer_exit {
    WARMER_OK = 0,
    WARMER_UNREADABLE = 1,
    WARMER_USAGE = 2,
    WARMER_CANNOT_OPEN = 3,
    WARMER_INTERRUPTED = 4,
    WARMER_NO_DEVICE = 66,
    WARMER_NO_FIO = 67,
    WARMER_BUSY = 68, /**< Another benchmark runs. */
    WARMER_NO_TRANSFER = 69,
    WARMER_ENDED = 70, /**< Something ended the program that `run` started. */
    WARMER_NO_ROOM = 73,
    WARMER_NO_OUTPUT = 74,     /**< The result could not be printed. */
    WARMER_NOT_MOUNTABLE = 75, /**< Of `mount` and `unmount`: refused, and nothing was changed. */
    /* Of `apply`; from here to WARMER_NO_MANIFEST nothing is written. */
    WARMER_NOT_WHOLE = 80, /**< A partition, or not a disk. */
    WARMER_WRONG_VOLUME = 81,
    WARMER_WRONG_SIZE = 82,
    WARMER_MOUNTED = 83,
    WARMER_HELD = 84, /**< RAID, LVM, a loop device, an export, another process. */
    WARMER_SWAP = 85,
    WARMER_READ_ONLY = 86,
    WARMER_NO_MANIFEST = 87, /**< It did not appear in time. */
    WARMER_DISTURBED = 88,   /**< Somebody began to use the device while blocks were being written. */
    WARMER_BAD_MANIFEST = 89,
    WARMER_BAD_PACK = 90,
    WARMER_DIFFERS = 91,      /**< What was read back, or a sample, is not what it must be. */
    WARMER_TAKEN_BEFORE = 92, /**< An earlier run of this attempt had the device; this one wrote nothing. */
    WARMER_NO_UNDO = 93,      /**< What undoes a write could not be kept. */
};

/** One message for the user, filled in where the reason is known. Empty: nothing was refused. */
struct diag {
    char text[768];
};

/** Store the message and return `code`, so that a refusal is one statement. */
int diag_refuse(struct diag *diag, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
