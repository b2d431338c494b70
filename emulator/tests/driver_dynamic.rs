//! Kernels that launch kernels (`tests/kernels/dynamic.cu`): what they compute, in which order, and what is refused.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{
    Checks, FindingKind, Instance, InstanceOptions, OneOrderReason, Schedules, set_profile, take_profiles,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;
use support::graphs::{graph, instantiate, kernel};
use support::*;

const PTX: CUjitInputType = CUjitInputType::CU_JIT_INPUT_PTX;
const LIBRARY: CUjitInputType = CUjitInputType::CU_JIT_INPUT_LIBRARY;
const DYNAMIC: &str = include_str!("../../tests/kernels/dynamic.ptx");
/// Codes of `cudaError_t`.
const INVALID_VALUE: u32 = 1;
const MEMORY_ALLOCATION: u32 = 2;
const INVALID_CONFIGURATION: u32 = 9;
const INVALID_MEMCPY_DIRECTION: u32 = 21;
const LAUNCH_PENDING_COUNT_EXCEEDED: u32 = 69;
const INVALID_RESOURCE_HANDLE: u32 = 400;
const UNSUPPORTED_LIMIT: u32 = 215;
const NOT_SUPPORTED: u32 = 801;

/// A module of these texts, linked with the device runtime; the code and the log if it cannot be linked.
fn link(cuda: &Driver, texts: &[&str]) -> Result<CUmodule, (CUresult, String)> {
    let mut log = vec![0_u8; 2000];
    let mut ids = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    let (mut state, mut image, mut module) = (null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuLinkCreate(2, ids.as_mut_ptr(), values.as_mut_ptr(), &mut state) });
    let add = |kind, data: &[u8]| {
        let (data, size) = (data.as_ptr().cast_mut().cast(), data.len());
        ok(unsafe { cuda.cuLinkAddData(state, kind, data, size, c"it".as_ptr(), 0, null_mut(), null_mut()) });
    };
    texts.iter().for_each(|text| add(PTX, text.as_bytes()));
    // The emulator takes nothing of it but that it is this library.
    add(LIBRARY, b"!<arch>\ncuda_device_runtime.o/");
    let code = unsafe { cuda.cuLinkComplete(state, &mut image, &mut 0) };
    if code != CUresult::SUCCESS {
        let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
        return Err((code, String::from_utf8_lossy(text).into_owned()));
    }
    ok(unsafe { cuda.cuModuleLoadData(&mut module, image) });
    ok(unsafe { cuda.cuLinkDestroy(state) });
    Ok(module)
}

/// The kernels, in a context of the test's own.
struct Kernels {
    cuda: Arc<Driver>,
    module: CUmodule,
}

impl Kernels {
    fn new() -> Kernels {
        Kernels::on(with_own_context().0)
    }

    fn on(cuda: Arc<Driver>) -> Kernels {
        let module = link(&cuda, &[DYNAMIC]).unwrap();
        Kernels { cuda, module }
    }

    fn of(instance: &Instance) -> Kernels {
        let (cuda, mut context) = (instance.driver(), null_mut());
        ok(unsafe { cuda.cuInit(0) });
        ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
        ok(unsafe { cuda.cuCtxSetCurrent(context) });
        Kernels::on(cuda)
    }

    /// So many words of zeros.
    fn zeros(&self, words: usize) -> CUdeviceptr {
        let memory = alloc(&self.cuda, 4 * words);
        write(&self.cuda, memory, &vec![0; 4 * words]);
        memory
    }

