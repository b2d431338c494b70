/* One program over the CUDA runtime, with a fault by name: `./faults FAULT`, or `./faults FAULT right`, the same without it.
   CUDA_LAUNCH_CUDART is the file of the runtime. `./faults` alone names the faults. */
#include "runtime.h"

#include <dlfcn.h>
#include <string.h>

#define DECLARE(name, arguments) static int(*name) arguments;
FUNCTIONS(DECLARE)
static const char *(*cudaGetErrorName)(int);

/* Exit code where the runtime does not take the driver: nothing is shown then. */
#define NO_RUNTIME 77
/* And where a fault needs two devices. */
#define ONE_DEVICE 78

static void find_runtime(void) {
    const char *file = getenv("CUDA_LAUNCH_CUDART");
    void *library = dlopen(file ? file : "libcudart.so.13", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(NO_RUNTIME);
    }
#define FIND(name, arguments) *(void **)&name = dlsym(library, #name);
    FUNCTIONS(FIND)
    *(void **)&cudaGetErrorName = dlsym(library, "cudaGetErrorName");
    int devices = 0, answer = cudaGetDeviceCount(&devices);
    if (answer || !devices) {
        fprintf(stderr, "the runtime has no device here: %s\n", cudaGetErrorName(answer));
        exit(NO_RUNTIME);
    }
}

/* A call that has to succeed. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        int failed = (call);                                                                       \
        if (failed) {                                                                              \
            fprintf(stderr, "line %d: %s answered %s\n", __LINE__, #call, cudaGetErrorName(failed)); \
            exit(9);                                                                               \
        }                                                                                          \
    } while (0)

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* fill(u32 *out, u32 count, u32 value): one thread for each element. through(u32 **list): writes where the list's first points to.
   small(): for blocks of at most 32 threads. */
static const char image[] = HEAD
    ".visible .entry fill(.param .u64 out, .param .u32 count, .param .u32 value)\n{\n"
    "    .reg .pred %p;\n    .reg .b32 %i, %n, %v, %t, %c;\n    .reg .b64 %a, %o;\n"
    "    ld.param.u64 %a, [out];\n    ld.param.u32 %n, [count];\n    ld.param.u32 %v, [value];\n"
    "    mov.u32 %i, %ctaid.x;\n    mov.u32 %c, %ntid.x;\n    mov.u32 %t, %tid.x;\n"
    "    mad.lo.u32 %i, %i, %c, %t;\n    setp.ge.u32 %p, %i, %n;\n    @%p bra done;\n"
    "    cvta.to.global.u64 %a, %a;\n    mul.wide.u32 %o, %i, 4;\n    add.u64 %a, %a, %o;\n"
    "    st.global.u32 [%a], %v;\ndone:\n    ret;\n}\n"
    ".visible .entry through(.param .u64 list)\n{\n    .reg .b64 %a, %b;\n"
    "    ld.param.u64 %a, [list];\n    ld.global.u64 %b, [%a];\n    st.global.u64 [%b], 1;\n    ret;\n}\n"
    ".visible .entry small()\n.maxntid 32, 1, 1\n{\n    ret;\n}\n";

static int wrong;
static handle library, fill, through, small;
/* Of 64 elements, and a stream with which every fault begins. */
static char *x;
static handle stream;

/* Launches `fill` with 64 threads per block. */
static int fill_on(handle on, char *out, u32 count, u32 value) {
    void *arguments[] = {&out, &count, &value};
    return cudaLaunchKernel(fill, (dim3){(count + 63) / 64, 1, 1}, (dim3){64, 1, 1}, arguments, 0, on);
}

static void begin(void) {
    OK(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&fill, library, "fill"));
    OK(cudaLibraryGetKernel(&through, library, "through"));
    OK(cudaLibraryGetKernel(&small, library, "small"));
    OK(cudaMalloc((void **)&x, 256));
    OK(cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
}

static void end(void) {
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
    OK(cudaLibraryUnload(library));
}

static void none(void) {
    u32 *numbers;
    OK(cudaMallocHost((void **)&numbers, 256));
    OK(fill_on(stream, x, 64, 7));
    OK(cudaMemcpyAsync(numbers, x, 256, DEVICE_TO_HOST, stream));
    OK(cudaStreamSynchronize(stream));
    if (numbers[0] != 7 || numbers[63] != 7)
        exit(8);
    OK(cudaFreeHost(numbers));
    end();
}

