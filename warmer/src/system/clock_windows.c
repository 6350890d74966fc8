#include "system/clock.h"

#include <windows.h>

uint64_t clock_now_ns(void) {
    LARGE_INTEGER now;
    LARGE_INTEGER frequency;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    uint64_t ticks = (uint64_t)now.QuadPart;
    uint64_t per_second = (uint64_t)frequency.QuadPart;
    /* In two parts, because ticks times a billion does not fit. */
    return ticks / per_second * NS_PER_SECOND + ticks % per_second * NS_PER_SECOND / per_second;
}

void clock_pause_ms(uint32_t milliseconds) {
    Sleep(milliseconds);
}
