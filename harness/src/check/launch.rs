//! A launch, before it reaches the driver.
//!
//! Relies on: as `call`.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::kernel::{self, Kernel};
use super::limits;
use super::packet;
use super::peers::{Asked, Reach};
use super::rule::Finding;
use super::walk::Touch;
use crate::kind::Kind;
use crate::launch::Raw;
use crate::objects::{Object, Place};
use std::sync::Arc;

/// The result of inspecting a launch.
pub(super) struct Launch {
    pub(super) kernel: Arc<Kernel>,
    pub(super) of_library: bool,
    pub(super) stream: u64,
    /// The accesses that its first and last thread certainly make.
    pub(super) touches: Vec<Touch>,
    /// The memory that it may not reach.
    pub(super) reach: Option<Arc<Reach>>,
    /// The events that it records before it is done.
    pub(super) records: Vec<u64>,
}

impl Inner {
    /// Inspects a launch.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds, and `raw` was read from its arguments.
    pub(super) unsafe fn launch(&self, call: &Call<'_>, raw: &Raw, findings: &mut Vec<Finding>) -> Launch {
        // SAFETY: 1: the function is an argument of the launch, whose contract holds by duty 1.
        let (known, of_library) = unsafe { self.kernel(call, raw.function) };
        let kernel = &*known;
        let before = findings.len();
        // SAFETY: 1: the function is an argument of the launch, whose contract holds by duty 1. It is queried only if the limits of the
        // kernel are known, and so only if `self.kernel` has determined the kind of the handle.
        let now = || unsafe { kernel::limits_now(&self.base, raw.function, of_library) };
        let broken = limits::broken(raw, kernel, now);
        findings.extend(broken.map(|(rule, message)| call.finding(rule, message)));
        let (mut touches, mut reach) = (Vec::new(), None);
        if let Some((parameters, bytes)) = kernel.parameters.as_ref().zip(kernel.bytes()) {
            // SAFETY: 1, 2: this is part of the contract of a launch, which holds by duty 1: the lists are those of
            // this launch, and the parameters those of its kernel.
            let block = unsafe { packet::arguments(parameters, bytes, raw.arguments, raw.extra) };
            match block {
                Ok(block) if findings.len() == before => {
                    touches = self.pointers(call, kernel, raw, &block, findings);
                    reach = self.reach(call, raw, (kernel, of_library), &block, &touches);
                    // SAFETY: 1: duty 1; no launch destroys a stream.
                    let is_node = || unsafe { self.is_of_a_graph(call, raw) };
                    let is_now = |_: &&Arc<Reach>| !is_node();
                    let unreached = reach
                        .as_ref()
                        .filter(is_now)
                        .map(|reach| self.out_of_reach(call, reach, &mut Asked::new()));
                    findings.extend(unreached.into_iter().flatten());
                }
                Ok(_) => {}
                Err((rule, message)) => findings.push(call.finding(rule, message)),
            }
        }
        for finding in findings.iter_mut() {
            finding.kernel = Some(kernel.name.to_string());
        }
        let records = raw.attributes.iter().map(|attribute| attribute.event).filter(|event| *event != 0);
        let records = records.collect();
        Launch { kernel: known, of_library, stream: raw.stream, touches, reach, records }
    }

    /// Whether the kernel is not launched by this call, but with a graph.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds, it does not destroy a stream, and `raw` was read from its arguments.
    unsafe fn is_of_a_graph(&self, call: &Call<'_>, raw: &Raw) -> bool {
        let is_capturing = || self.lock().is_capturing();
        // SAFETY: 1: the stream is an argument of the launch, whose contract holds by duty 1.
        call.function.name.starts_with("cuGraph") || is_capturing() && unsafe { self.is_captured(raw.stream) }
    }

    /// What is known about the kernel, and whether it is a kernel of a library.
    ///
    /// # Safety
    ///
    /// 1. The handle is the function of the launch in progress, or a handle that a launch accepts as one, and is live until
    ///    the launch returns.
    unsafe fn kernel(&self, call: &Call<'_>, handle: u64) -> (Arc<Kernel>, bool) {
        let state = self.lock();
        let place = state.objects.find(Kind::Function, handle);
        let is_known = |object: &&Object| object.is_live() && object.made_by.is_some();
        let object = place.and_then(|place| state.objects.at(place)).filter(is_known);
        // A handle whose creation was not observed may be a function or a kernel, so the driver is not queried.
        let Some((place, object)) = place.zip(object) else {
            return (Arc::new(Kernel::unknown(handle)), false);
        };
        let of_library = object.name.kind() == Kind::Kernel;
        let key: (Place, u64) = (place, call.context);
        if let Some(known) = state.kernels.get(&key) {
            return (known.clone(), of_library);
        }
        let image = state.image_of(place);
        drop(state);
        // SAFETY: 1: it is live by duty 1, and is of the kind that the call which returned it creates.
        let ask = || unsafe { Kernel::ask(&self.base, handle, of_library, image.as_deref()) };
        let kernel = Arc::new(crate::kernel::relaxed(&self.base, ask));
        self.lock().kernels.insert(key, kernel.clone());
        (kernel, of_library)
    }
}
