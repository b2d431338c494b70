//! The launch on a device.
//!
//! Relies on: the driver upholds its contract; memory that it reads and writes lives until the wait for the device is over. As with any
//! launch, the kernel may do anything to the memory of this process: a user who replays a file on a GPU trusts the kernel in it.
#![allow(unsafe_code)]

use cuda_harness::kernel::parameters;
use cuda_harness::record::{Recording, Region};
use cuda_launch::Driver;
use cuda_launch::sys::*;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::Arc;

use super::textures;
use crate::failure::{Exit, Failure};
use crate::run::DeviceOptions;

/// Bytes that are compared at a time.
const CHUNK: usize = 1 << 20;
/// Addresses are reserved in units of this: driver 580 grants such requests, but not those for single pages.
const UNIT: u64 = 256 << 20;
/// The minimum alignment of allocations.
const ALIGNMENT: u64 = 256;
/// Attributes that affect only how the kernel itself runs.
const KEPT: [CUlaunchAttributeID; 4] = [
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
];

/// A context that is current.
pub(super) struct Device {
    driver: Arc<Driver>,
    number: CUdevice,
    is_emulator: bool,
    /// Whether memory is left where the driver allocates it.
    apart: bool,
    /// Reserved address ranges, and those at which memory is mapped.
    reserved: Vec<Range<u64>>,
    mapped: RefCell<BTreeSet<u64>>,
}

/// The result of a replay.
pub(super) struct Replayed {
    pub(super) code: CUresult,
    /// Whether the recording has outputs, which were compared.
    pub(super) is_compared: bool,
    pub(super) differences: Vec<Difference>,
    /// Bytes that were as recorded.
    pub(super) same: u64,
    /// Allocations that are elsewhere, and words in memory that may be pointers into them: left as they are, and changed.
    pub(super) moved: usize,
    pub(super) stale: usize,
    pub(super) changed: usize,
    /// Attributes that were left out.
    pub(super) left_out: Vec<u32>,
    /// Limits of the context that this device does not have so.
    pub(super) limits: Vec<Limit>,
}

/// A limit of the context that could not be set.
pub(super) struct Limit {
    pub(super) name: String,
    pub(super) recorded: u64,
    /// None if this driver does not know it.
    pub(super) now: Option<u64>,
}

/// Memory that is not as recorded.
pub(super) struct Difference {
    /// Its index in the file.
    pub(super) region: usize,
    pub(super) bytes: u64,
    /// The first differing offset, with up to eight bytes there as recorded and now.
    pub(super) first: u64,
    pub(super) recorded: Vec<u8>,
    pub(super) now: Vec<u8>,
}

impl Replayed {
    pub(super) fn is_as_recorded(&self) -> bool {
        self.code == CUresult::SUCCESS && self.differences.is_empty()
    }
}

pub(super) fn ok(call: &str, code: CUresult) -> Result<(), Failure> {
    match code {
        CUresult::SUCCESS => Ok(()),
        code => Err(Failure::new(Exit::Driver, format!("{call} returned {code:?}"))),
    }
}

