//! What device code asks the device runtime, and its copies and fills: codes and bytes that an H200 with driver 580 and the library of CUDA
//! 13.0 answered on 2026-11-29.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::Arc;
use support::*;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
/// Kernels to launch and to ask about.
const CHILDREN: &str = "
.visible .entry set(.param .u64 p, .param .u64 v)
{ .reg .b64 %p, %v; ld.param.u64 %p, [p]; ld.param.u64 %v, [v]; st.global.u64 [%p], %v; ret; }
.const .align 4 .b32 numbers[25] = {1, 2, 3};
.visible .entry big(.param .u64 p) .maxntid 96, 1, 1
{ .shared .align 4 .b8 s[1000]; .local .align 4 .b8 l[400]; .reg .b64 %p; .reg .b32 %r;
ld.param.u64 %p, [p]; st.shared.u32 [s], 1; st.local.u32 [l], 2; ld.local.u32 %r, [l]; ld.const.u32 %r, [numbers]; st.global.u32 [%p], %r; ret; }
";

/// A value that a call is given.
#[derive(Clone, Copy)]
enum Value {
    /// 32 bits.
    Word(u32),
    /// 64 bits.
    Long(u64),
    /// The address of a place of the output.
    Place(u32),
    /// What stands there.
    At(u32),
    /// A kernel's address.
    Kernel(&'static str),
    /// A structure of values of 64 bits, each a number or, with the highest bit set, a place.
    Pack(&'static [u64]),
    /// One block or thread.
    One,
}
use Value::{At, Kernel, Long, One, Pack, Place, Word};

/// A place in a [`Pack`].
const HERE: u64 = 1 << 63;

/// A step of a kernel: a call, or bytes that are stored.
enum Step {
    /// Its result has 64 bits.
    Address(&'static str, Vec<Value>),
    /// Its result has 32 bits.
    Code(&'static str, Vec<Value>),
    /// 64 bits at an offset from an address that stands at a place.
    Store(u32, u32, Value),
}
use Step::{Address, Code, Store};

/// The size of the output: results of steps, 8 bytes each, then bytes from [`BYTES`] on.
const SIZE: usize = 2048;
const BYTES: u32 = 512;
const SOURCE: u32 = 1024;

fn declared(value: Value, name: &str) -> String {
    match value {
        Word(_) => format!(".param .b32 {name}"),
        Pack(words) => format!(".param .align 8 .b8 {name}[{}]", 8 * words.len()),
        One => format!(".param .align 4 .b8 {name}[12]"),
        _ => format!(".param .b64 {name}"),
    }
}

/// Puts a value into `%v`, or into a parameter.
fn passed(value: Value, name: &str) -> String {
    let place = |at: u32| format!("add.u64 %v, %o, {at};");
    match value {
        Word(number) => format!("st.param.b32 [{name}], {number};"),
        One => [0, 4, 8].map(|at| format!("st.param.b32 [{name}+{at}], 1;")).concat(),
        Pack(words) => {
            let store = |(at, word): (usize, &u64)| {
                let value = match word & HERE {
                    0 => format!("mov.u64 %v, {word};"),
                    _ => place((word & !HERE) as u32),
                };
                format!("{value} st.param.b64 [{name}+{}], %v;", 8 * at)
            };
            words.iter().enumerate().map(store).collect()
        }
        Long(number) => format!("st.param.b64 [{name}], {number};"),
        Place(at) => format!("{} st.param.b64 [{name}], %v;", place(at)),
        At(at) => format!("ld.global.u64 %v, [%o+{at}]; st.param.b64 [{name}], %v;"),
        Kernel(kernel) => format!("mov.u64 %v, {kernel}; st.param.b64 [{name}], %v;"),
    }
}

/// A module with one kernel, `script`, that makes these steps.
fn script(prefix: &str, steps: &[Step]) -> String {
    let (mut externs, mut body) = (BTreeMap::new(), String::new());
    for (at, step) in steps.iter().enumerate() {
        let (ty, name, values) = match step {
            Address(name, values) => ("b64", name, values),
            Code(name, values) => ("b32", name, values),
            Store(pointer, offset, value) => {
                let value = match value {
                    Place(at) => format!("add.u64 %v, %o, {at};"),
                    Long(number) => format!("mov.u64 %v, {number};"),
                    _ => unreachable!(),
                };
                body += &format!("{value} ld.global.u64 %p, [%o+{pointer}]; st.u64 [%p+{offset}], %v;\n");
                continue;
            }
        };
        let name = if name.starts_with("cudaCG") || name.starts_with("__") {
            (*name).to_owned()
        } else {
            format!("{prefix}{name}")
        };
        let names: Vec<String> = (0..values.len()).map(|at| format!("a{at}")).collect();
        let list =
            |of: &dyn Fn((&Value, &String)) -> String| values.iter().zip(&names).map(of).collect::<Vec<_>>();
        let parameters = list(&|(value, name)| declared(*value, name));
        externs.insert(
            name.clone(),
            format!(".extern .func (.param .{ty} r) {name}({});\n", parameters.join(", ")),
        );
        let locals: String = parameters.iter().map(|parameter| format!("{parameter}; ")).collect();
        let stores = list(&|(value, name)| passed(*value, name)).concat();
        let names = names.join(", ");
        let widened =
            if ty == "b32" { "ld.param.b32 %w, [r]; cvt.u64.u32 %v, %w;" } else { "ld.param.b64 %v, [r];" };
        body += &format!(
            "{{ .param .{ty} r; {locals}{stores} call (r), {name}, ({names}); {widened} st.global.u64 [%o+{}], %v; }}\n",
            8 * at
        );
    }
    let externs: String = externs.into_values().collect();
    format!(
        "{HEAD}{externs}{CHILDREN}.visible .entry script(.param .u64 out)\n{{ .reg .b64 %o, %v, %p; .reg .b32 %w; ld.param.u64 %o, [out];\n{body}ret; }}\n"
    )
}

/// A module of this text and the device runtime.
fn link(cuda: &Driver, text: &str) -> CUmodule {
    let (mut state, mut image, mut module) = (null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuLinkCreate(0, null_mut(), null_mut(), &mut state) });
    let library: &[u8] = b"!<arch>\ncuda_device_runtime.o/";
    for (kind, data) in
        [(CUjitInputType::CU_JIT_INPUT_PTX, text.as_bytes()), (CUjitInputType::CU_JIT_INPUT_LIBRARY, library)]
    {
        let (data, size) = (data.as_ptr().cast_mut().cast(), data.len());
        ok(unsafe { cuda.cuLinkAddData(state, kind, data, size, c"it".as_ptr(), 0, null_mut(), null_mut()) });
    }
    ok(unsafe { cuda.cuLinkComplete(state, &mut image, &mut 0) });
    ok(unsafe { cuda.cuModuleLoadData(&mut module, image) });
    ok(unsafe { cuda.cuLinkDestroy(state) });
    module
}

/// What a script left: the results of its steps, and the bytes from [`BYTES`] on.
struct Left {
    results: Vec<u64>,
    bytes: Vec<u8>,
}

impl Left {
    fn words(&self) -> [u32; 2] {
        [0, 4].map(|at: usize| u32::from_ne_bytes(self.bytes[at..at + 4].try_into().unwrap()))
    }
}

/// The output before: bytes of 0x77, and behind [`SOURCE`] ascending ones.
fn before() -> Vec<u8> {
    let ascending = (0..=u8::MAX).cycle().take(SIZE - SOURCE as usize);
    std::iter::repeat_n(0x77, SOURCE as usize).chain(ascending).collect()
}

struct Runtime {
    cuda: Arc<Driver>,
}

impl Runtime {
    fn new() -> Runtime {
        Runtime { cuda: with_own_context().0 }
    }

    fn run(&self, steps: &[Step]) -> Left {
        self.run_as("__cudaCDP2", steps, false)
    }

    fn run_as(&self, prefix: &str, steps: &[Step], cooperative: bool) -> Left {
        let cuda = &self.cuda;
        let module = link(cuda, &script(prefix, steps));
        let kernel = function(cuda, module, "script");
        let mut out = alloc(cuda, SIZE);
        write(cuda, out, &before());
        let mut arguments = [argument(&mut out)];
        let arguments = arguments.as_mut_ptr();
        if cooperative {
            ok(unsafe { cuda.cuLaunchCooperativeKernel(kernel, 1, 1, 1, 1, 1, 1, 0, null_mut(), arguments) });
        } else {
            ok(launch_as(cuda, kernel, [1; 3], [1; 3], 0, null_mut(), arguments, null_mut()));
        }
        let all = read(cuda, out, SIZE);
        let result = |at: usize| u64::from_ne_bytes(all[8 * at..8 * at + 8].try_into().unwrap());
        let left =
            Left { results: (0..steps.len()).map(result).collect(), bytes: all[BYTES as usize..].to_vec() };
        ok(unsafe { cuda.cuModuleUnload(module) });
        left
    }

    /// The code of a call, the last error behind it, and the first words.
    fn ask(&self, name: &'static str, values: &[Value]) -> (u64, u64, [u32; 2]) {
        let left = self.run(&[Code(name, values.to_vec()), Code("GetLastError", vec![])]);
        (left.results[0], left.results[1], left.words())
    }
}

const NOTHING: u32 = 0x7777_7777;

#[test]
fn device_code_is_told_what_the_host_is() {
    let runtime = Runtime::new();
    let one = [Place(BYTES)];
    assert_eq!(runtime.ask("GetDevice", &one), (0, 0, [0, NOTHING]));
    assert_eq!(runtime.ask("GetDeviceCount", &one), (0, 0, [1, NOTHING]));
    assert_eq!(runtime.ask("DeviceGetSharedMemConfig", &one), (0, 0, [1, NOTHING]));
    assert_eq!(runtime.ask("RuntimeGetVersion", &one), (0, 0, [6000, NOTHING]), "it counts for itself");
    assert_eq!(runtime.ask("DeviceGetCacheConfig", &one), (0, 0, [0, NOTHING]));
    ok(unsafe { runtime.cuda.cuCtxSetCacheConfig(CUfunc_cache::CU_FUNC_CACHE_PREFER_L1) });
    assert_eq!(runtime.ask("DeviceGetCacheConfig", &one), (0, 0, [2, NOTHING]));
    for (attribute, device, expected) in [
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT.0, 0, (0, 0, [132, NOTHING])),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE.0, 0, (0, 0, [32, NOTHING])),
        (0, 0, (0, 0, [0, NOTHING])),
        (150, 0, (1, 1, [NOTHING; 2])),
        (1, 1, (0, 0, [0, NOTHING])),
        (1, u32::MAX, (101, 101, [NOTHING; 2])),
    ] {
        let values = [Place(BYTES), Word(attribute), Word(device)];
        assert_eq!(runtime.ask("DeviceGetAttribute", &values), expected, "{attribute} of {device}");
    }
}

/// Nowhere to write to is an error, which only the count keeps for itself.
#[test]
fn answers_go_to_a_place() {
    let runtime = Runtime::new();
    for name in ["GetDevice", "DeviceGetCacheConfig", "DeviceGetSharedMemConfig", "RuntimeGetVersion"] {
        assert_eq!(runtime.ask(name, &[Long(0)]).0, 1, "{name}");
        assert_eq!(runtime.ask(name, &[Long(0)]).1, 1, "{name}");
    }
    assert_eq!(runtime.ask("GetDeviceCount", &[Long(0)]), (1, 0, [NOTHING; 2]));
    assert_eq!(runtime.ask("DeviceGetAttribute", &[Long(0), Word(1), Word(0)]), (1, 1, [NOTHING; 2]));
    assert_eq!(runtime.ask("FuncGetAttributes", &[Long(0), Kernel("set")]), (1, 1, [NOTHING; 2]));
    assert_eq!(runtime.ask("FuncGetAttributes", &[Place(BYTES), Long(0)]), (1, 1, [NOTHING; 2]));
    assert_eq!(runtime.ask("Malloc", &[Long(0), Long(16)]), (1, 1, [NOTHING; 2]));
    assert_eq!(runtime.ask("Malloc", &[Place(BYTES), Long(0)]), (1, 1, [NOTHING; 2]));
    for (name, good) in [("StreamCreateWithFlags", [0, 1]), ("EventCreateWithFlags", [2, 3])] {
        assert_eq!(runtime.ask(name, &[Long(0), Word(good[0])]).0, 1);
        for flags in 0..8 {
            let code = u64::from(!good.contains(&flags));
            let found = runtime.ask(name, &[Place(BYTES), Word(flags)]);
            assert_eq!((found.0, found.1), (code, code), "{name} {flags}");
        }
    }
}

#[test]
fn functions_have_the_attributes_that_the_host_sees() {
    let runtime = Runtime::new();
    let attributes = [Code("FuncGetAttributes", vec![Place(BYTES), Kernel("big")])];
    let left = runtime.run(&attributes);
    assert_eq!(left.results[0], 0);
    let module = link(&runtime.cuda, &script("__cudaCDP2", &attributes));
    let big = function(&runtime.cuda, module, "big");
    let host = |attribute: u32| {
        let mut value = 0;
        ok(unsafe { runtime.cuda.cuFuncGetAttribute(&mut value, CUfunction_attribute(attribute), big) });
        value
    };
    let long = |at: usize| i64::from_ne_bytes(left.bytes[at..at + 8].try_into().unwrap());
    let short = |at: usize| i32::from_ne_bytes(left.bytes[at..at + 4].try_into().unwrap());
    assert_eq!([0, 8, 16].map(long), [1000, 100, 400]);
    assert_eq!([0, 8, 16].map(long), [1, 2, 3].map(|attribute| i64::from(host(attribute))));
    assert_eq!([24, 28, 32, 36].map(short), [0, 4, 5, 6].map(host));
    assert_eq!(short(24), 96);
    assert!(
        left.bytes[40..64].iter().all(|byte| *byte == 0x77),
        "the fields of newer versions are not written"
    );

    let mut blocks = 0;
    for (threads, shared) in
        [(32, 0), (32, 10_000), (97, 0), (1024, 0), (1025, 0), (32, 100_000), (32, 1 << 40)]
    {
        let host = unsafe {
            runtime.cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, big, threads, shared)
        };
        ok(host);
        let values = [Place(BYTES), Kernel("big"), Word(threads as u32), Long(shared as u64)];
        let expected = (0, 0, [blocks as u32, NOTHING]);
        assert_eq!(runtime.ask("OccupancyMaxActiveBlocksPerMultiprocessor", &values), expected);
        // The flags have no part in it, whatever they are.
        let with_flags: Vec<Value> = values.into_iter().chain([Word(3)]).collect();
        assert_eq!(runtime.ask("OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", &with_flags), expected);
    }
    for threads in [0, u32::MAX] {
        let values = [Place(BYTES), Kernel("big"), Word(threads), Long(0)];
        assert_eq!(runtime.ask("OccupancyMaxActiveBlocksPerMultiprocessor", &values), (1, 0, [0, NOTHING]));
    }
}

