//! `cuLibrary*` and `cuKernel*`: images that belong to no context. An image is looked at when something in it is first
//! asked for, and loaded into each context that uses it.

use cuda_driver_sys::*;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

use super::jit::{Options, RawOptions, RawValues};
use super::library_image::LibraryImage;
use super::log::Refusal;
use super::{MODULES, Module, image};
use crate::architecture::Architecture;
use crate::driver::context::{Context, checked_cache};
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, Text, entries};
use crate::driver::function::Function;
use crate::driver::function::attributes::{self, Settings};
use crate::driver::handles::{Handles, to_c};
use crate::driver::logs;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, lock};

entries! {
    cuLibraryLoadData(library: *mut CUlibrary, image: *const c_void, jit: *mut CUjit_option, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut CUlibraryOption, values: *mut *mut c_void, count: c_uint) = load_data;
    cuLibraryLoadFromFile(library: *mut CUlibrary, file: *const c_char, jit: *mut CUjit_option, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut CUlibraryOption, values: *mut *mut c_void, count: c_uint) = load_file;
    cuLibraryUnload(library: CUlibrary) = unload;
    cuLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char) = get_kernel;
    cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) = get_kernel_count;
    cuLibraryEnumerateKernels(kernels: *mut CUkernel, count: c_uint, library: CUlibrary) = enumerate_kernels;
    cuLibraryGetModule(module: *mut CUmodule, library: CUlibrary) = get_module;
    cuLibraryGetGlobal(address: *mut CUdeviceptr, bytes: *mut usize, library: CUlibrary, name: *const c_char) = get_global;
    cuLibraryGetManaged(address: *mut CUdeviceptr, bytes: *mut usize, library: CUlibrary, name: *const c_char) = get_managed;
    cuLibraryGetUnifiedFunction(function: *mut *mut c_void, library: CUlibrary, name: *const c_char) = get_unified;
    cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel) = get_function;
    cuKernelGetLibrary(library: *mut CUlibrary, kernel: CUkernel) = get_library;
    cuKernelGetName(name: *mut *const c_char, kernel: CUkernel) = get_name;
    cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: *mut usize, size: *mut usize) = get_parameter;
    cuKernelGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, kernel: CUkernel, device: CUdevice) = get_attribute;
    cuKernelSetAttribute(attribute: CUfunction_attribute, value: c_int, kernel: CUkernel, device: CUdevice) = set_attribute;
    cuKernelSetCacheConfig(kernel: CUkernel, config: CUfunc_cache, device: CUdevice) = set_cache;
}

/// A library.
pub(in crate::driver) struct Library {
    handle: usize,
    /// Its image for each architecture of a device, at least one.
    images: Vec<LibraryImage>,
    /// Where variables lie that it declares `.extern`.
    symbols: Vec<(String, u64)>,
    state: Mutex<Loaded>,
}

/// What was made of a library.
#[derive(Default)]
struct Loaded {
    /// By number of the context.
    modules: HashMap<u64, Arc<Module>>,
    /// By name.
    kernels: HashMap<String, Arc<Kernel>>,
}

/// A kernel of a library.
pub(in crate::driver) struct Kernel {
    handle: usize,
    name: CString,
    library: Arc<Library>,
    /// What `cuKernelSetAttribute` set, for the contexts that come.
    set: Mutex<Vec<(CUdevice, CUfunction_attribute, c_int)>>,
}

/// All libraries, and the kernels that were looked up in them.
pub(in crate::driver) static LIBRARIES: PerSlot<Handles<Library>> = per_slot!(Handles::new(5));
pub(in crate::driver) static KERNELS: PerSlot<Handles<Kernel>> = per_slot!(Handles::new(6));

impl Library {
    /// For the first architecture that it loads for.
    fn sample(&self) -> Outcome<&Arc<Module>> {
        let mut first = None;
        for image in &self.images {
            match image.sample(&self.symbols) {
                Ok(module) => return Ok(module),
                Err(refusal) => _ = first.get_or_insert(refusal),
            }
        }
        Err(first.map_or(INVALID_VALUE, Refusal::answer))
    }

    fn image_for(&self, device: Architecture) -> Outcome<&LibraryImage> {
        self.images.iter().find(|image| image.device == device).ok_or(INVALID_VALUE)
    }

