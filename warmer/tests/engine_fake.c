#include "engine_fake.h"

#include <string.h>

static uint64_t now_ns;

uint64_t fake_now_ns(void) {
    return now_ns;
}

void fake_pass(uint64_t passed_ns) {
    now_ns += passed_ns;
}

static int fake_submit(struct engine *base, const struct engine_read *read) {
    struct fake_engine *fake = (struct fake_engine *)base;
    if (fake->submit_failures > 0) {
        fake->submit_failures--;
        return fake->submit_failure;
    }
    uint64_t block = read->offset_bytes / BLOCK_BYTES;
    struct fake_reply reply = fake->script(read, fake->reads_of_block[block]++);
    if (reply.result > 0) {
        fake->bytes_of_block[block] += (uint32_t)reply.result;
    }
    if (fake->submitted < FAKE_MAX_BLOCKS) {
        fake->order[fake->submitted] = read->offset_bytes;
        fake->lengths[fake->submitted] = read->length_bytes;
        fake->at_ns[fake->submitted] = now_ns;
        fake->is_write[fake->submitted] = read->is_write;
    }
    fake->submitted++;
    fake->pending[fake->in_flight].completion = (struct engine_completion){read->tag, reply.result};
    fake->pending[fake->in_flight].due_ns = now_ns + reply.latency_ns;
    fake->in_flight++;
    if (fake->in_flight > fake->max_in_flight) {
        fake->max_in_flight = fake->in_flight;
    }
    return 0;
}

static uint64_t earliest(const struct fake_engine *fake, uint64_t limit_ns) {
    for (unsigned i = 0; i < fake->in_flight; i++) {
        limit_ns = fake->pending[i].due_ns < limit_ns ? fake->pending[i].due_ns : limit_ns;
    }
    return limit_ns;
}

static int fake_reap(struct engine *base, struct engine_completion *done, unsigned capacity,
                     uint64_t wait_ns) {
    struct fake_engine *fake = (struct fake_engine *)base;
    if (fake->reap_failure != 0 && fake->completed >= fake->reap_failure_after) {
        return fake->reap_failure;
    }
    uint64_t until_ns = earliest(fake, now_ns + wait_ns);
    now_ns = until_ns > now_ns ? until_ns : now_ns;
    now_ns += fake->most_late_ns > 0 ? random_below(&fake->lateness, fake->most_late_ns) : 0;
    unsigned count = 0;
    for (unsigned i = 0; i < fake->in_flight && count < capacity;) {
        if (fake->pending[i].due_ns > now_ns) {
            i++;
            continue;
        }
        done[count++] = fake->pending[i].completion;
        fake->pending[i] = fake->pending[--fake->in_flight];
    }
    fake->completed += count;
    return (int)count;
}

static void fake_close(struct engine *base) {
    (void)base;
}

static const struct engine_ops fake_ops = {
    .name = "fake",
    .description = "scripted completions",
    .submit = fake_submit,
    .reap = fake_reap,
    .close = fake_close,
};

void fake_reset(struct fake_engine *fake, fake_script *script) {
    memset(fake, 0, sizeof *fake);
    fake->base.ops = &fake_ops;
    fake->script = script;
    now_ns = 0;
}
