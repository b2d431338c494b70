//! Every message of every public error, as users read it: `tests/error_messages.txt` is the list, to be reviewed like documentation.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::sys::CUresult as R;
use cuda_emulator::InstanceError;
use cuda_harness::Error as HarnessError;
use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::time::Duration;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/error_messages.txt");

/// Where errors are declared: each variant in these files must be in the list.
const SOURCES: &[&str] = &[
    include_str!("arguments.rs"),
    include_str!("callback.rs"),
    include_str!("capture.rs"),
    include_str!("compile.rs"),
    include_str!("device.rs"),
    include_str!("driver.rs"),
    include_str!("event.rs"),
    include_str!("graph.rs"),
    include_str!("images.rs"),
    include_str!("kinds.rs"),
    include_str!("launch.rs"),
    include_str!("memory.rs"),
    include_str!("module.rs"),
    include_str!("operation.rs"),
    include_str!("plan.rs"),
    include_str!("region.rs"),
    include_str!("state.rs"),
    include_str!("texture.rs"),
    include_str!("typed.rs"),
    include_str!("../../sys/src/loader.rs"),
    include_str!("../../harness/src/error.rs"),
    include_str!("../../emulator/src/driver/instance/error.rs"),
];

/// What the messages of these do not say, and why not.
const WITHOUT_HELP: &[(&str, &str)] = &[
    ("ArgumentMismatch", "its table has what was passed beside what the kernel takes"),
    ("ErrorKind::Name", "the reason says what to change"),
    ("GraphError::Unfit", "the rule that is broken is what to do"),
    ("Error::Call", "the driver's code, of a call of the harness"),
    ("Error::TimedOut", "the test's own words"),
    ("Error::NoChild", "the system's own words"),
    ("Error::ChildHangs", "it ends with what the child printed"),
    ("ContractError", "the contract, which it quotes, is what to do"),
    ("TensorMapError", "the rule that is broken is what to do"),
    ("CompileFailure", "a compiler's own words, with a hint where one is known"),
    ("CompilerLog", "the driver's own words, with a hint where one is known"),
    ("GraphError::Instantiate", "the driver's reason says what is wrong with the graph"),
    ("OperationError::SharedFailed", "the message of the failure ends with it"),
    ("Reason", "a part of `LoadError`, which has it"),
];

#[derive(Default)]
struct List {
    text: String,
    names: BTreeSet<String>,
    silent: Vec<String>,
}

impl List {
    /// `LaunchError::Grid`, and the message below it.
    fn add<E: Debug + Display>(&mut self, error: E) {
        let debug = format!("{error:?}");
        let variant = debug.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        let ty = std::any::type_name::<E>().rsplit("::").next().unwrap();
        let name = if ty == variant { ty.to_string() } else { format!("{ty}::{variant}") };
        let message = error.to_string();
        if !message.contains("help: ") {
            self.silent.push(name.clone());
        }
        self.text += &format!("{name}\n    {}\n\n", message.replace('\n', "\n    "));
        self.names.insert(name);
    }
}

/// The types of a source that are errors, with their variants: `LaunchError::Grid`.
fn declared(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (mut derived, mut inside, mut is_part) = (false, None::<String>, false);
    for line in source.lines() {
        let is_error = |ty: &str| {
            let by_hand = [format!("Error for {ty} {{"), format!("Error for {ty}<")];
            by_hand.iter().any(|text| source.contains(text.as_str()))
        };
        if line.starts_with("#[derive(") {
            derived = line.contains("Error");
        }
        let word = |rest: &str| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_string();
        if let Some(ty) = line.strip_prefix("pub struct ").map(word) {
            if derived || is_error(&ty) {
                names.insert(ty);
            }
            derived = false;
        } else if let Some(ty) = line.strip_prefix("pub enum ").map(word) {
            inside = (derived || is_error(&ty)).then_some(ty);
            derived = false;
        } else if line == "}" {
            inside = None;
        } else if let (Some(ty), Some(rest)) = (&inside, line.strip_prefix("    ")) {
            if rest.starts_with(char::is_uppercase) && !is_part {
                names.insert(format!("{ty}::{}", word(rest)));
            }
            // What is in one of these has a message of its own.
            is_part = rest == "#[error(transparent)]" || is_part && rest.starts_with('#');
        }
    }
    names
}

fn text(text: &str) -> String {
    text.into()
}

fn tried(path: &str, reason: &str) -> SearchAttempt {
    SearchAttempt { path: path.into(), reason: reason.into() }
}

fn argument(size: usize, type_name: &str) -> PassedArgument {
    PassedArgument { size, type_name: type_name.into() }
}

