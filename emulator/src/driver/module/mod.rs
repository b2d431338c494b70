//! `cuModule*`: loading images and looking up their symbols.

mod archive;
mod declared;
mod device_runtime;
mod image;
mod jit;
pub(super) mod library;
mod library_image;
pub(super) mod link;
mod log;
mod merge;
mod reached;
mod scan;
mod seal;
mod shape;

use cuda_driver_sys::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard};

use super::context::Context;
use super::entry::{INVALID_HANDLE, INVALID_VALUE, In, Out, Outcome, Text, entries};
use super::function::{FUNCTIONS, Function};
use super::handles::{Handles, to_c};
use super::slot::{PerSlot, per_slot};
use super::state::{Call, State, lock};
use crate::architecture::Architecture;
use crate::engine::Program;
use crate::memory::Memory;
use jit::{Options, RawOptions};
pub(super) use shape::Shape;

entries! {
    cuModuleLoad(module: *mut CUmodule, file: *const c_char) = load_file;
    cuModuleLoadData(module: *mut CUmodule, image: *const c_void) = load_data;
    cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void) = load_data_with;
    cuModuleLoadFatBinary(module: *mut CUmodule, image: *const c_void) = load_data;
    cuModuleUnload(module: CUmodule) = unload;
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) = get_function;
    cuModuleGetGlobal_v2(address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char) = get_global;
    cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule) = get_function_count;
    cuModuleEnumerateFunctions(functions: *mut CUfunction, count: c_uint, module: CUmodule) = enumerate_functions;
    cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) = get_loading_mode;
}

/// A module in a context.
pub(super) struct Module {
    pub(super) handle: usize,
    pub(super) context: Arc<Context>,
    /// Whether it is a library's: then it cannot be unloaded.
    of_library: bool,
    /// The loaded program; `None` once it is unloaded or its context is destroyed.
    contents: Mutex<Option<Contents>>,
}

/// All modules.
pub(super) static MODULES: PerSlot<Handles<Module>> = per_slot!(Handles::new(3));

/// A loaded program and the handles of its kernels.
struct Contents {
    program: Program,
    shapes: HashMap<String, Shape>,
    /// Address and size of each variable.
    variables: Vec<(u64, u64)>,
    functions: HashMap<String, Arc<Function>>,
}

impl Module {
    /// Loads PTX into a context.
    fn load(
        context: &Arc<Context>,
        text: &str,
        of_library: bool,
        symbols: &[(String, u64)],
    ) -> Result<Arc<Module>, log::Refusal> {
        Module::load_into(&context.memory, context, text, of_library, symbols)
    }

    fn load_into(
        memory: &Arc<Memory>,
        context: &Arc<Context>,
        text: &str,
        of_library: bool,
        symbols: &[(String, u64)],
    ) -> Result<Arc<Module>, log::Refusal> {
        let outline = shape::outline(text, context.architecture())?;
        let program = if seal::is_sealed(text) {
            Program::load_linked(text, memory, symbols)
        } else {
            Program::load_with(text, memory, symbols)
        };
        let program = program.map_err(|failure| log::Refusal::of(&failure, text))?;
        let handle = MODULES.reserve();
        let variables = outline.variables.iter().filter_map(|name| program.global(name)).collect();
        let (shapes, functions) = (outline.shapes, HashMap::new());
        let contents = Mutex::new(Some(Contents { program, shapes, variables, functions }));
        let module = Arc::new(Module { handle, context: Arc::clone(context), of_library, contents });
        MODULES.insert(handle, Arc::clone(&module));
        Ok(module)
    }

    fn contents(&self) -> MutexGuard<'_, Option<Contents>> {
        lock(&self.contents)
    }

    /// The warnings of a GPU's compiler, one per line.
    fn warnings(&self) -> String {
        let contents = self.contents();
        let names = contents.iter().flat_map(|contents| contents.program.unresolved());
        names.map(log::ignored_extern).collect::<Vec<_>>().join("\n")
    }

    /// Frees its memory; its functions become invalid.
    pub(super) fn discard(&self) {
        let contents = self.contents().take();
        for function in contents.iter().flat_map(|contents| contents.functions.values()) {
            FUNCTIONS.remove(function.handle);
        }
    }

    /// The function of a kernel, the same each time.
    fn function(self: &Arc<Self>, name: &str) -> Outcome<Arc<Function>> {
        let mut contents = self.contents();
        let contents = contents.as_mut().ok_or(INVALID_HANDLE)?;
        if let Some(function) = contents.functions.get(name) {
            return Ok(Arc::clone(function));
        }
        let shape = contents.shapes.get(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let kernel = contents.program.kernel(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let countable = contents.program.countable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let kernel = (kernel, countable);
        let handle = FUNCTIONS.reserve();
        let function =
            Arc::new(Function::new(handle, Arc::clone(&self.context), self.handle, kernel, *shape));
        FUNCTIONS.insert(handle, Arc::clone(&function));
        contents.functions.insert(name.to_owned(), Arc::clone(&function));
        Ok(function)
    }

    /// The function of the kernel that is that function of the text.
    pub(super) fn function_at(self: &Arc<Self>, index: usize) -> Option<Arc<Function>> {
        let name = self.contents().as_ref()?.program.kernel_at(index)?.to_owned();
        self.function(&name).ok()
    }

    /// Whether a variable of the module starts there.
    pub(super) fn owns(&self, address: u64) -> bool {
        self.contents().iter().any(|contents| contents.variables.iter().any(|(start, _)| *start == address))
    }

    /// Names of the kernels, in the order of the text.
    fn kernels(&self) -> Outcome<Vec<String>> {
        let contents = self.contents();
        let program = &contents.as_ref().ok_or(INVALID_HANDLE)?.program;
        Ok(program.kernels().map(str::to_owned).collect())
    }

    fn has_kernel(&self, name: &str) -> bool {
        self.contents()
            .as_ref()
            .is_some_and(|contents| contents.program.kernels().any(|kernel| kernel == name))
    }

    /// Address and size of a variable.
    fn global(&self, name: &str) -> Outcome<Option<(u64, u64)>> {
        Ok(self.contents().as_ref().ok_or(INVALID_HANDLE)?.program.global(name))
    }
}

impl Call {
    /// The module that a handle means.
    fn module(&self, handle: CUmodule) -> Outcome<Arc<Module>> {
        self.healthy()?;
        let module = MODULES.get(handle.addr()).ok_or(INVALID_HANDLE)?;
        if module.context.is_alive() { Ok(module) } else { Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED) }
    }
}