#[test]
fn what_is_no_kernel_has_no_attributes() {
    let instance = Instance::new().unwrap();
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let text = script("__cudaCDP2", &[Code("FuncGetAttributes", vec![Place(BYTES), Long(5)])]);
    let kernel = function(&cuda, link(&cuda, &text), "script");
    let mut out = alloc(&cuda, SIZE);
    ok(launch(&cuda, kernel, null_mut(), &mut [argument(&mut out)]));
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert!(instance.faults()[0].message.contains("0x5, which is not a kernel of the module"));
}

#[test]
fn codes_have_names_and_meanings() {
    let runtime = Runtime::new();
    let cuda = &runtime.cuda;
    for (code, name, meaning) in [
        (0, "cudaSuccess", "no error"),
        (1, "cudaErrorInvalidValue", "invalid argument"),
        (
            69,
            "cudaErrorLaunchPendingCountExceeded",
            "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount",
        ),
        (10_000, "cudaErrorApiFailureBase", "api failure base"),
        (10, "unrecognized error code", "unrecognized error code"),
        (u32::MAX, "unrecognized error code", "unrecognized error code"),
    ] {
        let module = link(
            cuda,
            &script(
                "__cudaCDP2",
                &[Address("GetErrorName", vec![Word(code)]), Address("GetErrorString", vec![Word(code)])],
            ),
        );
        let mut out = alloc(cuda, SIZE);
        ok(launch(cuda, function(cuda, module, "script"), null_mut(), &mut [argument(&mut out)]));
        let addresses = read(cuda, out, 16);
        for (address, text) in addresses.chunks_exact(8).zip([name, meaning]) {
            let address = u64::from_ne_bytes(address.try_into().unwrap());
            let expected: Vec<u8> = text.bytes().chain([0]).collect();
            assert_eq!(read(cuda, address, expected.len()), expected, "{code}");
        }
    }
}

