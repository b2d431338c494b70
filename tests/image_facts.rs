//! What the reader of images says of every kernel file in the tree, against what the driver answers once it has loaded it.
//!
//! An emulator loads PTX only, and answers parameters; a GPU answers everything, of the cubins and fatbins that it runs.

#![allow(unsafe_code)] // Asks the driver about functions of modules that are loaded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kernel_files;

use cuda_launch::module::FunctionAttribute;
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaFunction};
use cuda_ptx::SharedVariables;
use cuda_ptx::image::{Arch, Cubin, EntryKind, Fatbin, Image, Kernel};
use std::collections::BTreeMap;
use std::path::Path;

/// What was compared, and every difference in words.
#[derive(Default)]
struct Found {
    loaded: BTreeMap<&'static str, usize>,
    /// Of those that a GPU must refuse.
    refused: usize,
    kernels: usize,
    parameters: usize,
    numbers: usize,
    differences: Vec<String>,
}

/// What an image says of one kernel, and what else is known of the code that the driver takes.
struct Facts<'a> {
    kernel: &'a Kernel<'a>,
    /// Bytes of shared memory.
    shared: Option<u32>,
    /// Of machine code: bytes of constant memory.
    constants: Option<u32>,
    /// Whether the offsets are those of the device. PTX has those of C, which differ after a parameter aligned over 16 bytes.
    placed: bool,
}

impl Found {
    fn file(&mut self, ctx: &CudaContext, path: &Path) {
        let bytes = std::fs::read(path).unwrap();
        let (major, minor) = ctx.limits().compute_capability;
        let runs = |arch: Option<Arch>| arch.is_some_and(|arch| arch.runs_on(major, minor));
        match Image::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display())) {
            Image::Ptx(text) => self.ptx(ctx, path, text),
            Image::Cubin(cubin) if !emulated(ctx) && runs(cubin.arch()) && !cubin.is_relocatable() => {
                self.machine_code(ctx, path, &bytes, &cubin);
            }
            Image::Fatbin(fatbin) if !emulated(ctx) => self.fatbin(ctx, path, &bytes, &fatbin),
            Image::Cubin(cubin) if !emulated(ctx) && !cubin.is_relocatable() => {
                self.foreign(ctx, path, &cubin);
            }
            _ => {}
        }
    }

    /// PTX that the driver's compiler refuses.
    fn invalid(&mut self, ctx: &CudaContext, path: &Path, text: &str) {
        self.refused += 1;
        let code = ctx.load_module(text).err().and_then(|error| error.code());
        if code != Some(CUresult::CUDA_ERROR_INVALID_PTX) {
            self.differences.push(format!("{}: expected to be refused, not {code:?}", path.display()));
        }
    }

    /// Code for another architecture, as the image says: no driver loads it for this device.
    fn foreign(&mut self, ctx: &CudaContext, path: &Path, cubin: &Cubin<'_>) {
        self.refused += 1;
        if ctx.load_module(cubin.bytes()).is_ok() {
            self.differences.push(format!("{}: the driver loads {:?}", path.display(), cubin.arch()));
        }
    }

    fn ptx(&mut self, ctx: &CudaContext, path: &Path, text: &str) {
        let module = cuda_ptx::parse(text).unwrap();
        let target = module.targets.first().and_then(|name| Arch::from_name(name)).unwrap();
        let (major, minor) = ctx.limits().compute_capability;
        let is_own = target.suffix.is_none() || (target.major(), target.minor()) == (major, minor);
        if (target.major(), target.minor()) > (major, minor) || !is_own {
            return;
        }
        if !emulated(ctx) && kernel_files::REFUSED.iter().any(|file| path.ends_with(file)) {
            return self.invalid(ctx, path, text);
        }
        let loaded = match ctx.load_module(text) {
            Ok(loaded) => loaded,
            // Functions of other files, which it is linked with elsewhere.
            Err(error) if module.functions.iter().any(|f| f.body.is_none()) => {
                return println!("{}: needs another file: {error}", path.display());
            }
            Err(error) => return self.differences.push(format!("{}: {error}", path.display())),
        };
        *self.loaded.entry("ptx").or_default() += 1;
        let shared = SharedVariables::of(&module);
        for kernel in &Image::Ptx(text).kernels().unwrap() {
            let function = module.functions.iter().find(|f| f.name == kernel.name).unwrap();
            let placed = function.parameters().iter().all(|parameter| parameter.align <= 16);
            // What functions that it calls have of shared memory is theirs to say.
            let calls = function.body.is_some_and(|body| body.contains("call"));
            let shared = (!calls).then(|| shared.used_by(&function.statements().unwrap()).bytes as u32);
            let facts = Facts { kernel, shared, constants: None, placed };
            self.kernel(path, &loaded.load_function(kernel.name).unwrap(), &facts);
        }
    }

    fn fatbin(&mut self, ctx: &CudaContext, path: &Path, bytes: &[u8], fatbin: &Fatbin<'_>) {
        let (major, minor) = ctx.limits().compute_capability;
        let own = |entry: &&cuda_ptx::image::Entry<'_>| {
            entry.kind() == EntryKind::Cubin && entry.arch().runs_on(major, minor)
        };
        let Some(entry) = fatbin.entries().iter().find(own) else { return };
        let content = match entry.content() {
            Ok(content) => content,
            // Built without what decompresses it.
            Err(error) => return println!("{}: {error}", path.display()),
        };
        let cubin = Cubin::read(&content).unwrap();
        if !cubin.is_relocatable() {
            self.machine_code(ctx, path, bytes, &cubin);
        }
    }

    /// Code that the driver loads as it is: of a cubin, or of the entry of a fatbin that it chooses.
    fn machine_code(&mut self, ctx: &CudaContext, path: &Path, image: &[u8], cubin: &Cubin<'_>) {
        let loaded = match ctx.load_module(image) {
            Ok(loaded) => loaded,
            Err(error) => return self.differences.push(format!("{}: {error}", path.display())),
        };
        *self.loaded.entry("machine code").or_default() += 1;
        for kernel in cubin.kernels() {
            let facts = Facts {
                kernel,
                shared: kernel.shared_memory,
                constants: Some(cubin.constant_memory()),
                placed: true,
            };
            self.kernel(path, &loaded.load_function(kernel.name).unwrap(), &facts);
        }
    }

    fn kernel(&mut self, path: &Path, function: &CudaFunction, facts: &Facts<'_>) {
        self.kernels += 1;
        let kernel = facts.kernel;
        let place = format!("{} kernel {}", path.display(), kernel.name);
        if let (Some(said), Some(answered)) = (&kernel.parameters, parameters(function)) {
            self.parameters += answered.len();
            let said: Vec<(usize, usize)> =
                said.iter().map(|p| (p.offset as usize, p.size as usize)).collect();
            let without_offsets =
                |list: &[(usize, usize)]| list.iter().map(|&(_, size)| size).collect::<Vec<_>>();
            let same = if facts.placed {
                said == answered
            } else {
                without_offsets(&said) == without_offsets(&answered)
            };
            if !same {
                self.differences.push(format!(
                    "{place}: parameters (offset, bytes): image {said:?}, driver {answered:?}"
                ));
            }
        }
        // PTX has shared memory only.
        self.number(&place, function, FunctionAttribute::NUM_REGS, kernel.registers);
        self.number(&place, function, FunctionAttribute::SHARED_SIZE_BYTES, facts.shared);
        self.number(&place, function, FunctionAttribute::LOCAL_SIZE_BYTES, kernel.local_memory);
        self.number(&place, function, FunctionAttribute::CONST_SIZE_BYTES, facts.constants);
        self.limits(&place, function, kernel);
    }

    fn number(
        &mut self,
        place: &str,
        function: &CudaFunction,
        attribute: FunctionAttribute,
        said: Option<u32>,
    ) {
        let Some(said) = said else { return };
        self.numbers += 1;
        let answered = function.attribute(attribute).unwrap();
        if i64::from(answered) != i64::from(said) {
            self.differences.push(format!("{place}: {attribute:?}: image {said}, driver {answered}"));
        }
    }

    fn limits(&mut self, place: &str, function: &CudaFunction, kernel: &Kernel<'_>) {
        let volume = |shape: [u32; 3]| shape.iter().product::<u32>();
        // The driver tells no required shape.
        if let Some(said) = kernel.max_threads.filter(|_| kernel.required_threads.is_none()).map(volume) {
            self.numbers += 1;
            let answered = function.max_threads_per_block();
            // Registers may allow fewer threads than the limit that the kernel was given.
            let registers = function.registers().unwrap();
            let by_registers = registers.next_multiple_of(8) * said.next_multiple_of(128) > 65536;
            if answered > said || answered < said && !by_registers {
                self.differences
                    .push(format!("{place}: threads of a block: image {said}, driver {answered}"));
            }
        }
        if let Some(said) = kernel.cluster {
            self.numbers += 1;
            let answered = function.required_cluster();
            if answered != Some(said.into()) {
                self.differences.push(format!("{place}: cluster: image {said:?}, driver {answered:?}"));
            }
        }
        if function.context().driver().has("cuFuncGetParamInfo") {
            self.numbers += 1;
            let answered = function.cluster_size_must_be_set().unwrap();
            if answered != kernel.explicit_cluster {
                let said = kernel.explicit_cluster;
                self.differences
                    .push(format!("{place}: cluster must be set: image {said}, driver {answered}"));
            }
        }
    }
}