/// Forgets all modules, libraries and linkers.
pub(super) fn clear() {
    library::LIBRARIES.clear();
    library::KERNELS.clear();
    MODULES.clear();
    FUNCTIONS.clear();
    link::LINKS.clear();
}

/// Takes the modules of a context down.
pub(super) fn forget(_: &State, context: u64) {
    for module in MODULES.all().iter().filter(|module| module.context.id == context) {
        module.discard();
    }
}

fn load_data(call: &Call, module: Out<CUmodule>, image: In<c_void>) -> Outcome {
    load(call, module, "", |device| image::text(&image, device), Options::none())
}

fn load_data_with(
    call: &Call,
    module: Out<CUmodule>,
    image: In<c_void>,
    count: c_uint,
    options: RawOptions,
    values: jit::RawValues,
) -> Outcome {
    call.context()?;
    load(call, module, "", |device| image::text(&image, device), Options::read(count, options, values)?)
}

fn load<'a>(
    call: &Call,
    module: Out<CUmodule>,
    file: &str,
    read: impl FnOnce(Architecture) -> Result<Cow<'a, str>, log::Refusal>,
    mut options: Options,
) -> Outcome {
    let context = call.context()?;
    let place = module.required()?;
    let device = context.architecture();
    let loaded = read(device).and_then(|text| {
        options.check_target(&text, device)?;
        let text = options.registers().limit(text);
        Module::load(&context, &text, false, &options.symbols()?)
    });
    match loaded {
        Ok(module) => {
            options.finish(&module.warnings(), "");
            place.set(to_c(module.handle));
            Ok(())
        }
        Err(refusal) => {
            options.finish("", &refusal.log);
            refusal.send(file);
            Err(refusal.answer())
        }
    }
}

fn load_file(call: &Call, module: Out<CUmodule>, file: Text) -> Outcome {
    call.context()?;
    let path = file.path()?;
    let bytes = image::file(path)?;
    load(call, module, &path.to_string_lossy(), |device| image::text_of(&bytes, device), Options::none())
}

/// Waits for all work of the context, as the driver does.
fn unload(call: &Call, module: CUmodule) -> Outcome {
    call.unsafe_in_capture()?;
    let module = call.module(module)?;
    if module.of_library {
        return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    module.context.synchronize();
    MODULES.remove(module.handle);
    module.discard();
    Ok(())
}

fn get_function(call: &Call, function: Out<CUfunction>, module: CUmodule, name: Text) -> Outcome {
    let module = call.module(module)?;
    let (place, name) = (function.required()?, name.name()?);
    let function = module.function(name)?;
    function.mark_loaded();
    place.set(to_c(function.handle));
    Ok(())
}

fn get_global(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: Out<usize>,
    module: CUmodule,
    name: Text,
) -> Outcome {
    let module = call.module(module)?;
    let name = name.name()?;
    if address.is_null() && bytes.is_null() {
        return Err(INVALID_VALUE);
    }
    let Some((found, size)) = module.global(name)? else {
        let kernel = module.kernels()?.iter().any(|kernel| kernel == name);
        return Err(if kernel { INVALID_VALUE } else { CUresult::CUDA_ERROR_NOT_FOUND });
    };
    address.set(found);
    bytes.set(size as usize);
    Ok(())
}

fn get_function_count(call: &Call, count: Out<c_uint>, module: CUmodule) -> Outcome {
    let module = call.module(module)?;
    count.required()?.set(module.kernels()?.len() as c_uint);
    Ok(())
}

/// Functions that were not asked for by name before are not loaded yet: `cuFuncLoad` does it.
#[allow(unsafe_code, reason = "the size of an array is the caller's word")]
fn enumerate_functions(call: &Call, functions: Out<CUfunction>, count: c_uint, module: CUmodule) -> Outcome {
    let module = call.module(module)?;
    if functions.is_null() {
        return Err(INVALID_VALUE);
    }
    let names = module.kernels()?;
    let handles: Outcome<Vec<CUfunction>> = names
        .iter()
        .take(count as usize)
        .map(|name| module.function(name).map(|function| to_c(function.handle)))
        .collect();
    // SAFETY: 1: it is not null, so by C1 (in `entry`) it has `count` elements, and `take` limits these to that.
    unsafe { functions.write_array(&handles?) };
    Ok(())
}

/// Always lazy: kernels are decoded on first use.
fn get_loading_mode(_: &Call, mode: Out<CUmoduleLoadingMode>) -> Outcome {
    mode.required()?.set(CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING);
    Ok(())
}
