//! The primitives of the device runtime.

use super::code::{DeviceRuntime, Origin};
use super::device_runtime::{INVALID_VALUE, Kind, Runtime, SUCCESS, Thread};
use super::exec::lanes::Lanes;
use super::exec::memory::fetch;
use super::fault::FaultKind;
use super::heap::caller;
use super::launch::{Asked, Question};
use super::watch::Stream;
use super::windows;
use crate::memory::Caller;

/// Calls a primitive for a lane; `word` returns a word of an argument. Returns the result; `None` after a fault.
pub(super) fn call(
    lanes: &mut Lanes<'_>,
    lane: usize,
    function: DeviceRuntime,
    origin: Origin,
    word: impl Fn(usize, usize) -> u32,
) -> Option<u64> {
    let Some(runtime) = lanes.env.runtime else {
        let message = "a kernel launches another one, but the module's kernels are not known".to_owned();
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
            let (asked, bytes) = asked(lanes, lane, runtime, (wide(0), extents(1), extents(2), word(3, 0)))?;
            address(runtime, thread, buffer(lanes, runtime, Some(asked), bytes, by))
        }
        DeviceRuntime::Buffer => {
            let buffer = buffer(lanes, runtime, None, wide(0), by);
            address(runtime, thread, buffer)
        }
        DeviceRuntime::Launch => {
            let asked = runtime.take(wide(0)).and_then(|asked| asked.ok_or(INVALID_VALUE));
            code(asked.and_then(|asked| launch(lanes, lane, runtime, asked, [wide(0), wide(1)], by)))
        }
        DeviceRuntime::LaunchAs => {
            let (asked, bytes) = asked(lanes, lane, runtime, (wide(0), extents(2), extents(3), word(4, 0)))?;
            // A kernel without parameters needs no buffer.
            let taken = if wide(1) == 0 && bytes == 0 { Ok(None) } else { runtime.take(wide(1)) };
            code(taken.and_then(|_| launch(lanes, lane, runtime, asked, [wide(1), wide(5)], by)))
        }
        DeviceRuntime::LastError => runtime.last_error(thread, word(0, 0) != 0).into(),
        DeviceRuntime::Fail => runtime.fail(thread, word(0, 0)).into(),
        DeviceRuntime::Create => runtime.create(kind(0)),
        DeviceRuntime::Use => {
            let used = runtime.use_handle(wide(0), kind(1), word(2, 0) != 0);
            runtime.fail(thread, used).into()
        }
        DeviceRuntime::Order => {
            if let Some(watch) = &mut lanes.watch {
                watch.event(wide(0), Stream::of(wide(1), thread.0), word(2, 0) != 0);
            }
            SUCCESS.into()
        }
        DeviceRuntime::Ask => {
            let question = question(lanes, lane, runtime, word(0, 0), [1, 2, 3].map(wide))?;
            runtime.launcher.answer(question).unwrap_or_else(|code| u64::from(code) | 1 << 63)
        }
    })
}

/// Answers the query with a number from `driver/module/device_queries.ptx`. `None` after a fault.
fn question(
    lanes: &mut Lanes<'_>,
    lane: usize,
    runtime: &Runtime<'_>,
    number: u32,
    [a, b, c]: [u64; 3],
) -> Option<Question> {
    let mut kernel = |address| kernel(lanes, lane, runtime, address).map(|(function, _)| function);
    Some(match number {
        0 => Question::Limit(a as u32),
        1 => Question::Device,
        2 => Question::Devices,
        3 => Question::Attribute { attribute: a as u32, device: b as i32 },
        4 => Question::Cache,
        5 => Question::Function { attribute: a as u32, function: kernel(b)? },
        _ => Question::Blocks { function: kernel(a)?, threads: b as i32, dynamic_shared: c as u32 },
    })
}

/// The kernel at an address, and the bytes of its parameters. `None` after a fault: an address that is not that of a kernel
/// is a fault on a GPU, too.
fn kernel(lanes: &mut Lanes<'_>, lane: usize, runtime: &Runtime<'_>, address: u64) -> Option<(usize, u64)> {
    let known = windows::function_at(lanes.env.kernel.first_function, address)
        .and_then(|function| Some((function, runtime.launcher.parameter_bytes(function)? as u64)));
    if known.is_none() {
        let message = format!("a use of 0x{address:x}, which is not a kernel of the module");
        lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
    }
    known
}

/// The address of a buffer; 0, and the thread's last error, if there is none.
fn address(runtime: &Runtime<'_>, thread: Thread, buffer: Result<u64, u32>) -> u64 {
    buffer.unwrap_or_else(|code| {
        runtime.fail(thread, code);
        0
    })
}

/// A launch by the address of its kernel, and the bytes of its parameters. `None` after a fault, as on a GPU.
fn asked(
    lanes: &mut Lanes<'_>,
    lane: usize,
    runtime: &Runtime<'_>,
    (kernel, grid, block, dynamic_shared): (u64, [u32; 3], [u32; 3], u32),
) -> Option<(Asked, u64)> {
    let (function, bytes) = self::kernel(lanes, lane, runtime, kernel)?;
    Some((Asked { function, grid, block, dynamic_shared }, bytes))
}

/// A buffer for the parameters of a launch.
fn buffer(
    lanes: &mut Lanes<'_>,
    runtime: &Runtime<'_>,
    asked: Option<Asked>,
    bytes: u64,
    by: Caller,
) -> Result<u64, u32> {
    let memory = lanes.env.memory;
    let address = runtime.buffer(asked, || memory.allocate_buffer(bytes, by))?;
    // The previous user of these bytes has finished with them.
    if let (Some(watch), Some(block)) = (&mut lanes.watch, memory.block(address)) {
        watch.allocated(block.host.addr() as u64, block.len);
    }
    Ok(address)
}

/// Launches a kernel with the parameters in a buffer, and frees the buffer.
fn launch(
    lanes: &mut Lanes<'_>,
    lane: usize,
    runtime: &Runtime<'_>,
    asked: Asked,
    [address, stream]: [u64; 2],
    by: Caller,
) -> Result<(), u32> {
    let mut child = runtime.launcher.check(&asked).inspect_err(|_| {
        lanes.env.memory.free_buffer(address, by.clone());
    })?;
    let bytes = child.kernel.parameter_bytes;
    let parameters = if bytes == 0 { Vec::new() } else { fetch(lanes, lane, address, bytes, false) };
    // The buffer is shorter than the kernel's parameters: reading past it is not a fault.
    if parameters.len() < bytes {
        lanes.trouble = None;
    }
    lanes.env.memory.free_buffer(address, by);
    if parameters.len() < bytes {
        return Err(INVALID_VALUE);
    }
    child.launch.parameters = parameters.into();
    child.launch.printer = lanes.env.launch.printer.clone();
    runtime.launch(child, stream)?;
    if let Some(mut watch) = lanes.watch.take() {
        watch.launched(lanes, lane, Stream::of(stream, lanes.block().linear));
        lanes.watch = Some(watch);
    }
    Ok(())
}