    /// The library's module in a context.
    fn module(&self, context: &Arc<Context>) -> Outcome<Arc<Module>> {
        let mut loaded = lock(&self.state);
        loaded.modules.retain(|_, module| module.context.is_alive());
        if let Some(module) = loaded.modules.get(&context.id) {
            return Ok(Arc::clone(module));
        }
        let image = self.image_for(context.architecture())?;
        let Ok(text) = &image.text else {
            return image.sample(&self.symbols).cloned().map_err(Refusal::answer);
        };
        let module = Module::load(context, text, true, &self.symbols);
        let module = module.inspect_err(|refusal| image.say(refusal)).map_err(|refusal| refusal.answer())?;
        loaded.modules.insert(context.id, Arc::clone(&module));
        Ok(module)
    }

    /// For each architecture that it loads for, at least one.
    fn samples(&self) -> Outcome<impl Iterator<Item = &Arc<Module>>> {
        self.sample()?;
        Ok(self.images.iter().filter_map(|image| image.sample(&self.symbols).ok()))
    }

    /// The names of the kernels that it has for any architecture.
    fn names(&self) -> Outcome<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for module in self.samples()? {
            let more = module.kernels()?.into_iter();
            names.extend(more.filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        Ok(names)
    }

    fn kernel(self: &Arc<Self>, name: &str) -> Outcome<Arc<Kernel>> {
        if !self.samples()?.any(|module| module.has_kernel(name)) {
            return Err(CUresult::CUDA_ERROR_NOT_FOUND);
        }
        let mut loaded = lock(&self.state);
        if let Some(kernel) = loaded.kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let handle = KERNELS.reserve();
        let c_name = CString::new(name).map_err(|_| INVALID_VALUE)?;
        let kernel =
            Arc::new(Kernel { handle, name: c_name, library: Arc::clone(self), set: Mutex::default() });
        KERNELS.insert(handle, Arc::clone(&kernel));
        loaded.kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }
}

impl Kernel {
    fn name(&self) -> Outcome<&str> {
        self.name.to_str().map_err(|_| INVALID_VALUE)
    }

    /// Its function in a context.
    pub(in crate::driver) fn function(&self, context: &Arc<Context>) -> Outcome<Arc<Function>> {
        let module = self.library.module(context)?;
        let function = module.function(self.name()?)?;
        if function.mark_loaded() {
            let of_device = |(device, ..): &&(CUdevice, _, _)| *device == context.device;
            for (_, attribute, value) in lock(&self.set).iter().filter(of_device) {
                attributes::set(&function, *attribute, *value)?;
            }
        }
        Ok(function)
    }

    /// A function to ask about a device without a context. Nothing is set of it: all devices of an architecture have the same.
    fn sample_on(&self, call: &Call, device: CUdevice) -> Outcome<Arc<Function>> {
        let image = self.library.image_for(call.state()?.architecture_of(device)?)?;
        image.sample(&self.library.symbols).map_err(Refusal::answer)?.function(self.name()?)
    }

    /// What was set for a device, of the function to ask about it.
    fn settings_on(&self, device: CUdevice, function: &Function) -> Outcome<Settings> {
        let mut settings = function.settings();
        for (on, attribute, value) in lock(&self.set).iter() {
            if *on == device {
                attributes::set_of(function, &mut settings, *attribute, *value)?;
            }
        }
        Ok(settings)
    }
}

/// The function that a handle means where a `CUkernel` will do too: then it is the one of the context that `context`
/// finds.
pub(in crate::driver) fn resolve(
    call: &Call,
    handle: CUfunction,
    context: impl FnOnce() -> Outcome<Arc<Context>>,
) -> Outcome<Arc<Function>> {
    call.healthy()?;
    if let Some(kernel) = KERNELS.get(handle.addr()) {
        return kernel.function(&context()?);
    }
    call.function(handle)
}

/// The library that a handle means. Libraries live on after a fault.
fn library(library: CUlibrary) -> Outcome<Arc<Library>> {
    LIBRARIES.get(library.addr()).ok_or(INVALID_HANDLE)
}

fn kernel(kernel: CUkernel) -> Outcome<Arc<Kernel>> {
    KERNELS.get(kernel.addr()).ok_or(INVALID_HANDLE)
}

/// Loading succeeds whatever the image is: it is looked at later. The library keeps a copy.
#[allow(clippy::too_many_arguments, reason = "a C function")]
fn load_data(
    call: &Call,
    library: Out<CUlibrary>,
    image: In<c_void>,
    jit: RawOptions,
    jit_values: RawValues,
    jit_count: c_uint,
    options: In<CUlibraryOption>,
    values: In<*mut c_void>,
    count: c_uint,
) -> Outcome {
    if image.is_null() {
        return Err(INVALID_VALUE);
    }
    load(
        call,
        library,
        "",
        |device| image::text(&image, device),
        jit,
        jit_values,
        jit_count,
        options,
        values,
        count,
    )
}

#[allow(clippy::too_many_arguments, reason = "those of a C function")]
fn load<'a>(
    call: &Call,
    library: Out<CUlibrary>,
    file: &str,
    read: impl Fn(Architecture) -> Result<Cow<'a, str>, Refusal>,
    jit: RawOptions,
    jit_values: RawValues,
    jit_count: c_uint,
    options: In<CUlibraryOption>,
    values: In<*mut c_void>,
    count: c_uint,
) -> Outcome {
    let place = library.required()?;
    check_options(&options, &values, count)?;
    let mut jit = Options::read(jit_count, jit, jit_values)?;
    let symbols = jit.symbols()?;
    jit.finish("", "");
    let handle = LIBRARIES.reserve();
    let architectures = call.state()?.devices.iter().map(|memory| memory.architecture());
    let text = |device| read(device).map(|text| jit.registers().limit(text).into_owned());
    let image = |device| LibraryImage::new(device, file.to_owned(), text(device));
    let images = architectures.collect::<BTreeSet<_>>().into_iter().map(image).collect();
    let library = Library { handle, images, symbols, state: Mutex::default() };
    LIBRARIES.insert(handle, Arc::new(library));
    place.set(to_c(handle));
    Ok(())
}