/// The code, the last error and the bytes behind a copy or a fill.
fn moved(runtime: &Runtime, name: &'static str, values: &[Value]) -> (u64, u64, Vec<u8>) {
    let left = runtime.run(&[Code(name, values.to_vec()), Code("GetLastError", vec![])]);
    (left.results[0], left.results[1], left.bytes[..64].to_vec())
}

/// Bytes of 0x77 with others at these places.
fn with(pieces: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0x77; 64];
    pieces.iter().for_each(|(at, piece)| bytes[*at..at + piece.len()].copy_from_slice(piece));
    bytes
}

#[test]
fn copies_of_rows_and_slices() {
    let runtime = Runtime::new();
    let (to, from, now) = (Place(BYTES), Place(SOURCE), Long(0));
    for (kind, code) in [(0, 21), (1, 21), (2, 21), (3, 0), (4, 0), (5, 21), (u32::MAX, 21)] {
        let expected = if code == 0 { with(&[(0, &[0, 1, 2, 3, 4, 5, 6, 7, 8])]) } else { with(&[]) };
        let line = [to, from, Long(9), Word(kind), now];
        assert_eq!(moved(&runtime, "MemcpyAsync", &line), (code, code, expected), "{kind}");
        let nothing = [to, from, Long(0), Word(kind), now];
        assert_eq!(moved(&runtime, "MemcpyAsync", &nothing).0, 0, "nothing to copy is no error");
        let rows = [to, Long(16), from, Long(10), Long(5), Long(3), Word(kind), now];
        let pieces = with(&[(0, &[0, 1, 2, 3, 4]), (16, &[10, 11, 12, 13, 14]), (32, &[20, 21, 22, 23, 24])]);
        let expected = if code == 0 { pieces } else { with(&[]) };
        assert_eq!(moved(&runtime, "Memcpy2DAsync", &rows), (code, code, expected), "{kind}");
    }
    for values in [[Long(0), from], [to, Long(0)]] {
        let [to, from] = values;
        assert_eq!(moved(&runtime, "MemcpyAsync", &[to, from, Long(9), Word(3), now]), (1, 1, with(&[])));
    }
    assert_eq!(
        moved(&runtime, "MemcpyAsync", &[to, from, Long(9), Word(3), Long(0x500)]),
        (999, 999, with(&[]))
    );
    // The pitch of one row is not looked at.
    for (pitches, rows, code) in
        [([4, 10], 3, 12), ([16, 4], 3, 12), ([4, 10], 1, 0), ([0, 0], 1, 0), ([4, 4], 0, 0)]
    {
        let [target, source] = pitches.map(Long);
        let values = [to, target, from, source, Long(5), Long(rows), Word(3), now];
        assert_eq!(moved(&runtime, "Memcpy2DAsync", &values).0, code, "{pitches:?} {rows}");
    }
}