    fn words(&self, memory: CUdeviceptr, words: usize) -> Vec<u32> {
        let bytes = read(&self.cuda, memory, 4 * words);
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    fn launch(&self, kernel: &str, [grid, block]: [u32; 2], arguments: &mut [*mut c_void]) {
        let kernel = function(&self.cuda, self.module, kernel);
        let (grid, block, arguments) = ([grid, 1, 1], [block, 1, 1], arguments.as_mut_ptr());
        ok(launch_as(&self.cuda, kernel, grid, block, 0, null_mut(), arguments, null_mut()));
    }

    /// A launch of one thread with a pointer and numbers; what is in the memory then.
    fn results(&self, kernel: &str, words: usize, numbers: &mut [u32]) -> Vec<u32> {
        let mut memory = self.zeros(words);
        let mut arguments = vec![argument(&mut memory)];
        arguments.extend(numbers.iter_mut().map(argument));
        self.launch(kernel, [1, 1], &mut arguments);
        self.words(memory, words)
    }
}

#[test]
fn a_grid_sees_its_arguments_and_what_was_written_before() {
    let found = Kernels::new().results("one_level", 64, &mut [2, 32]);
    let expected: Vec<u32> = (0..64).map(|at| 1000 * at + 3 + 40 + 500 + 6 + 70 + 800 + at).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_thread_launches() {
    let kernels = Kernels::new();
    let mut memory = kernels.zeros(320);
    kernels.launch("each_thread", [4, 80], &mut [argument(&mut memory)]);
    assert_eq!(kernels.words(memory, 320), (0..320).map(|at| at * at + 1).collect::<Vec<_>>());
}

#[test]
fn quicksort_sorts() {
    sort(&Kernels::new());
}

/// Sorts a thousand numbers.
fn sort(kernels: &Kernels) {
    let mut state = 1_u32;
    let mut numbers: Vec<i32> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 20) as i32 - 2000
    })
    .take(1000)
    .collect();
    let mut memory = kernels.zeros(1000);
    write(&kernels.cuda, memory, &numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>());
    let (mut left, mut right) = (0_i32, 999_i32);
    let arguments = &mut [argument(&mut memory), argument(&mut left), argument(&mut right)];
    kernels.launch("quicksort", [1, 1], arguments);
    numbers.sort_unstable();
    let found: Vec<i32> = kernels.words(memory, 1000).into_iter().map(|word| word as i32).collect();
    assert_eq!(found, numbers);
}

#[test]
fn a_tree_has_all_its_nodes() {
    // Each node launches a grid of two, so each level has twice the nodes of the one above.
    assert_eq!(Kernels::new().results("tree", 10, &mut [0, 9]), [1, 2, 4, 8, 16, 32, 64, 128, 256, 0]);
}

/// The block's stream in order, each grid with all that it leads to; then the grid's tail, in order too.
#[test]
fn streams_and_the_tail_are_in_order() {
    let found = Kernels::new().results("orders", 12, &mut []);
    assert_eq!(found, [10, 7, 1, 2, 3, 30, 31, 8, 80, 81, 9, 0]);
}

#[test]
fn a_tail_may_be_longer_than_nesting_is_deep() {
    assert_eq!(Kernels::new().results("again", 1, &mut [3000]), [3000]);
}

/// What counts is what cannot be done before there is room: the grids that led to a launch, and those in a tail. As on an H200 with driver
/// 580, where however many others were launched one after the other.
#[test]
fn as_many_launches_are_under_way_as_the_limit_says() {
    let kernels = Kernels::new();
    let refused = LAUNCH_PENDING_COUNT_EXCEEDED;
    assert_eq!(kernels.results("many", 4, &mut [20_000]), [20_000, 0, 0, 0]);
    assert_eq!(kernels.results("tails", 4, &mut [2048]), [2048, 0, 0, 0]);
    assert_eq!(kernels.results("tails", 4, &mut [5000]), [2048, 2952, 2048, refused]);
    assert_eq!(kernels.results("deep", 3, &mut [0]), [2048, refused, 0]);
    let limit = CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
    for (asked, got) in [(0, 32), (16, 32), (1 << 30, 599_186), (3000, 3000), (40, 40)] {
        let mut value = 0;
        ok(unsafe { kernels.cuda.cuCtxSetLimit(limit, asked) });
        ok(unsafe { kernels.cuda.cuCtxGetLimit(&mut value, limit) });
        assert_eq!(value, got);
    }
    assert_eq!(kernels.results("deep", 3, &mut [0]), [40, refused, 0]);
    assert_eq!(kernels.results("tails", 4, &mut [50]), [40, 10, 40, refused]);
    // One is under way here at a time.
    assert_eq!(kernels.results("again", 1, &mut [50]), [50]);
}