impl Device {
    /// Makes the primary context of the device current, after the recording's addresses are reserved: once there is a context, driver
    /// 580 returns other addresses.
    pub(super) fn open(place: &DeviceOptions, recording: &Recording, apart: bool) -> Result<Device, Failure> {
        let driver = place.driver()?;
        let (mut number, mut context) = (0, null_mut());
        let wished = i32::try_from(place.number()).unwrap_or(i32::MAX);
        // SAFETY: the output is a number and outlives the call; the calls have no other requirements, and return an error for a device
        // number that does not exist.
        let found = unsafe {
            ok("cuInit", driver.cuInit(0))?;
            driver.cuDeviceGet(&mut number, wished)
        };
        if found == CUresult::CUDA_ERROR_INVALID_DEVICE {
            return Err(place.no_device(&format!("cuDeviceGet: {found:?}")));
        }
        ok("cuDeviceGet", found)?;
        let reserved = match place.is_emulator() {
            true => Vec::new(),
            false => reserve(&driver, &recording.regions),
        };
        // SAFETY: the output outlives the call; the context was just retained, and is not released before this process ends.
        unsafe {
            ok("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(&mut context, number))?;
            ok("cuCtxSetCurrent", driver.cuCtxSetCurrent(context))?;
        }
        let is_emulator = place.is_emulator();
        Ok(Device { driver, number, is_emulator, apart, reserved, mapped: RefCell::default() })
    }

    /// Launches the kernel with the memory that it had, and compares. `relocates` has pointers in memory changed too.
    pub(super) fn replay(&self, recording: &Recording, relocates: bool) -> Result<Replayed, Failure> {
        // Before the module: its kernels may get a heap as soon as it is loaded.
        let limits = self.limit(recording);
        // Before the module, whose variables would otherwise take these addresses.
        let allocations = recording.regions.iter().filter(|region| region.variable.is_none());
        let mut allocations =
            allocations.map(|region| self.place(region)).collect::<Result<Vec<u64>, Failure>>()?.into_iter();
        let (module, function) = self.load(recording)?;
        let places = recording.regions.iter().map(|region| match &region.variable {
            Some(name) => self.variable(module, name, region.bytes),
            None => Ok(allocations.next().unwrap_or_default()),
        });
        let places = places.collect::<Result<Vec<u64>, Failure>>()?;
        let placed = Placed::new(recording.regions.iter().zip(places.iter().copied()));
        let mut arguments = recording.arguments.clone();
        for word in arguments.as_chunks_mut::<8>().0 {
            if let Some((_, new)) = placed.elsewhere(u64::from_le_bytes(*word)) {
                *word = new.to_le_bytes();
            }
        }
        for texture in &recording.textures {
            let address = placed.elsewhere(texture.address).map_or(texture.address, |(_, new)| new);
            let place = arguments.get_mut(texture.offset as usize..).and_then(<[u8]>::first_chunk_mut::<8>);
            if let Some(place) = place {
                *place = textures::create(&self.driver, texture, address)?.to_le_bytes();
            }
        }
        let (mut stale, mut changed) = (0, 0);
        let mut differences = Vec::new();
        let mut regions = Vec::new();
        for (region, at) in recording.regions.iter().zip(&places) {
            let (now, left, words) = placed.adjusted(region, relocates);
            (stale, changed) = (stale + left, changed + words);
            self.fill(&now, *at)?;
            regions.push(now);
        }
        let moved = placed.moved;
        let (code, left_out) = self.launch(recording, function, &arguments)?;
        let is_compared = code == CUresult::SUCCESS && recording.code == CUresult::SUCCESS.0;
        let mut same = 0;
        for (number, (region, at)) in regions.iter().zip(&places).enumerate().filter(|_| is_compared) {
            let difference = self.compare(number, region, *at)?;
            same += region.bytes - difference.as_ref().map_or(0, |difference| difference.bytes);
            differences.extend(difference);
        }
        Ok(Replayed { code, is_compared, differences, same, moved, stale, changed, left_out, limits })
    }

    /// Sets the limits of the context, and returns those that this device does not accept.
    fn limit(&self, recording: &Recording) -> Vec<Limit> {
        let get = |limit| {
            let mut value = 0;
            // SAFETY: the output is a number and outlives the call, which has no other requirement.
            let code = unsafe { self.driver.cuCtxGetLimit(&mut value, limit) };
            (code == CUresult::SUCCESS).then_some(value as u64)
        };
        let set = |(id, recorded): &(u32, u64)| {
            let (limit, value) = (CUlimit(*id), usize::try_from(*recorded).unwrap_or(usize::MAX));
            if get(limit) != Some(*recorded) {
                // SAFETY: the call takes two numbers, and returns an error for those that it does not accept. The result is queried.
                let _ = unsafe { self.driver.cuCtxSetLimit(limit, value) };
            }
            let now = get(limit).filter(|now| now < recorded);
            let is_less = now.is_some() || get(limit).is_none();
            is_less.then(|| Limit { name: limit_name(limit), recorded: *recorded, now })
        };
        recording.limits.iter().filter_map(set).collect()
    }

    /// The address of a variable of the module.
    fn variable(&self, module: CUmodule, name: &str, recorded: u64) -> Result<u64, Failure> {
        let (mut address, mut bytes) = (0, 0);
        let text = c_name("variable", name)?;
        // SAFETY: the module was loaded by `load` and is never unloaded; the outputs and the name outlive the call.
        let code = unsafe { self.driver.cuModuleGetGlobal(&mut address, &mut bytes, module, text.as_ptr()) };
        if code != CUresult::CUDA_ERROR_NOT_FOUND {
            ok("cuModuleGetGlobal", code)?;
            if bytes as u64 == recorded {
                return Ok(address);
            }
        }
        let has = if code == CUresult::SUCCESS { &format!("of {bytes} bytes") } else { "of that name" };
        let no = if code == CUresult::SUCCESS { "one" } else { "no variable" };
        let message = format!(
            "the recording has a variable `{name}` of {recorded} bytes, and the image {no} {has}: the file is damaged"
        );
        Err(Failure::new(Exit::File, message))
    }

    fn load(&self, recording: &Recording) -> Result<(CUmodule, CUfunction), Failure> {
        let (mut module, mut function) = (null_mut(), null_mut());
        // Text ends with a NUL.
        let image = [recording.image.as_slice(), &[0]].concat();
        let name = c_name("kernel", &recording.kernel)?;
        // SAFETY: the output and the image outlive the call; text is followed by a NUL. A binary image was complete when it was recorded;
        // that it has not been truncated since is the responsibility of the user who names the file, as for any image that a driver loads.
        let code = unsafe { self.driver.cuModuleLoadData(&mut module, image.as_ptr().cast()) };
        if code != CUresult::SUCCESS {
            let next = match self.is_emulator {
                true => {
                    "the emulator runs PTX for its device's architecture, sm_90 by default: `cuda-launch inspect` shows what an image has, \
                     CUDA_LAUNCH_EMULATOR_ARCH chooses another device; CuPy compiles to PTX with CUPY_COMPILE_WITH_PTX=1"
                }
                false => "the image is for another device",
            };
            let message = format!("the image cannot be loaded: {code:?}\n  help: {next}");
            return Err(Failure::new(Exit::Driver, message));
        }
        // SAFETY: the module was just loaded and is never unloaded; the name is a C string; both and the output outlive the call.
        match unsafe { self.driver.cuModuleGetFunction(&mut function, module, name.as_ptr()) } {
            CUresult::CUDA_ERROR_NOT_FOUND => {
                let message = format!("the image has no kernel `{}`", recording.kernel);
                Err(Failure::new(Exit::File, message))
            }
            code => ok("cuModuleGetFunction", code).map(|()| (module, function)),
        }
    }

    /// Memory, at its address if that can be had and is wanted.
    fn place(&self, region: &Region) -> Result<u64, Failure> {
        let mut address = region.address;
        let is_there = match self.is_emulator {
            true => !self.apart && cuda_emulator::allocate_at(address, region.bytes),
            false => self.map(address, region.bytes),
        };
        if !is_there {
            // The program's own memory may begin anywhere; the offset is kept so that alignment is preserved.
            let offset = address % ALIGNMENT;
            let bytes = usize::try_from(region.bytes.saturating_add(offset)).unwrap_or(usize::MAX);
            // SAFETY: the output is an address and outlives the call, which has no other requirement.
            let code = unsafe { self.driver.cuMemAlloc(&mut address, bytes) };
            ok("cuMemAlloc", code).map_err(|failure| {
                failure.with(&format!("{bytes} bytes of memory, recorded at {:#x}", region.address))
            })?;
            address += offset;
        }
        Ok(address)
    }

    /// Puts the contents of before into the memory.
    fn fill(&self, region: &Region, address: u64) -> Result<(), Failure> {
        let bytes = usize::try_from(region.bytes).unwrap_or(usize::MAX);
        // SAFETY: `place` allocated the memory with that many bytes, which no other code uses before the launch, and
        // the reader of the file has checked that each piece lies in it; a piece is read for its own length, before the
        // call returns.
        unsafe {
            ok("cuMemsetD8", self.driver.cuMemsetD8(address, 0, bytes))?;
            for (at, piece) in region.before.list() {
                let (to, from) = (address + at, piece.as_ptr().cast());
                ok("cuMemcpyHtoD", self.driver.cuMemcpyHtoD(to, from, piece.len()))?;
            }
        }
        Ok(())
    }

    /// Maps memory over the whole range; false if its addresses are not reserved, or there is no memory.
    fn map(&self, address: u64, bytes: u64) -> bool {
        let location = CUmemLocation {
            type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id: self.number },
        };
        let properties = CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            location,
            ..CUmemAllocationProp::default()
        };
        let option = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        let (mut unit, end) = (0, address + bytes);
        // SAFETY: the output is a number; it and the properties, fully initialised above, outlive the call.
        let code = unsafe { self.driver.cuMemGetAllocationGranularity(&mut unit, &properties, option) };
        let is_reserved = self.reserved.iter().any(|range| range.start <= address && end <= range.end);
        if code != CUresult::SUCCESS || unit == 0 || !UNIT.is_multiple_of(unit as u64) || !is_reserved {
            return false;
        }
        let mut units = (address - address % unit as u64..end).step_by(unit);
        units.all(|at| self.mapped.borrow().contains(&at) || self.map_unit(at, unit, &properties))
    }

    fn map_unit(&self, at: u64, bytes: usize, properties: &CUmemAllocationProp) -> bool {
        let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = CUmemAccessDesc { location: properties.location, flags };
        let mut memory = 0;
        // SAFETY: the output and the structures outlive the calls. `map` found the memory in one of `reserved`, whose
        // ends are multiples of `UNIT`, and so of `bytes`, so the whole unit is in it. `mapped` does not contain it,
        // so nothing is mapped there, or only the result of an earlier attempt, and then the driver refuses to map it
        // again. It is not unmapped before this process ends.
        let is_mapped = unsafe {
            self.driver.cuMemCreate(&mut memory, bytes, properties, 0) == CUresult::SUCCESS
                && self.driver.cuMemMap(at, bytes, 0, memory, 0) == CUresult::SUCCESS
                && self.driver.cuMemSetAccess(at, bytes, &access, 1) == CUresult::SUCCESS
        };
        is_mapped && self.mapped.borrow_mut().insert(at)
    }

    /// The result of the launch or of the wait for it, and the attributes that were left out.
    fn launch(
        &self,
        recording: &Recording,
        function: CUfunction,
        arguments: &[u8],
    ) -> Result<(CUresult, Vec<u32>), Failure> {
        let kept = |id: &u32| KEPT.contains(&CUlaunchAttributeID(*id));
        let attributes = recording.attributes.iter().filter(|(id, _)| kept(id));
        let mut attributes: Vec<CUlaunchAttribute> = attributes.map(attribute).collect();
        let left_out = recording.attributes.iter().map(|(id, _)| *id).filter(|id| !kept(id)).collect();
        let starts = recording.parameters.iter().map(|(offset, _)| arguments.get(*offset as usize..));
        let mut parameters: Vec<*mut c_void> =
            starts.map(|bytes| bytes.unwrap_or_default().as_ptr().cast_mut().cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (recording.grid, recording.block);
        let config = CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: recording.shared,
            hStream: null_mut(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::try_from(attributes.len()).unwrap_or(0),
        };
        self.fits(recording, function)?;
        // SAFETY: the configuration and everything that it points to live until the wait is over. There is a pointer
        // for each recorded parameter, to as many bytes as the reader of the file has checked, and `fits` has compared
        // these with the kernel's own. Its module is never unloaded. The kernel's effect on memory is outside of this
        // proof (the head of this file).
        unsafe {
            let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let (bytes, mut limit) = (i32::try_from(recording.shared).unwrap_or(i32::MAX), 0);
            // The part of the usual 48 KiB that static shared memory leaves.
            ok("cuFuncGetAttribute", self.driver.cuFuncGetAttribute(&mut limit, most, function))?;
            if bytes > limit {
                ok("cuFuncSetAttribute", self.driver.cuFuncSetAttribute(function, most, bytes))
                    .map_err(|failure| failure.with(&format!("{bytes} bytes of dynamic shared memory")))?;
            }
            let portable = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // A device without clusters does not have this attribute.
            let _ = self.driver.cuFuncSetAttribute(function, portable, 1);
            let code = self.driver.cuLaunchKernelEx(&config, function, parameters.as_mut_ptr(), null_mut());
            Ok((if code == CUresult::SUCCESS { self.driver.cuCtxSynchronize() } else { code }, left_out))
        }
    }

    /// The parameters of the file are those of the kernel: the driver would read past a list that is too short.
    fn fits(&self, recording: &Recording, function: CUfunction) -> Result<(), Failure> {
        // SAFETY: 1: the function belongs to the module that `load` loaded, which is never unloaded.
        let own = unsafe { parameters(&self.driver, function.expose_provenance() as u64, false) };
        let own = match own {
            Ok(Some(own)) => own,
            Ok(None) => return ok("cuFuncGetParamInfo", CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER),
            Err((call, code)) => return ok(call, code),
        };
        // Offsets are not compared, because some architectures place parameters with an alignment over 16 bytes in
        // another way.
        let own: Vec<u64> = own.iter().map(|(_, size)| *size as u64).collect();
        let ends = own.iter().copied().map(Some).chain([None]);
        let recorded = recording.parameters.iter().map(|(_, size)| Some(u64::from(*size))).chain([None]);
        match ends.zip(recorded).position(|(own, recorded)| own != recorded) {
            None => Ok(()),
            Some(number) => {
                let size =
                    |size: Option<u64>| size.map_or("nothing".to_owned(), |bytes| format!("{bytes} bytes"));
                let recorded = size(recording.parameters.get(number).map(|(_, size)| u64::from(*size)));
                let message = format!(
                    "parameter {number} of `{}` has {} in the image, but {recorded} in the recording: the file is damaged",
                    recording.kernel,
                    size(own.get(number).copied())
                );
                Err(Failure::new(Exit::File, message))
            }
        }
    }

    fn compare(&self, number: usize, region: &Region, at: u64) -> Result<Option<Difference>, Failure> {
        let (mut now, mut recorded) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut found: Option<Difference> = None;
        for start in (0..region.bytes).step_by(CHUNK) {
            let length = (region.bytes - start).min(CHUNK as u64) as usize;
            let (now, recorded) = (&mut now[..length], &mut recorded[..length]);
            // SAFETY: `now` was truncated to `length` bytes, which no other code uses; `place` allocated the memory
            // with `region.bytes`, and `start + length` is not more. The launch is over, and the call waits for the
            // copy.
            unsafe {
                let code = self.driver.cuMemcpyDtoH(now.as_mut_ptr().cast(), at + start, length);
                ok("cuMemcpyDtoH", code)?;
            }
            region.after(start, recorded);
            let differing = now.iter().zip(recorded.iter()).filter(|(now, recorded)| now != recorded).count();
            let Some(first) = now.iter().zip(recorded.iter()).position(|(now, recorded)| now != recorded)
            else {
                continue;
            };
            let shown = first..(first + 8).min(length);
            let difference = found.get_or_insert_with(|| Difference {
                region: number,
                bytes: 0,
                first: start + first as u64,
                recorded: recorded[shown.clone()].to_vec(),
                now: now[shown].to_vec(),
            });
            difference.bytes += differing as u64;
        }
        Ok(found)
    }
}

