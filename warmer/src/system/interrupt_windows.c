#include "system/interrupt.h"

#include <windows.h>

static volatile LONG requested;

/** Windows calls this in a new thread. */
static BOOL WINAPI remember(DWORD event) {
    bool is_first = InterlockedExchange(&requested, 1) == 0;
    if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) {
        /* FALSE lets Windows end the process, as a second Ctrl-C should. */
        return is_first;
    }
    /* The window is closed or the machine goes down: the process ends when this returns, or some seconds
       later all the same. Main gets those seconds, and ends the process, this thread with it. */
    Sleep(INFINITE);
    return TRUE;
}

void interrupt_catch(void) {
    SetConsoleCtrlHandler(remember, TRUE);
}

bool interrupt_requested(void) {
    return requested != 0;
}