/// What `cudaMemcpy3DParms` has, as words: an array, a position, and the pitch, width and rows behind a pointer, of both sides; the extent, the
/// kind.
fn volume(runtime: &Runtime, change: &[(u32, u64)]) -> (u64, u64, Vec<u8>) {
    // Where the structure stands in the output.
    const AT: u32 = 1536;
    let words: [u64; 20] = [0, 0, 0, 0, 0, 8, 8, 4, 0, 0, 0, 0, 0, 16, 16, 2, 5, 2, 2, 3];
    let steps = [Code("Memcpy3DAsync", vec![Place(AT), Long(0)]), Code("GetLastError", vec![])];
    let store = |(at, word): (usize, &u64)| {
        let changed = change.iter().find(|(place, _)| *place as usize == at).map_or(*word, |(_, word)| *word);
        format!("mov.u64 %v, {changed}; st.global.u64 [%o+{}], %v;\n", AT as usize + 8 * at)
    };
    let body: String = words.iter().enumerate().map(store).collect();
    let pointers = format!(
        "add.u64 %v, %o, {SOURCE}; st.global.u64 [%o+{}], %v; add.u64 %v, %o, {BYTES}; st.global.u64 [%o+{}], %v;\n",
        AT + 32,
        AT + 96
    );
    let text = script("__cudaCDP2", &steps).replacen(
        "ld.param.u64 %o, [out];\n",
        &format!("ld.param.u64 %o, [out];\n{body}{pointers}"),
        1,
    );
    let cuda = &runtime.cuda;
    let kernel = function(cuda, link(cuda, &text), "script");
    let mut out = alloc(cuda, SIZE);
    write(cuda, out, &before());
    ok(launch(cuda, kernel, null_mut(), &mut [argument(&mut out)]));
    let all = read(cuda, out, SIZE);
    let code = |at: usize| u64::from_ne_bytes(all[at..at + 8].try_into().unwrap());
    (code(0), code(8), all[BYTES as usize..BYTES as usize + 64].to_vec())
}

