use std::fmt;

use super::elf::{Elf, OSABI_CUDA_13, SECTION_INFO};
use super::info::{Record, attribute, records};
use super::kernel::{Kernel, KernelParameter};
use super::{Arch, ImageError};
use crate::order::{Named, in_order};

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
    debug: DebugInfo,
    ptx: Option<&'a [u8]>,
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
            debug: debug(&elf),
            ptx: elf.section(".nv_debug_ptx_txt").map(|section| section.data),
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
        self.debug
    }

    /// The PTX that it was compiled from, if it was kept for a debugger: lines that end with NUL.
    #[must_use]
    pub fn ptx(&self) -> Option<&'a [u8]> {
        self.ptx
    }

    /// The bytes of a DWARF section, by name: `.debug_info`, `.debug_abbrev`, `.debug_str` and so on. Only its position
    /// in the file has been checked, and no relocations are applied: those of a loadable cubin concern addresses.
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

fn debug(elf: &Elf<'_>) -> DebugInfo {
    if elf.section(".debug_info").is_some() {
        return DebugInfo::Full;
    }
    match elf.section(".debug_line").or_else(|| elf.section(".nv_debug_line_sass")) {
        Some(_) => DebugInfo::Lines,
        None => DebugInfo::None,
    }
}

/// Those of DWARF.
fn debug_sections<'a>(elf: &Elf<'a>) -> Vec<(&'a str, &'a [u8])> {
    let dwarf = elf.sections.iter().filter(|section| section.name.starts_with(".debug_"));
    dwarf.map(|section| (section.name, section.data)).collect()
}

/// The architecture stands in `e_flags`, in one of two ways told apart by `EI_OSABI`.
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

/// Attribute 9 of `.nv.compat` is 1 in what was compiled for `sm_90a`, `sm_100a` and so on.
fn needs_own_arch(elf: &Elf<'_>) -> Result<bool, ImageError> {
    let Some(section) = elf.sections.iter().find(|s| s.kind == SECTION_COMPAT) else { return Ok(false) };
    Ok(records(section.data, section.offset)?.iter().any(|r| r.attribute == 9 && r.value & 0xff == 1))
}

fn kernels<'a>(elf: &Elf<'a>) -> Result<Vec<Kernel<'a>>, ImageError> {
    // Both by the index of the function's symbol.
    let (mut registers, mut frames) = (vec![None; elf.symbols.len()], vec![None; elf.symbols.len()]);
    // Attributes of a function by the index of the section that has its code.
    let mut functions: Vec<_> = elf.sections.iter().map(|_| None).collect();
    for section in elf.sections.iter().filter(|s| s.kind == SECTION_INFO) {
        let records = records(section.data, section.offset)?;
        if section.name == ".nv.info" {
            for record in &records {
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
        } else if let Some(place) = functions.get_mut(section.info as usize) {
            *place = Some(records);
        }
    }
    let shared = SharedMemory::of(elf);
    let mut kernels = Vec::new();
    for (index, symbol) in elf.symbols.iter().enumerate() {
        if !symbol.is_kernel() || symbol.section == 0 || symbol.section as usize >= elf.sections.len() {
            continue;
        }
        let mut kernel = Kernel::named(symbol.name);
        kernel.registers = registers[index];
        kernel.local_memory = Some(frames[index].unwrap_or(0));
        kernel.shared_memory = Some(shared.of_kernel(symbol.name));
        if let Some(records) = functions[symbol.section as usize].take() {
            describe(&mut kernel, &records)?;
        }
        kernels.push(kernel);
    }
    Ok(kernels)
}

/// The first bytes of a block's shared memory that are not its own, from sm_80 on: its section counts them.
const RESERVED_SHARED: usize = 1024;

/// The sections of shared memory by the names of their kernels: a cubin may have as many of both as it has room for.
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

/// Fills in what the records of the kernel's own section say.
fn describe(kernel: &mut Kernel<'_>, info: &[Record<'_>]) -> Result<(), ImageError> {
    let mut parameters = Vec::new();
    for record in info {
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
                parameters.push((
                    place & 0xffff,
                    KernelParameter { offset: place >> 16, size: size >> 18 },
                    record,
                ));
            }
            attribute::LARGE_PARAMETER => {
                let [_, place, size] = record.words()?;
                parameters.push((place & 0xffff, KernelParameter { offset: place >> 16, size }, record));
            }
            _ => {}
        }
    }
    let ordinals: Vec<_> = parameters.iter().map(|(ordinal, ..)| (u64::from(*ordinal), 0)).collect();
    let parameters: Vec<_> = in_order(&ordinals).into_iter().map(|at| parameters[at]).collect();
    for (expected, (ordinal, parameter, record)) in parameters.iter().enumerate() {
        let end = u64::from(parameter.offset) + u64::from(parameter.size);
        if *ordinal as usize != expected || parameter.size == 0 || end > u64::from(kernel.parameter_bytes) {
            let message = format!(
                "parameter {ordinal} of `{}` with {} bytes at {} does not fit the others",
                kernel.name, parameter.size, parameter.offset
            );
            return Err(ImageError::corrupt(record.offset, message));
        }
    }
    kernel.parameters = Some(parameters.into_iter().map(|(_, parameter, _)| parameter).collect());
    Ok(())
}
