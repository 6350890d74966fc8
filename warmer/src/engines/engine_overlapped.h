#ifndef WARMER_ENGINE_OVERLAPPED_H
#define WARMER_ENGINE_OVERLAPPED_H

#include "engines/engine.h"

/** Windows's overlapped reads and a completion port. */
extern const struct engine_ops engine_overlapped;

#endif
