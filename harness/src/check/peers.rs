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
use std::collections::HashSet;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::Arc;

/// The memory of a kernel that its context does not certainly reach. Whether it does is asked when the kernel is launched, which for a
/// node is when its graph is.
pub(super) struct Reach {
    kernel: Arc<str>,
    context: u64,
    device: i32,
    candidates: Vec<Candidate>,
}

/// A context, an address, and whether that may be the end of other memory.
pub(super) type Asked = HashSet<(u64, u64, bool)>;

/// Memory that a launch uses and that may be out of its reach.
struct Candidate {
    /// The number of the argument; `None` for an access.
    argument: Option<usize>,
    parameter: Option<usize>,
    address: u64,
    memory: Place,
    owner: Owner,
    /// Whether it may be the end of other memory, to which another argument points.
    ends: bool,
}

/// Who decides on the access to memory.
enum Owner {
    /// The contexts that have peer access to this one, which is not that of the launch.
    Context(u64),
    /// The pool that it is from.
    Pool,
    /// `cuMemSetAccess`.
    Mapping,
}

impl Inner {
    /// What a launch or a node uses and may not reach; `None` if there is nothing, or nobody knows.
    pub(super) fn reach(
        &self,
        call: &Call<'_>,
        raw: &Raw,
        (kernel, of_library): (&Kernel, bool),
        block: &[u8],
        touches: &[Touch],
    ) -> Option<Arc<Reach>> {
        if !self.has_several_devices() {
            return None;
        }
        let state = self.lock();
        let context = context_of(&state, call, raw, of_library)?;
        let candidates = candidates(&state, context, kernel, block, touches);
        drop(state);
        if candidates.is_empty() {
            return None;
        }
        let device = crate::kernel::relaxed(&self.base, || self.device_of(call, context))?;
        Some(Arc::new(Reach { kernel: kernel.name.clone(), context, device, candidates }))
    }