#[test]
fn copies_of_volumes() {
    let runtime = Runtime::new();
    // Rows 8 apart and slices 4 rows of the source, rows 16 apart and slices 2 rows of the target.
    let rows = |starts: [u8; 4], at: usize| {
        let row = |start: u8| [start, start + 1, start + 2, start + 3, start + 4];
        let [a, b, c, d] = starts.map(row);
        with(&[(at, &a), (at + 16, &b), (at + 32, &c), (at + 48, &d)])
    };
    assert_eq!(volume(&runtime, &[]), (0, 0, rows([0, 8, 32, 40], 0)));
    assert_eq!(volume(&runtime, &[(1, 1), (2, 1), (3, 1)]), (0, 0, rows([41, 49, 73, 81], 0)));
    assert_eq!(volume(&runtime, &[(9, 2)]), (0, 0, rows([0, 8, 32, 40], 2)));
    // The target's second row, and its second slice.
    assert_eq!(volume(&runtime, &[(10, 1), (18, 1)]).2[16..21], [0, 1, 2, 3, 4]);
    assert_eq!(volume(&runtime, &[(11, 1), (18, 1)]).2[32..37], [0, 1, 2, 3, 4]);
    let refused = |change: &[(u32, u64)], code: u64| {
        assert_eq!(volume(&runtime, change), (code, code, with(&[])), "{change:?}");
    };
    refused(&[(0, 64)], 1);
    refused(&[(8, 64)], 1);
    refused(&[(19, 1)], 21);
    refused(&[(16, 9)], 12);
    refused(&[(13, 4)], 12);
    refused(&[(7, 1)], 12);
    for nothing in [16, 17, 18] {
        refused(&[(nothing, 0)], 0);
    }
    assert_eq!(moved(&runtime, "Memcpy3DAsync", &[Long(0), Long(0)]), (1, 1, with(&[])));
}

