//! `cuStreamGetAttribute` and `cuStreamSetAttribute`: remembered, with no effect on the order of work.
//!
//! Relies on the caller for the member of the union that the attribute's id names: C2 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_int;

use super::GREATEST_PRIORITY;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::since::Known;
use crate::driver::state::{Call, lock};

/// The attributes that driver 580 lets a stream have.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    window: Window,
    synchronization: CUsynchronizationPolicy,
    priority: c_int,
    domains: CUlaunchMemSyncDomainMap,
    domain: CUlaunchMemSyncDomain,
}

/// `CUaccessPolicyWindow` with its address as a number.
#[derive(Clone, Copy)]
struct Window {
    base: usize,
    bytes: usize,
    ratio: f32,
    hit: CUaccessProperty,
    miss: CUaccessProperty,
}

impl From<CUaccessPolicyWindow> for Window {
    fn from(window: CUaccessPolicyWindow) -> Self {
        let CUaccessPolicyWindow { base_ptr, num_bytes, hitRatio, hitProp, missProp } = window;
        Window { base: base_ptr.addr(), bytes: num_bytes, ratio: hitRatio, hit: hitProp, miss: missProp }
    }
}

impl From<Window> for CUaccessPolicyWindow {
    fn from(window: Window) -> Self {
        let Window { base, bytes, ratio, hit, miss } = window;
        CUaccessPolicyWindow {
            base_ptr: to_c(base),
            num_bytes: bytes,
            hitRatio: ratio,
            hitProp: hit,
            missProp: miss,
        }
    }
}

impl Attributes {
    pub(super) fn new(priority: c_int) -> Attributes {
        Attributes {
            window: CUaccessPolicyWindow::default().into(),
            // The default values of a stream on an H200.
            synchronization: CUsynchronizationPolicy(u32::MAX),
            priority,
            domains: CUlaunchMemSyncDomainMap { default_: 0, remote: 1 },
            domain: CUlaunchMemSyncDomain::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT,
        }
    }
}

entries! {
    cuStreamGetAttribute(stream: CUstream, id: CUlaunchAttributeID, value: *mut CUlaunchAttributeValue) = get;
    cuStreamSetAttribute(stream: CUstream, id: CUlaunchAttributeID, value: *const CUlaunchAttributeValue) = set;
    cuStreamCopyAttributes(target: CUstream, source: CUstream) = copy;
}

fn get(
    call: &Call,
    stream: CUstream,
    id: CUlaunchAttributeID,
    value: Out<CUlaunchAttributeValue>,
) -> Outcome {
    let stream = call.stream(stream)?;
    let value = value.required()?;
    let attributes = *lock(&stream.attributes);
    let mut answer = CUlaunchAttributeValue::default();
    match id.known()? {
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => {
            answer.accessPolicyWindow = attributes.window.into()
        }
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => {
            answer.syncPolicy = attributes.synchronization
        }
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY => answer.priority = attributes.priority,
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
            answer.memSyncDomainMap = attributes.domains
        }
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => answer.memSyncDomain = attributes.domain,
        _ => return Err(INVALID_VALUE),
    }
    value.set(answer);
    Ok(())
}

fn set(call: &Call, stream: CUstream, id: CUlaunchAttributeID, value: In<CUlaunchAttributeValue>) -> Outcome {
    let stream = call.stream(stream)?;
    let value = value.read()?;
    let mut attributes = lock(&stream.attributes);
    // SAFETY: each arm reads the member that the id selects, which the caller has set, by C2: numbers and an address, for which any bytes
    // are valid.
    unsafe {
        match id.known()? {
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => {
                attributes.window = value.accessPolicyWindow.into()
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => {
                attributes.synchronization =
                    checked(value.syncPolicy, (1..=4).contains(&value.syncPolicy.0))?;
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY => {
                attributes.priority = value.priority.clamp(GREATEST_PRIORITY, 0);
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
                let map = value.memSyncDomainMap;
                attributes.domains = checked(map, map.default_ < 4 && map.remote < 4)?;
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => {
                attributes.domain = checked(value.memSyncDomain, value.memSyncDomain.0 <= 1)?;
            }
            _ => return Err(INVALID_VALUE),
        }
    }
    Ok(())
}

fn checked<T>(value: T, good: bool) -> Outcome<T> {
    if good { Ok(value) } else { Err(INVALID_VALUE) }
}

fn copy(call: &Call, target: CUstream, source: CUstream) -> Outcome {
    let (target, source) = (call.stream(target)?, call.stream(source)?);
    let attributes = *lock(&source.attributes);
    *lock(&target.attributes) = attributes;
    Ok(())
}
