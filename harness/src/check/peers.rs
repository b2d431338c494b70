//! Memory that exists, but that the device of a launch cannot access: memory of another device without peer access, of a pool or a mapping
//! that gives the device no access.
//!
//! Nothing of this is asked where there is only one device. Access to memory of `cuMemAlloc` is what `cuCtxEnablePeerAccess` has
//! given; pools and mappings are asked.
//!
//! Relies on: `cuPointerGetAttribute` and `cuMemGetAccess` accept any address.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::kernel::{Kernel, device};
use super::rule::{Finding, Rule};
use super::state::State;
use super::walk::Touch;
use crate::kind::Kind;
use crate::launch::Raw;
use crate::objects::{Object, Place};
use cuda_driver_sys::{
    CUmemAccess_flags, CUmemLocation, CUmemLocationType, CUmemoryPool, CUpointer_attribute as Of, CUresult,
};
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// Memory that a launch uses and that may be out of its reach.
struct Candidate {
    parameter: Option<usize>,
    address: u64,
    memory: Place,
    /// The argument or access, and the memory.
    text: String,
    owner: Owner,
}

/// Who decides on the access to memory.
enum Owner {
    /// The contexts that have peer access to this one, which is not that of the launch.
    Context { name: String },
    /// The pool that it is from.
    Pool,
    /// `cuMemSetAccess`.
    Mapping,
}

impl Inner {
    /// What a launch uses and cannot reach, once for each parameter.
    pub(super) fn out_of_reach(
        &self,
        call: &Call<'_>,
        raw: &Raw,
        (kernel, of_library): (&Kernel, bool),
        block: &[u8],
        touches: &[Touch],
    ) -> Vec<Finding> {
        if !self.has_several_devices() {
            return Vec::new();
        }
        let mut state = self.lock();
        let Some(context) = context_of(&state, call, raw, of_library) else { return Vec::new() };
        let candidates = candidates(&mut state, context, kernel, block, touches);
        let context_name = if candidates.is_empty() { String::new() } else { state.context_name(context) };
        drop(state);
        let Some(device) = (!candidates.is_empty()).then(|| self.device_of(call, context)).flatten() else {
            return Vec::new();
        };
        let mut told = Vec::new();
        let mut findings = Vec::new();
        for Candidate { parameter, address, text, owner, .. } in candidates {
            if told.contains(&parameter) {
                continue;
            }
            let ask = || self.why_not(address, device, &context_name, &owner);
            if let Some((of, why)) = crate::kernel::relaxed(&self.base, ask) {
                let message =
                    format!("{text}, memory of device {of}; the launch is on device {device}, {why}");
                findings.push(call.finding(Rule::PeerAccess, message));
                told.push(parameter);
            }
        }
        findings
    }

    /// Whether the driver has more than one device.
    fn has_several_devices(&self) -> bool {
        *self.has_several_devices.get_or_init(|| {
            let mut count = 0;
            // SAFETY: the output is a number and outlives the call, which has no other requirement.
            let answer = unsafe { self.base.cuDeviceGetCount(&mut count) };
            answer == CUresult::SUCCESS && count > 1
        })
    }

    /// The device of a context; for another one than the current, only on drivers since CUDA 13.0.
    fn device_of(&self, call: &Call<'_>, context: u64) -> Option<i32> {
        if context == call.context {
            return device(&self.base);
        }
        let mut device = 0;
        let context = with_exposed_provenance_mut(context as usize);
        // SAFETY: the output is a device number and outlives the call; the context is that of the function or stream of a launch, which are
        // live, and so is their context.
        let answer = unsafe { self.base.cuCtxGetDevice_v2(&mut device, context) };
        (answer == CUresult::SUCCESS).then_some(device)
    }

    /// The device of the memory at an address, and why that other device cannot access it; `None` if it can, or nobody knows.
    fn why_not(&self, address: u64, device: i32, context_name: &str, owner: &Owner) -> Option<(i32, String)> {
        let mut of = -1_i32;
        let which = Of::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        // SAFETY: the attribute is a number of 4 bytes, for which the output is aligned, and it outlives the call; any address may be passed.
        let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut of).cast(), which, address) };
        // Memory of the host has a negative number.
        if answer != CUresult::SUCCESS || of < 0 || self.is_managed(address) {
            return None;
        }
        let why = match owner {
            Owner::Context { name } if of != device => {
                format!("where {context_name} has no peer access to {name}")
            }
            Owner::Pool if of != device && self.pool_access(address, device)? == 0 => {
                "to which the memory's pool gives no access".to_owned()
            }
            Owner::Mapping if self.mapping_access(address, device)? == 0 => {
                "to which cuMemSetAccess has given no access".to_owned()
            }
            _ => return None,
        };
        Some((of, why))
    }

    /// All devices access managed memory.
    fn is_managed(&self, address: u64) -> bool {
        let mut managed = 0_u32;
        let which = Of::CU_POINTER_ATTRIBUTE_IS_MANAGED;
        // SAFETY: the attribute is a number of at most 4 bytes, for which the output is aligned, and it outlives the call; any address may be
        // passed.
        let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut managed).cast(), which, address) };
        answer != CUresult::SUCCESS || managed != 0
    }

    /// The access that the pool of the memory at an address gives to a device.
    fn pool_access(&self, address: u64, device: i32) -> Option<u32> {
        let mut pool: CUmemoryPool = null_mut();
        let which = Of::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
        // SAFETY: the attribute is a handle, for which the output is aligned, and it outlives the call; any address may be passed.
        let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut pool).cast(), which, address) };
        if answer != CUresult::SUCCESS || pool.is_null() {
            return None;
        }
        let (mut flags, mut location) = (CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE, location(device));
        // SAFETY: the output and the location outlive the call; the driver has just returned the pool, which exists as long as its memory.
        let answer = unsafe { self.base.cuMemPoolGetAccess(&mut flags, pool, &mut location) };
        (answer == CUresult::SUCCESS).then_some(flags.0)
    }

    /// The access that a device has to what is mapped at an address.
    fn mapping_access(&self, address: u64, device: i32) -> Option<u64> {
        let (mut flags, location) = (0, location(device));
        // SAFETY: the output and the location outlive the call; where nothing is mapped, it returns an error.
        let answer = unsafe { self.base.cuMemGetAccess(&mut flags, &location, address) };
        (answer == CUresult::SUCCESS).then_some(flags)
    }
}

