//! A launch, before the driver hears of it.
//!
//! Relies on: as `call`.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::kernel::{self, Kernel};
use super::limits;
use super::packet;
use super::rule::{Finding, Rule};
use super::state::{Launched, State};
use crate::decode;
use crate::kind::Kind;
use crate::launch::Raw;
use crate::objects::Place;
use cuda_driver_sys::{CUpointer_attribute, CUresult};
use std::sync::Arc;

/// What is known of a launch once it is looked at.
pub(super) struct Launch {
    kernel: Arc<Kernel>,
    stream: u64,
}

impl Inner {
    /// Looks at a launch.
    ///
    /// # Safety
    ///
    /// 1. It is a call whose contract holds, with its numbers.
    pub(super) unsafe fn launch(&self, call: &Call<'_>, raw: &Raw, findings: &mut Vec<Finding>) -> Launch {
        let (known, of_library) = self.kernel(call, raw.function);
        let kernel = &*known;
        let before = findings.len();
        let now = || kernel::limits_now(&self.base, raw.function, of_library);
        let broken = limits::broken(raw, kernel, now);
        findings.extend(broken.map(|(rule, message)| call.finding(rule, message)));
        if let Some((parameters, bytes)) = kernel.parameters.as_ref().zip(kernel.bytes()) {
            // SAFETY: 1, 2: duty 1.
            let block = unsafe { packet::arguments(parameters, bytes, raw.arguments, raw.extra) };
            match block {
                Ok(block) => self.pointers(call, kernel, &block, findings),
                Err((rule, message)) => findings.push(call.finding(rule, message)),
            }
        }
        for finding in findings.iter_mut().skip(before) {
            finding.kernel = Some(kernel.name.clone());
        }
        Launch { kernel: known, stream: raw.stream }
    }

    /// What is known of the kernel, and whether it is one of a library.
    fn kernel(&self, call: &Call<'_>, handle: u64) -> (Arc<Kernel>, bool) {
        let state = self.lock();
        let place = state.objects.find(Kind::Function, handle);
        let object = place.and_then(|place| state.objects.at(place)).filter(|object| object.is_live());
        // A handle that was never seen may be none: the driver is not asked.
        let Some((place, object)) = place.zip(object) else {
            return (Arc::new(Kernel { name: format!("kernel {handle:#x}"), ..Kernel::default() }), false);
        };
        let of_library = object.name.kind() == Kind::Kernel;
        let key: (Place, u64) = (place, call.context);
        if let Some(known) = state.kernels.get(&key) {
            return (known.clone(), of_library);
        }
        drop(state);
        let kernel = Arc::new(Kernel::ask(&self.base, handle, of_library));
        self.lock().kernels.insert(key, kernel.clone());
        (kernel, of_library)
    }

    /// Arguments that are addresses.
    fn pointers(&self, call: &Call<'_>, kernel: &Kernel, block: &[u8], findings: &mut Vec<Finding>) {
        let state = self.lock();
        let mut dead = Vec::new();
        for (number, (offset, size)) in kernel.parameters.iter().flatten().enumerate() {
            let bytes = block.get(*offset..offset + size).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
            let Some(address) = bytes.map(u64::from_le_bytes) else { continue };
            let Some((place, _)) = state.objects.memory_at(address) else { continue };
            let Some(object) = state.objects.at(place).filter(|object| !object.is_live()) else { continue };
            let name = object.name.plus(address.saturating_sub(object.address));
            let ended = object.ended_by.unwrap_or(0);
            dead.push((address, format!("argument {number} is {name}, which call {ended} freed")));
        }
        drop(state);
        let dead = dead.into_iter().filter(|(address, _)| !self.is_memory(*address));
        findings.extend(dead.map(|(_, message)| call.finding(Rule::FreedPointer, message)));
    }

    /// Whether the driver knows memory at an address.
    pub(super) fn is_memory(&self, address: u64) -> bool {
        let mut kind = 0_u32;
        let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        // SAFETY: the attribute is a number of 4 bytes, for which the place is good; any address may be asked about.
        let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut kind).cast(), which, address) };
        answer == CUresult::SUCCESS
    }

    /// What a call that succeeded leaves behind, besides objects.
    pub(super) fn succeeded(&self, call: &Call<'_>, state: &mut State, launch: Option<Launch>) {
        match call.function.name {
            "cuGetErrorName" | "cuGetErrorString" => {
                let asked = call.word(0) as u32;
                state.failed.retain(|(_, code), _| *code != asked);
            }
            "cuGetExportTable" => state.is_runtime = true,
            "cuGreenCtxCreate" | "cuCtxFromGreenCtx" => state.is_green = true,
            "cuCtxSynchronize" | "cuCtxSynchronize_v2" => state.launches.clear(),
            _ => {}
        }
        if let Some(Launch { kernel, stream }) = launch {
            let stream = decode::handle(Kind::Stream, stream, &mut state.objects);
            let stream = match stream {
                crate::value::Value::Stream(name) => format!("the {name} stream"),
                other => other.to_string(),
            };
            state.launched(Launched { call: call.number, kernel, stream });
        }
    }
}