/// Offset and size of each parameter, as the driver answers; `None` where it has no such call.
fn parameters(function: &CudaFunction) -> Option<Vec<(usize, usize)>> {
    let driver = function.context().driver();
    let mut list = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the borrowed `CudaFunction` keeps its module loaded during the call; the outputs are locals that outlive it.
        match unsafe { driver.cuFuncGetParamInfo(function.raw(), list.len(), &mut offset, &mut size) } {
            CUresult::SUCCESS => list.push((offset, size)),
            // Behind the last one.
            CUresult::CUDA_ERROR_INVALID_VALUE => return Some(list),
            code => {
                assert!(!driver.has("cuFuncGetParamInfo"), "{code:?}");
                return None;
            }
        }
    }
}

fn emulated(ctx: &CudaContext) -> bool {
    ctx.device_name().unwrap().contains("emulator")
}

#[test]
fn images_say_what_the_driver_answers() {
    let ctx = CudaContext::new(0).unwrap();
    let paths = kernel_files::all(&kernel_files::root());
    let mut found = Found::default();
    paths.iter().for_each(|path| found.file(&ctx, path));
    println!(
        "{:?} of {} files loaded, {} refused as they should be: {} kernels, {} parameters, {} numbers compared",
        found.loaded,
        paths.len(),
        found.refused,
        found.kernels,
        found.parameters,
        found.numbers
    );
    let differences = &found.differences;
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    assert!(found.loaded["ptx"] > 40 && found.kernels > 300, "{:?}", found.loaded);
    assert!(emulated(&ctx) || ctx.limits().compute_capability.0 != 9 || found.loaded["machine code"] > 5);
}
