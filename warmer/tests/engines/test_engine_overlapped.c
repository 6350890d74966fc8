#include "engines/engine_overlapped.h"

#define ENGINE engine_overlapped
#include "engine_cases.h"

int main(void) {
    return run_engine_cases();
}
