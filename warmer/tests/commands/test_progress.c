/** When progress is shown, in virtual time. */
#include "check.h"
#include "commands/progress.h"
#include "system/clock.h"

/** The longest time between two looks of the loop (TICK_NS in warm.c). */
#define TICK_NS (50 * NS_PER_MILLISECOND)

static void a_json_line_comes_at_once_and_at_least_every_second(void) {
    struct progress progress;
    struct warm_progress now = {.bytes_total = 1};
    uint64_t shown_ns = 0;
    unsigned lines = 0;
    progress_init(&progress, PROGRESS_JSON);
    for (; now.elapsed_ns < 10 * NS_PER_SECOND; now.elapsed_ns += TICK_NS) {
        uint64_t due_ns = progress.next_ns;
        progress_observe(&progress, &now);
        if (progress.next_ns != due_ns) {
            CHECK_BETWEEN(now.elapsed_ns - shown_ns, 0, lines == 1 ? NS_PER_SECOND / 2 : NS_PER_SECOND);
            shown_ns = now.elapsed_ns;
            lines++;
        }
        CHECK(lines > 0);
    }
    CHECK_BETWEEN(lines, 11, 13);
}

int main(void) {
    RUN(a_json_line_comes_at_once_and_at_least_every_second);
    return CHECK_RESULT();
}
