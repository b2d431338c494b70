// runner LIBRARY FOLDER FILE.ptx...: runs the kernels k0, k1, ... of each file on a CUDA driver and writes FOLDER/FILE.bin: for each kernel a
// hash of each of its 48 columns, then the words of the first 32 threads. Each file has a process of its own, so that a fault ends only that one.
//
// The driver's compiler does not optimise unless OPTIMIZE is set: what it may change is not what is compared.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COLUMNS = 48, THREADS = 512, KEPT = 32, INPUTS = 1024 };
enum { ERROR_LOG_BUFFER = 5, ERROR_LOG_BYTES = 6, OPTIMIZATION_LEVEL = 7, STACK_SIZE = 0 };
typedef uint64_t Word;
typedef Word Pointer;

static int (*init)(unsigned), (*device_get)(int*, int), (*retain)(void**, int), (*set_current)(void*), (*set_limit)(int, size_t);
static int (*load)(void**, const void*, unsigned, int*, void**), (*get_function)(void**, void*, const char*), (*synchronize)(void);
static int (*allocate)(Pointer*, size_t), (*to_device)(Pointer, const void*, size_t), (*to_host)(void*, Pointer, size_t), (*fill)(Pointer, unsigned char, size_t);
static int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

static Word random_word(void) {
    static Word state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static Word float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static Word double_bits(double x) {
    Word bits;
    memcpy(&bits, &x, 8);
    return bits;
}

// Small numbers of both signs, in every type, edges and any bits.
static Word input(int index) {
    static const uint32_t edges[16] = {0, 1, 2, 3, 0x3f800000, 0x7f800000, 0x7fc00000, 0xff800000, 0x80000000, 0x00800000, 0x007fffff, 0x40490fdb, 0x7f7fffff,
                                       0x4b000000, 0xbf000000, 0xffffffff};
    Word x = random_word();
    switch (index % 8) {
    case 0: return x;
    case 1: return x & 255;
    case 2: return (Word)edges[x & 15] << 32 | edges[x >> 8 & 15];
    case 3: return x >> 32 << 32 | float_bits((float)(int)(x % 20001 - 10000) / 64);
    case 4: return double_bits((double)((int)(x % 2000001) - 1000000) / 1024);
    case 5: return -(x & 1023);
    case 6: return double_bits((double)((int)(x % 2001) - 1000) / 7);
    default: return float_bits((float)((int)(x % 2001) - 1000) / 13) * 0x100000001u;
    }
}

static int fail(const char* file, const char* call, int code) {
    printf("%s: %s: %d\n", file, call, code);
    return 1;
}

static int run(const char* path, const char* folder) {
    static Word in[INPUTS], out[THREADS * COLUMNS];
    static char log[4096], to[4096];
    const char* name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    FILE* file = fopen(path, "rb");
    if (!file) return fail(path, "open", 0);
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    char* text = calloc(1, length + 1);
    rewind(file);
    if (fread(text, 1, length, file) != (size_t)length) return fail(path, "read", 0);
    fclose(file);

    // What an earlier run left must not be taken for a result.
    snprintf(to, sizeof to, "%s/%.*s.bin", folder, (int)strlen(name) - 4, name);
    remove(to);
    int device, code;
    void *context, *module;
    if ((code = init(0)) || (code = device_get(&device, 0)) || (code = retain(&context, device)) || (code = set_current(context))) return fail(name, "context", code);
    set_limit(STACK_SIZE, 65536); // Functions may call themselves.
    int options[] = {ERROR_LOG_BUFFER, ERROR_LOG_BYTES, OPTIMIZATION_LEVEL};
    void* values[] = {log, (void*)sizeof log, 0};
    if ((code = load(&module, text, getenv("OPTIMIZE") ? 2 : 3, options, values))) return fail(name, log, code);

    Pointer input_memory, output_memory;
    for (int i = 0; i < INPUTS; i++) in[i] = input(i);
    if ((code = allocate(&input_memory, sizeof in)) || (code = to_device(input_memory, in, sizeof in)) || (code = allocate(&output_memory, sizeof out)))
        return fail(name, "memory", code);
    FILE* results = fopen(to, "wb");
    if (!results) return fail(to, "create", 0);
    for (int k = 0;; k++) {
        char kernel[16];
        void *function, *arguments[] = {&input_memory, &output_memory};
        snprintf(kernel, sizeof kernel, "k%d", k);
        if (get_function(&function, module, kernel)) break;
        unsigned x = k % 4 == 3 ? 96 : k % 2 ? 64 : 32, y = k % 2 ? 1 : 2;
        if ((code = fill(output_memory, 0xab, sizeof out)) || (code = launch(function, 2 + k % 3, 1, 1, x, y, 1, 0, 0, arguments, 0)) || (code = synchronize()) ||
            (code = to_host(out, output_memory, sizeof out)))
            return fail(name, kernel, code);
        Word hashes[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) {
            hashes[c] = 1469598103934665603u;
            for (int t = 0; t < THREADS; t++) {
                hashes[c] = (hashes[c] ^ out[t * COLUMNS + c]) * 1099511628211u;
                hashes[c] ^= hashes[c] >> 29;
            }
        }
        fwrite(hashes, sizeof hashes, 1, results);
        fwrite(out, sizeof(Word) * COLUMNS, KEPT, results);
    }
    return fclose(results) != 0;
}

int main(int count, char** arguments) {
    int failed = 0;
    for (int i = 3; i < count; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            void* library = dlopen(arguments[1], RTLD_NOW);
            if (!library) return fail(arguments[1], dlerror(), 0);
            struct { void** to; const char* name; } functions[] = {
                {(void**)&init, "cuInit"}, {(void**)&device_get, "cuDeviceGet"}, {(void**)&retain, "cuDevicePrimaryCtxRetain"},
                {(void**)&set_current, "cuCtxSetCurrent"}, {(void**)&set_limit, "cuCtxSetLimit"}, {(void**)&load, "cuModuleLoadDataEx"},
                {(void**)&get_function, "cuModuleGetFunction"}, {(void**)&synchronize, "cuCtxSynchronize"}, {(void**)&allocate, "cuMemAlloc_v2"},
                {(void**)&to_device, "cuMemcpyHtoD_v2"}, {(void**)&to_host, "cuMemcpyDtoH_v2"}, {(void**)&fill, "cuMemsetD8_v2"}, {(void**)&launch, "cuLaunchKernel"}};
            for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
                if (!(*functions[f].to = dlsym(library, functions[f].name))) return fail(arguments[1], functions[f].name, 0);
            alarm(120);
            int result = run(arguments[i], arguments[2]);
            fflush(stdout);
            _exit(result);
        }
        int status;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) printf("%s: signal %d\n", arguments[i], WTERMSIG(status));
        failed |= status != 0;
    }
    return failed;
}
