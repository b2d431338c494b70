//! The layer that records a launch: what it does in each call.
//!
//! No lock is held while the driver behind or the listener runs, but for the launch that is recorded: what is made or freed meanwhile
//! would not be what it finds.
//!
//! Relies on: the caller keeps the contract of the function that it calls.
#![allow(unsafe_code)]

use super::format::{ATTRIBUTE, Recording, UNFINISHED};
use super::reach::{self, Failed, Reached, Variable};
use super::symbols::Symbols;
use super::textures;
use super::{Event, Inner, LARGEST_IMAGE, image};
use crate::current;
use crate::decode;
use crate::effects::{Doing, Undo};
use crate::functions::{Function, Plain};
use crate::glob::matches;
use crate::intercept::Layer;
use crate::kernel::{Kernel, relaxed};
use crate::kind::Kind;
use crate::launch::Raw;
use crate::lists;
use crate::nodes;
use crate::objects::{Object, Objects, Place};
use crate::procs;
use crate::read;
use crate::rules::Effect;
use crate::stack;
use cuda_driver_sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig, CUlimit, CUresult, CUstream,
    CUstreamCaptureStatus, Driver,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// What is remembered between calls.
#[derive(Default)]
pub(super) struct State {
    count: usize,
    objects: Objects,
    /// Of modules and libraries.
    images: HashMap<Place, Arc<Vec<u8>>>,
    kernels: HashMap<Place, Arc<Kernel>>,
    pub(super) launches: BTreeMap<String, usize>,
    /// Launches of the kernel that is wanted, and those that were captured instead.
    wanted: usize,
    pub(super) captured: usize,
    /// Calls under way that begin or end a capture: the driver may have done so already, or not yet.
    capturing: usize,
    /// Variables that the program asked for, by module or library: those of machine code are known in no other way.
    asked: HashMap<Place, BTreeSet<String>>,
}

