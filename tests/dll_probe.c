/* Load DLLs in ways that are read from standard input, and tell which files came of it.

   A line is PATH, working directory, program and arguments, between tabs: each has a process of
   its own, as what is loaded once may stay. The program is this one again, in whatever folder; its
   arguments are the flags of LoadLibraryEx in hexadecimal and what to load, or none: then it tells
   what it was itself linked with. The line that is answered has the files and `done`, where it came
   so far, and how the process ended, in hexadecimal. */

#include <stdio.h>
#include <string.h>
#include <windows.h>

static const char *NAMES[] = {"a.dll", "b.dll", "c.dll", "d.dll"};

static void tell(void) {
    char path[MAX_PATH];
    for (int i = 0; i < 4; i++) {
        HMODULE module = GetModuleHandleA(NAMES[i]);
        if (module && GetModuleFileNameA(module, path, sizeof path)) printf("%s\t", path);
    }
    printf("done\t");
    fflush(stdout);
}

static void run(const char *program, const char *arguments) {
    char command[2048];
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION process;
    DWORD code;
    snprintf(command, sizeof command, "\"%s\" %s", program, arguments);
    if (CreateProcessA(program, command, 0, 0, TRUE, 0, 0, 0, &start, &process)) {
        WaitForSingleObject(process.hProcess, INFINITE);
        GetExitCodeProcess(process.hProcess, &code);
    } else {
        code = GetLastError();
    }
    printf("%lx\n", code);
    fflush(stdout);
}

int main(int count, char **arguments) {
    static char line[65536];
#ifdef IMPORTS
    IMPORTS;
#endif
    if (count > 2 && !LoadLibraryExA(arguments[2], 0, strtoul(arguments[1], 0, 16))) return 1;
    if (count > 1) {
        tell();
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        char *path = strtok(line, "\t\r\n"), *here = strtok(0, "\t\r\n");
        char *program = strtok(0, "\t\r\n"), *rest = strtok(0, "\t\r\n");
        SetEnvironmentVariableA("PATH", path);
        SetCurrentDirectoryA(here);
        run(program, rest);
    }
    return 0;
}
