#ifndef WARMER_INTERRUPT_H
#define WARMER_INTERRUPT_H

#include <stdbool.h>

/**
 * From now on the first SIGINT, SIGTERM or SIGHUP is only recorded, so that reads in flight can complete. A
 * second one ends the process. On Windows, the end of the process that started this one is recorded too.
 */
void interrupt_catch(void);

/** Whether one of these signals has arrived. */
bool interrupt_requested(void);

#endif
