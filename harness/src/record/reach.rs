//! The memory that the arguments of a launch reach: allocations in which a pointer lies, those in which a pointer in these lies, and so on.
//! The variables of the kernel's module are always among them.
//!
//! Every word of eight bytes, at a multiple of eight, that is an address in live memory counts as a pointer. Recording too much is harmless.
//!
//! Relies on: the driver writes no more than it is asked for, to buffers of that length; and the caller holds the recorder's lock, which a
//! call that frees takes before it goes to the driver, and marks what it frees. Of memory whose allocation was not seen nothing is marked:
//! a program that passes such memory to the launch must not be freeing it meanwhile.
#![allow(unsafe_code)]

use super::format::{Contents, Region};
use crate::kind::Kind;
use crate::objects::Objects;
use cuda_driver_sys::{CUmemLocation, CUmemLocationType, CUpointer_attribute, CUresult, Driver};
use std::collections::BTreeMap;
use std::ops::Range;

/// The first page is never mapped.
const LOWEST: u64 = 4096;

/// An allocation or a variable, and what is in it.
pub(super) struct Reached {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The name of the variable.
    pub(super) variable: Option<String>,
    /// Before the launch.
    pub(super) contents: Vec<u8>,
    /// Where one part of it ends and another begins: it was mapped in parts.
    seams: Vec<u64>,
}

/// A variable of the kernel's module.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// Why memory cannot be had.
pub(super) enum Failed {
    /// More than the limit.
    TooMuch(u64),
    /// The driver does not return it.
    Refused(u64, CUresult),
}

/// Reads all memory that these bytes reach, and the variables, up to `most` bytes.
pub(super) fn reached(
    driver: &Driver,
    objects: &Objects,
    arguments: &[u8],
    variables: Vec<Variable>,
    most: u64,
) -> Result<Vec<Reached>, Failed> {
    let mapped = Mapped::of(driver, objects);
    let span = objects.span();
    let mut search =
        Search { driver, objects, mapped, span, most, total: 0, found: Vec::new(), ends: BTreeMap::new() };
    for Variable { name, address, bytes } in variables {
        search.add(address..address.saturating_add(bytes), Some(name))?;
    }
    // Offsets in it are those of the parameters, which are aligned.
    for word in words(0, arguments) {
        search.argument(word)?;
    }
    let mut at = 0;
    while let Some(one) = search.found.get(at) {
        let contents = one.read(driver).map_err(|code| Failed::Refused(one.address, code))?;
        for word in words(one.address, &contents) {
            search.word(word)?;
        }
        if let Some(one) = search.found.get_mut(at) {
            one.contents = contents;
        }
        at += 1;
    }
    Ok(search.found)
}

/// What was found so far.
struct Search<'launch> {
    driver: &'launch Driver,
    objects: &'launch Objects,
    mapped: Mapped,
    /// Around all memory that was seen: other words are no pointers.
    span: Range<u64>,
    most: u64,
    total: u64,
    found: Vec<Reached>,
    /// The ends of what was found, by where it starts.
    ends: BTreeMap<u64, u64>,
}

