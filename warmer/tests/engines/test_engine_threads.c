#include "engines/engine_threads.h"

#define ENGINE engine_threads
#include "engine_cases.h"

int main(void) {
    return run_engine_cases();
}
