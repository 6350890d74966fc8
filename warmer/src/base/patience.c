/** How long and how often transfers are tried. */
#include "base/patience.h"

#define NS_PER_MS UINT64_C(1000000)
#define FIRST_PAUSE_MS 500u
#define DOUBLINGS 4u
#define LASTING_SHARE 20u

enum fault fault_of_answer(unsigned status) {
    if (status >= 200 && status < 300) {
        return FAULT_NONE;
    }
    bool is_lasting = status >= 300 && status < 500 && status != 408 && status != 429;
    return is_lasting ? FAULT_LASTING : FAULT_PASSING;
}

struct patience patience_begin(uint64_t seconds) {
    return (struct patience){.seconds = seconds};
}

uint64_t patience_pause_ms(struct patience *patience, enum fault fault, uint64_t now_ns) {
    bool is_lasting = fault == FAULT_LASTING;
    if (patience->faults == 0) {
        patience->began_ns = now_ns;
    }
    if (is_lasting && !patience->is_lasting) {
        patience->lasting_ns = now_ns;
    }
    patience->is_lasting = is_lasting;
    uint64_t since_ns = is_lasting ? patience->lasting_ns : patience->began_ns;
    uint64_t most_ms = patience->seconds * 1000 / (is_lasting ? LASTING_SHARE : 1);
    uint64_t passed_ms = (now_ns - since_ns) / NS_PER_MS;
    if (passed_ms >= most_ms) {
        return 0;
    }
    unsigned doublings = patience->faults < DOUBLINGS ? patience->faults : DOUBLINGS;
    uint64_t pause_ms = (uint64_t)FIRST_PAUSE_MS << doublings;
    patience->faults++;
    /* The last try is at the end of the time, and not after it. */
    return pause_ms < most_ms - passed_ms ? pause_ms : most_ms - passed_ms;
}