static void out_of_range(void) {
    static char numbers[300];
    cudaMemcpyAsync(numbers, x, wrong ? 260 : 256, DEVICE_TO_HOST, stream);
    end();
}

/* 3 rows of 100 bytes every 256 bytes. */
static void rows(void) {
    static char numbers[300];
    cudaMemcpy2DAsync(x, 256, numbers, 100, 100, wrong ? 3 : 1, HOST_TO_DEVICE, stream);
    end();
}

/* 3 planes of 2 rows of 64 bytes, with 4 rows from plane to plane. */
static void planes_of_rows(void) {
    static char numbers[384];
    char *y;
    OK(cudaMalloc((void **)&y, wrong ? 512 : 640));
    OK(cudaMemsetAsync(y, 1, 512, stream));
    planes copy = {.src = {y, 64, 64, 4}, .dst = {numbers, 64, 64, 2}, .width = 64, .height = 2, .depth = 3, .kind = DEVICE_TO_HOST};
    cudaMemcpy3DAsync(&copy, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(y));
    end();
}

/* An array of 4 rows of 64 bytes. */
static void box_of_an_array(void) {
    static char numbers[256];
    channels format = {32, 0, 0, 0, FLOATS};
    handle array;
    OK(cudaMallocArray(&array, &format, 16, 4, 0));
    cudaMemcpy2DToArrayAsync(array, wrong ? 4 : 0, 0, numbers, 64, 64, 4, HOST_TO_DEVICE, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaFreeArray(array));
    end();
}

static void fill_of_rows(void) {
    char *y;
    OK(cudaMalloc((void **)&y, 512));
    cudaMemset2DAsync(y, 256, 1, 100, wrong ? 3 : 2, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(y));
    end();
}

static void freed_pointer(void) {
    char *y;
    u32 count = 0, value = 1;
    void *arguments[] = {&y, &count, &value};
    OK(cudaMalloc((void **)&y, 256));
    if (wrong)
        OK(cudaFree(y));
    OK(cudaLaunchKernel(fill, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, 0, stream));
    if (!wrong)
        OK(cudaFree(y));
    end();
}

static void use_after_free(void) {
    char *y;
    static char numbers[256];
    OK(cudaMalloc((void **)&y, 256));
    if (wrong)
        OK(cudaFree(y));
    cudaMemcpyAsync(numbers, y, 256, DEVICE_TO_HOST, stream);
    if (!wrong)
        OK(cudaFree(y));
    end();
}

static void double_free(void) {
    char *y;
    OK(cudaMalloc((void **)&y, 256));
    OK(cudaFree(y));
    if (wrong)
        cudaFree(y);
    end();
}

static void stream_race(void) {
    handle second, event;
    u32 *numbers;
    OK(cudaMallocHost((void **)&numbers, 256));
    OK(cudaStreamCreateWithFlags(&second, NON_BLOCKING));
    OK(cudaEventCreate(&event));
    OK(fill_on(stream, x, 64, 1));
    OK(cudaEventRecord(event, stream));
    if (!wrong)
        OK(cudaStreamWaitEvent(second, event, 0));
    OK(cudaMemcpyAsync(numbers, x, 256, DEVICE_TO_HOST, second));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(second));
    OK(cudaFreeHost(numbers));
    end();
}

/* The last launch of a graph that was captured may go on. */
static void race_behind_a_graph(void) {
    handle second, event, graph, exec;
    u32 *numbers;
    char *y;
    OK(cudaMallocHost((void **)&numbers, 256));
    OK(cudaMalloc((void **)&y, 256));
    OK(cudaStreamCreateWithFlags(&second, NON_BLOCKING));
    OK(cudaEventCreate(&event));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaMemsetAsync(y, 1, 256, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventRecord(event, stream));
    if (!wrong)
        OK(cudaStreamWaitEvent(second, event, 0));
    OK(cudaMemcpyAsync(numbers, y, 256, DEVICE_TO_HOST, second));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(second));
    OK(cudaFree(y));
    OK(cudaFreeHost(numbers));
    end();
}

/* A copy to it may be under way. */
static void pinned_freed_early(void) {
    u32 *numbers;
    OK(cudaMallocHost((void **)&numbers, 256));
    OK(fill_on(stream, x, 64, 1));
    OK(cudaMemcpyAsync(numbers, x, 256, DEVICE_TO_HOST, stream));
    if (!wrong)
        OK(cudaStreamSynchronize(stream));
    OK(cudaFreeHost(numbers));
    end();
}