/// The libraries of CUDA 13.0 and 13.5 lose the value of a fill.
#[test]
fn fills_are_of_zeros() {
    let runtime = Runtime::new();
    let (to, value, now) = (Place(BYTES), Word(0xab), Long(0));
    for bytes in [1, 7, 16] {
        let expected = with(&[(0, &vec![0; bytes])]);
        assert_eq!(moved(&runtime, "MemsetAsync", &[to, value, Long(bytes as u64), now]), (0, 0, expected));
    }
    assert_eq!(moved(&runtime, "MemsetAsync", &[Long(0), value, Long(4), now]), (1, 1, with(&[])));
    assert_eq!(moved(&runtime, "MemsetAsync", &[Long(0), value, Long(0), now]), (0, 0, with(&[])));
    let rows = |pitch, width, height| {
        let values = [to, Long(pitch), value, Long(width), Long(height), now];
        moved(&runtime, "Memset2DAsync", &values)
    };
    assert_eq!(rows(16, 5, 3), (0, 0, with(&[(0, &[0; 5]), (16, &[0; 5]), (32, &[0; 5])])));
    assert_eq!(rows(4, 5, 3), (1, 1, with(&[])));
    assert_eq!(rows(4, 5, 1), (0, 0, with(&[(0, &[0; 5])])));
    assert_eq!(rows(16, 0, 3), (0, 0, with(&[])));
    let slices = |pitched: &'static [u64], extent: &'static [u64]| {
        moved(&runtime, "Memset3DAsync", &[Pack(pitched), value, Pack(extent), now])
    };
    const HERE_BYTES: u64 = HERE | BYTES as u64;
    let all = with(&[(0, &[0; 5]), (8, &[0; 5]), (24, &[0; 5]), (32, &[0; 5])]);
    assert_eq!(slices(&[HERE_BYTES, 8, 3, 3], &[5, 2, 2]), (0, 0, all));
    assert_eq!(slices(&[HERE_BYTES, 8, 8, 1], &[5, 2, 2]), (1, 1, with(&[])));
    assert_eq!(slices(&[HERE_BYTES, 4, 8, 3], &[5, 2, 2]), (1, 1, with(&[])));
    assert_eq!(slices(&[HERE_BYTES, 8, 8, 3], &[5, 2, 0]), (0, 0, with(&[])));
}

