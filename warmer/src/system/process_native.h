#ifndef WARMER_PROCESS_NATIVE_H
#define WARMER_PROCESS_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What process.c needs of an operating system; one file for each implements it. */
struct native_process;

/** The output streams of a program. */
enum { NATIVE_OUTPUT, NATIVE_ERRORS, NATIVE_STREAMS };

/** As process_start. */
int native_start(const char *const *words, const char *input, struct native_process **started);

/**
 * The same, but `text` comes in descriptor 3, and native_write is the program's standard input. Only where
 * descriptors have names.
 */
int native_start_fed(const char *const *words, const char *text, struct native_process **started);

/** Give the program bytes of its standard input: how many it has taken; 0: none now; -1: it takes no more. */
int64_t native_write(struct native_process *native, const void *bytes, size_t size);

/** Wait until native_write may give more, at most `milliseconds`. */
void native_await_room(struct native_process *native, unsigned milliseconds);

/** The end of its standard input. */
void native_end_input(struct native_process *native);

/** Bytes that the program has printed; 0 if there are none now, and for good once it has ended. */
size_t native_read(struct native_process *native, int stream, char *bytes, size_t size);

/** Whether the program has ended; then its status, as process_status returns it. */
bool native_has_ended(struct native_process *native, int *status);

/** Wait until the program may have printed something or ended, at most `milliseconds`. */
void native_pause(struct native_process *native, unsigned milliseconds);

/** Ask the program to end, or end it. */
void native_ask(struct native_process *native);
void native_kill(struct native_process *native);

/** Forget a program that has ended. */
void native_close(struct native_process *native);

#endif
