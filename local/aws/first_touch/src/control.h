/* The line protocol of the control socket; every line is answered by one line of JSON.
 *
 *   stats                              counters since the start, what was read more than once among them;
 *                                      when it was first and last read
 *   limits IOPS MIB_S                  change the limits from now on
 *   initialize FRACTION                the first share (0 to 1) of the written blocks is local now
 *   fault eio FIRST COUNT [TIMES]      reads that touch these blocks answer EIO (TIMES requests, or always)
 *   fault slow FIRST COUNT SECONDS     fetches of these blocks take this long
 *   fault stall SECONDS                nothing is answered for this long
 *   fault clear                        no faults any more
 */
#ifndef FIRST_TOUCH_CONTROL_H
#define FIRST_TOUCH_CONTROL_H

#include "volume.h"

struct control {
    struct volume *volume;
    int socket;
    char line[256];
    size_t length;
};

/* Reads what has arrived and answers complete lines; false when the other side is gone. */
bool control_serve(struct control *control);

#endif