    /// What cannot be reached now, once for each parameter, without what is in `asked`, where all is noted that was asked.
    pub(super) fn out_of_reach(&self, call: &Call<'_>, reach: &Reach, asked: &mut Asked) -> Vec<Finding> {
        let Reach { kernel, context, device, candidates } = reach;
        let key = |candidate: &Candidate| (*context, candidate.address, candidate.ends);
        let is_new = |candidate: &&Candidate| !asked.contains(&key(candidate));
        let state = self.lock();
        let open: Vec<_> = candidates
            .iter()
            .filter(is_new)
            .filter(|candidate| candidate.is_open(&state, *context))
            .collect();
        drop(state);
        asked.extend(open.iter().map(|candidate| key(candidate)));
        if open.is_empty() {
            return Vec::new();
        }
        let unreached = |candidate| Some((self.unreached(candidate, *device)?, candidate));
        let ask = || open.into_iter().filter_map(unreached).collect::<Vec<_>>();
        let (mut told, mut findings) = (Vec::new(), Vec::new());
        for (of, candidate) in crate::kernel::relaxed(&self.base, ask) {
            if !told.contains(&candidate.parameter) {
                told.push(candidate.parameter);
                let text = self.lock().told_unreached(candidate, of, *context, *device);
                let finding = text.map(|text| call.finding(Rule::PeerAccess, text));
                findings.extend(finding.map(|found| Finding { kernel: Some(kernel.to_string()), ..found }));
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

    /// The device of memory that another cannot access; `None` if it can, or nobody knows.
    fn unreached(&self, candidate: &Candidate, device: i32) -> Option<i32> {
        let (address, mut of) = (candidate.address, -1_i32);
        if matches!(candidate.owner, Owner::Mapping) {
            // Asked first, because it is all that has to be asked of memory that is reached.
            let is_reached = |address| Some(self.mapping_access(address, device)? != 0);
            if is_reached(address)? || candidate.ends && is_reached(address - 1) == Some(true) {
                return None;
            }
        } else if candidate.ends {
            return None;
        }
        let which = Of::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        // SAFETY: the attribute is a number of 4 bytes, for which the output is aligned, and it outlives the call; any address may be passed.
        let answer = unsafe { self.base.cuPointerGetAttribute((&raw mut of).cast(), which, address) };
        // Memory of the host has a negative number.
        if answer != CUresult::SUCCESS || of < 0 || self.is_managed(address) {
            return None;
        }
        let is_unreached = match candidate.owner {
            Owner::Context(_) => of != device,
            Owner::Pool => of != device && self.pool_access(address, device)? == 0,
            Owner::Mapping => true,
        };
        is_unreached.then_some(of)
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

impl Candidate {
    /// Whether it is still live, and its owner has to be asked.
    fn is_open(&self, state: &State, context: u64) -> bool {
        // Green contexts share a device's memory with other contexts.
        let is_reached = |owner| state.is_green || state.peers.contains(&(context, owner));
        state.objects.at(self.memory).is_some_and(Object::is_live)
            && !matches!(self.owner, Owner::Context(owner) if is_reached(owner))
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
    let of = |kind, handle| {
        let object = state.objects.at(state.objects.find(kind, handle)?);
        object.filter(|object| object.is_live()).map(|object| object.context)
    };
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
    state: &State,
    context: u64,
    kernel: &Kernel,
    block: &[u8],
    touches: &[Touch],
) -> Vec<Candidate> {
    let argument = |(number, (offset, size)): (usize, &(usize, usize))| {
        let bytes = block.get(*offset..offset.checked_add(*size)?)?;
        let address = u64::from_le_bytes(<[u8; 8]>::try_from(bytes).ok()?);
        Some((Some(number), Some(*offset), address))
    };
    let arguments = || kernel.parameters.iter().flatten().enumerate().filter_map(argument);
    let touched = touches.iter().map(|touch| (None, touch.parameter, touch.address));
    let memory_at = |address| state.objects.memory_at(address).map(|(memory, _)| memory);
    // A kernel may be given the first and the end of a range.
    let is_end = |address: u64| {
        let before = memory_at(address - 1);
        before.is_some() && arguments().any(|(_, _, first)| first < address && memory_at(first) == before)
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for (argument, parameter, address) in arguments().chain(touched) {
        let Some(memory) = memory_at(address) else { continue };
        let owner = state.objects.at(memory).and_then(|object| owner_of(object, context));
        let Some(owner) = owner else { continue };
        // An allocation is reached as a whole; a reservation has parts.
        let is_part = matches!(owner, Owner::Mapping);
        let is_known = |known: &Candidate| known.memory == memory && (!is_part || known.address == address);
        let is_within = !is_part && memory_at(address - 1) == Some(memory);
        let ends = argument.is_some() && !is_within && is_end(address);
        let candidate = Candidate { argument, parameter, address, memory, owner, ends };
        match candidates.iter_mut().find(|known| is_known(known)) {
            Some(known) if known.ends && !ends => *known = candidate,
            Some(_) => {}
            None => candidates.push(candidate),
        }
    }
    candidates
}

/// Who decides whether a context reaches memory; `None` if it certainly does, or nobody knows.
fn owner_of(object: &Object, context: u64) -> Option<Owner> {
    let (_, function) = object.made_by.filter(|_| object.is_live())?;
    let is_own = object.context == context || object.context == 0;
    match (object.name.kind(), function) {
        (Kind::Memory, "cuMemAlloc_v2" | "cuMemAllocPitch_v2") if !is_own => {
            Some(Owner::Context(object.context))
        }
        (Kind::Memory, "cuMemAllocAsync") if !is_own => Some(Owner::Pool),
        // The pool may be of any device.
        (Kind::Memory, "cuMemAllocFromPoolAsync") => Some(Owner::Pool),
        (Kind::Reservation, _) => Some(Owner::Mapping),
        _ => None,
    }
}

impl State {
    /// The message about memory of device `of`, which a launch in that context and on that device does not reach.
    fn told_unreached(
        &mut self,
        candidate: &Candidate,
        of: i32,
        context: u64,
        device: i32,
    ) -> Option<String> {
        let object = self.objects.at(candidate.memory)?;
        let name = object.name.plus(candidate.address.saturating_sub(object.address));
        let (call, function) = object.made_by?;
        let uses = match candidate.argument {
            Some(number) => format!("argument {number} is"),
            None => "the kernel accesses".to_owned(),
        };
        let why = match candidate.owner {
            Owner::Context(owner) => {
                let [own, owner] = [context, owner].map(|context| self.context_name(context));
                format!("where {own} has no peer access to {owner}")
            }
            Owner::Pool => "to which the memory's pool gives no access".to_owned(),
            Owner::Mapping => "to which cuMemSetAccess has given no access".to_owned(),
        };
        Some(format!(
            "{uses} {name}, which {function} created in call {call}, memory of device {of}; the launch is on device {device}, {why}"
        ))
    }

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
