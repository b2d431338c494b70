//! `cuFunc*`: kernels in a module.

pub(super) mod attributes;
pub(super) mod occupancy;
mod steps;

use cuda_driver_sys::*;
use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::context::{Context, checked_banks, checked_cache};
use super::entry::{INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, entries};
use super::handles::{Handles, to_c};
use super::module::Shape;
use super::slot::{PerSlot, per_slot};
use super::state::{Call, lock};
use super::{logs, report};
use crate::engine::{Countable, Kernel};
use crate::tool_report::{Obstacle, ToolReport};
use attributes::Settings;
use steps::Steps;

entries! {
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction) = get_attribute;
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int) = set_attribute;
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize) = get_parameter;
    cuFuncGetName(name: *mut *const c_char, function: CUfunction) = get_name;
    cuFuncGetModule(module: *mut CUmodule, function: CUfunction) = get_module;
    cuFuncSetCacheConfig(function: CUfunction, config: CUfunc_cache) = set_cache;
    cuFuncSetSharedMemConfig(function: CUfunction, config: CUsharedconfig) = set_banks;
    cuFuncIsLoaded(state: *mut CUfunctionLoadingState, function: CUfunction) = is_loaded;
    cuFuncLoad(function: CUfunction) = load;
}

/// A kernel in a module.
pub(super) struct Function {
    pub(super) handle: usize,
    pub(super) context: Arc<Context>,
    pub(super) kernel: Arc<Kernel>,
    /// The kernel for launches that are counted.
    pub(super) countable: Countable,
    pub(super) shape: Shape,
    pub(super) module: usize,
    name: CString,
    settings: Mutex<Settings>,
    pub(super) steps: Mutex<Steps>,
    loaded: AtomicBool,
    /// Whether missing features that the kernel needs were reported.
    told: AtomicBool,
}

/// What to do about a kernel with an instruction that the emulator lacks.
const WITHOUT: &str = "run the kernel on a GPU, or compile it without that (docs/emulator.md has what is supported); nothing was launched, \
                       and the context is still usable";

/// All functions that were looked up so far.
pub(super) static FUNCTIONS: PerSlot<Handles<Function>> = per_slot!(Handles::new(4));

impl Function {
    /// One of a module, by its handle.
    pub(super) fn new(
        handle: usize,
        context: Arc<Context>,
        module: usize,
        (kernel, countable): (Arc<Kernel>, Countable),
        shape: Shape,
    ) -> Function {
        let settings = Settings::of(&kernel, &shape, &context.architecture().machine());
        Function {
            handle,
            context,
            shape,
            module,
            name: CString::new(kernel.name.as_str()).unwrap_or_default(),
            settings: Mutex::new(settings),
            steps: Mutex::new(Steps::NONE),
            kernel,
            countable,
            loaded: AtomicBool::new(false),
            told: AtomicBool::new(false),
        }
    }

    /// Refuses a kernel that needs features that the emulator lacks; nothing is launched.
    pub(super) fn is_complete(&self) -> Outcome {
        let Some(reason) = self.lacks() else { return Ok(()) };
        logs::because(reason);
        logs::advise(WITHOUT);
        Err(NOT_SUPPORTED)
    }

    /// The same of a launch by a kernel.
    pub(super) fn is_complete_for_kernels(&self) -> Outcome {
        let Some(reason) = self.lacks() else { return Ok(()) };
        logs::tell(vec![reason]);
        Err(NOT_SUPPORTED)
    }