/* Of 4 pages of 64 KiB all or 3 are registered. */
static void past_what_is_registered(void) {
    size_t page = 1 << 16;
    char *y, *pages = aligned_alloc(page, 4 * page);
    OK(cudaMalloc((void **)&y, 4 * page));
    OK(cudaHostRegister(pages, (wrong ? 3 : 4) * page, 0));
    cudaMemcpyAsync(y, pages, 4 * page, HOST_TO_DEVICE, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaHostUnregister(pages));
    OK(cudaFree(y));
    free(pages);
    end();
}

static void race_with_the_default_stream(void) {
    OK(cudaMemsetAsync(x, 1, 256, NULL));
    if (!wrong)
        OK(cudaStreamSynchronize(NULL));
    OK(fill_on(stream, x, 64, 2));
    end();
}

static void leak(void) {
    char *y;
    handle event;
    OK(cudaMalloc((void **)&y, 256));
    OK(cudaEventCreate(&event));
    if (!wrong) {
        OK(cudaFree(y));
        OK(cudaEventDestroy(event));
    }
    end();
}

/* Both fail; the one that is right has a look. */
static void failed_call(void) {
    char *y = NULL;
    cudaMalloc((void **)&y, (size_t)1 << 60);
    if (!wrong && !cudaGetLastError())
        exit(8);
    OK(cudaFree(y));
    end();
}

/* Of a kernel that may have 32 threads in a block. */
static void failed_launch(void) {
    cudaLaunchKernel(small, (dim3){1, 1, 1}, (dim3){64, 1, 1}, NULL, 0, stream);
    if (!wrong && !cudaGetLastError())
        exit(8);
    end();
}

/* The program ends because of it. */
static void failed_and_told(void) {
    char *y;
    if (cudaMalloc((void **)&y, (size_t)1 << 60))
        exit(5);
}

static void launch_dimensions(void) {
    fill_on(stream, x, wrong ? 0 : 64, 1);
    end();
}

static void too_many_threads(void) {
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    cudaLaunchKernel(fill, (dim3){1, 1, 1}, (dim3){wrong ? 2048 : 1024, 1, 1}, arguments, 0, stream);
    end();
}

static void block_size(void) {
    cudaLaunchKernel(small, (dim3){1, 1, 1}, (dim3){wrong ? 64 : 32, 1, 1}, NULL, 0, stream);
    end();
}

static void shared_memory(void) {
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    cudaLaunchKernel(fill, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, (wrong ? 60 : 48) * 1024, stream);
    end();
}

/* A grid that is no multiple of the cluster, and a cluster of more blocks than every device has. */
static void cluster(void) {
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    attribute two = {.id = CLUSTER, .cluster = {2, 1, 1}}, many = {.id = CLUSTER, .cluster = {wrong ? 16 : 8, 1, 1}};
    config odd = {{wrong ? 3 : 4, 1, 1}, {64, 1, 1}, 0, stream, &two, 1};
    config large = {{16, 1, 1}, {64, 1, 1}, 0, stream, &many, 1};
    cudaLaunchKernelExC(&odd, fill, arguments);
    cudaGetLastError();
    cudaLaunchKernelExC(&large, fill, arguments);
    cudaGetLastError();
    end();
}

/* One block more than the device runs at once. With as much shared memory for each, few of them do. */
static void cooperative_grid(void) {
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    int on_each, multiprocessors;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, fill, 64, 48 * 1024));
    OK(cudaDeviceGetAttribute(&multiprocessors, MULTIPROCESSORS, 0));
    dim3 grid = {on_each * multiprocessors + wrong, 1, 1}, block = {64, 1, 1};
    attribute cooperative = {.id = COOPERATIVE, .cooperative = 1};
    config launch = {grid, block, 48 * 1024, stream, &cooperative, 1};
    cudaLaunchCooperativeKernel(fill, grid, block, arguments, 48 * 1024, stream);
    cudaGetLastError();
    cudaLaunchKernelExC(&launch, fill, arguments);
    cudaGetLastError();
    end();
}

static void misaligned_pointer(void) {
    fill_on(stream, x + (wrong ? 2 : 4), 32, 1);
    end();
}

/* A buffer that is too short for the launch. */
static void past_the_end(void) {
    char *y;
    OK(cudaMalloc((void **)&y, wrong ? 508 : 512));
    fill_on(stream, y, 128, 1);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(y));
    end();
}

static void bad_pointer(void) {
    fill_on(stream, wrong ? NULL : x, 64, 1);
    end();
}

