//! The functions that the device runtime is made of.

use super::code::{DeviceRuntime, Origin};
use super::device_runtime::{INVALID_DEVICE_FUNCTION, INVALID_VALUE, Kind, MOST_BYTES, Runtime, Thread};
use super::exec::lanes::Lanes;
use super::exec::memory::fetch;
use super::fault::FaultKind;
use super::heap::caller;
use super::launch::{Asked, Child};
use super::windows;
use crate::memory::Caller;

/// Calls one for a lane; `word` is a word of an argument. The result; `None` after a fault.
pub(super) fn call(
    lanes: &mut Lanes<'_>,
    lane: usize,
    function: DeviceRuntime,
    origin: Origin,
    word: impl Fn(usize, usize) -> u32,
) -> Option<u64> {
    let Some(runtime) = lanes.env.runtime else {
        let message = "a kernel is launched by a kernel where nobody knows the kernels".to_owned();
        lanes.fail(FaultKind::UnsupportedInstruction, lane as u32, None, message);
        return None;
    };
    let wide = |argument| u64::from(word(argument, 0)) | u64::from(word(argument, 1)) << 32;
    let extents = |argument| [0, 1, 2].map(|axis| word(argument, axis));
    let kind = |argument| if word(argument, 0) == 0 { Kind::Stream } else { Kind::Event };
    let thread = (lanes.block().linear, lanes.warp().index * 32 + lane as u32);
    let by = caller(lanes, lane, origin);
    let code =
        |outcome: Result<(), u32>| u64::from(outcome.err().map_or(0, |code| runtime.fail(thread, code)));
    Some(match function {
        DeviceRuntime::Configure => {
            let launch = (wide(0), extents(1), extents(2), word(3, 0));
            let buffer = check(runtime, launch).and_then(|child| configured(lanes, runtime, child, by));
            address(runtime, thread, buffer)
        }
        DeviceRuntime::Buffer => {
            let buffer = match wide(0) {
                bytes @ 0..=MOST_BYTES => buffer(lanes, runtime, None, bytes, by),
                _ => Err(INVALID_VALUE),
            };
            address(runtime, thread, buffer)
        }
        DeviceRuntime::Launch => {
            let (address, stream) = (wide(0), wide(1));
            let child = runtime.take(address).and_then(|child| child.ok_or(INVALID_VALUE));
            code(child.and_then(|child| launch(lanes, lane, runtime, child, address, stream, by)))
        }
        DeviceRuntime::LaunchAs => {
            let (address, stream) = (wide(1), wide(5));
            let child = check(runtime, (wide(0), extents(2), extents(3), word(4, 0)));
            // A kernel without parameters needs no buffer.
            let child = child.and_then(|child| match address {
                0 if child.kernel.parameter_bytes == 0 => Ok(child),
                _ => runtime.take(address).map(|_| child),
            });
            code(child.and_then(|child| launch(lanes, lane, runtime, child, address, stream, by)))
        }
        DeviceRuntime::LastError => runtime.last_error(thread, word(0, 0) != 0).into(),
        DeviceRuntime::Fail => runtime.fail(thread, word(0, 0)).into(),
        DeviceRuntime::Create => runtime.create(kind(0)),
        DeviceRuntime::Use => {
            let used = runtime.use_handle(wide(0), kind(1), word(2, 0) != 0);
            runtime.fail(thread, used).into()
        }
    })
}

/// The address of a buffer; 0, and the thread's last error, if there is none.
fn address(runtime: &Runtime<'_>, thread: Thread, buffer: Result<u64, u32>) -> u64 {
    buffer.unwrap_or_else(|code| {
        runtime.fail(thread, code);
        0
    })
}

/// A launch by the address of its kernel.
fn check(
    runtime: &Runtime<'_>,
    (kernel, grid, block, dynamic_shared): (u64, [u32; 3], [u32; 3], u32),
) -> Result<Child, u32> {
    let function = windows::function_at(kernel).ok_or(INVALID_DEVICE_FUNCTION)?;
    runtime.launcher.check(&Asked { function, grid, block, dynamic_shared })
}

/// A buffer for the parameters of a launch.
fn configured(lanes: &mut Lanes<'_>, runtime: &Runtime<'_>, child: Child, by: Caller) -> Result<u64, u32> {
    let bytes = child.kernel.parameter_bytes as u64;
    buffer(lanes, runtime, Some(child), bytes, by)
}

fn buffer(
    lanes: &mut Lanes<'_>,
    runtime: &Runtime<'_>,
    child: Option<Child>,
    bytes: u64,
    by: Caller,
) -> Result<u64, u32> {
    let memory = lanes.env.memory;
    let address = runtime.buffer(child, || memory.allocate_buffer(bytes, by))?;
    // Whoever had these bytes before is done with them.
    if let (Some(watch), Some(block)) = (&mut lanes.watch, memory.block(address)) {
        watch.allocated(block.host.addr() as u64, block.len);
    }
    Ok(address)
}

/// Launches a kernel with the parameters in a buffer, which is given back.
fn launch(
    lanes: &mut Lanes<'_>,
    lane: usize,
    runtime: &Runtime<'_>,
    mut child: Child,
    address: u64,
    stream: u64,
    by: Caller,
) -> Result<(), u32> {
    let bytes = child.kernel.parameter_bytes;
    let parameters = if bytes == 0 { Vec::new() } else { fetch(lanes, lane, address, bytes, false) };
    // A buffer of other bytes than the kernel's parameters have: what was read behind it is no fault.
    if parameters.len() < bytes {
        lanes.trouble = None;
    }
    lanes.env.memory.free_buffer(address, by);
    if parameters.len() < bytes {
        return Err(INVALID_VALUE);
    }
    child.launch.parameters = parameters.into();
    child.launch.printer = lanes.env.launch.printer.clone();
    runtime.launch(child, stream)
}
