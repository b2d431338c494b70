use std::fmt;
use std::sync::OnceLock;

use super::attributes::Attributes;
use super::elf::{Elf, OSABI_CUDA_13};
use super::info::{Record, records};
use super::kernel::Kernel;
use super::{Arch, ImageError};

/// Type of the section `.nv.compat`.
const SECTION_COMPAT: u32 = 0x7000_0086;
/// `EI_OSABI` until CUDA 12 for the architectures before sm_100.
const OSABI_CUDA_12: u8 = 0x33;

/// A cubin: an ELF file with machine code for one architecture, all of whose tables have been checked.
#[derive(Clone)]
pub struct Cubin<'a> {
    elf: Elf<'a>,
    arch: Option<Arch>,
    attributes: Attributes,
    /// Listed when they are asked for.
    kernels: OnceLock<Vec<Kernel<'a>>>,
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
    /// Checks the file.
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
        Ok(Self { elf, arch: arch(&elf)?, attributes: Attributes::read(&elf)?, kernels: OnceLock::new() })
    }

    /// The bytes of the file, without any bytes after its end.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        &self.elf.bytes.0[..self.elf.extent]
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
        self.elf.bytes.u16(16) == 1
    }

    /// The size of the `__constant__` variables, which all its kernels share, in bytes.
    #[must_use]
    pub fn constant_memory(&self) -> u32 {
        self.elf.bytes_of(".nv.constant3")
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
        let is_one = name.starts_with(".debug_") || name.starts_with(".nv_debug_");
        let found = if is_one { self.elf.section(name) } else { None };
        found.map(|section| section.data())
    }

    /// Its kernels, in the order of the symbol table.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel<'a>] {
        self.kernels.get_or_init(|| self.attributes.kernels(&self.elf))
    }

    /// Calls `each` with its kernels, in the same order, without registers, shared and local memory. No list of them is made.
    pub(super) fn for_each_kernel(&self, each: &mut dyn FnMut(&Kernel<'a>)) {
        self.attributes.for_each(&self.elf, &mut |_, kernel| each(kernel));
    }
}

impl fmt::Debug for Cubin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cubin")
            .field("bytes", &self.bytes().len())
            .field("arch", &self.arch)
            .field("relocatable", &self.is_relocatable())
            .field("kernels", &self.kernels())
            .finish()
    }
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
    let Some(section) = elf.sections.iter().find(|s| s.kind() == SECTION_COMPAT) else { return Ok(false) };
    let mut own = false;
    for record in records(section.data(), section.offset()) {
        let Record { attribute, value, .. } = record?;
        own |= attribute == 9 && value & 0xff == 1;
    }
    Ok(own)
}
