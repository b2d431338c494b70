use std::fmt;

use super::elf::{Elf, OSABI_CUDA_13, SECTION_INFO, Section, Symbol};
use super::info::{Record, attribute, records};
use super::kernel::{Kernel, KernelParameter};
use super::{Arch, ImageError};
use crate::order::Named;

/// Type of the section `.nv.compat`.
const SECTION_COMPAT: u32 = 0x7000_0086;
/// `EI_OSABI` until CUDA 12 for the architectures before sm_100.
const OSABI_CUDA_12: u8 = 0x33;

/// A cubin: an ELF file with machine code for one architecture, all of whose tables have been checked.
#[derive(Clone)]
pub struct Cubin<'a> {
    bytes: &'a [u8],
    arch: Option<Arch>,
    relocatable: bool,
    kernels: Vec<Kernel<'a>>,
    constant_memory: u32,
    /// Names and contents of the sections for a debugger.
    debug_sections: Vec<(&'a str, &'a [u8])>,
}

/// The debug information of a cubin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DebugInfo {
    /// None: no source lines.
    None,
    /// Which instruction comes from which source line (`nvcc -lineinfo`).
    Lines,
    /// Also variables and types (`nvcc -G`).
    Full,
}

impl<'a> Cubin<'a> {
    /// Checks the file and reads its kernels.
    ///
    /// It checks the header, the section and program header tables with the range of each of their entries (in bounds,
    /// without overlap), string tables, symbols, relocations, and the attribute records of every function. The machine
    /// code is not checked. Bytes after the end of the file are ignored.
    ///
    /// # Errors
    ///
    /// [`ImageError`] with the offset of the first byte that is missing or wrong.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ImageError> {
        let elf = Elf::read(bytes)?;
        Ok(Self {
            bytes: &bytes[..elf.extent],
            arch: arch(&elf)?,
            relocatable: elf.bytes.u16(16) == 1,
            kernels: kernels(&elf)?,
            constant_memory: elf.bytes_of(".nv.constant3"),
            debug_sections: debug_sections(&elf),
        })
    }

    /// The bytes of the file, without any bytes after its end.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The architecture that it was compiled for; `None` for an ABI newer or older than the two known here (that of
    /// CUDA 11 and 12, and that of CUDA 13). A suffix `f` is not recorded in the file.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        self.arch
    }

    /// Whether it was compiled for later linking (`nvcc -rdc=true`): drivers do not load it as a module.
    #[must_use]
    pub fn is_relocatable(&self) -> bool {
        self.relocatable
    }

    /// The size of the `__constant__` variables, which all its kernels share, in bytes.
    #[must_use]
    pub fn constant_memory(&self) -> u32 {
        self.constant_memory
    }

    /// Its debug information.
    #[must_use]
    pub fn debug_info(&self) -> DebugInfo {
        if self.debug_section(".debug_info").is_some() {
            return DebugInfo::Full;
        }
        match self.debug_section(".debug_line").or_else(|| self.debug_section(".nv_debug_line_sass")) {
            Some(_) => DebugInfo::Lines,
            None => DebugInfo::None,
        }
    }

    /// The PTX that it was compiled from, if it was kept for a debugger: lines that end with NUL.
    #[must_use]
    pub fn ptx(&self) -> Option<&'a [u8]> {
        self.debug_section(".nv_debug_ptx_txt")
    }

    /// The bytes of a section for a debugger, by name: those of DWARF, such as `.debug_info`, and NVIDIA's own, whose names begin
    /// with `.nv_debug_`. Only its position in the file has been checked, and no relocations are applied: those of a loadable cubin concern addresses.
    #[must_use]
    pub fn debug_section(&self, name: &str) -> Option<&'a [u8]> {
        self.debug_sections.iter().find(|(own, _)| *own == name).map(|(_, data)| *data)
    }

    /// Its kernels, in the order of the symbol table.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel<'a>] {
        &self.kernels
    }
}

impl fmt::Debug for Cubin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cubin")
            .field("bytes", &self.bytes.len())
            .field("arch", &self.arch)
            .field("relocatable", &self.relocatable)
            .field("kernels", &self.kernels)
            .finish()
    }
}

/// The sections of DWARF, and NVIDIA's own.
fn debug_sections<'a>(elf: &Elf<'a>) -> Vec<(&'a str, &'a [u8])> {
    let is_one = |name: &str| name.starts_with(".debug_") || name.starts_with(".nv_debug_");
    let found = elf.sections.iter().filter(|section| is_one(section.name));
    found.map(|section| (section.name, section.data)).collect()
}

/// The architecture is in `e_flags`, in one of two encodings that `EI_OSABI` distinguishes.
fn arch(elf: &Elf<'_>) -> Result<Option<Arch>, ImageError> {
    let flags = elf.bytes.u32(48);
    let (sm, own) = match elf.bytes.u8(7) {
        OSABI_CUDA_12 => (flags & 0xff, flags & 0x800 != 0),
        OSABI_CUDA_13 => (flags >> 8 & 0xff, needs_own_arch(elf)?),
        _ => return Ok(None),
    };
    if !(20..=200).contains(&sm) {
        return Err(ImageError::corrupt(48, format!("flags {flags:#010x} name the architecture sm_{sm}")));
    }
    Ok(Some(Arch { sm, suffix: own.then_some('a') }))
}