static void missing_arguments(void) {
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    cudaLaunchKernel(fill, (dim3){1, 1, 1}, (dim3){64, 1, 1}, wrong ? NULL : arguments, 0, stream);
    end();
}

static void null_argument(void) {
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, wrong ? NULL : &value};
    cudaLaunchKernel(fill, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, 0, stream);
    end();
}

static void dead_stream(void) {
    handle other;
    OK(cudaStreamCreate(&other));
    if (wrong)
        OK(cudaStreamDestroy(other));
    cudaStreamSynchronize(other);
    if (!wrong)
        OK(cudaStreamDestroy(other));
    end();
}

static void dead_event(void) {
    handle event;
    OK(cudaEventCreate(&event));
    if (wrong)
        OK(cudaEventDestroy(event));
    cudaEventRecord(event, stream);
    if (!wrong)
        OK(cudaEventDestroy(event));
    end();
}

static void null_handle(void) {
    handle event;
    OK(cudaEventCreate(&event));
    cudaEventRecord(wrong ? NULL : event, stream);
    OK(cudaEventDestroy(event));
    end();
}

static void wrong_handle(void) {
    handle event;
    OK(cudaEventCreate(&event));
    if (wrong)
        cudaEventRecord(stream, event);
    else
        OK(cudaEventRecord(event, stream));
    OK(cudaEventDestroy(event));
    end();
}

/* An event of the first device in a stream of the second. */
static void wrong_context(void) {
    handle event, other;
    int devices;
    OK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        exit(ONE_DEVICE);
    OK(cudaEventCreate(&event));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    if (!wrong)
        OK(cudaSetDevice(0));
    cudaEventRecord(event, wrong ? other : stream);
    OK(cudaSetDevice(1));
    OK(cudaStreamDestroy(other));
    OK(cudaSetDevice(0));
    OK(cudaEventDestroy(event));
    end();
}

/* A kernel of the first device writes to memory of the second. */
static void peer_access(void) {
    char *y;
    int devices;
    OK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        exit(ONE_DEVICE);
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&y, 256));
    OK(cudaSetDevice(0));
    if (!wrong)
        OK(cudaDeviceEnablePeerAccess(1, 0));
    fill_on(stream, y, 64, 1);
    OK(cudaStreamSynchronize(stream));
    OK(cudaSetDevice(1));
    OK(cudaFree(y));
    OK(cudaSetDevice(0));
    end();
}

static void open_capture(void) {
    handle graph;
    OK(cudaStreamBeginCapture(stream, 0));
    OK(fill_on(stream, x, 64, 1));
    if (wrong)
        return;
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    end();
}

static void sticky_fault(void) {
    char *element = wrong ? (char *)64 : x + 8;
    void *arguments[] = {&x};
    OK(cudaMemcpyAsync(x, &element, 8, HOST_TO_DEVICE, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaLaunchKernel(through, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, stream));
    if (cudaDeviceSynchronize())
        return;
    end();
}

#define FAULT(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} faults[] = {
    FAULT(none), FAULT(out_of_range), FAULT(rows), {"planes", planes_of_rows}, FAULT(box_of_an_array), FAULT(fill_of_rows), FAULT(freed_pointer), FAULT(use_after_free), FAULT(double_free), FAULT(stream_race),
    FAULT(race_behind_a_graph), FAULT(pinned_freed_early), FAULT(past_what_is_registered),
    FAULT(race_with_the_default_stream), FAULT(leak), FAULT(failed_call), FAULT(failed_launch), FAULT(failed_and_told), FAULT(launch_dimensions), FAULT(too_many_threads),
    FAULT(block_size), FAULT(shared_memory), FAULT(cluster), FAULT(cooperative_grid), FAULT(misaligned_pointer), FAULT(past_the_end), FAULT(bad_pointer),
    FAULT(missing_arguments), FAULT(null_argument), FAULT(dead_stream), FAULT(dead_event), FAULT(null_handle),
    FAULT(wrong_handle), FAULT(wrong_context), FAULT(peer_access), FAULT(open_capture), FAULT(sticky_fault),
};

int main(int count, char **arguments) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (count < 2) {
            puts(faults[i].name);
        } else if (!strcmp(arguments[1], faults[i].name)) {
            wrong = count < 3;
            find_runtime();
            begin();
            faults[i].run();
            /* Of these alone it is the fault that nobody has a look. */
            if (faults[i].run != failed_call && faults[i].run != failed_launch)
                cudaGetLastError();
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}
