#ifndef WARMER_PATIENCE_H
#define WARMER_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/** Why a transfer failed. */
enum fault {
    FAULT_NONE,
    FAULT_PASSING, /**< Nobody answered, the server was busy, or the answer was cut off. */
    FAULT_LASTING, /**< It is not there, or not allowed: another try helps only where a clock or a file
                      changes. */
};

/** What the status of a server's answer means. */
enum fault fault_of_answer(unsigned status);

/** How long a transfer has been tried. Begin with patience_begin. */
struct patience {
    uint64_t seconds;    /**< For faults that may pass; a twentieth of it for others. */
    uint64_t began_ns;   /**< The first fault. */
    uint64_t lasting_ns; /**< The first one of those at the end that are lasting. */
    bool is_lasting;     /**< The last fault was. */
    unsigned faults;
};

/** So many seconds it takes where nobody says anything else. */
#define PATIENCE_SECONDS 600u

struct patience patience_begin(uint64_t seconds);

/** Count a fault. Returns how many milliseconds to wait before the next try; 0: do not try any more. */
uint64_t patience_pause_ms(struct patience *patience, enum fault fault, uint64_t now_ns);

#endif
