#ifndef WARMER_CONSOLE_H
#define WARMER_CONSOLE_H

/**
 * Make the standard streams binary and the command line UTF-8. Call this first: it may replace the arguments.
 * One file per operating system implements it.
 */
void console_prepare(int *count, char ***arguments);

#endif
