/** How long transfers are tried, in virtual time. */
#include "base/patience.h"
#include "check.h"

#define SECOND UINT64_C(1000000000)

/** Try until it is given up; the virtual seconds that it took. `tries` counts the pauses. */
static double seconds_until_given_up(struct patience *patience, enum fault fault, uint64_t *now_ns,
                                     unsigned *tries) {
    uint64_t began_ns = *now_ns;
    *tries = 0;
    for (uint64_t pause_ms; (pause_ms = patience_pause_ms(patience, fault, *now_ns)) > 0; ++*tries) {
        CHECK(pause_ms <= 8000);
        *now_ns += pause_ms * 1000000;
    }
    return (double)(*now_ns - began_ns) / (double)SECOND;
}

static void ten_minutes_without_an_answer_are_waited_for(void) {
    struct patience patience = patience_begin(PATIENCE_SECONDS);
    uint64_t now_ns = 7 * SECOND;
    unsigned tries = 0;
    CHECK_BETWEEN(seconds_until_given_up(&patience, FAULT_PASSING, &now_ns, &tries), 600, 600.001);
    CHECK_BETWEEN(tries, 70, 90);
}

static void what_is_not_there_is_tried_for_half_a_minute(void) {
    struct patience patience = patience_begin(PATIENCE_SECONDS);
    uint64_t now_ns = 0;
    unsigned tries = 0;
    CHECK_BETWEEN(seconds_until_given_up(&patience, FAULT_LASTING, &now_ns, &tries), 30, 30.001);
}

static void a_lasting_fault_counts_from_its_first_time(void) {
    struct patience patience = patience_begin(PATIENCE_SECONDS);
    uint64_t now_ns = 0;
    unsigned tries = 0;
    while (now_ns < 300 * SECOND) {
        now_ns += patience_pause_ms(&patience, FAULT_PASSING, now_ns) * 1000000;
    }
    CHECK_BETWEEN(seconds_until_given_up(&patience, FAULT_LASTING, &now_ns, &tries), 30, 30.001);
}

static void the_pauses_grow(void) {
    static const uint64_t wanted[] = {500, 1000, 2000, 4000, 8000, 8000};
    struct patience patience = patience_begin(PATIENCE_SECONDS);
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CHECK_EQ(patience_pause_ms(&patience, FAULT_PASSING, i * SECOND), wanted[i]);
    }
}

static void without_patience_nothing_is_tried_again(void) {
    struct patience patience = patience_begin(0);
    CHECK_EQ(patience_pause_ms(&patience, FAULT_PASSING, SECOND), 0);
}

static void an_answer_says_whether_it_may_pass(void) {
    static const unsigned passing[] = {0, 100, 408, 429, 500, 502, 503, 504, 599};
    static const unsigned lasting[] = {301, 307, 400, 403, 404, 410, 412, 416};
    for (unsigned i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        CHECK_EQ(fault_of_answer(passing[i]), FAULT_PASSING);
    }
    for (unsigned i = 0; i < sizeof lasting / sizeof lasting[0]; i++) {
        CHECK_EQ(fault_of_answer(lasting[i]), FAULT_LASTING);
    }
    CHECK_EQ(fault_of_answer(200), FAULT_NONE);
    CHECK_EQ(fault_of_answer(206), FAULT_NONE);
}

int main(void) {
    RUN(ten_minutes_without_an_answer_are_waited_for);
    RUN(what_is_not_there_is_tried_for_half_a_minute);
    RUN(a_lasting_fault_counts_from_its_first_time);
    RUN(the_pauses_grow);
    RUN(without_patience_nothing_is_tried_again);
    RUN(an_answer_says_whether_it_may_pass);
    return CHECK_RESULT();
}
