//! The `libnvidia-ml.so.1` of `cuda-launch harness` and `cuda-launch emulate`, as a program in C sees it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{compiled, emulator_library, finished, scratch, tool};

/// Prints what NVML says, by its functions' own structures.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stddef.h>
#include <unistd.h>
#include <sys/wait.h>
typedef unsigned long long number;
static void *nvml;
#define F(name) ((int (*)())dlsym(nvml, #name))
int main(void)
{
    nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!nvml)
        return 99;
    unsigned count = 0, index = 9;
    void *device = NULL, *same = NULL, *other = NULL;
    char text[96] = "", uuid[96] = "";
    int version = 0, major = 0, minor = 0;
    struct { number total, free, used; } memory;
    struct { unsigned version; number total, reserved, free, used; } memory2 = {.version = sizeof memory2 | 2 << 24};
    struct { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; } pci;
    printf("before %d\n", F(nvmlDeviceGetCount_v2)(&count));
    printf("init %d", F(nvmlInit_v2)());
    printf(" %d\n", F(nvmlDeviceGetCount)(&count));
    printf("count %u\n", count);
    printf("handles %d %d\n", F(nvmlDeviceGetHandleByIndex_v2)(1, &device), F(nvmlDeviceGetHandleByIndex_v2)(2, &other));
    F(nvmlDeviceGetName)(device, text, 96);
    printf("name %s\n", text);
    printf("short %d\n", F(nvmlDeviceGetName)(device, text, 5));
    F(nvmlDeviceGetUUID)(device, uuid, 96);
    printf("uuid %s\n", uuid);
    F(nvmlDeviceGetHandleByUUID)(uuid, &same);
    printf("by uuid %d, by none %d\n", same == device, F(nvmlDeviceGetHandleByUUID)("GPU-0", &other));
    F(nvmlDeviceGetPciInfo_v3)(device, &pci);
    printf("pci %s %s %u\n", pci.legacy, pci.bus_id, pci.bus);
    F(nvmlDeviceGetHandleByPciBusId_v2)(pci.bus_id, &same);
    F(nvmlDeviceGetHandleByPciBusId_v2)(pci.legacy, &other);
    F(nvmlDeviceGetIndex)(same, &index);
    printf("by pci %d %d %u\n", same == device, other == device, index);
    F(nvmlSystemGetCudaDriverVersion_v2)(&version);
    F(nvmlSystemGetDriverVersion)(text, 96);
    F(nvmlDeviceGetCudaComputeCapability)(device, &major, &minor);
    printf("versions %d %s %d.%d\n", version, text, major, minor);
    printf("memory %d", F(nvmlDeviceGetMemoryInfo)(device, &memory));
    printf(" %d\n", F(nvmlDeviceGetMemoryInfo_v2)(device, &memory2));
    printf("same %d\n", memory.total == memory2.total && memory.used == memory2.used && memory.free == memory2.free);
    printf("total %llu used %llu\n", memory.total, memory.used);
    printf("temperature %d, null %d\n", F(nvmlDeviceGetTemperature)(device, 0, &count), F(nvmlDeviceGetIndex)(device, NULL));
    /* NVML does not start the driver: a process that is forked now can. */
    int status = 0;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*start)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");
    if (!fork())
        _exit(start(0));
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    void *context;
    number address;
    start(0);
    ((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 1);
    ((int (*)(void *))dlsym(cuda, "cuCtxSetCurrent"))(context);
    ((int (*)(number *, size_t))dlsym(cuda, "cuMemAlloc_v2"))(&address, 1 << 20);
    F(nvmlDeviceGetMemoryInfo)(device, &memory);
    printf("total %llu used %llu\n", memory.total, memory.used);
    printf("end %d", F(nvmlShutdown)());
    printf(" %d\n", F(nvmlShutdown)());
    return 0;
}
"#;

#[test]
fn devices_names_memory_and_versions_are_told_and_nothing_else() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("nvml");
    let Some(program) = compiled(&folder, "asks", PROGRAM, &[]) else { return };
    for command in ["harness", "emulate"] {
        let mut line = tool();
        line.args([command, "--devices", "2", "--"]).arg(&program).env("CUDA_LAUNCH_EMULATOR_MEMORY", "8M");
        let run = finished(&line.output().unwrap());
        let expected = "\
before 1
init 0 0
count 2
handles 0 2
name cuda-launch emulator (CPU)
short 7
uuid GPU-63756461-2d6c-6175-6e63-6820656d7531
by uuid 1, by none 6
pci 0000:01:00.0 00000000:01:00.0 1
by pci 1 1 1
versions 13000 580.00.00 9.0
memory 0 0
same 1
total 8388608 used 0
temperature 3, null 2
child 0
total 8388608 used 1048576
end 0 1
";
        assert_eq!((run.code, run.out.as_str()), (0, expected), "{}", run.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