/// Second names are of the same functions.
#[test]
fn names_for_streams_of_threads() {
    let runtime = Runtime::new();
    for prefix in ["__cudaCDP2", "cuda"] {
        for name in ["LaunchDeviceV2", "LaunchDeviceV2_ptsz"] {
            for stream in 0..=4 {
                let buffer = Address("GetParameterBufferV2", vec![Kernel("set"), One, One, Word(0)]);
                let steps = [
                    buffer,
                    Store(0, 0, Place(BYTES)),
                    Store(0, 8, Long(0x55)),
                    Code(name, vec![At(0), Long(stream)]),
                    Code("GetLastError", vec![]),
                ];
                let left = runtime.run_as(prefix, &steps, false);
                assert_eq!((&left.results[3..], left.words()[0]), (&[0, 0][..], 0x55), "{name} {stream}");
            }
        }
        let copy = [Code("MemcpyAsync_ptsz", vec![Place(BYTES), Place(SOURCE), Long(4), Word(3), Long(0)])];
        assert_eq!(runtime.run_as(prefix, &copy, false).words()[0], 0x0302_0100);
        let events = [
            Code("EventCreateWithFlags", vec![Place(BYTES), Word(2)]),
            Code("EventRecord_ptsz", vec![At(BYTES), Long(0)]),
            Code("StreamWaitEvent_ptsz", vec![Long(0), At(BYTES), Word(0)]),
            Code("EventRecord", vec![Long(0), Long(0)]),
        ];
        assert_eq!(runtime.run_as(prefix, &events, false).results, [0, 0, 0, 1]);
    }
}

/// Buffers of any size that there is room for.
#[test]
fn buffers_may_be_large() {
    let runtime = Runtime::new();
    let buffer = |bytes| {
        let steps =
            [Address("GetParameterBuffer", vec![Long(64), Long(bytes)]), Code("GetLastError", vec![])];
        let left = runtime.run(&steps);
        (left.results[0] != 0, left.results[1])
    };
    assert_eq!([0, 4097, 1 << 20].map(buffer), [(true, 0); 3]);
    assert_eq!(buffer(1 << 30), (false, 2));
}

