//! The kernels of a cubin: its symbols, and the records about each.

use std::ops::Range;

use super::ImageError;
use super::elf::{Elf, SECTION_INFO, Section, Symbol};
use super::info::{attribute, records};
use super::kernel::{Kernel, KernelParameter};
use crate::order::Named;

/// What the records say of each kernel, in a few lists for all of them.
#[derive(Clone)]
pub(super) struct Attributes {
    /// For each section, by its index: the place in `kernels` of the kernel whose code it has.
    homes: Vec<u32>,
    kernels: Vec<Attributed>,
    parameters: Vec<KernelParameter>,
}

/// One kernel.
#[derive(Clone, Default)]
struct Attributed {
    /// Which of all `parameters` are its own.
    parameters: Range<usize>,
    parameter_bytes: u32,
    max_threads: Option<[u32; 3]>,
    required_threads: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    max_cluster_rank: Option<u32>,
    explicit_cluster: bool,
    blocks_are_clusters: bool,
}

/// No code of a kernel.
const NO_KERNEL: u32 = u32::MAX;
/// That of a kernel without records.
const NO_RECORDS: u32 = u32::MAX - 1;

/// Whether the symbol is that of a kernel with code.
fn is_kernel(elf: &Elf<'_>, symbol: &Symbol<'_>) -> bool {
    symbol.is_kernel() && (1..elf.sections.len()).contains(&(symbol.section as usize))
}

impl Attributes {
    /// Reads and checks the records of all functions.
    pub(super) fn read(elf: &Elf<'_>) -> Result<Self, ImageError> {
        let mut homes = vec![NO_KERNEL; elf.sections.len()];
        let mut count = 0;
        for symbol in elf.symbols.iter().filter(|symbol| is_kernel(elf, symbol)) {
            homes[symbol.section as usize] = NO_RECORDS;
            count += 1;
        }
        let mut all = Self { homes, kernels: Vec::with_capacity(count), parameters: Vec::new() };
        let mut found = Vec::new();
        for section in elf.sections.iter().filter(|s| s.kind() == SECTION_INFO) {
            if section.is_named(".nv.info") {
                of_functions(&section, |_, _, _| {})?;
                continue;
            }
            let is_home = |home: &&mut u32| **home != NO_KERNEL;
            match all.homes.get_mut(section.info() as usize).filter(is_home) {
                Some(home) => {
                    let earlier = all.kernels.get(*home as usize).cloned().unwrap_or_default();
                    *home = u32::try_from(all.kernels.len()).unwrap_or(NO_RECORDS);
                    all.kernels.push(read_one(elf, &section, earlier, &mut found, &mut all.parameters)?);
                }
                // The records of a function that only other code calls: checked like those of a kernel.
                None => records(section.data(), section.offset()).try_for_each(|record| record.map(drop))?,
            }
        }
        Ok(all)
    }

    /// Calls `each` with all kernels, in the order of their symbols, and the index of the symbol. What is not in the kernel's own records
    /// is left out.
    pub(super) fn for_each<'a>(&self, elf: &Elf<'a>, each: &mut dyn FnMut(usize, &Kernel<'a>)) {
        // Of two kernels in one section, the first has the records.
        let mut homes = self.homes.clone();
        let mut list = Vec::new();
        for (index, symbol) in elf.symbols.iter().enumerate().filter(|(_, symbol)| is_kernel(elf, symbol)) {
            let home = homes.get_mut(symbol.section as usize).map(|home| std::mem::replace(home, NO_RECORDS));
            let mut kernel = Kernel::named(symbol.name());
            if let Some(own) = home.and_then(|home| self.kernels.get(home as usize)) {
                list.clear();
                list.extend_from_slice(&self.parameters[own.parameters.clone()]);
                kernel = Kernel {
                    parameters: Some(list),
                    parameter_bytes: own.parameter_bytes,
                    max_threads: own.max_threads,
                    required_threads: own.required_threads,
                    cluster: own.cluster,
                    max_cluster_rank: own.max_cluster_rank,
                    explicit_cluster: own.explicit_cluster,
                    blocks_are_clusters: own.blocks_are_clusters,
                    ..kernel
                };
            }
            each(index, &kernel);
            list = kernel.parameters.take().unwrap_or_default();
        }
    }

    /// All kernels.
    pub(super) fn kernels<'a>(&self, elf: &Elf<'a>) -> Vec<Kernel<'a>> {
        // By the index of the function's symbol.
        let (mut registers, mut frames) = (vec![None; elf.symbols.len()], vec![None; elf.symbols.len()]);
        for section in elf.sections.iter().filter(|s| s.kind() == SECTION_INFO && s.is_named(".nv.info")) {
            // They were checked.
            let _ = of_functions(&section, |attribute, symbol, count| {
                let table = if attribute == attribute::REGISTERS { &mut registers } else { &mut frames };
                if let Some(place) = table.get_mut(symbol as usize) {
                    *place = Some(count);
                }
            });
        }
        let shared = SharedMemory::of(elf);
        let mut kernels = Vec::new();
        self.for_each(elf, &mut |symbol, kernel| {
            kernels.push(Kernel {
                registers: registers[symbol],
                local_memory: Some(frames[symbol].unwrap_or(0)),
                shared_memory: Some(shared.of_kernel(kernel.name)),
                ..kernel.clone()
            });
        });
        kernels
    }
}

