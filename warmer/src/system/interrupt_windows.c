#include "system/interrupt.h"

#include <windows.h>

#include <tlhelp32.h>

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

/** The number of the process that started this one; 0: unknown. */
static DWORD find_starter(void) {
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    HANDLE processes = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    DWORD starter = 0;
    if (processes == INVALID_HANDLE_VALUE) {
        return 0;
    }
    for (BOOL more = Process32FirstW(processes, &entry); more; more = Process32NextW(processes, &entry)) {
        if (entry.th32ProcessID == GetCurrentProcessId()) {
            starter = entry.th32ParentProcessID;
        }
    }
    CloseHandle(processes);
    return starter;
}

static ULONGLONG begin_of(HANDLE process) {
    FILETIME began = {0};
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    GetProcessTimes(process, &began, &ended, &kernel, &user);
    return (ULONGLONG)began.dwHighDateTime << 32 | began.dwLowDateTime;
}

/** Windows calls this in a thread of its own. */
static void CALLBACK remember_end(void *context, BOOLEAN timed_out) {
    (void)context;
    (void)timed_out;
    InterlockedExchange(&requested, 1);
}

/**
 * Take the end of the process that started this one for an interruption. Windows ends no children: the SSM
 * agent, for one, ends PowerShell alone at a cancel or a time limit (amazon-ssm-agent, executers_windows.go).
 */
static void watch_starter(void) {
    DWORD number = find_starter();
    HANDLE starter =
        number == 0 ? NULL : OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, number);
    HANDLE wait = NULL;
    if (starter == NULL) {
        return;
    }
    /* A younger process has only the number of one that has ended. */
    if (begin_of(starter) > begin_of(GetCurrentProcess()) ||
        !RegisterWaitForSingleObject(&wait, starter, remember_end, NULL, INFINITE, WT_EXECUTEONLYONCE)) {
        CloseHandle(starter);
    }
}

void interrupt_catch(void) {
    SetConsoleCtrlHandler(remember, TRUE);
    watch_starter();
}

bool interrupt_requested(void) {
    return requested != 0;
}
