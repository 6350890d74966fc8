#ifndef WARMER_DIAG_H
#define WARMER_DIAG_H

/** What the process answers to its caller; documented in warmer.1.md. */
enum warmer_exit {
    WARMER_OK = 0,
    WARMER_UNREADABLE = 1,
    WARMER_USAGE = 2,
    WARMER_CANNOT_OPEN = 3,
    WARMER_INTERRUPTED = 4,
};

/** One message for the person who called, filled where the reason is known. */
struct diag {
    char text[768];
};

/** Record the message and hand back `code`, so that a refusal is one statement. */
int diag_refuse(struct diag *diag, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