fn location(device: i32) -> CUmemLocation {
    let mut location =
        CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ..Default::default() };
    location.__bindgen_anon_1.id = device;
    location
}

/// The context in which a launch runs: that of its function; a kernel of a library runs in that of the stream. `None` if it is not known.
fn context_of(state: &State, call: &Call<'_>, raw: &Raw, of_library: bool) -> Option<u64> {
    let of = |kind, handle| Some(state.objects.at(state.objects.find(kind, handle)?)?.context);
    let context = match (of_library, raw.stream) {
        (false, _) => of(Kind::Function, raw.function)?,
        // The parameters of a node may name a context.
        (true, _) if call.function.name.starts_with("cuGraph") => return None,
        // The default streams are those of the current context.
        (true, 0..=2) => call.context,
        (true, stream) => of(Kind::Stream, stream)?,
    };
    (context != 0).then_some(context)
}

/// The memory of a launch that its context does not certainly reach.
fn candidates(
    state: &mut State,
    context: u64,
    kernel: &Kernel,
    block: &[u8],
    touches: &[Touch],
) -> Vec<Candidate> {
    let parameters = || kernel.parameters.iter().flatten().copied().enumerate();
    let argument = |(number, (offset, size)): (usize, (usize, usize))| {
        let bytes = block.get(offset..offset.checked_add(size)?)?;
        let address = u64::from_le_bytes(<[u8; 8]>::try_from(bytes).ok()?);
        Some((Some(offset), address, format!("argument {number} is ")))
    };
    let touched =
        touches.iter().map(|touch| (touch.parameter, touch.address, "the kernel accesses ".to_owned()));
    let used: Vec<_> = parameters().filter_map(argument).chain(touched).collect();
    let mut candidates = Vec::new();
    for (parameter, address, how) in used {
        let Some((memory, offset)) = state.objects.memory_at(address) else { continue };
        let Some(object) = state.objects.at(memory) else { continue };
        let Some((name, made)) = object.is_live().then_some(object.name.plus(offset)).zip(object.made_by)
        else {
            continue;
        };
        let (call, function) = made;
        let text = format!("{how}{name}, which {function} created in call {call}");
        let owner_context = object.context;
        let Some(mut owner) = owner_of(object, function, context) else { continue };
        // An allocation is reached as a whole; a reservation has parts.
        let is_known = |known: &Candidate| known.memory == memory && !matches!(owner, Owner::Mapping);
        if candidates.iter().any(is_known) {
            continue;
        }
        if let Owner::Context { name } = &mut owner {
            // Green contexts share a device's memory with other contexts.
            if state.is_green || state.peers.contains(&(context, owner_context)) {
                continue;
            }
            *name = state.context_name(owner_context);
        }
        candidates.push(Candidate { parameter, address, memory, text, owner });
    }
    candidates
}

/// Who decides whether a context reaches memory; `None` if it certainly does, or nobody knows.
fn owner_of(object: &Object, function: &str, context: u64) -> Option<Owner> {
    let is_own = object.context == context || object.context == 0;
    match (object.name.kind(), function) {
        (Kind::Memory, "cuMemAlloc_v2" | "cuMemAllocPitch_v2") if !is_own => {
            Some(Owner::Context { name: String::new() })
        }
        (Kind::Memory, "cuMemAllocAsync") if !is_own => Some(Owner::Pool),
        // The pool may be of any device.
        (Kind::Memory, "cuMemAllocFromPoolAsync") => Some(Owner::Pool),
        (Kind::Reservation, _) => Some(Owner::Mapping),
        _ => None,
    }
}

impl State {
    /// Records calls that give or take peer access, and the end of contexts that have it.
    pub(super) fn peers_changed(&mut self, call: &Call<'_>) {
        let ended = match call.function.name {
            "cuCtxEnablePeerAccess" => {
                self.peers.insert((call.context, call.word(0)));
                return;
            }
            "cuCtxDisablePeerAccess" => {
                self.peers.remove(&(call.context, call.word(0)));
                return;
            }
            "cuCtxDestroy_v2" => call.word(0),
            "cuDevicePrimaryCtxReset_v2" | "cuDevicePrimaryCtxRelease_v2" => {
                let device = call.word(0);
                let primary = self.objects.find(Kind::PrimaryContext, device);
                let is_kept = primary.and_then(|place| self.objects.at(place)).is_some_and(Object::is_live);
                match self.objects.primaries.get(&device) {
                    Some(context) if !(is_kept && call.function.name.contains("Release")) => *context,
                    _ => return,
                }
            }
            _ => return,
        };
        self.peers.retain(|(one, other)| *one != ended && *other != ended);
    }
}
