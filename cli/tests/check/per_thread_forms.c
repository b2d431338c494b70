/* Calls every function whose NULL stream is the thread's own, with nothing but zeros: `./per_thread_forms LOG SYMBOL NAME VERSION ..`.
   Each by its symbol, and as a runtime asks for it, by a name with a version and a flag. Before each it adds a line to LOG. */
#include "driver.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, void *);

typedef int (*function)(size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t);

static int call(int log_file, const char *way, const char *symbol, void *found) {
    char line[128];
    int length = snprintf(line, sizeof line, "== %s %s%s\n", way, symbol, found ? "" : " is missing");
    if (write(log_file, line, (size_t)length) != length)
        exit(9);
    return found && ((function)found)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) != 0;
}

int main(int count, char **arguments) {
    int log_file = open(arguments[1], O_WRONLY | O_APPEND | O_CREAT, 0644), failed = 0;
    handle cuda = dlopen("libcuda.so.1", RTLD_NOW);
    begin();
    for (int i = 2; i + 2 < count; i += 3) {
        void *found = NULL;
        failed += call(log_file, "linked", arguments[i], dlsym(cuda, arguments[i]));
        if (cuGetProcAddress_v2(arguments[i + 1], &found, atoi(arguments[i + 2]), 2, NULL))
            found = NULL;
        failed += call(log_file, "asked", arguments[i], found);
    }
    printf("%d of them failed\n", failed);
    return 0;
}