/// Checks the records of all functions together, and calls `each` with attribute, symbol and number of those with registers and frames.
fn of_functions(section: &Section<'_>, mut each: impl FnMut(u8, u32, u32)) -> Result<(), ImageError> {
    for record in records(section.data(), section.offset()) {
        let record = record?;
        if matches!(record.attribute, attribute::REGISTERS | attribute::FRAME) {
            let [symbol, count] = record.words()?;
            each(record.attribute, symbol, count);
        }
    }
    Ok(())
}

/// Reads the records of one kernel, from its own section, after those of `earlier` sections. `all` gets the parameters.
fn read_one(
    elf: &Elf<'_>,
    info: &Section<'_>,
    mut kernel: Attributed,
    found: &mut Vec<Found>,
    all: &mut Vec<KernelParameter>,
) -> Result<Attributed, ImageError> {
    found.clear();
    for record in records(info.data(), info.offset()) {
        let record = record?;
        match record.attribute {
            attribute::PARAMETER => {
                let [_, place, size] = record.words()?;
                found.push(Found { place, size: size >> 18, record: record.offset });
            }
            attribute::LARGE_PARAMETER => {
                let [_, place, size] = record.words()?;
                found.push(Found { place, size, record: record.offset });
            }
            attribute::PARAMETER_BYTES => kernel.parameter_bytes = u32::from(record.value),
            attribute::MAX_THREADS => kernel.max_threads = Some(record.words()?),
            attribute::REQUIRED_THREADS => kernel.required_threads = Some(record.words()?),
            attribute::CLUSTER => kernel.cluster = Some(record.words()?),
            attribute::MAX_CLUSTER_RANK => kernel.max_cluster_rank = Some(record.words::<1>()?[0]),
            attribute::EXPLICIT_CLUSTER => kernel.explicit_cluster = true,
            attribute::BLOCKS_ARE_CLUSTERS => kernel.blocks_are_clusters = true,
            _ => {}
        }
    }
    let first = all.len();
    all.resize(first + found.len(), KernelParameter { offset: 0, size: 0 });
    for &Found { place, size, record } in &*found {
        let (ordinal, offset) = (place & 0xffff, place >> 16);
        // A size of 0 marks an element that is not filled in yet: no parameter has 0 bytes.
        let free = all[first..].get_mut(ordinal as usize).filter(|parameter| parameter.size == 0);
        let end = u64::from(offset) + u64::from(size);
        match free {
            Some(free) if size != 0 && end <= u64::from(kernel.parameter_bytes) => {
                *free = KernelParameter { offset, size };
            }
            _ => {
                let mut symbols = elf.symbols.iter();
                let own = symbols.find(|symbol| is_kernel(elf, symbol) && symbol.section == info.info());
                let name = own.map_or("", |symbol| symbol.name());
                let message = format!(
                    "parameter {ordinal} of `{name}` with {size} bytes at {offset} does not fit the others"
                );
                return Err(ImageError::corrupt(record, message));
            }
        }
    }
    kernel.parameters = first..all.len();
    Ok(kernel)
}

/// A parameter, as its record says: they may come in any order.
struct Found {
    /// Number, and offset in the upper half.
    place: u32,
    size: u32,
    /// Where the record is.
    record: usize,
}

/// The first bytes of a block's shared memory that are not its own, from sm_80 on: its section counts them.
const RESERVED_SHARED: usize = 1024;

/// The sections of shared memory by the names of their kernels, sorted: a hostile cubin may have very many of both.
struct SharedMemory<'a> {
    sections: Named<'a>,
    reserved: usize,
}

impl<'a> SharedMemory<'a> {
    fn of(elf: &Elf<'a>) -> Self {
        let size = |size| usize::try_from(size).unwrap_or(usize::MAX);
        let named = elf.sections.iter().filter_map(|s| Some((s.name_after(".nv.shared.")?, size(s.size()))));
        let sections = Named::new(named.collect());
        let reserved = if sections.get("reserved.0").is_some() { RESERVED_SHARED } else { 0 };
        Self { sections, reserved }
    }

    fn of_kernel(&self, name: &str) -> u32 {
        let size = self.sections.get(name).unwrap_or(0).saturating_sub(self.reserved);
        u32::try_from(size).unwrap_or(u32::MAX)
    }
}