impl Search<'_> {
    /// A word of the arguments. The driver is asked of what was never seen.
    fn argument(&mut self, word: u64) -> Result<(), Failed> {
        if word < LOWEST || self.is_found(word) {
            return Ok(());
        }
        // Nor is the driver asked of what a call is known to have ended: that call may be under way.
        let memory = self.objects.memory_at(word).and_then(|(place, _)| self.objects.at(place));
        let has_ended = memory.is_some_and(|memory| !memory.is_live());
        let range = self.known(word).or_else(|| if has_ended { None } else { asked(self.driver, word) });
        range.map_or(Ok(()), |range| self.add(range, None))
    }

    /// A word in memory, which may be anything: only addresses count whose allocation was seen.
    fn word(&mut self, word: u64) -> Result<(), Failed> {
        if !self.span.contains(&word) || self.is_found(word) {
            return Ok(());
        }
        self.known(word).map_or(Ok(()), |range| self.add(range, None))
    }

    fn is_found(&self, address: u64) -> bool {
        self.ends.range(..=address).next_back().is_some_and(|(_, end)| address < *end)
    }

    fn add(&mut self, range: Range<u64>, variable: Option<String>) -> Result<(), Failed> {
        let bytes = range.end - range.start;
        self.total = self.total.saturating_add(bytes);
        if self.total > self.most {
            return Err(Failed::TooMuch(self.total));
        }
        let seams = if variable.is_some() { Vec::new() } else { self.mapped.seams(&range) };
        self.ends.insert(range.start, range.end);
        self.found.push(Reached { address: range.start, bytes, variable, contents: Vec::new(), seams });
        Ok(())
    }

    /// The live allocation that an address is in.
    fn known(&self, address: u64) -> Option<Range<u64>> {
        let (place, _) = self.objects.memory_at(address)?;
        let object = self.objects.at(place).filter(|object| object.is_live() && object.bytes > 0)?;
        match object.name.kind().family() {
            Kind::Memory | Kind::HostMemory | Kind::Registration => {
                Some(object.address..object.address.saturating_add(object.bytes))
            }
            Kind::Reservation => self.mapped.around(address),
            _ => None,
        }
    }
}

/// Memory that the program has mapped itself, in order: where each part starts and ends.
struct Mapped(Vec<Range<u64>>);

impl Mapped {
    /// Without what no device may use: a copy of it would fail.
    fn of(driver: &Driver, objects: &Objects) -> Mapped {
        let live = objects.live().map(|(_, object)| object);
        let mappings = live.filter(|object| object.name.kind() == Kind::Mapping && object.bytes > 0);
        let parts = mappings.map(|object| object.address..object.address.saturating_add(object.bytes));
        let mut parts: Vec<Range<u64>> = parts.filter(|part| is_accessible(driver, part.start)).collect();
        parts.sort_by_key(|part| part.start);
        Mapped(parts)
    }

    /// All parts around an address that have nothing between them: memory that grows is mapped in parts.
    fn around(&self, address: u64) -> Option<Range<u64>> {
        let own = self.0.partition_point(|part| part.end <= address);
        let mut range = self.0.get(own).filter(|part| part.contains(&address))?.clone();
        for part in self.0.iter().take(own).rev() {
            if part.end != range.start {
                break;
            }
            range.start = part.start;
        }
        for part in self.0.iter().skip(own + 1) {
            if part.start != range.end {
                break;
            }
            range.end = part.end;
        }
        Some(range)
    }

    /// Where parts of the range meet.
    fn seams(&self, range: &Range<u64>) -> Vec<u64> {
        let inside = self.0.iter().skip(self.0.partition_point(|part| part.start <= range.start));
        inside.map(|part| part.start).take_while(|start| *start < range.end).collect()
    }
}

impl Reached {
    /// What is recorded of it before the launch. The contents are taken.
    pub(super) fn region(&mut self) -> Region {
        Region {
            variable: self.variable.clone(),
            address: self.address,
            bytes: self.bytes,
            before: Contents::of_vec(std::mem::take(&mut self.contents)),
            after: Contents::default(),
        }
    }

    /// What is in it now.
    pub(super) fn read(&self, driver: &Driver) -> Result<Vec<u8>, CUresult> {
        let length = usize::try_from(self.bytes).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let mut contents = Vec::new();
        contents.try_reserve_exact(length).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        contents.resize(length, 0);
        let (mut start, mut rest) = (self.address, contents.as_mut_slice());
        let end = self.address.saturating_add(self.bytes);
        for seam in self.seams.iter().copied().chain([end]) {
            let length = usize::try_from(seam - start).unwrap_or(usize::MAX).min(rest.len());
            let (part, others) = rest.split_at_mut(length);
            match self.variable {
                Some(_) => copy(driver, start, part)?,
                None => copy_known(driver, start, part)?,
            }
            (start, rest) = (seam, others);
        }
        Ok(contents)
    }
}