impl Layer for Inner {
    unsafe fn call(
        &self,
        function: &'static Function,
        words: &[u64],
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult {
        if self.is_off.load(Ordering::Acquire) {
            return base(&self.base);
        }
        // SAFETY: 1: duty 1.
        stack::with_room(&mut || unsafe { self.looked_at(function, words, base) })
    }
}

impl Inner {
    /// # Safety
    ///
    /// 1. The words are the arguments of a call of that function, whose contract holds, and `base` makes it.
    unsafe fn looked_at(
        &self,
        function: &'static Function,
        words: &[u64],
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult {
        // SAFETY: 1: duty 1.
        let raw = unsafe { Raw::of(function, words) };
        // SAFETY: 1: duty 1.
        let (doing, undo, captures) = unsafe { self.begin(function, words, raw.as_ref()) };
        // SAFETY: 1: `raw` was read from the words of this call, whose contract holds by duty 1.
        let answer = match raw.as_ref().and_then(|raw| unsafe { self.wanted(raw) }) {
            // SAFETY: 1: duty 1; 2: `raw` was read from the words, and `wanted` gives the kernel of its handle.
            Some((kernel, raw)) => unsafe { self.record(function, words, raw, &kernel, base) },
            None => base(&self.base),
        };
        if answer == CUresult::SUCCESS {
            // SAFETY: 1: duty 1; `answer` is what `base` answered, and was compared; `doing` has the function and the words.
            unsafe { self.done(&doing) };
        }
        let mut state = self.lock();
        state.capturing -= usize::from(captures);
        match answer {
            CUresult::SUCCESS => state.forget(&undo),
            code if code.is_sticky() => {}
            _ => doing.refused(&mut state.objects, undo),
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Last, whether the call counts as [`State::capturing`].
    ///
    /// # Safety
    ///
    /// 1. The words are the arguments of a call of that function, whose contract holds.
    unsafe fn begin<'call>(
        &self,
        function: &'static Function,
        words: &'call [u64],
        raw: Option<&Raw>,
    ) -> (Doing<'call>, Vec<Undo>, bool) {
        // Whatever a context ends is gone with it.
        let context = if function.effects.is_empty() { 0 } else { current::context(&self.base) };
        let may_capture = || {
            let state = self.lock();
            state.objects.captures + state.capturing > 0
        };
        // SAFETY: 1: duty 1.
        let is_captured = unsafe { nodes::captures_memory(&self.base, function, words, may_capture) };
        let mut state = self.lock();
        state.count += 1;
        let doing = Doing { number: state.count, function, words, context, is_captured };
        let open = state.objects.captures;
        let (undo, _) = doing.before(&mut state.objects, raw.map(|raw| (raw.function, raw.stream)));
        let begins = |effect: &Effect| matches!(effect, Effect::Makes(Kind::Capture, ..));
        let captures = state.objects.captures < open || function.effects.iter().any(begins);
        state.capturing += usize::from(captures);
        (doing, undo, captures)
    }

    /// What a call leaves behind.
    ///
    /// # Safety
    ///
    /// 1. It is a call whose contract holds, which `base` has answered, and that succeeded.
    unsafe fn done(&self, doing: &Doing<'_>) {
        let Doing { function, words, .. } = *doing;
        // SAFETY: 1: duty 1.
        unsafe { procs::adjust(self.slot, &self.has, None, function, words) };
        // SAFETY: 1: duty 1.
        let results = unsafe { decode::results(function, words) };
        // SAFETY: 1: `base` answered it with success, by duty 1; the results are those of the line above. Outside the lock: it may ask
        // the driver.
        let listed = unsafe { lists::listed(&self.base, function, words, &results) };
        let loads = function.effects.iter().find_map(|effect| match effect {
            Effect::Makes(kind @ (Kind::Module | Kind::Library), ..) => Some(*kind),
            _ => None,
        });
        // SAFETY: 1: duty 1.
        let image = loads.and_then(|_| unsafe { image::loaded(function.name, words, LARGEST_IMAGE) });
        // SAFETY: 1: duty 1.
        let variable = unsafe { asked_variable(function, words) };
        let mut state = self.lock();
        doing.done(&mut state.objects, &results);
        if let Some((kind, name)) = variable
            && let Some(owner) = state.objects.find(kind, words.get(2).copied().unwrap_or(0))
        {
            state.asked.entry(owner).or_default().insert(name);
        }
        listed.iter().for_each(|listed| doing.lists(&mut state.objects, listed));
        // SAFETY: 1: duty 1.
        if let Some((address, bytes)) = unsafe { nodes::memory(function, words) } {
            state.objects.forget_freed(address, bytes);
        }
        let made = results.first().map_or(0, |(_, word)| *word);
        let place = loads.and_then(|kind| state.objects.find(kind, made));
        if let Some((place, image)) = place.zip(image) {
            state.images.insert(place, Arc::new(image));
        }
    }

    /// The kernel, if this is the launch that is wanted.
    ///
    /// # Safety
    ///
    /// 1. `raw` is of the launch under way, whose contract holds.
    unsafe fn wanted<'raw>(&self, raw: &'raw Raw) -> Option<(Arc<Kernel>, &'raw Raw)> {
        // SAFETY: 1: the function is the launch's, by duty 1.
        let (kernel, name) = unsafe { self.kernel(raw.function) }?;
        let is_wanted = matches(&self.options.kernel, &name);
        *self.lock().launches.entry(name).or_default() += 1;
        if !is_wanted {
            return None;
        }
        // SAFETY: 1: the stream is the launch's, by duty 1.
        if unsafe { self.is_captured(raw.stream) } {
            self.lock().captured += 1;
            return None;
        }
        let mut state = self.lock();
        state.wanted += 1;
        (state.wanted == self.options.nth).then_some((kernel, raw))
    }

    /// The kernel and its name, where it is known of which kind it is.
    ///
    /// # Safety
    ///
    /// 1. The handle is the function of the launch under way, or what a launch takes for one, and lives until that returns.
    unsafe fn kernel(&self, handle: u64) -> Option<(Arc<Kernel>, String)> {
        let state = self.lock();
        let place = state.objects.find(Kind::Function, handle)?;
        let is_known = |object: &&Object| object.is_live() && object.made_by.is_some();
        let object = state.objects.at(place).filter(is_known)?;
        let of_library = object.name.kind() == Kind::Kernel;
        let known = state.kernels.get(&place).cloned();
        drop(state);
        // SAFETY: 1: it lives by duty 1, and is of the kind that the call has told which gave it.
        let ask = || unsafe { Kernel::ask(&self.base, handle, of_library) };
        let kernel = known.unwrap_or_else(|| Arc::new(relaxed(&self.base, ask)));
        self.lock().kernels.insert(place, kernel.clone());
        let name = kernel.name.clone()?;
        Some((kernel, name))
    }

    /// Whether a stream is captured: then a launch on it gives nothing to a device.
    ///
    /// # Safety
    ///
    /// 1. It is the stream of the launch under way, and lives until that returns.
    unsafe fn is_captured(&self, stream: u64) -> bool {
        let mut status = CUstreamCaptureStatus(0);
        // SAFETY: the output outlives the call; the stream lives, by the caller's duty 1.
        let answer = unsafe { self.base.cuStreamIsCapturing(self::stream(stream), &mut status) };
        answer == CUresult::SUCCESS && status.0 != 0
    }

    /// Makes the launch that is wanted, and tells what it did.
    ///
    /// # Safety
    ///
    /// 1. The words are the arguments of the launch, whose contract holds.
    /// 2. `raw` and the kernel are the launch's.
    unsafe fn record(
        &self,
        function: &Function,
        words: &[u64],
        raw: &Raw,
        kernel: &Kernel,
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult {
        // SAFETY: 1: duties 1 and 2.
        let parameters = unsafe { raw.parameters(kernel) };
        let state = self.lock();
        // SAFETY: 1: the stream is the launch's, by duties 1 and 2.
        let is_entered = unsafe { self.enter(raw.stream) };
        self.is_busy.store(true, Ordering::Release);
        let mut answer = None;
        let event = relaxed(&self.base, || {
            let begun = parameters
                .ok_or_else(|| {
                    "the driver cannot list the kernel's parameters: CUDA 12.4 or later can".to_owned()
                })
                .and_then(|parameters| self.before(&state, raw, kernel, &parameters));
            let begun = begun.map(|(mut recording, memory)| {
                // SAFETY: 1: duty 1.
                recording.attributes = unsafe { attributes(function, raw, words) };
                let recording = Arc::new(recording);
                (self.listener)(Event::Begun(recording.clone()));
                (recording, memory)
            });
            // Told before the launch, which may be the end of the process.
            let begun = begun.map_err(|why| (self.listener)(Event::Failed(why))).ok();
            let code = base(&self.base);
            answer = Some(code);
            let (recording, memory) = begun?;
            let mut recording = Arc::unwrap_or_clone(recording);
            Some(self.after(&mut recording, &memory, code).map(|()| recording))
        });
        self.is_busy.store(false, Ordering::Release);
        if is_entered {
            // SAFETY: the place outlives the call; what it takes off is the context that `enter` pushed: this function has pushed no other.
            let _ = unsafe { self.base.cuCtxPopCurrent(&mut null_mut()) };
        }
        drop(state);
        match event {
            Some(Ok(recording)) => (self.listener)(Event::Recorded(Box::new(recording))),
            Some(Err(why)) => (self.listener)(Event::Failed(why)),
            None => {}
        }
        answer.unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)
    }

    /// Makes the stream's context current unless it is: a launch needs none, and waits and copies are about the one that is current.
    ///
    /// # Safety
    ///
    /// 1. It is the stream of the launch under way, and lives until that returns.
    unsafe fn enter(&self, stream: u64) -> bool {
        let (mut current, mut own) = (null_mut(), null_mut());
        // SAFETY: the places outlive the calls; the stream lives, by the caller's duty 1, and its context with it.
        unsafe {
            self.base.cuCtxGetCurrent(&mut current) == CUresult::SUCCESS
                && self.base.cuStreamGetCtx(self::stream(stream), &mut own) == CUresult::SUCCESS
                && current != own
                && self.base.cuCtxPushCurrent(own) == CUresult::SUCCESS
        }
    }

    /// Everything that is recorded before the launch, or why it cannot be recorded.
    fn before(
        &self,
        state: &State,
        raw: &Raw,
        kernel: &Kernel,
        parameters: &[crate::launch::Parameter],
    ) -> Result<(Recording, Vec<Reached>), String> {
        if state.objects.captures + state.capturing > 0 {
            return Err("a stream is being captured, and to wait for the context would invalidate that: record a launch before or after it".to_owned());
        }
        let (owner, image) = state
            .image_of(raw.function)
            .ok_or("the image that it was loaded from was not seen, or is too large")?;
        let symbols = Symbols::of(&image);
        if let Some(name) = &symbols.reference {
            return Err(format!(
                "the image has the texture or surface reference `{name}`, whose memory a recording does not have: pass texture objects instead"
            ));
        }
        let textures = textures::among(&self.base, &state.objects, symbols.samples, parameters)?;
        let end = parameters.iter().map(|parameter| parameter.offset + parameter.bytes.len()).max();
        let mut arguments = vec![0; end.unwrap_or(0)];
        for parameter in parameters {
            if let Some(place) = arguments.get_mut(parameter.offset..parameter.offset + parameter.bytes.len())
            {
                place.copy_from_slice(&parameter.bytes);
            }
        }
        // SAFETY: the function asks for nothing.
        let waited = unsafe { self.base.cuCtxSynchronize() };
        if waited != CUresult::SUCCESS {
            return Err(format!("earlier work failed: {waited:?}"));
        }
        let variables = self.variables(state, owner, symbols);
        // The memory of textures is reached like that of pointers.
        let mut reaching = arguments.clone();
        reaching.resize(reaching.len().next_multiple_of(8), 0);
        reaching.extend(textures.iter().flat_map(|texture| texture.address.to_le_bytes()));
        let memory = reach::reached(&self.base, &state.objects, &reaching, variables, self.options.limit);
        let mut memory = memory.map_err(|failed| self.why(&failed))?;
        let mut driver = 0;
        // SAFETY: the place is a number's and outlives the call, which asks for nothing else.
        let _ = unsafe { self.base.cuDriverGetVersion(&mut driver) };
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let recording = Recording {
            kernel: kernel.name.clone().unwrap_or_default(),
            grid: raw.grid,
            block: raw.block,
            shared: raw.shared,
            driver: driver.cast_unsigned(),
            parameters: parameters.iter().map(|one| (number(one.offset), number(one.bytes.len()))).collect(),
            arguments,
            textures,
            image: image.to_vec(),
            code: UNFINISHED,
            limits: limits(&self.base),
            regions: memory.iter_mut().map(Reached::region).collect(),
            ..Recording::default()
        };
        Ok((recording, memory))
    }

    /// The variables of the module or library that a kernel is of, which is current's or of all contexts.
    fn variables(&self, state: &State, owner: Place, symbols: Symbols) -> Vec<Variable> {
        let Some(object) = state.objects.at(owner) else { return Vec::new() };
        let mut names = symbols.variables;
        names.extend(state.asked.get(&owner).into_iter().flatten().cloned());
        names.retain(|name| !symbols.code.contains(name));
        let of_library = object.name.kind() == Kind::Library;
        let handle = object.address as usize;
        let (module, library) = (with_exposed_provenance_mut(handle), with_exposed_provenance_mut(handle));
        let variable = |name: String| {
            let (mut address, mut bytes) = (0, 0);
            let text = CString::new(name.as_str()).ok()?;
            let (base, text) = (&self.base, text.as_ptr());
            // SAFETY: the places and the name outlive the calls; the handle is of this kind, and lives: the kernel of the launch under way is
            // of it. A variable that it does not have is answered by an error.
            let answer = unsafe {
                match of_library {
                    false => base.cuModuleGetGlobal(&mut address, &mut bytes, module, text),
                    true => match base.cuLibraryGetGlobal(&mut address, &mut bytes, library, text) {
                        CUresult::CUDA_ERROR_NOT_FOUND => {
                            base.cuLibraryGetManaged(&mut address, &mut bytes, library, text)
                        }
                        code => code,
                    },
                }
            };
            let is_there = answer == CUresult::SUCCESS && address != 0 && bytes > 0;
            is_there.then_some(Variable { name, address, bytes: bytes as u64 })
        };
        let mut variables: Vec<Variable> = names.into_iter().filter_map(variable).collect();
        // Two names of one.
        variables.sort_by_key(|variable| variable.address);
        variables.dedup_by_key(|variable| variable.address);
        variables
    }

    fn why(&self, failed: &Failed) -> String {
        match failed {
            Failed::TooMuch(bytes) => format!(
                "it reaches at least {bytes} bytes of memory, more than the limit of {}: raise it with `--limit`",
                self.options.limit
            ),
            Failed::Refused(address, code) => unread(*address, *code),
        }
    }

    /// Waits for the launch, and adds what it did; why that cannot be had.
    fn after(&self, recording: &mut Recording, memory: &[Reached], code: CUresult) -> Result<(), String> {
        let code = match code {
            // SAFETY: the function asks for nothing.
            CUresult::SUCCESS => unsafe { self.base.cuCtxSynchronize() },
            code => code,
        };
        recording.code = code.0;
        if code != CUresult::SUCCESS {
            return Ok(());
        }
        for (one, region) in memory.iter().zip(&mut recording.regions) {
            let now = one.read(&self.base).map_err(|code| unread(one.address, code))?;
            region.after = region.changes(&now);
        }
        Ok(())
    }
}

/// The limits of the current context on which a kernel may depend; without those that the driver does not know.
fn limits(driver: &Driver) -> Vec<(u32, u64)> {
    let limits = [
        CUlimit::CU_LIMIT_STACK_SIZE,
        CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE,
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE,
        CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
        CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
    ];
    let limit = |limit: CUlimit| {
        let mut value = 0;
        // SAFETY: the place is a number's and outlives the call, which asks for nothing else.
        let answer = unsafe { driver.cuCtxGetLimit(&mut value, limit) };
        (answer == CUresult::SUCCESS).then_some((limit.0, value as u64))
    };
    limits.into_iter().filter_map(limit).collect()
}

fn unread(address: u64, code: CUresult) -> String {
    format!("its memory at {address:#x} cannot be read: {code:?}")
}

impl State {
    /// Images that are gone may be large.
    fn forget(&mut self, ended: &[Undo]) {
        let objects = &self.objects;
        let is_image = |undo: &Undo| {
            let Undo::Ended(place) = undo else { return false };
            objects
                .at(*place)
                .is_some_and(|object| matches!(object.name.kind(), Kind::Module | Kind::Library))
        };
        if !ended.iter().any(is_image) {
            return;
        }
        let is_live = |place: &Place| objects.at(*place).is_some_and(|object| object.is_live());
        self.images.retain(|place, _| is_live(place));
        self.kernels.retain(|place, _| is_live(place));
        self.asked.retain(|place, _| is_live(place));
    }

