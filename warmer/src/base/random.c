#include "base/random.h"

uint64_t random_next(struct random *random) {
    uint64_t mixed = random->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t random_below(struct random *random, uint64_t limit) {
    /* Values beyond the last whole multiple of limit would make low numbers more likely. */
    uint64_t excess = (UINT64_MAX % limit + 1) % limit;
    uint64_t value = random_next(random);
    while (value > UINT64_MAX - excess) {
        value = random_next(random);
    }
    return value % limit;
}