/// That the image stays where it is helps nobody here; tables of host functions are not emulated.
#[allow(unsafe_code, reason = "the size of an array is the caller's word")]
fn check_options(options: &In<CUlibraryOption>, values: &In<*mut c_void>, count: c_uint) -> Outcome {
    if count != 0 && values.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: array and `count` are the caller's, so by C1 (in `entry`) it is null or has `count` elements.
    for option in unsafe { options.read_array(count as usize)? } {
        match option {
            CUlibraryOption::CU_LIBRARY_BINARY_IS_PRESERVED => {}
            CUlibraryOption::CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE => return Err(NOT_SUPPORTED),
            _ => return Err(INVALID_VALUE),
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "a C function")]
fn load_file(
    call: &Call,
    library: Out<CUlibrary>,
    file: Text,
    jit: RawOptions,
    jit_values: RawValues,
    jit_count: c_uint,
    options: In<CUlibraryOption>,
    values: In<*mut c_void>,
    count: c_uint,
) -> Outcome {
    let path = file.path()?;
    let bytes = image::file(path)?;
    load(
        call,
        library,
        &path.to_string_lossy(),
        |device| image::text_of(&bytes, device),
        jit,
        jit_values,
        jit_count,
        options,
        values,
        count,
    )
}

/// Waits for all work of the contexts that use it.
fn unload(_: &Call, handle: CUlibrary) -> Outcome {
    let library = library(handle)?;
    LIBRARIES.remove(library.handle);
    let loaded = std::mem::take(&mut *lock(&library.state));
    for kernel in loaded.kernels.values() {
        KERNELS.remove(kernel.handle);
    }
    for module in loaded.modules.values().chain(library.images.iter().filter_map(LibraryImage::loaded)) {
        module.context.synchronize();
        MODULES.remove(module.handle);
        module.discard();
    }
    Ok(())
}

fn get_kernel(_: &Call, kernel: Out<CUkernel>, handle: CUlibrary, name: Text) -> Outcome {
    let library = library(handle)?;
    let place = kernel.required()?;
    place.set(to_c(library.kernel(name.required()?)?.handle));
    Ok(())
}

/// An image that does not load has no kernels.
fn names(library: &Library) -> Vec<String> {
    library.names().unwrap_or_else(|_| {
        logs::forget();
        Vec::new()
    })
}

fn get_kernel_count(_: &Call, count: Out<c_uint>, handle: CUlibrary) -> Outcome {
    let library = library(handle)?;
    count.required()?.set(names(&library).len() as c_uint);
    Ok(())
}

#[allow(unsafe_code, reason = "the size of an array is the caller's word")]
fn enumerate_kernels(_: &Call, kernels: Out<CUkernel>, count: c_uint, handle: CUlibrary) -> Outcome {
    let library = library(handle)?;
    if kernels.is_null() {
        return Err(INVALID_VALUE);
    }
    let all = names(&library).into_iter().take(count as usize);
    let handles: Outcome<Vec<CUkernel>> =
        all.map(|name| library.kernel(&name).map(|kernel| to_c(kernel.handle))).collect();
    // SAFETY: 1: it is not null, so by C1 (in `entry`) it has `count` elements, and these are not more: `take`.
    unsafe { kernels.write_array(&handles?) };
    Ok(())
}

fn get_module(call: &Call, module: Out<CUmodule>, handle: CUlibrary) -> Outcome {
    let library = library(handle)?;
    let place = module.required()?;
    place.set(to_c(library.module(&call.context()?)?.handle));
    Ok(())
}

fn get_global(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: Out<usize>,
    handle: CUlibrary,
    name: Text,
) -> Outcome {
    let library = library(handle)?;
    let name = name.required()?;
    if address.is_null() && bytes.is_null() {
        return Err(INVALID_VALUE);
    }
    let module = library.module(&call.context()?)?;
    let (found, size) = module.global(name)?.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    address.set(found);
    bytes.set(size as usize);
    Ok(())
}

/// Managed variables are not emulated: no image has one.
fn get_managed(
    _: &Call,
    address: Out<CUdeviceptr>,
    bytes: Out<usize>,
    handle: CUlibrary,
    name: Text,
) -> Outcome {
    library(handle)?.sample()?;
    name.required()?;
    if address.is_null() && bytes.is_null() {
        return Err(INVALID_VALUE);
    }
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

/// The device has no unified function pointers.
fn get_unified(_: &Call, function: Out<*mut c_void>, handle: CUlibrary, name: Text) -> Outcome {
    library(handle)?;
    function.required()?;
    name.required()?;
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

fn get_function(call: &Call, function: Out<CUfunction>, handle: CUkernel) -> Outcome {
    let kernel = kernel(handle)?;
    let place = function.required()?;
    place.set(to_c(kernel.function(&call.context()?)?.handle));
    Ok(())
}

fn get_library(_: &Call, library: Out<CUlibrary>, handle: CUkernel) -> Outcome {
    let kernel = kernel(handle)?;
    library.required()?.set(to_c(kernel.library.handle));
    Ok(())
}

fn get_name(_: &Call, name: Out<*const c_char>, handle: CUkernel) -> Outcome {
    let place = name.required()?;
    place.set(kernel(handle).map_err(|_| INVALID_VALUE)?.name.as_ptr());
    Ok(())
}

/// A context must be current, though the answer is the same in all of a device (H200).
fn get_parameter(
    call: &Call,
    handle: CUkernel,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Outcome {
    let kernel = kernel(handle).map_err(|_| INVALID_VALUE)?;
    let device = call.context()?.device;
    attributes::parameter(&*kernel.sample_on(call, device)?, index, &offset, &size)
}

fn get_attribute(
    call: &Call,
    value: Out<c_int>,
    attribute: CUfunction_attribute,
    handle: CUkernel,
    device: CUdevice,
) -> Outcome {
    let kernel = kernel(handle)?;
    checked(device)?;
    let place = value.required()?;
    let function = kernel.sample_on(call, device)?;
    place.set(attributes::get_of(&function, &kernel.settings_on(device, &function)?, attribute)?);
    Ok(())
}

/// Holds for every context of the device, but for functions whose attribute was set for themselves later.
fn set_attribute(
    call: &Call,
    attribute: CUfunction_attribute,
    value: c_int,
    handle: CUkernel,
    device: CUdevice,
) -> Outcome {
    let kernel = kernel(handle)?;
    checked(device)?;
    let function = kernel.sample_on(call, device)?;
    attributes::set_of(&function, &mut kernel.settings_on(device, &function)?, attribute, value)?;
    let mut set = lock(&kernel.set);
    // The last value counts, behind all others.
    set.retain(|(on, earlier, _)| (*on, *earlier) != (device, attribute));
    set.push((device, attribute, value));
    drop(set);
    let modules: Vec<_> = lock(&kernel.library.state).modules.values().cloned().collect();
    let on_it = |module: &&Arc<Module>| module.context.device == device && module.context.is_alive();
    for module in modules.iter().filter(on_it) {
        attributes::set(&*module.function(kernel.name()?)?, attribute, value)?;
    }
    Ok(())
}

fn set_cache(_: &Call, handle: CUkernel, config: CUfunc_cache, device: CUdevice) -> Outcome {
    kernel(handle)?;
    checked(device)?;
    checked_cache(config).map(|_| ())
}
