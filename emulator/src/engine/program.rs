//! One loaded PTX module.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuda_ptx::FunctionKind;

use super::decode::Looks;
use super::image::{Image, LoadFailure};
use super::kernel::Kernel;
use super::{decode, load, profile, table};
use crate::memory::Memory;
use crate::profile::Profiler;

/// A PTX module: its text, its symbols, its variables placed in device memory. Functions are decoded when a kernel
/// that reaches them is first used.
pub struct Program {
    pub(super) image: Arc<Image>,
    memory: Arc<Memory>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// A kernel that can also be decoded with counting.
pub struct Countable {
    image: Arc<Image>,
    index: usize,
    looks: Looks,
    kernel: OnceLock<Arc<Kernel>>,
}

impl Countable {
    /// The same kernel with everything that is counted, decoded on first use.
    pub fn counted(&self) -> &Arc<Kernel> {
        self.kernel
            .get_or_init(|| Arc::new(decode::kernel(&self.image, self.index, self.looks, table::decode)))
    }
}

impl Program {
    /// Reads a module and places its variables (`cuModuleLoadData`). A trailing zero byte is ignored.
    ///
    /// The text is checked as ptxas would: names, types, numbers of operands, state spaces, limits. An instruction that exists but that this
    /// engine lacks concerns the kernel that reaches it ([`Kernel::unsupported`]), not the module.
    pub fn load(text: &str, memory: &Arc<Memory>) -> Result<Program, LoadFailure> {
        Program::load_with(text, memory, &[])
    }

    /// The same, with addresses for variables that the module declares `.extern`.
    pub fn load_with(
        text: &str,
        memory: &Arc<Memory>,
        symbols: &[(String, u64)],
    ) -> Result<Program, LoadFailure> {
        Program::of(load::load(text, memory, symbols, false)?, memory)
    }

    /// The same for what the linker has put together: it has compared the declarations of its parts, and accepts more than a module may differ
    /// in; and definitions may stand behind what uses them.
    pub(crate) fn load_linked(
        text: &str,
        memory: &Arc<Memory>,
        symbols: &[(String, u64)],
    ) -> Result<Program, LoadFailure> {
        Program::of(load::load(text, memory, symbols, true)?, memory)
    }

    fn of(image: Image, memory: &Arc<Memory>) -> Result<Program, LoadFailure> {
        let image = Arc::new(image);
        let program = Program { image, memory: Arc::clone(memory), kernels: Mutex::default() };
        if let Some(profiler) = memory.profiler().filter(|profiler| profiler.covers()) {
            program.declare(profiler);
        }
        Ok(program)
    }

    /// Registers all code with the coverage, including kernels that are never launched and functions that no kernel reaches.
    fn declare(&self, profiler: &Profiler) {
        let mut reached: HashSet<String> = HashSet::new();
        let declare = |kernel: &Kernel, reached: &mut HashSet<String>| {
            profiler.declare(profile::nothing(kernel));
            reached.extend(kernel.codes.iter().map(|code| code.name.clone()));
        };
        for kernel in self.kernels().filter_map(|name| self.kernel(name)) {
            declare(&kernel, &mut reached);
        }
        // Callers stand behind what they call, and reach it.
        for (index, function) in self.image.functions.iter().enumerate().rev() {
            if !reached.contains(&function.name) {
                let alone = decode::kernel(&self.image, index, self.looks(), table::decode);
                declare(&alone, &mut reached);
            }
        }
    }

    /// Names of the kernels in source order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.image.functions.iter().filter(|f| f.kind == FunctionKind::Entry).map(|f| f.name.as_str())
    }

    /// The name of the kernel whose address names that function of the text.
    pub(crate) fn kernel_at(&self, index: usize) -> Option<&str> {
        let function = self.image.functions.get(index)?;
        (function.kind == FunctionKind::Entry).then_some(function.name.as_str())
    }

    /// The kernel of that name, decoded on first use: the same one each time (`cuModuleGetFunction`).
    pub fn kernel(&self, name: &str) -> Option<Arc<Kernel>> {
        let index = self.index(name)?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(name) {
            return Some(Arc::clone(kernel));
        }
        let kernel = Arc::new(decode::kernel(&self.image, index, self.looks(), table::decode));
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Some(kernel)
    }

    /// The kernel of that name, for launches that are counted although others are not.
    pub fn countable(&self, name: &str) -> Option<Countable> {
        let (index, looks) = (self.index(name)?, Looks { profiles: true, ..self.looks() });
        Some(Countable { image: Arc::clone(&self.image), index, looks, kernel: OnceLock::new() })
    }

    /// Which function the kernel of that name is.
    fn index(&self, name: &str) -> Option<usize> {
        let index = *self.image.by_name.get(name)?;
        (self.image.functions.get(index)?.kind == FunctionKind::Entry).then_some(index)
    }

    fn looks(&self) -> Looks {
        Looks {
            watches: self.memory.checker().is_some(),
            profiles: self.memory.profiler().is_some(),
            schedules: self.memory.scheduler().is_some(),
        }
    }

    /// Variables that were declared `.extern` and that no image defines: they were created here, filled with zeros.
    pub fn unresolved(&self) -> impl Iterator<Item = &str> {
        self.image.unresolved.iter().map(String::as_str)
    }

    /// Address and size in bytes of a `.global` or `.const` variable (`cuModuleGetGlobal`).
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        self.image.globals.get(name).map(|global| (global.address, global.bytes))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        load::release(&self.image, &self.memory);
    }
}

impl fmt::Debug for Countable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Countable").field("index", &self.index).finish_non_exhaustive()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kernels()).finish()
    }
}
