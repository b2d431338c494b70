//! The memory that the arguments of a launch reach: allocations in which a pointer lies, those in which a pointer in these lies, and so on.
//!
//! Every word of eight bytes, at a multiple of eight, that is an address in live memory counts as a pointer. Recording too much is harmless.
//!
//! Relies on: the driver writes no more than it is asked for, to buffers of that length; and the caller holds the recorder's lock, which a
//! call that frees takes before it goes to the driver, and marks what it frees. Of memory whose allocation was not seen nothing is marked:
//! a program that passes such memory to the launch must not be freeing it meanwhile.
#![allow(unsafe_code)]

use crate::kind::Kind;
use crate::objects::Objects;
use cuda_driver_sys::{CUpointer_attribute, CUresult, Driver};

/// The first page is never mapped.
const LOWEST: u64 = 4096;

/// An allocation and what is in it.
pub(super) struct Reached {
    pub(super) address: u64,
    pub(super) contents: Vec<u8>,
}

/// Why memory cannot be had.
pub(super) enum Failed {
    /// More than the limit.
    TooMuch(u64),
    /// The driver does not return it.
    Refused(u64, CUresult),
}

/// Reads all memory that these bytes reach, up to `most` bytes.
pub(super) fn reached(
    driver: &Driver,
    objects: &Objects,
    arguments: &[u8],
    most: u64,
) -> Result<Vec<Reached>, Failed> {
    let mut open: Vec<u64> = words(arguments).collect();
    let of_arguments = open.len();
    let mut found: Vec<Reached> = Vec::new();
    let (mut total, mut at) = (0_u64, 0);
    while let Some(address) = open.get(at).copied() {
        at += 1;
        let is_known = |one: &&Reached| address.wrapping_sub(one.address) < one.contents.len() as u64;
        if address < LOWEST || found.iter().any(|one| is_known(&one)) {
            continue;
        }
        // What is in memory may be anything: there only addresses count whose allocation was seen.
        // Nor is the driver asked of what a call is known to have ended: that call may be under way.
        let has_ended = || {
            let memory = objects.memory_at(address).and_then(|(place, _)| objects.at(place));
            memory.is_some_and(|memory| !memory.is_live())
        };
        let range = known(objects, address).or_else(|| {
            let may_ask = at <= of_arguments && !has_ended();
            if may_ask { asked(driver, address) } else { None }
        });
        let Some((start, bytes)) = range else { continue };
        total = total.saturating_add(bytes);
        if total > most {
            return Err(Failed::TooMuch(total));
        }
        let contents = contents(driver, start, bytes).map_err(|code| Failed::Refused(start, code))?;
        open.extend(words(&contents).filter(|word| known(objects, *word).is_some()));
        found.push(Reached { address: start, contents });
    }
    Ok(found)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// The live allocation that an address is in: start and length.
fn known(objects: &Objects, address: u64) -> Option<(u64, u64)> {
    let (place, _) = objects.memory_at(address)?;
    let object = objects.at(place).filter(|object| object.is_live() && object.bytes > 0)?;
    let is_memory =
        matches!(object.name.kind().family(), Kind::Memory | Kind::HostMemory | Kind::Registration);
    is_memory.then_some((object.address, object.bytes))
}

/// The same, as the driver knows it.
fn asked(driver: &Driver, address: u64) -> Option<(u64, u64)> {
    let (mut start, mut bytes) = (0, 0);
    // SAFETY: each place is an aligned, initialised number of the type that the function writes, and outlives the call; an address that is in no
    // memory of the driver's is answered by an error.
    let code = unsafe { driver.cuMemGetAddressRange(&mut start, &mut bytes, address) };
    (code == CUresult::SUCCESS && bytes > 0).then_some((start, bytes as u64))
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
pub(super) fn contents(driver: &Driver, start: u64, bytes: u64) -> Result<Vec<u8>, CUresult> {
    let last = start.checked_add(bytes).and_then(|end| end.checked_sub(1));
    if !last.is_some_and(|last| is_memory(driver, start) && is_memory(driver, last)) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let length = usize::try_from(bytes).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let mut contents = Vec::new();
    contents.try_reserve_exact(length).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    contents.resize(length, 0);
    let place = contents.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the place has that many initialised bytes, nobody else's, and outlives the call, which waits. The other
    // range was one allocation when `known` or `asked` told of it, and the driver has both ends, as was asked. A call
    // that frees first takes the recorder's lock, which the caller holds; one from before has marked what it frees, of
    // which neither tells, unless nobody saw it made: that the program keeps meanwhile (the head).
    match unsafe { driver.cuMemcpy(place, start, length) } {
        CUresult::SUCCESS => Ok(contents),
        code => Err(code),
    }
}
