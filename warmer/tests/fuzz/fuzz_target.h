#ifndef WARMER_FUZZ_TARGET_H
#define WARMER_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/** What libFuzzer calls; replay.c calls it, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
