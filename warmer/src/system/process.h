#ifndef WARMER_PROCESS_H
#define WARMER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/** A program that this process has started, and the last of what it prints. It ends with this process. */
struct process;

/**
 * Start a program. `words` are its name, which is looked for in PATH, and its arguments, with NULL at the
 * end. `input` is the text of its standard input, at most 4 KiB; NULL: none. Returns 0 or -errno.
 */
int process_start(const char *const *words, const char *input, struct process **started);

/**
 * Collect what the program prints until it has ended, clock_now_ns reaches `due_ns`, or this process is
 * interrupted. Returns whether it has ended.
 */
bool process_wait(struct process *process, uint64_t due_ns);

/** The same for at most so many seconds, whatever interrupts this process. */
bool process_finish(struct process *process, unsigned seconds);

/** Ask the program to end, and end it after `seconds`. Windows cannot ask. */
void process_stop(struct process *process, unsigned seconds);

/** The exit status of a program that has ended; negative: the signal that ended it. */
int process_status(const struct process *process);

/** The last whole line of standard output that is a JSON object; empty if there is none. */
const char *process_line(const struct process *process);

/** The last 6,000 bytes of standard error. */
const char *process_errors(const struct process *process);

/** End the program if it still runs, and forget it. NULL is allowed. */
void process_close(struct process *process);

/** Take the end of the program that started this one for an interruption; on Windows interrupt_catch does. */
void process_end_with_starter(void);

/** A process in a session of its own that acts once this one has ended, whatever has ended it. */
struct guard;

/**
 * Start a guard, which calls `act` with `context` as they are now. It keeps no open file but `kept` (-1:
 * none). Call this before the first thread. Windows has none: there nothing acts. Returns 0 or -errno.
 */
int guard_start(void (*act)(void *context), void *context, int kept, struct guard **started);

/** Let the guard act, or go without that; wait until it has ended, and forget it. NULL is allowed. */
void guard_end(struct guard *guard, bool acts);

/** Write the path of this process's own program, for process_start. Returns false if it is not known. */
bool process_own_program(char *path, uint32_t size);

#endif
