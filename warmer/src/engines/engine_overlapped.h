#ifndef WARMER_ENGINE_OVERLAPPED_H
#define WARMER_ENGINE_OVERLAPPED_H

#include "engines/engine.h"

/** Overlapped reads and a completion port of Windows. */
extern const struct engine_ops engine_overlapped;

#endif