    /// The features that the kernel needs and the emulator lacks. The first time, they are also reported on standard
    /// error.
    fn lacks(&self) -> Option<String> {
        let (line, reason) = self.kernel.unsupported().next()?;
        let name = &self.kernel.name;
        let more = match self.kernel.unsupported().count() {
            1 => String::new(),
            count => format!(" ({} more lines like it)", count - 1),
        };
        let why = format!("PTX line {line}: {reason}{more}");
        let reason = format!("kernel `{name}`, {why}");
        if !self.told.swap(true, Ordering::Relaxed) {
            report::line(format_args!("{reason}; it was not launched"));
            let (subject, code) = (format!("kernel `{name}`"), NOT_SUPPORTED.0);
            let obstacle = Obstacle { kind: "unsupported".into(), code, subject, why, way: WITHOUT.into() };
            ToolReport::Obstacle(obstacle).send();
        }
        Some(reason)
    }

    /// From now on it counts as loaded; true the first time.
    pub(super) fn mark_loaded(&self) -> bool {
        !self.loaded.swap(true, Ordering::AcqRel)
    }

    /// The maximum number of threads of a block, from the kernel's directives.
    pub(super) fn most_threads(&self) -> u32 {
        self.shape.maxntid.map_or(1024, |extents| extents.into_iter().fold(1, u32::saturating_mul).min(1024))
    }

    /// The attributes that can be set.
    pub(super) fn settings(&self) -> Settings {
        *lock(&self.settings)
    }
}

impl Call {
    /// The function that a handle means: a `CUfunction` only.
    pub(super) fn function(&self, handle: CUfunction) -> Outcome<Arc<Function>> {
        self.healthy()?;
        let function = FUNCTIONS.get(handle.addr()).ok_or(INVALID_HANDLE)?;
        if function.context.is_alive() { Ok(function) } else { Err(INVALID_HANDLE) }
    }
}

fn get_attribute(
    call: &Call,
    value: Out<c_int>,
    attribute: CUfunction_attribute,
    function: CUfunction,
) -> Outcome {
    let function = call.function(function)?;
    let place = value.required()?;
    let needs_code = matches!(
        attribute,
        CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
    );
    if needs_code && !function.loaded.load(Ordering::Acquire) {
        return Err(CUresult::CUDA_ERROR_FUNCTION_NOT_LOADED);
    }
    place.set(attributes::get(&function, attribute)?);
    Ok(())
}

fn set_attribute(
    call: &Call,
    function: CUfunction,
    attribute: CUfunction_attribute,
    value: c_int,
) -> Outcome {
    attributes::set(&*call.function(function)?, attribute, value)
}

fn get_parameter(
    call: &Call,
    function: CUfunction,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Outcome {
    call.healthy()?;
    if offset.is_null() {
        return Err(INVALID_VALUE);
    }
    let function = call.function(function)?;
    attributes::parameter(&function, index, &offset, &size)
}

fn get_name(call: &Call, name: Out<*const c_char>, function: CUfunction) -> Outcome {
    call.healthy()?;
    let place = name.required()?;
    place.set(FUNCTIONS.get(function.addr()).ok_or(INVALID_VALUE)?.name.as_ptr());
    Ok(())
}

fn get_module(call: &Call, module: Out<CUmodule>, function: CUfunction) -> Outcome {
    call.healthy()?;
    let place = module.required()?;
    place.set(to_c(FUNCTIONS.get(function.addr()).ok_or(INVALID_VALUE)?.module));
    Ok(())
}

fn set_cache(call: &Call, function: CUfunction, config: CUfunc_cache) -> Outcome {
    call.function(function)?;
    checked_cache(config).map(|_| ())
}

fn set_banks(call: &Call, function: CUfunction, config: CUsharedconfig) -> Outcome {
    call.function(function)?;
    checked_banks(config).map(|_| ())
}

fn is_loaded(call: &Call, state: Out<CUfunctionLoadingState>, function: CUfunction) -> Outcome {
    let function = call.function(function)?;
    state.required()?.set(if function.loaded.load(Ordering::Acquire) {
        CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED
    } else {
        CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_UNLOADED
    });
    Ok(())
}

fn load(call: &Call, function: CUfunction) -> Outcome {
    call.function(function)?.mark_loaded();
    Ok(())
}
