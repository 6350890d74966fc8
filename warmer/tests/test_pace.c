/** The rate limit, in virtual time. */
#include "warm_trial.h"

/** Bytes done at the end of each second of a paced run. */
static uint64_t bytes_at_second[64];

static void note_seconds(void *context, const struct warm_progress *progress) {
    (void)context;
    uint64_t second = progress->elapsed_ns / NS_PER_SECOND;
    if (second < 63) {
        bytes_at_second[second + 1] = progress->bytes_done;
    }
}

static void the_rate_limit_holds_over_any_five_seconds(void) {
    struct trial trial = make_trial(shuffled);
    trial.max_mib_s = 20;
    trial.observe = note_seconds;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_BETWEEN(fake_now_ns(), 12.4e9, 12.7e9);
    for (unsigned second = 1; second + 5 <= 12; second++) {
        double mib_s = (double)(bytes_at_second[second + 5] - bytes_at_second[second]) / MIB / 5;
        CHECK_BETWEEN(mib_s, 20 * 0.98, 20 * 1.02);
    }
    end_trial(&trial);
}

int main(void) {
    RUN(the_rate_limit_holds_over_any_five_seconds);
    return CHECK_RESULT();
}