/// The words at multiples of eight in memory that begins at an address.
fn words(address: u64, bytes: &[u8]) -> impl Iterator<Item = u64> {
    let first = (address.wrapping_neg() % 8) as usize;
    let words = bytes.get(first..).unwrap_or_default().as_chunks::<8>().0;
    words.iter().map(|word| u64::from_le_bytes(*word))
}

/// The allocation that an address is in, as the driver knows it.
fn asked(driver: &Driver, address: u64) -> Option<Range<u64>> {
    let (mut start, mut bytes) = (0, 0);
    // SAFETY: each place is an aligned, initialised number of the type that the function writes, and outlives the call; an address that is in no
    // memory of the driver's is answered by an error.
    let code = unsafe { driver.cuMemGetAddressRange(&mut start, &mut bytes, address) };
    let end = start.checked_add(bytes as u64).filter(|end| *end > address)?;
    (code == CUresult::SUCCESS && start <= address).then_some(start..end)
}

/// Whether the device of the current context may use memory that the program has mapped; taken for granted where the driver cannot say.
fn is_accessible(driver: &Driver, address: u64) -> bool {
    let (mut device, mut flags) = (0, 0);
    // SAFETY: the output is a local integer that outlives the call; the function requires nothing else.
    if unsafe { driver.cuCtxGetDevice(&mut device) } != CUresult::SUCCESS {
        return true;
    }
    let mut location =
        CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ..CUmemLocation::default() };
    location.__bindgen_anon_1.id = device;
    // SAFETY: the place and the structure outlive the call, which only looks the address up.
    let answer = unsafe { driver.cuMemGetAccess(&mut flags, &location, address) };
    answer != CUresult::SUCCESS || flags != 0
}

/// Whether the driver knows memory at an address.
fn is_memory(driver: &Driver, address: u64) -> bool {
    let mut kind = 0_u32;
    let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    // SAFETY: this attribute is a number of 4 bytes, for which the place is aligned, and it outlives the call; any address may be asked
    // about, as it is only looked up.
    let answer = unsafe { driver.cuPointerGetAttribute((&raw mut kind).cast(), which, address) };
    answer == CUresult::SUCCESS
}

/// Reads memory of the device or of the host, if the driver has it still: a range of the host that it does not know it takes for pageable
/// memory, and reads it without asking whether anything is there.
fn copy_known(driver: &Driver, start: u64, place: &mut [u8]) -> Result<(), CUresult> {
    let last = start.checked_add(place.len() as u64).and_then(|end| end.checked_sub(1));
    if !last.is_some_and(|last| is_memory(driver, start) && is_memory(driver, last)) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let target = place.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the place has that many initialised bytes, nobody else's, and outlives the call, which waits. The other
    // range was one allocation, or one mapping, when `known` or `asked` told of it, and the driver has both ends, as was asked. A call
    // that frees first takes the recorder's lock, which the caller holds; one from before has marked what it frees, of
    // which neither tells, unless nobody saw it made: that the program keeps meanwhile (the head).
    match unsafe { driver.cuMemcpy(target, start, place.len()) } {
        CUresult::SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// Reads a variable of the kernel's module.
fn copy(driver: &Driver, start: u64, place: &mut [u8]) -> Result<(), CUresult> {
    // SAFETY: the place has that many bytes and outlives the call, which waits. The driver has just told where the variable is, and how long:
    // it is there as long as its module, which the launch keeps.
    match unsafe { driver.cuMemcpyDtoH(place.as_mut_ptr().cast(), start, place.len()) } {
        CUresult::SUCCESS => Ok(()),
        code => Err(code),
    }
}