/// Attribute 9 of `.nv.compat` is 1 in files that were compiled for `sm_90a`, `sm_100a` and so on.
fn needs_own_arch(elf: &Elf<'_>) -> Result<bool, ImageError> {
    let Some(section) = elf.sections.iter().find(|s| s.kind == SECTION_COMPAT) else { return Ok(false) };
    let mut own = false;
    for record in records(section.data, section.offset) {
        let Record { attribute, value, .. } = record?;
        own |= attribute == 9 && value & 0xff == 1;
    }
    Ok(own)
}

fn kernels<'a>(elf: &Elf<'a>) -> Result<Vec<Kernel<'a>>, ImageError> {
    let has_code = |symbol: &Symbol<'_>| (1..elf.sections.len()).contains(&(symbol.section as usize));
    let found = elf.symbols.iter().enumerate().filter(|(_, s)| s.is_kernel() && has_code(s));
    let symbols: Vec<(usize, &Symbol<'a>)> = found.collect();
    let shared = SharedMemory::of(elf);
    let mut kernels = Vec::with_capacity(symbols.len());
    // By the index of the section with its code.
    let mut by_section = vec![None; elf.sections.len()];
    for (_, symbol) in &symbols {
        by_section[symbol.section as usize].get_or_insert(kernels.len());
        let shared_memory = Some(shared.of_kernel(symbol.name));
        kernels.push(Kernel { shared_memory, ..Kernel::named(symbol.name) });
    }
    // By the index of the function's symbol.
    let (mut registers, mut frames) = (vec![None; elf.symbols.len()], vec![None; elf.symbols.len()]);
    for section in elf.sections.iter().filter(|s| s.kind == SECTION_INFO) {
        if section.name == ".nv.info" {
            for record in records(section.data, section.offset) {
                let record = record?;
                let table = match record.attribute {
                    attribute::REGISTERS => &mut registers,
                    attribute::FRAME => &mut frames,
                    _ => continue,
                };
                let [symbol, count] = record.words()?;
                if let Some(place) = table.get_mut(symbol as usize) {
                    *place = Some(count);
                }
            }
            continue;
        }
        match by_section.get(section.info as usize).copied().flatten() {
            Some(kernel) => describe(&mut kernels[kernel], section)?,
            // The records of a function that only other code calls: checked like those of a kernel.
            None => records(section.data, section.offset).try_for_each(|record| record.map(drop))?,
        }
    }
    for (kernel, (symbol, _)) in kernels.iter_mut().zip(symbols) {
        (kernel.registers, kernel.local_memory) = (registers[symbol], Some(frames[symbol].unwrap_or(0)));
    }
    Ok(kernels)
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
        let named =
            elf.sections.iter().filter_map(|s| Some((s.name.strip_prefix(".nv.shared.")?, size(s.size))));
        let sections = Named::new(named.collect());
        let reserved = if sections.get("reserved.0").is_some() { RESERVED_SHARED } else { 0 };
        Self { sections, reserved }
    }

    fn of_kernel(&self, name: &str) -> u32 {
        let size = self.sections.get(name).unwrap_or(0).saturating_sub(self.reserved);
        u32::try_from(size).unwrap_or(u32::MAX)
    }
}

/// Fills in the attributes from the kernel's own section.
fn describe(kernel: &mut Kernel<'_>, info: &Section<'_>) -> Result<(), ImageError> {
    // Parameters may come in any order: each has its number.
    let mut parameters = Vec::new();
    for record in records(info.data, info.offset) {
        let record = record?;
        match record.attribute {
            attribute::MAX_THREADS => kernel.max_threads = Some(record.words()?),
            attribute::REQUIRED_THREADS => kernel.required_threads = Some(record.words()?),
            attribute::CLUSTER => kernel.cluster = Some(record.words()?),
            attribute::MAX_CLUSTER_RANK => kernel.max_cluster_rank = Some(record.words::<1>()?[0]),
            attribute::EXPLICIT_CLUSTER => kernel.explicit_cluster = true,
            attribute::BLOCKS_ARE_CLUSTERS => kernel.blocks_are_clusters = true,
            attribute::PARAMETER_BYTES => kernel.parameter_bytes = u32::from(record.value),
            attribute::PARAMETER => {
                let [_, place, size] = record.words()?;
                parameters.push((place, size >> 18, record.offset));
            }
            attribute::LARGE_PARAMETER => {
                let [_, place, size] = record.words()?;
                parameters.push((place, size, record.offset));
            }
            _ => {}
        }
    }
    let mut list = vec![KernelParameter { offset: 0, size: 0 }; parameters.len()];
    for (place, size, at) in parameters {
        let (ordinal, offset) = (place & 0xffff, place >> 16);
        // A size of 0 marks an element that is not filled in yet: no parameter has 0 bytes.
        let free = list.get_mut(ordinal as usize).filter(|parameter| parameter.size == 0);
        let end = u64::from(offset) + u64::from(size);
        match free {
            Some(free) if size != 0 && end <= u64::from(kernel.parameter_bytes) => {
                *free = KernelParameter { offset, size };
            }
            _ => {
                let message = format!(
                    "parameter {ordinal} of `{}` with {size} bytes at {offset} does not fit the others",
                    kernel.name
                );
                return Err(ImageError::corrupt(at, message));
            }
        }
    }
    kernel.parameters = Some(list);
    Ok(())
}
