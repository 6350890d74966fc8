#ifndef WARMER_INTERRUPT_H
#define WARMER_INTERRUPT_H

#include <stdbool.h>

/**
 * From now on the first request to end (SIGINT, SIGTERM, SIGHUP) is remembered, so that reads in flight can
 * be drained; a second one ends the process as usual.
 */
void interrupt_catch(void);

/** Has somebody asked the process to end? */
bool interrupt_requested(void);

#endif
