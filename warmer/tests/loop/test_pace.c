/** The rate limit, in virtual time: over any five seconds, whatever the rate and however late the machine is.
 */
#include "loop/pace.h"
#include "warm_trial.h"

#include <errno.h>

#define WINDOW_NS (5 * NS_PER_SECOND)

/** Bytes of the reads that began in five seconds, over what the rate allows: the most and the least of any.
 */
struct share {
    double most, least;
};

/** When the last block was begun: from then on there may be too little left to read. */
static uint64_t last_begin_ns(void) {
    uint64_t i = fake.submitted - 1;
    while (fake.order[i] % BLOCK_BYTES != 0) {
        i--;
    }
    return fake.at_ns[i];
}

/** The windows with the most begin with a read; the one with the least begins right after one. */
static struct share measure(double mib_s) {
    double allowed = mib_s * MIB * 5;
    struct share share = {0, 9};
    uint64_t last = fake.submitted - 1;
    uint64_t end = 0;
    uint64_t bytes = 0;
    CHECK(fake.submitted < FAKE_MAX_BLOCKS);
    for (uint64_t begin = 0; begin <= last; begin++) {
        while (end <= last && fake.at_ns[end] < fake.at_ns[begin] + WINDOW_NS) {
            bytes += fake.lengths[end++];
        }
        double part = (double)bytes / allowed;
        share.most = part > share.most ? part : share.most;
        bytes -= fake.lengths[begin];
        if (fake.at_ns[begin] + WINDOW_NS < last_begin_ns()) {
            part = (double)bytes / allowed;
            share.least = part < share.least ? part : share.least;
        }
    }
    return share;
}

static struct fake_reply quick(const struct engine_read *read, unsigned nth) {
    (void)nth;
    return (struct fake_reply){(int32_t)read->length_bytes, MS};
}

/** Read for twelve seconds or more at a rate, up to `late_ns` later than due, and check all windows. */
static void expect_rate(double mib_s, fake_script *script, unsigned depth, uint64_t late_ns) {
    struct trial trial = make_trial(script);
    trial.blocks = (uint64_t)(mib_s * MIB * 12 / BLOCK_BYTES) + 40;
    trial.device_bytes = trial.blocks * BLOCK_BYTES;
    trial.max_mib_s = mib_s;
    trial.depth = depth;
    fake.most_late_ns = late_ns;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(trial.result.progress.short_reads, 0);
    CHECK_EQ(trial.result.progress.bytes_read, trial.device_bytes);
    struct share share = measure(mib_s);
    CHECK_BETWEEN(share.most, 0.98, 1.02);
    CHECK_BETWEEN(share.least, 0.98, 1.02);
    end_trial(&trial);
}

static void any_rate_holds_over_any_five_seconds(void) {
    static const double rates[] = {0.1, 0.3, 1, 2.7, 9, 12.4, 12.6, 20, 99.9, 125, 1000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        expect_rate(rates[i], quick, 32, 0);
        expect_rate(rates[i], shuffled, rates[i] < 500 ? 64 : 512, 0);
        expect_rate(rates[i], shuffled, 0, 0);
    }
}

static void it_holds_on_a_machine_that_is_busy(void) {
    static const double rates[] = {1, 9, 20, 125, 500};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        expect_rate(rates[i], quick, 64, 5 * MS);
        expect_rate(rates[i], shuffled, 512, 40 * MS);
    }
}

/** The device stalls from the third second to the sixth, and then is as quick as before. */
static struct fake_reply stalls(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint64_t now_ns = fake_now_ns();
    uint64_t ready_ns = now_ns > 3 * NS_PER_SECOND && now_ns < 6 * NS_PER_SECOND ? 6 * NS_PER_SECOND : now_ns;
    return (struct fake_reply){(int32_t)read->length_bytes, ready_ns - now_ns + MS};
}

static void what_a_stalled_device_missed_is_not_made_up_for(void) {
    struct trial trial = make_trial(stalls);
    trial.max_mib_s = 20;
    trial.depth = 4;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_BETWEEN(measure(20).most, 0.98, 1.02);
    /* 250 MiB at 20 MiB a second, and three seconds in which no read came back. */
    CHECK_BETWEEN(fake_now_ns(), 15.2e9, 15.6e9);
    end_trial(&trial);
}

/** Every third read fails for a moment, every fifth brings half. */
static struct fake_reply clumsy(const struct engine_read *read, unsigned nth) {
    uint64_t block = read->offset_bytes / BLOCK_BYTES;
    int32_t length = (int32_t)read->length_bytes;
    if (nth == 0 && block % 3 == 0) {
        return (struct fake_reply){-EAGAIN, MS};
    }
    return (struct fake_reply){nth == 0 && block % 5 == 1 ? length / 2 : length, MS};
}

static void reads_that_bring_less_than_asked_for_do_not_slow_it(void) {
    struct trial trial = make_trial(clumsy);
    trial.max_mib_s = 20;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_BETWEEN(fake_now_ns(), 12.3e9, 12.7e9);
    end_trial(&trial);
}

static void probes_and_what_was_read_before_count(void) {
    struct trial trial = make_trial(quick);
    trial.max_mib_s = 1;
    trial.blocks = 24;
    trial.device_bytes = trial.blocks * BLOCK_BYTES;
    trial.polite_latency_ms = 50;
    trial.bytes_before = 2 << 20;
    run_trial(&trial);
    expect_complete(&trial);
    /* 12 MiB, the 2 before, and ten probes of 4 KiB a second. */
    CHECK_BETWEEN(fake_now_ns(), 14.2e9, 15e9);
    CHECK_BETWEEN(measure(1).most, 0.98, 1.02);
    end_trial(&trial);
}

int main(void) {
    RUN(any_rate_holds_over_any_five_seconds);
    RUN(it_holds_on_a_machine_that_is_busy);
    RUN(what_a_stalled_device_missed_is_not_made_up_for);
    RUN(reads_that_bring_less_than_asked_for_do_not_slow_it);
    RUN(probes_and_what_was_read_before_count);
    return CHECK_RESULT();
}
