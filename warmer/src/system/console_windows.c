#include "system/console.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <shellapi.h>

/** UTF-8 of one argument, to keep; NULL when memory is short. */
static char *narrow(const wchar_t *wide) {
    int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = size > 0 ? calloc((size_t)size, 1) : NULL;
    if (text != NULL) {
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    }
    return text;
}

/** The command line in UTF-8; the process's own arguments stay where memory is short. */
static void take_arguments(int *count, char ***arguments) {
    int wide_count = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &wide_count);
    char **texts = wide == NULL ? NULL : calloc((size_t)wide_count + 1, sizeof *texts);
    if (texts == NULL) {
        return;
    }
    for (int i = 0; i < wide_count; i++) {
        texts[i] = narrow(wide[i]);
        if (texts[i] == NULL) {
            return;
        }
    }
    *count = wide_count;
    *arguments = texts;
    LocalFree(wide);
}

/** Let the bar's escape sequences through, where there is a console. */
static void prepare_terminal(void) {
    HANDLE terminal = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode = 0;
    if (GetConsoleMode(terminal, &mode)) {
        SetConsoleMode(terminal, mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        SetConsoleOutputCP(CP_UTF8);
    }
}

bool console_prepare(int *count, char ***arguments) {
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    prepare_terminal();
    take_arguments(count, arguments);
    return true;
}