#[test]
fn grids_that_wait_for_themselves() {
    let runtime = Runtime::new();
    let steps = |scope| {
        [
            Address("cudaCGGetIntrinsicHandle", vec![Word(scope)]),
            Code("cudaCGGetSize", vec![Place(BYTES), Place(BYTES + 4), At(0)]),
            Code("cudaCGGetRank", vec![Place(BYTES + 8), Place(BYTES + 12), At(0)]),
            Code("cudaCGSynchronizeGrid", vec![At(0), Word(0)]),
            Code("cudaCGSynchronize", vec![At(0), Word(0)]),
        ]
    };
    for (scope, cooperative) in [(1, false), (2, false), (1, true), (2, true)] {
        let left = runtime.run_as("__cudaCDP2", &steps(scope), cooperative);
        let (code, words) = if (scope, cooperative) == (1, true) { (0, [1, 1, 0, 1]) } else { (999, [0; 4]) };
        assert_eq!(left.results[1..], [code; 4], "{scope} {cooperative}");
        let word = |at: usize| u32::from_ne_bytes(left.bytes[at..at + 4].try_into().unwrap());
        assert_eq!([0, 4, 8, 12].map(word), words);
    }
    // With the functions of either prefix.
    for prefix in ["__cudaCDP2", "cuda"] {
        let steps =
            [Code("__cudaDeviceSynchronizeDeprecationAvoidance", vec![]), Code("GetLastError", vec![])];
        let others = [Code("GetDevice", vec![Place(BYTES)])];
        let all: Vec<Step> = steps.into_iter().chain(others).collect();
        assert_eq!(runtime.run_as(prefix, &all, false).results, [68, 68, 0]);
    }
}

/// Every function that `libcudadevrt.a` of CUDA 13.0 has, by all its names.
#[test]
fn all_names_are_there() {
    let runtime = Runtime::new();
    let names = "GetLastError GetParameterBufferV2 LaunchDeviceV2 DeviceGetLimit OccupancyMaxActiveBlocksPerMultiprocessor \
        OccupancyMaxActiveBlocksPerMultiprocessorWithFlags Malloc Free DeviceGetCacheConfig DeviceGetSharedMemConfig PeekAtLastError \
        GetErrorString GetErrorName GetDeviceCount DeviceGetAttribute GetDevice StreamCreateWithFlags StreamDestroy StreamWaitEvent \
        StreamWaitEvent_ptsz EventCreateWithFlags EventRecord EventRecord_ptsz EventDestroy FuncGetAttributes MemcpyAsync MemcpyAsync_ptsz \
        Memcpy2DAsync Memcpy2DAsync_ptsz Memcpy3DAsync Memcpy3DAsync_ptsz MemsetAsync MemsetAsync_ptsz Memset2DAsync Memset2DAsync_ptsz \
        Memset3DAsync Memset3DAsync_ptsz RuntimeGetVersion GetParameterBuffer LaunchDevice LaunchDevice_ptsz LaunchDeviceV2_ptsz";
    let both = names
        .split_whitespace()
        .flat_map(|name| ["__cudaCDP2", "cuda"].map(|prefix| format!("{prefix}{name}")));
    let others = [
        "__cudaDeviceSynchronizeDeprecationAvoidance",
        "cudaCGGetIntrinsicHandle",
        "cudaCGSynchronize",
        "cudaCGSynchronizeGrid",
        "cudaCGGetSize",
        "cudaCGGetRank",
    ];
    let all: Vec<String> = both.chain(others.map(str::to_owned)).collect();
    assert_eq!(all.len(), 2 * 42 + 6);
    let declared: String = all.iter().map(|name| format!(".extern .func {name}();\n")).collect();
    // Their addresses are enough: nothing is called.
    let used: String = all.iter().map(|name| format!("mov.u64 %a, {name};\n")).collect();
    link(&runtime.cuda, &format!("{HEAD}{declared}.visible .entry k() {{ .reg .b64 %a;\n{used}ret; }}\n"));
}