/// What a grid does not launch is there again for the next one.
#[test]
fn buffers_are_given_back() {
    assert_eq!(Kernels::new().results("hoard", 2, &mut [3]), [3 * 4096, MEMORY_ALLOCATION]);
}

/// What a launch by `configured` is given.
struct Configuration {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
}

impl Configuration {
    /// One thread.
    fn of(function: u64) -> Configuration {
        Configuration { function, grid: [1; 3], block: [1; 3], shared: 0, stream: 0 }
    }

    /// Launches `configured`, which writes to six words.
    fn launch(mut self, kernels: &Kernels, mut memory: CUdeviceptr) {
        let mut arguments = [
            argument(&mut memory),
            argument(&mut self.function),
            argument(&mut self.grid),
            argument(&mut self.block),
            argument(&mut self.shared),
            argument(&mut self.stream),
        ];
        kernels.launch("configured", [1, 1], &mut arguments);
    }
}

/// A launch by `configured`: whether the grid ran, whether it got a buffer, the code of the launch, and of the last error: peeked at, taken,
/// and taken again.
fn configured(
    kernels: &Kernels,
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
) -> [u32; 6] {
    let memory = kernels.zeros(6);
    Configuration { function, grid, block, shared, stream }.launch(kernels, memory);
    kernels.words(memory, 6).try_into().unwrap()
}

#[test]
fn launches_are_checked_as_those_from_the_host_are() {
    let kernels = Kernels::new();
    let mut memory = kernels.zeros(4);
    kernels.launch("addresses", [1, 1], &mut [argument(&mut memory)]);
    let words = kernels.words(memory, 4);
    let [count, small] = [0, 2].map(|at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32);
    let one = [1, 1, 1];
    let wrong = |function, grid, block, shared, code| {
        let found = configured(&kernels, function, grid, block, shared, 0);
        assert_eq!(found, [0, 1, code, code, code, 0], "{grid:?} {block:?} {shared}");
    };
    assert_eq!(configured(&kernels, count, one, one, 0, 0), [1, 1, 0, 0, 0, 0]);
    assert_eq!(configured(&kernels, count, [3, 2, 1], [32, 1, 2], 48 << 10, 0), [384, 1, 0, 0, 0, 0]);
    for grid in [[0, 1, 1], [1, 65_536, 1], [1 << 31, 1, 1]] {
        wrong(count, grid, one, 0, INVALID_CONFIGURATION);
    }
    for block in [[1, 0, 1], [1025, 1, 1], [32, 64, 1], [1, 1, 65]] {
        wrong(count, one, block, 0, INVALID_CONFIGURATION);
    }
    assert_eq!(configured(&kernels, small, one, [64, 1, 1], 0, 0), [64, 1, 0, 0, 0, 0]);
    wrong(small, one, [65, 1, 1], 0, INVALID_CONFIGURATION);
    // What the host allows counts here too.
    wrong(count, one, one, (48 << 10) + 1, INVALID_CONFIGURATION);
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let kernel = function(&kernels.cuda, kernels.module, "count");
    ok(unsafe { kernels.cuda.cuFuncSetAttribute(kernel, attribute, 100_000) });
    // An H200 compares whole pieces.
    assert_eq!(configured(&kernels, count, one, one, 100_001, 0), [1, 1, 0, 0, 0, 0]);
    wrong(count, one, one, 100_097, INVALID_CONFIGURATION);
    let code = INVALID_VALUE;
    assert_eq!(configured(&kernels, count, one, one, 0, 0x500), [0, 1, code, code, code, 0]);
    // All blocks of a cooperative grid are there at once, and so cannot wait for others.
    let kernel = function(&kernels.cuda, kernels.module, "each_thread");
    let arguments = &mut [argument(&mut memory)];
    let code = unsafe {
        kernels.cuda.cuLaunchCooperativeKernel(
            kernel,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            null_mut(),
            arguments.as_mut_ptr(),
        )
    };
    assert_eq!(code, CUresult::CUDA_ERROR_NOT_PERMITTED);
}

