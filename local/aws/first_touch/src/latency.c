#include "latency.h"

#include "timers.h"

#include <math.h>

#define TWO_PI 6.283185307179586

/* splitmix64's finaliser: every bit of the input changes half of the output. */
static uint64_t mix(uint64_t value) {
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

/* The `number`th uniform variate in (0, 1) of a key. */
static double uniform(uint64_t key, uint64_t number) {
    return ((double)(mix(key + number) >> 11) + 0.5) * 0x1.0p-53;
}

uint64_t latency_draw_ns(const struct latency_model *model, uint64_t page) {
    uint64_t key = mix(mix(model->seed) ^ page);
    double normal, seconds;

    if (uniform(key, 0) < model->tail_probability)
        return (uint64_t)(model->tail_seconds * (double)NANOSECONDS);
    /* Box-Muller; the shift by sigma^2 / 2 keeps the mean where the option says. */
    normal = sqrt(-2.0 * log(uniform(key, 1))) * cos(TWO_PI * uniform(key, 2));
    seconds = model->mean_ms / 1e3 * exp(model->sigma * normal - model->sigma * model->sigma / 2.0);
    return (uint64_t)(seconds * (double)NANOSECONDS);
}
