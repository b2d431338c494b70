//! Runs a kernel that faults in a child process, and looks at what is left of CUDA there.

#![allow(unreachable_pub)]

use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaModule, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_launch};

use cuda_harness::child;

/// A module without fault.
const OTHER: &str = include_str!("../kernels/faults.ptx");

/// What a child ends with when all went as it should.
const AS_EXPECTED: i32 = 42;

/// What a kernel can go wrong with.
pub struct Site {
    pub ctx: CudaContext,
    pub stream: CudaStream,
    pub module: CudaModule,
    pub words: DeviceBuffer<u32>,
}

impl Site {
    fn new(ptx: &str) -> Self {
        let ctx = CudaContext::new(0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let module = ctx.load_module(ptx).unwrap();
        let words = DeviceBuffer::zeroed(&stream, 256).unwrap();
        stream.synchronize().unwrap();
        Self { ctx, stream, module, words }
    }

    /// The address that the emulator must name.
    pub fn expect(&self, address: u64) {
        println!("expected address 0x{address:x}");
    }
}

pub fn line(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig::new((blocks, 1, 1), (threads, 1, 1))
}

pub fn on_emulator() -> bool {
    let ctx = CudaContext::new(0).unwrap();
    ctx.device_name().unwrap().to_lowercase().contains("emulator")
}

/// In the parent: the child for `test` ends well, and the emulator says `says` about the line of `ptx` that has
/// `instruction`. In the child: `launch` faults with `code`.
pub fn fault(
    test: &str,
    ptx: &str,
    code: CUresult,
    instruction: &str,
    says: &[&str],
    launch: impl FnOnce(&mut Site) -> Result<(), Error>,
) {
    if child::is_child(test) {
        goes_wrong(Site::new(ptx), code, launch);
        std::process::exit(AS_EXPECTED);
    }
    let child = child::run(test).unwrap();
    let output = format!("{test}\n{}\n{}", child.stdout, child.stderr);
    assert_eq!(child.code, Some(AS_EXPECTED), "{output}");
    if !on_emulator() {
        return;
    }
    let error = child.stdout.split_once("the error: ").and_then(|(_, rest)| rest.lines().next());
    let error = error.unwrap_or_default();
    for text in says.iter().chain(&["PTX line "]) {
        assert!(child.stderr.contains(text), "should say {text:?}: {output}");
        assert!(error.contains(text), "the error should say {text:?}: {output}");
    }
    assert!(!error.contains("CUDA_LAUNCH_DRIVER=emulator"), "it is on the emulator: {output}");
    for address in child.stdout.lines().filter_map(|line| line.strip_prefix("expected address ")) {
        assert!(child.stderr.contains(address), "should name the address {address}: {output}");
        assert!(error.contains(address), "the error should name the address {address}: {output}");
    }
    let (_, rest) = child.stderr.split_once("PTX line ").unwrap_or_else(|| panic!("a line: {output}"));
    let number: usize = rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap();
    let at = ptx.lines().nth(number - 1).unwrap();
    assert!(at.contains(instruction), "line {number} is {at:?}, not {instruction:?}: {output}");
}

fn goes_wrong(mut site: Site, code: CUresult, launch: impl FnOnce(&mut Site) -> Result<(), Error>) {
    let event = site.ctx.new_event().unwrap();
    let other = site.ctx.new_stream().unwrap();
    launch(&mut site).unwrap();
    let first = site.stream.synchronize().unwrap_err();
    assert_eq!((first.code(), first.call()), (Some(code), Some("cuStreamSynchronize")), "{first}");
    assert!(first.is_sticky() && first.to_string().contains("restart it"), "{first}");
    println!("the error: {}", first.to_string().replace('\n', " "));
    let Site { ctx, stream, module, words } = site;
    let p = words.as_device_ptr();
    let again = unsafe {
        cuda_launch! { kernel: shared_misaligned, module: module, stream: stream, config: line(1, 32), args: [0u32, p] }
    };
    for (call, answer) in [
        ("wait again", stream.synchronize()),
        ("wait on another stream", other.synchronize()),
        ("wait on the context", ctx.synchronize()),
        ("launch", again),
        ("allocate", DeviceBuffer::<u8>::uninit(&stream, 100).map(drop)),
        ("copy to host", words.to_host_vec(&stream).map(drop)),
        ("load", ctx.load_module(OTHER).map(drop)),
        ("new stream", ctx.new_stream().map(drop)),
        ("new event", ctx.new_event().map(drop)),
        ("record", event.record(&other)),
        ("free", words.close()),
    ] {
        let error = answer.expect_err(call);
        assert!(error.code() == Some(code) && error.is_sticky(), "{call}: {error}");
    }
    // Dropping the rest, and opening the device anew, neither panics nor hangs.
    drop((event, other, stream, module));
    drop(ctx);
    assert!(CudaContext::new(0).and_then(|ctx| ctx.new_stream()).is_err());
}