fn parameter(size: usize, ty: &str) -> Parameter {
    Parameter { size, ty: Some(ty.into()), name: None }
}

fn driver(list: &mut List) {
    list.add(DriverError {
        call: "cuMemAlloc_v2",
        code: R::CUDA_ERROR_OUT_OF_MEMORY,
        asked: text("1099511627776 bytes on device 0"),
        log: Some(text("not enough memory")),
        hint: call_hint(R::CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc_v2", None),
    });
    list.add(NoDriver {
        tried: vec![
            text("the system's driver:\n  libcuda.so.1: no such file"),
            text("the emulator: not built in"),
        ],
        help: NoDriver::INSTALL,
    });
    list.add(NoDriver {
        tried: vec![text(
            "CUDA_LAUNCH_DRIVER is \"emulated\", which is neither `system` nor `emulator`, nor a library that is a driver:\n  emulated: no such file",
        )],
        help: "correct the variable, or unset it",
    });
    // SAFETY: 1, 2: there is no such file, so that nothing is loaded.
    #[allow(unsafe_code)]
    let error = unsafe { cuda_driver_sys::Driver::open("/nowhere/libcuda.so.1") }.unwrap_err();
    list.add(error);
    use cuda_driver_sys::Reason;
    list.add(Reason::NotLoaded(text(
        "libcuda.so.1: cannot open shared object file: No such file or directory",
    )));
    list.add(Reason::NotADriver("cuInit"));
    list.add(Reason::Lacks("nvrtcVersion"));
    list.add(Reason::Stub);
    list.add(ContextInUse { device: 0 });
    for (object, stream, other_driver) in [(0, 0, false), (0, 1, false), (0, 0, true)] {
        let (what, with) = (text("a buffer of 16 bytes"), text("stream 0x55d0"));
        list.add(ContextMismatch { what, with, object, stream, other_driver });
    }
    for event in ["start", "end"] {
        list.add(EventError::NotRecorded { event });
        list.add(EventError::NotReady { event });
    }
}

fn state(list: &mut List) {
    let kernel = |name| UnfinishedLaunch::Kernel(text(name));
    let all =
        vec![UnfinishedLaunch::Earlier, kernel("scan"), UnfinishedLaunch::Unloaded, UnfinishedLaunch::Later];
    for (unfinished, log) in [
        (Vec::new(), None),
        (
            vec![kernel("saxpy")],
            Some(text("saxpy, block (0,0,0), thread (5,0,0): a write of 4 bytes at 0x14")),
        ),
        (all, None),
    ] {
        list.add(FaultError {
            code: R::CUDA_ERROR_ILLEGAL_ADDRESS,
            call: "cuStreamSynchronize",
            unfinished,
            log,
        });
    }
    list.add(ForkError { call: "cuInit", parent: 100, child: 101 });
    let help = "synchronise after the graph was launched";
    list.add(RefusedInCapture { call: "cuStreamSynchronize", help });
    list.add(StalledSubmission { call: "cuGraphLaunch", waited: Duration::from_secs(60) });
    list.add(CaptureError::Ended { call: "cuLaunchKernelEx", stream: text("stream 0x55d0") });
    list.add(CaptureError::Isolated { call: "cuStreamWaitEvent", stream: text("stream 0x55d0") });
    list.add(InHostCallback { call: "cuStreamSynchronize" });
    list.add(HostPanic { messages: vec![text("index out of bounds")] });
    list.add(HostPanic { messages: vec![text("index out of bounds"), text("another")] });
}

fn launch(list: &mut List) {
    let kernel = || text("saxpy");
    let given = || vec![argument(8, "address of [f32]"), argument(8, "length of [f32]"), argument(8, "f64")];
    let wanted = || vec![parameter(8, ".u64"), parameter(8, ".u64"), parameter(4, ".f32")];
    let guess = || Some(text("Did you mean `2.0f32`?"));
    list.add(ArgumentMismatch { kernel: kernel(), given: given(), wanted: wanted(), at: 2, guess: guess() });
    let fewer = given().into_iter().take(2).collect();
    list.add(ArgumentMismatch { kernel: kernel(), given: fewer, wanted: wanted(), at: 2, guess: None });
    let fewer = wanted().into_iter().take(2).collect();
    list.add(ArgumentMismatch { kernel: kernel(), given: given(), wanted: fewer, at: 2, guess: None });
    let (number, float) = (vec![argument(4, "u32")], vec![parameter(4, ".f32")]);
    list.add(ArgumentMismatch { kernel: kernel(), given: number, wanted: float, at: 0, guess: None });
    for value in [0, 70_000] {
        list.add(LaunchError::Grid { kernel: kernel(), axis: Axis::Y, value, limit: 65_535 });
        list.add(LaunchError::Block { kernel: kernel(), axis: Axis::Z, value, limit: 64 });
    }
    let (block, threads, limit) = ((32, 32, 2), 2048, 1024);
    let why = text(", as every kernel on this device\n  help: use smaller blocks, and more of them");
    list.add(LaunchError::Threads { kernel: kernel(), block, threads, limit, why });
    list.add(LaunchError::RequiredBlock { kernel: kernel(), given: (64, 1, 1), required: (128, 1, 1) });
    let help = text(
        "this device allows 232448 bytes in all, static and dynamic together; request at most 231424 dynamic bytes",
    );
    list.add(LaunchError::SharedMemory {
        kernel: kernel(),
        value: 300_000,
        fixed: 1024,
        limit: 49_152,
        help,
    });
    let why =
        text("each dimension of the grid must be a multiple of the cluster's\n  help: round the grid up");
    list.add(LaunchError::Cluster { kernel: kernel(), cluster: (2, 1, 1), grid: (3, 1, 1), why });
    let attribute = "CLUSTER_DIMENSION";
    list.add(AttributeError::TooNew { kernel: kernel(), attribute, since: 12_030, driver: 11_080 });
    list.add(AttributeError::StreamOnly { kernel: kernel(), attribute: "ACCESS_POLICY_WINDOW" });
    list.add(AttributeError::LaunchOnly { attribute });
    list.add(AttributeError::TooMany { kernel: kernel(), count: 99, limit: 24 });
    list.add(PlanError::NoSuchArgument { name: text("alpha"), names: vec![text("a"), text("n")] });
    list.add(PlanError::NoSuchArgument { name: text("alpha"), names: Vec::new() });
    let (recorded, given) = (text("f32"), text("f64"));
    list.add(PlanError::ArgumentType { name: text("a"), kernel: kernel(), recorded, given });
    let (required, given) = (text("x.len() >= n"), text("4 and 5"));
    list.add(ContractError { kernel: kernel(), required, given });
    list.add(ObjectError::Aliased { kernel: kernel(), first: "x", second: "y" });
    list.add(ObjectError::SeenByHost { kernel: kernel(), object: "image" });
    let artifact = |path: &str, holds: &[&str], answer: Option<&str>| ArtifactRefusal {
        path: path.into(),
        holds: holds.iter().map(|text| text.to_string()).collect(),
        answer: answer.map(text),
    };
    let newer = artifact("k.ptx", &["PTX for sm_100"], Some("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX"));
    let artifacts = vec![newer, artifact("k.cubin", &[], None)];
    list.add(NoArtifact { compute_capability: (9, 0), artifacts });
}

fn images(list: &mut List) {
    list.add(CompilerLog {
        call: "cuModuleLoadDataEx",
        code: R::CUDA_ERROR_INVALID_PTX,
        origin: text("kernels/k.ptx"),
        error_log: text("ptxas application ptx input, line 4; error   : Unknown symbol 'x'"),
        info_log: String::new(),
        line: Some(4),
        excerpt: Some(text("    add.f32 x, x, x;")),
        hint: None,
    });
    let (name, module) = (text("saxpi"), text("kernels/saxpy.ptx"));
    let nearest = vec![text("saxpy"), text("_Z5saxpyv")];
    let missing = |nearest, available| KernelNotFound {
        name: name.clone(),
        module: module.clone(),
        nearest,
        available,
    };
    list.add(missing(nearest, Some(2)));
    list.add(missing(Vec::new(), Some(1)));
    list.add(missing(Vec::new(), None));
    let none = "no such file";
    let paths = [tried("kernels/k.cubin", none), tried("kernels/k.ptx", none), tried("k.ptx", "damaged")];
    list.add(ModuleNotFound { name: text("k"), tried: paths.into() });
    let (name, type_name) = (|| text("table"), "f32");
    for nearest in [vec![name()], Vec::new()] {
        list.add(GlobalError::NotFound { name: text("tabel"), module: module.clone(), nearest });
    }
    list.add(GlobalError::Size { name: name(), module: module.clone(), bytes: 6, size: 4, type_name });
    let address = 0x7f00_0000_0002;
    list.add(GlobalError::Alignment { name: name(), module: module.clone(), address, align: 4, type_name });
    list.add(GlobalError::InUse { name: name(), module: module.clone() });
    list.add(GlobalError::Constant { name: name(), module: module.clone() });
    list.add(GlobalError::NotConstant { name: name(), module });
    list.add(Unsupported { what: text("a tensor map"), since: 12_000, driver: 11_080 });
    for bytes in ["hello", "#include <stdio.h>\n__global__ void k() {}\n", "\x7fELF"] {
        let error = cuda_ptx::image::Image::read(bytes.as_bytes()).unwrap_err();
        list.add(ErrorKind::Image { origin: text("k.ptx"), error });
    }
    let error = std::io::ErrorKind::NotFound.into();
    list.add(ErrorKind::File { path: "kernels/k.ptx".into(), error });
    list.add(ErrorKind::Capacity { len: usize::MAX, size: 4 });
    list.add(ErrorKind::Name { name: text("a\0b"), reason: "it contains a NUL byte" });
}

fn compilers(list: &mut List) {
    let help = text("install the wheel nvidia-cuda-nvrtc, or name the file with CUDA_LAUNCH_NVRTC");
    let paths = vec![tried("libnvrtc.so.13", "cannot open shared object file")];
    list.add(CompileError::NotFound { library: "NVRTC", tried: paths, help });
    for found in [Some((11, 0)), None] {
        let (what, since) = (text("nvrtcGetLTOIRSize"), "NVRTC 12.0 introduced it");
        list.add(CompileError::TooOld {
            library: "NVRTC",
            found,
            what,
            since,
            variable: "CUDA_LAUNCH_NVRTC",
        });
    }
    list.add(CompileError::NotBuilt { what: text("k.cu"), library: "NVRTC", feature: "nvrtc" });
    let device = text("cuda-launch emulator (CPU)");
    list.add(CompileError::PtxOnly { what: text("k.cubin holds SASS"), device, help: "ship PTX with it" });
    list.add(CompileError::Argument {
        what: text("the option \"-a\\0b\" contains a NUL byte"),
        help: text("remove it"),
    });
    let log = "k.cu(2): error: identifier \"x\" is undefined\n   a[0]=x;\n        ^\n\n1 error detected";
    for (log, hint) in [(log, None), ("out of luck", Some(text("try again")))] {
        list.add(CompileFailure {
            library: "NVRTC",
            version: (13, 0),
            call: "nvrtcCompileProgram",
            code: 6,
            code_name: "NVRTC_ERROR_COMPILATION",
            origin: text("k.cu"),
            options: vec![text("--gpu-architecture=compute_90")],
            diagnostics: Diagnostic::parse(log),
            log: text(log),
            hint,
        });
    }
}

fn memory(list: &mut List) {
    list.add(RegionError::OutOfBounds { side: "source", axis: Axis::X, start: 3, count: 4, limit: 6 });
    list.add(RegionError::Pitch { side: "target", pitch: 10, size: 4 });
    list.add(RegionError::TooShort { side: "source", len: 100, pitch: 64, end: 128 });
    list.add(IndexRange { range: text("3..9"), len: 4 });
    list.add(CastError::Size { from: "u8", to: "u32", bytes: 6, size: 4 });
    list.add(CastError::Alignment { from: "u8", to: "u32", address: 0x7f02, align: 4 });
    list.add(LengthMismatch { call: "copy_from_host", source_len: 5, destination_len: 4 });
    list.add(HostAccess::Graph);
    list.add(HostAccess::Managed);
    let help = "copy it to aligned memory first";
    list.add(AlignmentError { call: "cuMemAllocPitch_v2", address: 0x7f02, element: "u32", align: 4, help });
    list.add(AliasedMemory::Mapped { address: 0x7f00, bytes: 4096 });
    list.add(AliasedMemory::Multicast { address: 0x7f00 });
    let (call, memory, access) = ("cuMemGetAccess", "the mapping", "no access");
    let help = "grant it access with `Mapping::set_access` first";
    list.add(InaccessibleMemory { call, memory, device: 1, access, help });
    list.add(DlPackError { what: "element type", wanted: text("f32"), found: text("f64") });
    let help =
        "round sizes up with `next_multiple_of(granularity)`, and map inside what is reserved and allocated";
    list.add(MappingError { what: "map", offset: 100, bytes: 50, limit: 4096, granularity: 4096, help });
    list.add(TextureError::LinearFilterOfIntegers { element: "u8" });
    list.add(TextureError::NoSurface);
    list.add(TextureError::MappedLater { flags: 0x42 });
    let rule = text("it must be: 1 to 5");
    list.add(TensorMapError { what: text("the number of dimensions"), value: text("6"), rule });
}

fn graphs(list: &mut List) {
    let node = || text("node 3 (kernel saxpy)");
    list.add(GraphError::ForeignNode { index: 3 });
    list.add(GraphError::RemovedNode { node: node() });
    list.add(GraphError::WrongKind { node: node(), wanted: "memset" });
    list.add(GraphError::Unfit { node: "memset", why: text("no elements; a node sets at least one") });
    list.add(GraphError::Recording);
    list.add(GraphError::Lost);
    let (code, reason) = (R::CUDA_ERROR_INVALID_VALUE, "the dependencies form a cycle");
    list.add(GraphError::Instantiate { code, reason, node: Some(node()) });
    list.add(GraphError::Change { call: "cuGraphExecMemcpyNodeSetParams", code, node: node() });
    for number in 1..=9 {
        let refusal = UpdateRefusal(number);
        list.add(GraphError::Update { refusal, node: (number == 2).then(node) });
    }
    list.add(OperationError::AlreadyInitialised { default: 0, count: 2 });
    list.add(OperationError::NoSuchDevice { device: 3, count: 2 });
    list.add(OperationError::NoStreams);
    list.add(OperationError::TooManyStreams { count: 5000, limit: 1024 });
    list.add(OperationError::TimedOut { limit: Duration::from_secs(5) });
    list.add(OperationError::SharedFailed { message: text("cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY") });
    list.add(OperationError::NoLaunchConfig { kernel: text("saxpy") });
    list.add(OperationError::RawAddress { kernel: text("saxpy") });
    list.add(OperationError::Finished);
}

/// Those of the crates that tests use.
fn harness(list: &mut List) {
    let (waited, limit) = (Duration::from_secs(60), Duration::from_secs(5));
    list.add(HarnessError::NoSlot { slots: 64, waited });
    list.add(HarnessError::NoShortAnswer {
        name: text("cuInit"),
        known: &["cuDeviceGetName", "cuMemcpyDtoH_v2"],
    });
    let wanted = text("a number of devices");
    list.add(HarnessError::Variable { name: "CUDA_EMULATOR_DEVICES", value: text("many"), wanted });
    list.add(HarnessError::NoSuchFunction { name: text("cuFoo") });
    list.add(HarnessError::SuccessIsNoFault);
    list.add(HarnessError::CallZero);
    list.add(HarnessError::Call { function: "cuStreamCreate", code: R::CUDA_ERROR_OUT_OF_MEMORY });
    list.add(HarnessError::HeldTooLong { limit });
    list.add(HarnessError::TimedOut { what: text("the stream is idle"), waited });
    list.add(HarnessError::NoChild { test: text("faults::one"), why: text("no memory") });
    let (stdout, stderr) = (text("running 1 test"), text("a line"));
    list.add(HarnessError::ChildHangs { test: text("faults::one"), limit, stdout, stderr });
    list.add(InstanceError::NoSlot { slots: 64, waited });
    list.add(InstanceError::Devices { asked: 99, most: 64 });
    list.add(InstanceError::Architectures { asked: 2, devices: Some(3), most: 64 });
    list.add(InstanceError::Architectures { asked: 99, devices: None, most: 64 });
    list.add(InstanceError::Ptx { major: 9, minor: 9 });
    list.add(InstanceError::Version { asked: 10_000, oldest: 11_080, newest: 13_000 });
    list.add(InstanceError::InCallback);
    list.add(InstanceError::Forked);
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn every_message_is_in_the_list_that_was_reviewed() {
    let mut list = List::default();
    for part in [driver, state, launch, images, compilers, memory, graphs, harness] {
        part(&mut list);
    }
    let declared: BTreeSet<String> = SOURCES.iter().flat_map(|source| declared(source)).collect();
    let missing: Vec<_> = declared.difference(&list.names).collect();
    assert!(missing.is_empty(), "add an example of {missing:?} to {}", file!());
    assert!(declared.len() > 80, "the declarations were found: {}", declared.len());

    let silent = list.silent.iter().filter(|name| {
        !WITHOUT_HELP
            .iter()
            .any(|(exception, _)| name.split("::").next() == Some(exception) || name == exception)
    });
    let silent: Vec<_> = silent.collect();
    assert!(silent.is_empty(), "these do not say what to do (`help:`): {silent:?}");

    if std::env::var_os("UPDATE_MESSAGES").is_some() {
        std::fs::write(LIST, &list.text).unwrap();
    }
    let reviewed = std::fs::read_to_string(LIST).unwrap();
    for (now, reviewed) in list.text.lines().zip(reviewed.lines()) {
        assert_eq!(now, reviewed, "UPDATE_MESSAGES=1 writes the list anew");
    }
    assert_eq!(list.text.len(), reviewed.len(), "UPDATE_MESSAGES=1 writes the list anew");
}
