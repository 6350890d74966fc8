#ifndef WARMER_CONSOLE_H
#define WARMER_CONSOLE_H

/**
 * Make the standard streams carry bytes as they are written, and the command line UTF-8. Call it first; the
 * arguments may be replaced. One file per operating system implements this.
 */
void console_prepare(int *count, char ***arguments);

#endif