/// The ranges around memory, in whole units, that the driver reserves as they are.
fn reserve(driver: &Driver, regions: &[Region]) -> Vec<Range<u64>> {
    let around = |region: &Region| {
        let end = region.address.checked_add(region.bytes)?.checked_next_multiple_of(UNIT)?;
        Some(region.address - region.address % UNIT..end)
    };
    let allocations = regions.iter().filter(|region| region.variable.is_none());
    let mut ranges: Vec<Range<u64>> = allocations.filter_map(around).collect();
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged.retain(|range| {
        let (mut got, bytes) = (0, usize::try_from(range.end - range.start).unwrap_or(usize::MAX));
        // SAFETY: the output is an address and outlives the call; a range at another address is released completely, and only this function
        // knows it.
        unsafe {
            let code = driver.cuMemAddressReserve(&mut got, bytes, 0, range.start, 0);
            if code == CUresult::SUCCESS && got != range.start {
                let _ = driver.cuMemAddressFree(got, bytes);
            }
            code == CUresult::SUCCESS && got == range.start
        }
    });
    merged
}

fn limit_name(limit: CUlimit) -> String {
    let name = match limit {
        CUlimit::CU_LIMIT_STACK_SIZE => "the stack of a thread, in bytes,",
        CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => "the buffer of printf, in bytes,",
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => "the heap of malloc in kernels, in bytes,",
        CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH => "the depth of grids that wait for others",
        CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => "the number of pending launches by kernels",
        CUlimit(other) => return format!("limit {other} of the context"),
    };
    name.to_owned()
}