#[test]
fn a_launch_of_nothing_is_a_fault() {
    for nothing in [0, 1, 0x7300_0000_0011, 0x7300_0100_0000] {
        let instance = Instance::new().unwrap();
        let kernels = Kernels::of(&instance);
        Configuration::of(nothing).launch(&kernels, kernels.zeros(6));
        assert_eq!(unsafe { kernels.cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        let fault = &instance.faults()[0];
        assert_eq!((fault.kernel.as_str(), fault.address), ("configured", Some(nothing)));
        assert!(fault.message.contains("which is not a kernel of the module"), "{fault}");
    }
}

/// Two modules of one text: what has a kernel's number in one module is not that kernel in the other.
#[test]
fn a_kernel_of_another_module_is_none_of_this_one() {
    let instance = Instance::new().unwrap();
    let kernels = Kernels::of(&instance);
    let other = Kernels::on(Arc::clone(&kernels.cuda));
    let mut memory = kernels.zeros(4);
    other.launch("addresses", [1, 1], &mut [argument(&mut memory)]);
    let words = kernels.words(memory, 2);
    let kernel = u64::from(words[0]) | u64::from(words[1]) << 32;
    assert_eq!(configured(&other, kernel, [1; 3], [1; 3], 0, 0)[0], 1);
    Configuration::of(kernel).launch(&kernels, kernels.zeros(6));
    assert_eq!(unsafe { kernels.cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let fault = &instance.faults()[0];
    assert_eq!((fault.kernel.as_str(), fault.address), ("configured", Some(kernel)));
}

/// Errors that nobody takes do not outlive their blocks: a grid may have more threads than there is memory for these.
#[test]
fn errors_go_with_their_blocks() {
    let kernels = Kernels::new();
    let mut codes = kernels.zeros(2 * 40 + 16);
    // Only a debug build looks whether any is left; `errors_of_a_block_go_with_it` does in each.
    kernels.launch("misuse", [40, 2], &mut [argument(&mut codes)]);
    let expected: Vec<u32> = [INVALID_MEMCPY_DIRECTION].into_iter().chain([0; 79]).collect();
    assert_eq!(kernels.words(codes + 64, 80), expected);
}

#[test]
fn a_kernel_is_told_the_limits_of_its_context() {
    let limit = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .extern .func (.param .b32 r) __cudaCDP2DeviceGetLimit(.param .b64 p, .param .b32 l);\n\
        .extern .func (.param .b32 r) __cudaCDP2GetLastError();\n\
        .visible .entry limit(.param .u64 p, .param .u32 l) {\n\
        .reg .b64 %p; .reg .b32 %l, %c; ld.param.b64 %p, [p]; ld.param.b32 %l, [l];\n\
        { .param .b64 q; .param .b32 k; .param .b32 o; st.param.b64 [q], %p; st.param.b32 [k], %l;\n\
        call (o), __cudaCDP2DeviceGetLimit, (q, k); ld.param.b32 %c, [o]; st.global.b32 [%p+8], %c;\n\
        call (o), __cudaCDP2GetLastError, (); ld.param.b32 %c, [o]; st.global.b32 [%p+12], %c; } ret; }\n";
    let cuda = with_own_context().0;
    let module = link(&cuda, &[limit]).unwrap();
    let kernels = Kernels { cuda, module };
    let limits = |limit| kernels.results("limit", 4, &mut [limit]);
    let pending = CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
    assert_eq!(limits(pending.0), [2048, 0, 0, 0]);
    ok(unsafe { kernels.cuda.cuCtxSetLimit(pending, 40) });
    assert_eq!(limits(pending.0), [40, 0, 0, 0]);
    let mut heap = 0;
    ok(unsafe { kernels.cuda.cuCtxGetLimit(&mut heap, CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE) });
    assert_eq!(limits(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE.0), [heap as u32, 0, 0, 0]);
    // As the host is told, and it is no last error.
    let depth = CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH;
    assert_eq!(limits(depth.0), [0, 0, UNSUPPORTED_LIMIT, 0]);
    assert_eq!(limits(77), [0, 0, INVALID_VALUE, 0]);
}

#[test]
fn a_buffer_may_be_for_any_launch() {
    assert_eq!(Kernels::new().results("older", 2, &mut []), [0, 77]);
    // The names of CUDA 11.
    let text = DYNAMIC.replace("__cudaCDP2", "cuda");
    let cuda = with_own_context().0;
    let module = link(&cuda, &[&text]).unwrap();
    let kernels = Kernels { cuda, module };
    assert_eq!(kernels.results("older", 2, &mut []), [0, 77]);
    assert_eq!(kernels.results("tree", 4, &mut [0, 3]), [1, 2, 4, 0]);
}

#[test]
fn streams_events_copies_fills_and_the_heap() {
    let kernels = Kernels::new();
    let (mut out, mut codes) = (kernels.zeros(5), kernels.zeros(15));
    write(&kernels.cuda, out, &[0xff; 20]);
    kernels.launch("objects", [1, 1], &mut [argument(&mut out), argument(&mut codes)]);
    // Fills are of zeros, whatever value is asked for, as on an H200.
    assert_eq!(kernels.words(out, 5), [11, 11, 0, 0xff00_0000, 0xffff_ffff]);
    let full = MEMORY_ALLOCATION;
    assert_eq!(kernels.words(codes, 15), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, full, full]);
}

#[test]
fn calls_that_are_refused() {
    let kernels = Kernels::new();
    let mut codes = kernels.zeros(20);
    kernels.launch("misuse", [2, 2], &mut [argument(&mut codes)]);
    let (value, handle) = (INVALID_VALUE, INVALID_RESOURCE_HANDLE);
    let expected = [
        0,
        value,
        value,
        value,
        value,
        handle,
        0,
        value,
        value,
        value,
        INVALID_MEMCPY_DIRECTION,
        0,
        1,
        1,
        0,
        0,
    ];
    assert_eq!(kernels.words(codes, 16), expected);
    // Each thread has its own.
    assert_eq!(kernels.words(codes + 64, 4), [INVALID_MEMCPY_DIRECTION, 0, 0, 0]);
}

/// What comes behind a launch in its stream comes behind all that it leads to, and a graph's node may be such a launch.
#[test]
fn a_stream_and_a_graph_wait_for_all_of_it() {
    let kernels = Kernels::new();
    let cuda = &kernels.cuda;
    let (tree, stream, mut memory) =
        (function(cuda, kernels.module, "tree"), stream(cuda, 1), kernels.zeros(8));
    let mut seen = [0_u32; 8];
    let (mut level, mut levels) = (0_u32, 8_u32);
    let arguments = &mut [argument(&mut memory), argument(&mut level), argument(&mut levels)];
    ok(launch(cuda, tree, stream, arguments));
    ok(unsafe { cuda.cuMemcpyDtoHAsync(seen.as_mut_ptr().cast(), memory, 32, stream) });
    let event = event(cuda, 0);
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    ok(unsafe { cuda.cuEventSynchronize(event) });
    assert_eq!(seen, [1, 2, 4, 8, 16, 32, 64, 128]);

    let graph = graph(cuda);
    let node = kernel(tree, arguments);
    let mut added = null_mut();
    ok(unsafe { cuda.cuGraphAddKernelNode(&mut added, graph, std::ptr::null(), 0, &node) });
    let exec = instantiate(cuda, graph);
    for _ in 0..2 {
        ok(unsafe { cuda.cuGraphLaunch(exec, stream) });
    }
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    assert_eq!(kernels.words(memory, 8), [3, 6, 12, 24, 48, 96, 192, 384]);
}

/// Its report names the kernel that faulted, and what comes behind it does not run.
#[test]
fn a_fault_of_a_launched_grid_is_the_contexts() {
    let instance = Instance::new().unwrap();
    let kernels = Kernels::of(&instance);
    let mut memory = kernels.zeros(1);
    kernels.launch("faults", [1, 1], &mut [argument(&mut memory)]);
    let illegal = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_eq!(unsafe { kernels.cuda.cuCtxSynchronize() }, illegal);
    assert_eq!(unsafe { kernels.cuda.cuMemAlloc(&mut 0, 4) }, illegal);
    let faults = instance.faults();
    let fault = faults.first().unwrap();
    assert_eq!((fault.kernel.as_str(), fault.thread, fault.address), ("bad", [0, 0, 0], Some(20)));
    assert_eq!(faults.len(), 1);
}

/// Parameters are memory like any other while their buffer is there, and no longer.
#[test]
fn a_buffer_is_gone_once_it_is_launched() {
    let text = DYNAMIC.replace("__cudaCDP2LaunchDeviceV2", "twice");
    let twice = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 b, .param .b64 s);\n\
        .visible .func (.param .b32 r) twice(.param .b64 b, .param .b64 s) {\n\
        .reg .b32 %r; .reg .b64 %b, %s; ld.param.b64 %b, [b]; ld.param.b64 %s, [s];\n\
        { .param .b64 p; .param .b64 q; .param .b32 o; st.param.b64 [p], %b; st.param.b64 [q], %s;\n\
        call (o), __cudaCDP2LaunchDeviceV2, (p, q);\n\
        call (o), __cudaCDP2LaunchDeviceV2, (p, q); ld.param.b32 %r, [o]; }\n\
        st.param.b32 [r], %r; st.u32 [%b], 1; ret; }\n";
    let instance = Instance::new().unwrap();
    let cuda = Kernels::of(&instance).cuda;
    let module = link(&cuda, &[&text, twice]).unwrap();
    let kernels = Kernels { cuda, module };
    let mut memory = kernels.zeros(1);
    kernels.launch("tree", [1, 1], &mut [argument(&mut memory), argument(&mut 0_u32), argument(&mut 2_u32)]);
    assert_eq!(unsafe { kernels.cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let message = &instance.faults()[0].message;
    let expected =
        "inside the freed block 0x540000000000 of 16 bytes (`cudaGetParameterBuffer` in kernel `tree`";
    assert!(
        message.contains(expected) && message.contains("`cudaLaunchDevice` in kernel `tree`"),
        "{message}"
    );
}

#[test]
fn the_time_limit_is_that_of_all_of_it() {
    let instance = InstanceOptions::new().time_limit(Duration::from_millis(50)).start().unwrap();
    let kernels = Kernels::of(&instance);
    let (mut memory, mut most) = (kernels.zeros(1), u32::MAX);
    kernels.launch("again", [1, 1], &mut [argument(&mut memory), argument(&mut most)]);
    assert_eq!(unsafe { kernels.cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
    assert_eq!(instance.faults()[0].kernel, "again");
}

/// Blocks that are done sooner than anybody looks at the time: so many that they would take years.
#[test]
fn the_time_limit_is_that_of_many_short_blocks() {
    let empty = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry empty() { ret; }\n";
    let instance = InstanceOptions::new().time_limit(Duration::from_millis(50)).start().unwrap();
    let mut kernels = Kernels::of(&instance);
    kernels.module = load(&kernels.cuda, empty);
    kernels.launch("empty", [1000, 1], &mut []);
    ok(unsafe { kernels.cuda.cuCtxSynchronize() });
    let kernel = function(&kernels.cuda, kernels.module, "empty");
    let grid = [i32::MAX as u32, 65_535, 65_535];
    ok(launch_as(&kernels.cuda, kernel, grid, [1; 3], 0, null_mut(), null_mut(), null_mut()));
    assert_eq!(unsafe { kernels.cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
    assert_eq!(instance.faults()[0].kernel, "empty");
}

/// What the runtime of a GPU has besides is refused by name, and the process goes on.
#[test]
fn what_is_missing_is_refused_when_it_is_linked() {
    let cuda = with_own_context().0;
    let text = DYNAMIC.replace("__cudaCDP2EventRecord", "__cudaCDP2EventRecordWithFlags");
    let (code, log) = link(&cuda, &[&text]).unwrap_err();
    assert_eq!(code, CUresult::CUDA_ERROR_UNKNOWN);
    assert_eq!(log, "error   : Undefined reference to '__cudaCDP2EventRecordWithFlags' in 'it'");
    // Without the library nothing of it is there.
    let (code, log, _) = load_with_logs(&cuda, std::ffi::CString::new(DYNAMIC).unwrap().as_ptr().cast());
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("Unresolved extern function '__cudaCDP2"), "{log}");
    assert_eq!(Kernels::on(cuda).results("tree", 4, &mut [0, 3]), [1, 2, 4, 0]);
}

/// A kernel that the emulator cannot run is not launched, which the driver's log tells.
#[test]
fn a_kernel_with_an_unknown_instruction_is_not_launched() {
    let unknown = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .visible .entry unknown(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];\n\
        multimem.red.relaxed.sys.global.add.u64 [%a], %a; ret; }\n\
        .visible .entry address(.param .u64 p) { .reg .b64 %a, %b; ld.param.u64 %a, [p];\n\
        mov.u64 %b, unknown; st.global.u64 [%a], %b; ret; }\n";
    let cuda = with_own_context().0;
    let module = link(&cuda, &[DYNAMIC, unknown]).unwrap();
    let kernels = Kernels { cuda, module };
    let mut memory = kernels.zeros(2);
    kernels.launch("address", [1, 1], &mut [argument(&mut memory)]);
    let words = kernels.words(memory, 2);
    let address = u64::from(words[0]) | u64::from(words[1]) << 32;
    let found = configured(&kernels, address, [1; 3], [1; 3], 0, 0);
    assert_eq!(found, [0, 1, NOT_SUPPORTED, NOT_SUPPORTED, NOT_SUPPORTED, 0]);
    let (mut text, mut size) = (vec![0_u8; 25_601], 25_601);
    ok(unsafe { kernels.cuda.cuLogsDumpToMemory(null_mut(), text.as_mut_ptr().cast(), &mut size, 0) });
    let log = String::from_utf8_lossy(&text[..size]);
    let told = log.lines().find(|line| line.contains("kernel `unknown`, PTX line "));
    assert!(told.is_some_and(|line| line.contains(": `multimem.red")), "{log}");
}

/// The checks look at each grid.
#[test]
fn launched_grids_are_checked() {
    let instance = InstanceOptions::new().checks(Checks::KERNELS).start().unwrap();
    let kernels = Kernels::of(&instance);
    assert_eq!(kernels.results("tree", 5, &mut [0, 5]), [1, 2, 4, 8, 16]);
    assert_eq!(kernels.results("older", 2, &mut []), [0, 77]);
    // What a grid has written its children see, and what comes behind it in its stream sees what these have written.
    assert_eq!(kernels.results("one_level", 64, &mut [2, 32]).len(), 64);
    assert_eq!(kernels.results("orders", 12, &mut []), [10, 7, 1, 2, 3, 30, 31, 8, 80, 81, 9, 0]);
    assert_eq!(kernels.results("again", 1, &mut [30]), [30]);
    let (mut out, mut codes) = (kernels.zeros(5), kernels.zeros(15));
    kernels.launch("objects", [1, 1], &mut [argument(&mut out), argument(&mut codes)]);
    assert_eq!(kernels.words(out, 2), [11, 11]);
    let mut memory = kernels.zeros(320);
    kernels.launch("each_thread", [4, 80], &mut [argument(&mut memory)]);
    assert_eq!(kernels.words(memory, 320)[319], 319 * 319 + 1);
    sort(&kernels);
    assert_eq!(instance.take_findings().list, []);
    // Nobody has written what the launched grids count.
    let (mut memory, mut grids) = (alloc(&kernels.cuda, 16), 3_u32);
    kernels.launch("many", [1, 1], &mut [argument(&mut memory), argument(&mut grids)]);
    ok(unsafe { kernels.cuda.cuCtxSynchronize() });
    let found = instance.take_findings().list;
    let found: Vec<_> = found.iter().map(|finding| (finding.kernel.as_str(), finding.kind)).collect();
    assert_eq!(found, [("count", FindingKind::Uninitialised)]);
}

/// What kernels launch cannot be taken back, so they have one order; what they have launched has several.
#[test]
fn under_schedules_a_kernel_that_launches_has_one_order() {
    let instance = InstanceOptions::new().schedules(Schedules::new(4)).start().unwrap();
    let kernels = Kernels::of(&instance);
    assert_eq!(kernels.results("tree", 5, &mut [0, 5]), [1, 2, 4, 8, 16]);
    assert_eq!(kernels.results("orders", 12, &mut []), [10, 7, 1, 2, 3, 30, 31, 8, 80, 81, 9, 0]);
    let mut memory = kernels.zeros(320);
    kernels.launch("each_thread", [4, 80], &mut [argument(&mut memory)]);
    assert_eq!(kernels.words(memory, 320)[319], 319 * 319 + 1);
    assert_eq!(instance.take_differences().len(), 0);
    let once: Vec<_> =
        instance.take_one_order().into_iter().map(|once| (once.kernel, once.launches, once.reason)).collect();
    let expected = [("tree", 16), ("orders", 1), ("note", 9), ("each_thread", 1)];
    assert_eq!(once, expected.map(|(name, count)| (name.to_owned(), count, OneOrderReason::KernelLaunches)));
}

/// Every grid is counted, under its kernel's name.
#[test]
fn launched_grids_are_counted() {
    let counts = |profiles: &[cuda_emulator::KernelProfile]| {
        let one = |profile: &cuda_emulator::KernelProfile| {
            (profile.kernel.clone(), profile.launches, profile.blocks, profile.threads)
        };
        let mut found: Vec<_> = profiles.iter().map(one).collect();
        found.sort_unstable();
        found
    };
    let expected = [("older", 1, 1, 1), ("store", 1, 1, 1), ("tree", 4, 4, 7)];
    let expected =
        expected.map(|(name, launches, blocks, threads)| (name.to_owned(), launches, blocks, threads));
    let work = |kernels: &Kernels| {
        assert_eq!(kernels.results("tree", 3, &mut [0, 3]), [1, 2, 4]);
        assert_eq!(kernels.results("older", 2, &mut []), [0, 77]);
    };
    // In a process of its own: these counts are those of the process.
    if std::env::var_os("CUDA_LAUNCH_TEST_PROFILE").is_some() {
        assert!(set_profile());
        work(&Kernels::new());
        assert_eq!(counts(&take_profiles()), expected);
        return;
    }
    let output = child("launched_grids_are_counted", &[("CUDA_LAUNCH_TEST_PROFILE", "1")]);
    assert!(output.status.success(), "{output:?}");
    // And those of what a thread does.
    let kernels = Kernels::new();
    let ((), profiles) = cuda_emulator::profile(|| work(&kernels)).unwrap();
    assert_eq!(counts(&profiles), expected);
}
