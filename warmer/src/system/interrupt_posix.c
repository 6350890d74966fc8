#include "system/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t requested;

static void remember(int number) {
    (void)number;
    requested = 1;
}

void interrupt_catch(void) {
    /* No SA_RESTART: a wait for completions ends at once. */
    struct sigaction action = {.sa_handler = remember, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    /* A reader of our standard output that went away must not end a warm-up half done. */
    signal(SIGPIPE, SIG_IGN);
}

bool interrupt_requested(void) {
    return requested != 0;
}
