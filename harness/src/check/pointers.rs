//! The addresses of a launch: those that its first and last thread certainly access, and those among its arguments that point to
//! freed memory.
//!
//! If an address is in no memory that is known here, the driver is queried, because memory can be obtained in ways that are not
//! observed.
//!
//! Relies on: `cuPointerGetAttribute` accepts any address.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::host;
use super::kernel::Kernel;
use super::rule::{Finding, Rule};
use super::walk::{How, Size, Thread, Touch};
use crate::kind::Kind;
use crate::launch::Raw;
use crate::objects::{Object, Objects};
use cuda_driver_sys::{CUpointer_attribute, CUresult};

/// An address that may be wrong.
struct Suspect {
    rule: Rule,
    parameter: Option<usize>,
    /// The access is wrong if the driver knows no memory at this address; `None` if it is wrong in any case.
    address: Option<u64>,
    message: String,
}

impl Inner {
    /// Checks the accesses of the launch's threads.
    pub(super) fn pointers(
        &self,
        call: &Call<'_>,
        kernel: &Kernel,
        raw: &Raw,
        block: &[u8],
        findings: &mut Vec<Finding>,
    ) -> Vec<Touch> {
        let mut touches = Vec::new();
        let mut suspects;
        {
            let state = self.lock();
            suspects = freed(&state.objects, kernel, block);
        }
        for (thread, name) in [(Thread::First, "first"), (Thread::Last, "last")] {
            let Some(program) = &kernel.program else { break };
            let from = touches.len();
            program.run(block, &Size { grid: raw.grid, block: raw.block, thread }, &mut touches);
            let state = self.lock();
            let new = touches.iter().skip(from);
            suspects.extend(new.filter_map(|touch| suspect(&state.objects, kernel, name, touch)));
        }
        let mut told = Vec::new();
        for suspect in suspects {
            let is_wrong = suspect.address.is_none_or(|address| !self.is_memory(address));
            if is_wrong && !told.contains(&suspect.parameter) {
                told.push(suspect.parameter);
                findings.push(call.finding(suspect.rule, suspect.message));
            }
        }
        touches
    }

    /// Whether the driver knows memory at an address.
    pub(super) fn is_memory(&self, address: u64) -> bool {
        let mut kind = 0_u32;
        let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        // SAFETY: the attribute is a number of 4 bytes, for which the output is aligned, and it outlives the call;
        // any address may be passed, because it is only looked up.
        let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut kind).cast(), which, address) };
        answer == CUresult::SUCCESS
    }

    /// Whether, according to the driver, the memory at an address has fewer than that many bytes from there on.
    pub(super) fn ends_before(&self, address: u64, bytes: u64) -> bool {
        let number = |which| {
            let mut number = 0_u64;
            // SAFETY: both attributes are numbers of 8 bytes, for which the output is aligned, and it outlives the
            // call; any address may be passed, because it is only looked up.
            let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut number).cast(), which, address) };
            (answer == CUresult::SUCCESS).then_some(number)
        };
        let start = number(CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
        let size = number(CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE);
        let end = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        end.is_some_and(|end| address.saturating_add(bytes) > end)
    }
}

/// Arguments that are addresses in freed memory.
fn freed(objects: &Objects, kernel: &Kernel, block: &[u8]) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for (number, (offset, size)) in kernel.parameters.iter().flatten().enumerate() {
        let bytes = offset.checked_add(*size).and_then(|end| block.get(*offset..end));
        let Some(address) = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(u64::from_le_bytes)
        else {
            continue;
        };
        let Some(object) = objects.memory_at(address).and_then(|(place, _)| objects.at(place)) else {
            continue;
        };
        if let Some(ended) = object.ended_by.filter(|_| !is_there_again(kernel, object, address)) {
            let name = object.name.plus(address.saturating_sub(object.address));
            suspects.push(Suspect {
                rule: Rule::FreedPointer,
                parameter: Some(*offset),
                address: Some(address),
                message: format!("argument {number} is {name}, which call {ended} freed"),
            });
        }
    }
    suspects
}

/// Whether a device that can access all host memory may find other memory of the program where memory was freed.
fn is_there_again(kernel: &Kernel, freed: &Object, address: u64) -> bool {
    let is_host = matches!(freed.name.kind(), Kind::HostMemory | Kind::Registration);
    kernel.sees_host && is_host && host::is_mapped(address)
}

/// A possible mistake of an access.
fn suspect(objects: &Objects, kernel: &Kernel, thread: &str, touch: &Touch) -> Option<Suspect> {
    let Touch { address, bytes, how, parameter } = *touch;
    let does = match how {
        How::Read => "reads",
        How::Write => "writes",
        How::Shared => "uses",
    };
    let made = |rule, address, what: String| {
        let mut parameters = kernel.parameters.iter().flatten();
        let number = parameter.and_then(|offset| parameters.position(|(start, _)| *start == offset));
        let argument = number.map_or_else(String::new, |number| format!("argument {number}: "));
        let message = format!("{argument}the {thread} thread {does} {bytes} bytes at {what}");
        Some(Suspect { rule, parameter, address, message })
    };
    let found = objects.memory_at(address).and_then(|(place, offset)| Some((objects.at(place)?, offset)));
    let last = address.saturating_add(bytes.saturating_sub(1));
    match found {
        Some((object, offset)) if object.is_live() => {
            let name = object.name.plus(offset);
            // Some devices can access all host memory: then memory that is not registered may still be valid.
            let goes_on = kernel.sees_host && object.name.kind() == Kind::Registration;
            if offset.saturating_add(bytes) > object.bytes && !goes_on {
                let what = format!("{name}, which has {} bytes", object.bytes);
                return made(Rule::BadPointer, Some(last), what);
            }
            // Sizes of accesses are powers of two.
            if bytes != 0 && address % bytes != 0 {
                return made(
                    Rule::MisalignedPointer,
                    None,
                    format!("{name} ({address:#x}), which is not a multiple of that"),
                );
            }
            None
        }
        Some((object, _)) if is_there_again(kernel, object, address) => None,
        Some((object, offset)) => {
            let ended = object.ended_by.unwrap_or(0);
            let what = format!("{}, which call {ended} freed", object.name.plus(offset));
            made(Rule::BadPointer, Some(address), what)
        }
        // Some devices can access all host memory.
        None if kernel.sees_host && address >= 4096 => None,
        None => {
            let near = objects.memory_before(address).map(|(object, behind)| {
                format!(", {behind} bytes past the end of {} ({} bytes)", object.name, object.bytes)
            });
            let what = format!("{address:#x}, where the driver has no memory{}", near.unwrap_or_default());
            made(Rule::BadPointer, Some(address), what)
        }
    }
}