/// A name for the driver. Those of a file that was read have no zero in them.
fn c_name(what: &str, name: &str) -> Result<CString, Failure> {
    CString::new(name).map_err(|_| {
        let message =
            format!("the recording has a {what} {name:?}, with a zero in its name: the file is damaged");
        Failure::new(Exit::File, message)
    })
}

fn attribute((id, value): &(u32, [u8; 64])) -> CUlaunchAttribute {
    let mut attribute = CUlaunchAttribute { id: CUlaunchAttributeID(*id), ..CUlaunchAttribute::default() };
    // SAFETY: both types have 64 bytes, as the compiler compares, and all bytes are a value of each member of the union.
    attribute.value = unsafe { std::mem::transmute::<[u8; 64], CUlaunchAttributeValue>(*value) };
    attribute
}

/// The recorded and current addresses of memory, in the order of the recorded ones.
struct Placed<'file> {
    regions: Vec<(&'file Region, u64)>,
    /// The number of allocations at other addresses; and of variables, whose addresses cannot be chosen.
    moved: usize,
    moved_variables: usize,
}

impl<'file> Placed<'file> {
    fn new(regions: impl Iterator<Item = (&'file Region, u64)>) -> Self {
        let mut regions: Vec<(&Region, u64)> = regions.collect();
        regions.sort_by_key(|(region, _)| region.address);
        let moved = |of_variables: bool| {
            let of_kind = regions.iter().filter(|(region, _)| region.variable.is_some() == of_variables);
            of_kind.filter(|(region, at)| region.address != *at).count()
        };
        let (moved, moved_variables) = (moved(false), moved(true));
        Self { regions, moved, moved_variables }
    }

    /// The current address for a recorded one, and its region, if that has moved. An address directly past the end of a region, and
    /// in no other region, counts as its end.
    fn elsewhere(&self, address: u64) -> Option<(&'file Region, u64)> {
        let behind = self.regions.partition_point(|(region, _)| region.address <= address);
        let (region, at) = self.regions.get(behind.checked_sub(1)?)?;
        let offset = address - region.address;
        (offset <= region.bytes && *at != region.address).then(|| (*region, at + offset))
    }

    /// The memory with adjusted pointers: those to variables, and if requested those to allocations. Also returns how many of the latter
    /// are unchanged, and how many words were changed.
    fn adjusted(&self, region: &'file Region, relocates: bool) -> (Cow<'file, Region>, usize, usize) {
        if self.moved + self.moved_variables == 0 {
            return (Cow::Borrowed(region), 0, 0);
        }
        let is_changed = |target: &Region| relocates || target.variable.is_some();
        let left = |word| self.elsewhere(word).filter(|(target, _)| !is_changed(target)).map(|(_, new)| new);
        let stale = if relocates || self.moved == 0 { 0 } else { region.with_words(left).1 };
        let changed =
            |word| self.elsewhere(word).filter(|(target, _)| is_changed(target)).map(|(_, new)| new);
        match region.with_words(changed) {
            (_, 0) => (Cow::Borrowed(region), stale, 0),
            (other, words) => (Cow::Owned(other), stale, words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, Region};

    #[test]
    fn addresses_move_with_their_memory_and_so_does_its_end() {
        let regions = [(100, 10), (110, 20), (200, 8), (208, 8)];
        let regions = regions.map(|(address, bytes)| Region { address, bytes, ..Region::default() });
        let places = [1000, 2000, 3000, 208];
        let placed = Placed::new(regions.iter().zip(places));
        for (address, now) in [
            (99, None),
            (100, Some(1000)),
            (109, Some(1009)),
            // Another region begins at the end.
            (110, Some(2000)),
            (130, Some(2020)),
            (131, None),
            (207, Some(3007)),
            // The region that begins there has not moved.
            (208, None),
            (216, None),
        ] {
            assert_eq!(placed.elsewhere(address).map(|(_, now)| now), now, "{address}");
        }
        assert!(Placed::new(std::iter::empty()).elsewhere(7).is_none());
    }
}