    /// The image that a function or kernel is of, and the module or library: that of the first of its owners that has one.
    fn image_of(&self, handle: u64) -> Option<(Place, Arc<Vec<u8>>)> {
        let mut owner = self.objects.find(Kind::Function, handle);
        while let Some(place) = owner {
            if let Some(image) = self.images.get(&place) {
                return Some((place, image.clone()));
            }
            owner = self.objects.at(place)?.owner;
        }
        None
    }
}

/// The variable that a program asks for, and of what.
///
/// # Safety
///
/// 1. The words are the arguments of a call of that function that succeeded, and whose contract holds.
unsafe fn asked_variable(function: &Function, words: &[u64]) -> Option<(Kind, String)> {
    let kind = match function.name {
        "cuModuleGetGlobal_v2" => Kind::Module,
        "cuLibraryGetGlobal" | "cuLibraryGetManaged" => Kind::Library,
        _ => return None,
    };
    // SAFETY: 1: the last argument of all three is a C string, which nothing writes during the call: duty 1.
    Some((kind, unsafe { read::text(words.get(3).copied()?) }?))
}

fn stream(handle: u64) -> CUstream {
    with_exposed_provenance_mut(handle as usize)
}

/// The attributes of a launch, as bytes.
///
/// # Safety
///
/// 1. The words are the arguments of a launch whose contract holds.
unsafe fn attributes(function: &Function, raw: &Raw, words: &[u64]) -> Vec<(u32, [u8; ATTRIBUTE])> {
    if function.name == "cuLaunchCooperativeKernel" {
        return vec![cooperative()];
    }
    if raw.attributes.is_empty() {
        return Vec::new();
    }
    let Some(config) = words.first() else { return Vec::new() };
    // SAFETY: 1: a launch with attributes has a configuration, aligned and with all members set, which nothing writes
    // before the call returns, by duty 1.
    let config = unsafe { read::structure::<CUlaunchConfig>(*config) };
    let start = config.attrs.expose_provenance() as u64;
    let one = |number: u64| {
        let at = start + number * size_of::<CUlaunchAttribute>() as u64;
        // SAFETY: 1: an attribute of the list, which has `numAttrs` of them, begins with its id, which is set and which
        // nothing writes before the call returns, by duty 1.
        let id = unsafe { read::value(at, Plain::Unsigned(4)) } as u32;
        let mut value = [0; ATTRIBUTE];
        let used = width(CUlaunchAttributeID(id));
        let from = at + std::mem::offset_of!(CUlaunchAttribute, value) as u64;
        // SAFETY: 1: the member of the union that the id asks for has that many bytes (`width`), which the program has
        // written and leaves as they are until the call returns, by duty 1.
        let bytes = unsafe { read::block(from, used) };
        value.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        (id, value)
    };
    (0..u64::from(config.numAttrs)).map(one).collect()
}

/// Bytes of an attribute's value that say how the kernel runs. Others are about what is around the launch, or were never written.
fn width(id: CUlaunchAttributeID) -> usize {
    match id {
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => 12,
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        | CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
        | CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => 4,
        _ => 0,
    }
}

fn cooperative() -> (u32, [u8; ATTRIBUTE]) {
    let mut value = [0; ATTRIBUTE];
    value[0] = 1;
    (CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE.0, value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::record::RecordOptions;
    use cuda_driver_sys::CUresult;
    use cuda_emulator::Instance;
    use std::ptr::null_mut;

    const PTX: &std::ffi::CStr = c".version 7.8 .target sm_75 .address_size 64 .visible .entry k() { ret; }";

    #[test]
    fn nothing_is_kept_of_an_image_that_is_unloaded() {
        let instance = Instance::new().unwrap();
        let record = RecordOptions::new("other", 1).over(&instance.driver(), |_| {}).unwrap();
        let driver = record.driver();
        let ok = |code: CUresult| assert_eq!(code, CUresult::SUCCESS);
        let (mut context, mut module, mut kernel) = (null_mut(), null_mut(), null_mut());
        let kept = || {
            let state = record.inner.lock();
            (state.images.len(), state.kernels.len())
        };
        // SAFETY: places for one handle each, handles that live, and a kernel that takes nothing.
        unsafe {
            ok(driver.cuInit(0));
            ok(driver.cuDevicePrimaryCtxRetain(&mut context, 0));
            ok(driver.cuCtxSetCurrent(context));
            ok(driver.cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
            ok(driver.cuModuleGetFunction(&mut kernel, module, c"k".as_ptr()));
            ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()));
            assert_eq!(kept(), (1, 1));
            ok(driver.cuModuleUnload(module));
            assert_eq!(kept(), (0, 0));
            // As in a process that is forked: nothing is noted, and no lock is taken.
            let before = record.inner.lock().count;
            record.switch_off();
            ok(driver.cuCtxSynchronize());
            assert_eq!((record.inner.lock().count, record.launches().len()), (before, 0));
            ok(driver.cuDevicePrimaryCtxRelease(0));
        }
    }
}
