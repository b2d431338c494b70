//! One kernel of a loaded module: its handle, parameter list and limits, queried once.

#![allow(unsafe_code)] // Calls of the driver with a function of a live module.

pub(in crate::driver) mod table;
pub(in crate::driver) mod verified;

use cuda_driver_sys::{CUfunction, CUfunction_attribute as A, CUmodule, CUresult, pfn};
use std::any::Any;
use std::ffi::{CStr, CString, c_char};
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::context::CudaContext;
use super::function::attribute::FunctionAttribute;
use super::image::Signature;
use super::park::Keep;
use super::shape::{KernelShape, Kind};
use crate::error::{Error, ErrorKind, Parameter};
use crate::trace::Launched;
use verified::{Verified, context_number};

/// Where a kernel's parameter list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterSource {
    /// `cuFuncGetParamInfo` (drivers since CUDA 12.4).
    Driver,
    /// The PTX text or the cubin itself.
    Image,
}

/// A kernel's parameter list, or why it is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameters {
    /// The list in order, and its source.
    Known(Vec<Parameter>, ParameterSource),
    /// Launches are not checked, for this reason.
    Unknown(String),
}

impl Parameters {
    /// The list, if it is known.
    pub fn list(&self) -> Option<&[Parameter]> {
        match self {
            Self::Known(list, _) => Some(list),
            Self::Unknown(_) => None,
        }
    }

    fn shape(&self) -> KernelShape {
        self.list()
            .map_or(KernelShape::UNKNOWN, |list| KernelShape::new(list.iter().map(|w| (w.size, kind(w)))))
    }
}

/// Whether a parameter is a float or an integer, where the image says it.
pub(crate) fn kind(wanted: &Parameter) -> Kind {
    wanted.ty.as_deref().map_or(Kind::Other, Kind::of_ptx)
}

/// What the image says of `__launch_bounds__`, in threads per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchBounds {
    /// There is no image, or it does not list the kernel.
    Unknown,
    None,
    Threads(u32),
}

/// What a launch of one kernel needs to know; made by the first lookup, then only read.
///
/// [`CudaFunction`](crate::CudaFunction) is the handle that also keeps the module alive.
pub struct Kernel {
    /// A function of `context`, which stays loaded as long as the kernel is used, as the caller of `describe` promised (duty
    /// 1).
    pub(crate) raw: CUfunction,
    pub(crate) context: CudaContext,
    /// A copy of the context's number, [`CudaContext::owner`]; a value that no stream has if the context has no number.
    pub(crate) context_number: u64,
    /// A copy of the driver's function pointer; `context` keeps the driver loaded.
    pub(crate) launch: pfn::cuLaunchKernelEx,
    /// The last argument signature found to fit.
    pub(crate) verified: Verified,
    /// The bits of the launch attributes that launches of it were found to have by right, which is a matter of the driver's version
    /// alone. It is that of `context`, so what is true once stays true.
    pub(crate) attributes: AtomicU64,
    /// The device's limits, biased: grid x, y, z, block x, y, z.
    pub(crate) max_dims: [i32; 6],
    /// Threads per block that kernel and device allow together.
    pub(crate) max_threads: u32,
    /// Dynamic shared memory allowed now, in bytes; raised by opting in.
    pub(crate) max_dynamic_shared: AtomicU32,
    pub(crate) static_shared: u32,
    /// `.reqntid`, where the image says so.
    pub(crate) required_block: Option<(u32, u32, u32)>,
    /// `.maxntid`, as far as the image is known.
    pub(crate) launch_bounds: LaunchBounds,
    /// The cluster shape fixed at compile time.
    pub(crate) required_cluster: Option<(u32, u32, u32)>,
    /// `.blocksareclusters`: the grid counts clusters.
    pub(crate) grid_counts_clusters: bool,
    pub(crate) parameters: Parameters,
    /// Their sizes in short, for lists that are gathered before each launch; like `verified`, it is the same as no other
    /// where there are rules beyond the limits.
    pub(crate) shape: KernelShape,
    /// Stands for it in the list of what may be blamed for a fault.
    pub(crate) number: u32,
    name: String,
    /// The module or library, which owns this in turn.
    owner: Option<Weak<dyn Any + Send + Sync>>,
}

// SAFETY: a CUfunction may be used from every thread: of what a driver makes, its documents except graphs alone
// ("Graph object thread safety"). The rest is Send.
unsafe impl Send for Kernel {}
// SAFETY: as above; what is changed through a shared reference is atomic, and the rest is Sync.
unsafe impl Sync for Kernel {}

impl Launched for Kernel {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn ordinal(&self) -> u32 {
        self.context.ordinal()
    }
}

impl Kernel {
    /// Looks up `name` in `module`.
    ///
    /// Driver calls: `cuModuleGetFunction`, and those of [`Kernel::describe`].
    ///
    /// # Safety
    /// 1. `module` is a module of `context`, and loaded as long as the result is used.
    pub(super) unsafe fn look_up(
        context: &CudaContext,
        module: CUmodule,
        name: &str,
        signature: Option<Signature>,
    ) -> Result<Self, Error> {
        let c_name = kernel_name(name)?;
        let mut raw = std::ptr::null_mut();
        context.call(
            "cuModuleGetFunction",
            || format!("kernel {name:?}"),
            // SAFETY: the module is loaded, by the caller's duty 1, in the context that `call` made current; the name is a `CString`, which
            // ends in NUL; it and `raw` are locals, which outlive the call.
            |driver| unsafe { driver.cuModuleGetFunction(&mut raw, module, c_name.as_ptr()) },
        )?;
        // SAFETY: 1: the driver has just found the function in the module, which stays loaded by the caller's duty 1.
        unsafe { Self::describe(context, raw, name, signature) }
    }

    /// Asks the driver about a function.
    ///
    /// Driver calls: `cuFuncGetParamInfo` for each parameter; where the image does not say how many there are, `cuFuncGetParamCount` before
    /// that, or in drivers before CUDA 13.2 `cuFuncGetParamInfo` once more; `cuFuncGetAttribute` for three limits and, from 11.8 on, three cluster dimensions.
    ///
    /// # Safety
    /// 1. `raw` is a function of `context`, and loaded as long as the result is used.
    pub(super) unsafe fn describe(
        context: &CudaContext,
        raw: CUfunction,
        name: &str,
        mut signature: Option<Signature>,
    ) -> Result<Self, Error> {
        context.bind()?;
        let limits = context.limits();
        let (grid, block) = (limits.max_grid_dim, limits.max_block_dim);
        // SAFETY: 1: the caller's duty 1.
        let attribute = |a| unsafe { function_attribute(context, raw, a, name) }.map(|v| v.max(0) as u32);
        let required_cluster = required_cluster(context, &attribute);
        let listed = signature.as_mut().and_then(|s| s.parameters.take());
        let required_block = signature.as_ref().and_then(|s| s.required_block);
        // SAFETY: 1: the caller's duty 1.
        let parameters = unsafe { parameters(context, raw, name, listed) }?;
        let plain = required_block.is_none() && required_cluster.is_none();
        let max_dims = [grid.0, grid.1, grid.2, block.0, block.1, block.2].map(biased);
        let max_threads =
            attribute(A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?.min(limits.max_threads_per_block);
        Ok(Self {
            raw,
            context_number: context_number(context),
            launch: context.driver().launch_kernel_ex(),
            max_dims,
            max_threads,
            max_dynamic_shared: AtomicU32::new(attribute(
                A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            )?),
            verified: Verified::of(max_dims, max_threads),
            attributes: AtomicU64::new(0),
            static_shared: attribute(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            required_block,
            launch_bounds: signature.as_ref().map_or(LaunchBounds::Unknown, |s| {
                s.max_threads.map_or(LaunchBounds::None, LaunchBounds::Threads)
            }),
            required_cluster,
            grid_counts_clusters: signature.is_some_and(|s| s.blocks_are_clusters),
            shape: if plain { parameters.shape() } else { KernelShape::UNKNOWN },
            parameters,
            number: context.fault().name(name),
            name: name.to_string(),
            owner: None,
            context: context.clone(),
        })
    }

    /// Whether launches have rules beyond the limits: `.reqntid`, or a cluster shape fixed at compile time.
    pub(crate) fn has_special_rules(&self) -> bool {
        self.required_block.is_some() || self.required_cluster.is_some()
    }

    /// The name that it was looked up by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, of this module or library, which owns it.
    pub(super) fn of(mut self, owner: Weak<dyn Any + Send + Sync>) -> Self {
        self.owner = Some(owner);
        self
    }

    /// A share in the module, for work that may run after everybody else has dropped it.
    pub(crate) fn module_share(&self) -> Option<Keep> {
        self.owner.as_ref()?.upgrade()
    }

    /// The raw function, valid as long as its module is loaded.
    pub fn raw(&self) -> CUfunction {
        self.raw
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// The parameter list, or why it is unknown.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Static shared memory per block, in bytes.
    pub fn static_shared_memory(&self) -> u32 {
        self.static_shared
    }

    /// Dynamic shared memory that a launch may currently request, in bytes.
    pub fn max_dynamic_shared_memory(&self) -> u32 {
        self.max_dynamic_shared.load(Ordering::Relaxed)
    }

    /// Reads an attribute; see [`CudaFunction::attribute`](crate::CudaFunction::attribute).
    pub(crate) fn attribute(&self, attribute: A) -> Result<i32, Error> {
        self.context.bind()?;
        // SAFETY: 1: the function is loaded as long as this is used (`Kernel::raw`).
        unsafe { function_attribute(&self.context, self.raw, attribute, &self.name) }
    }

    /// Asks again for the dynamic shared memory that launches may have.
    pub(super) fn refresh_limits(&self) -> Result<(), Error> {
        let bytes = self.attribute(A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?;
        self.max_dynamic_shared.store(bytes.max(0) as u32, Ordering::Relaxed);
        Ok(())
    }

    /// Sets an attribute; see [`CudaFunction::set_attribute`](crate::CudaFunction::set_attribute).
    pub(super) fn set_attribute(&self, attribute: A, value: i32) -> Result<(), Error> {
        self.context.call(
            "cuFuncSetAttribute",
            || format!("{:?} of {} to {value}", FunctionAttribute::from(attribute), self.name),
            // SAFETY: the function is loaded as long as this is used (`Kernel::raw`), in the context that `call` made current; the driver
            // checks the numbers.
            |driver| unsafe { driver.cuFuncSetAttribute(self.raw, attribute, value) },
        )?;
        if attribute == A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES {
            self.max_dynamic_shared.store(value.max(0) as u32, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.context.fault().forget(self);
    }
}

/// Orders dimensions so that one signed comparison with a limit serves both ends: zero comes after the largest.
#[inline(always)]
pub(crate) const fn biased(dim: u32) -> i32 {
    dim.wrapping_sub(1).wrapping_add(1 << 31).cast_signed()
}

/// The name as the driver takes it.
pub(super) fn kernel_name(name: &str) -> Result<CString, Error> {
    let invalid = |reason| Error::from(ErrorKind::Name { name: name.to_string(), reason });
    if name.is_empty() {
        return Err(invalid("it is empty"));
    }
    CString::new(name).map_err(|_| invalid("it contains a NUL byte"))
}

/// A name that the driver was asked for; `otherwise` where it reports success and names nothing.
///
/// # Safety
/// 1. `name` is null, or what the driver wrote just now: a C string, of something that is still loaded.
pub(super) unsafe fn driver_text(name: *const c_char, otherwise: impl FnOnce() -> String) -> String {
    if name.is_null() {
        return otherwise();
    }
    // SAFETY: not null, and so a C string of something that is still loaded, by the caller's duty 1; it is copied before that may change.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// # Safety
/// 1. `raw` is a function of `context`, and loaded.
// Asked for seven times where a kernel is described.
#[inline(never)]
unsafe fn function_attribute(
    context: &CudaContext,
    raw: CUfunction,
    attribute: A,
    name: &str,
) -> Result<i32, Error> {
    let mut value = 0;
    // SAFETY: the function is loaded, by the caller's duty 1, in the context that the callers have bound; `value` is a
    // local, which outlives the call.
    let code = unsafe { context.driver().cuFuncGetAttribute(&mut value, attribute, raw) };
    context.check(code, "cuFuncGetAttribute", || {
        format!("{:?} of {name}", FunctionAttribute::from(attribute))
    })?;
    Ok(value)
}

fn required_cluster(
    context: &CudaContext,
    attribute: &impl Fn(A) -> Result<u32, Error>,
) -> Option<(u32, u32, u32)> {
    if !context.limits().cluster_launch {
        return None;
    }
    let dim = |a| attribute(a).ok().filter(|&v| v != 0);
    let x = dim(A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?;
    let y = dim(A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT).unwrap_or(1);
    let z = dim(A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH).unwrap_or(1);
    Some((x, y, z))
}

/// The driver's list if it has one, with types and names from the image if those agree with it; the image's list if the
/// driver's ends early.
///
/// # Safety
/// 1. `raw` is a function of `context`, and loaded.
unsafe fn parameters(
    context: &CudaContext,
    raw: CUfunction,
    name: &str,
    image: Option<Vec<Parameter>>,
) -> Result<Parameters, Error> {
    let (mut count, mut sizes) = (None, None);
    if context.driver().has("cuFuncGetParamInfo") {
        if image.is_none() {
            // SAFETY: 1: the caller's duty 1.
            count = unsafe { driver_count(context, raw, name) }?;
        }
        // SAFETY: 1: the caller's duty 1.
        sizes = unsafe { driver_sizes(context, raw, name, image.as_ref().map(Vec::len), count) }?;
    }
    let Some(sizes) = sizes else {
        return Ok(match image {
            Some(list) => Parameters::Known(list, ParameterSource::Image),
            None => Parameters::Unknown(format!(
                "driver {} has no cuFuncGetParamInfo (CUDA 12.4), and the image does not list the parameters of {name}",
                context.driver_version()
            )),
        });
    };
    let agrees = |list: &Vec<Parameter>| {
        list.len() >= sizes.len() && list.iter().zip(&sizes).all(|(w, s)| w.size == *s)
    };
    Ok(match image.filter(agrees) {
        // A list from the driver that ends early does not mean that the kernel has fewer parameters: the driver also
        // returns INVALID_VALUE if a query failed.
        Some(list) if list.len() > sizes.len() => Parameters::Known(list, ParameterSource::Image),
        Some(list) => Parameters::Known(list, ParameterSource::Driver),
        None if sizes.is_empty() && count.is_none() => Parameters::Unknown(format!(
            "cuFuncGetParamInfo returned CUDA_ERROR_INVALID_VALUE for the first parameter of {name}, which may mean that the \
             kernel has none or that the call failed, and the image does not list the parameters"
        )),
        None => {
            let unnamed = |size| Parameter { size, ty: None, name: None };
            Parameters::Known(sizes.into_iter().map(unnamed).collect(), ParameterSource::Driver)
        }
    })
}

/// The number of parameters, if the driver can tell: since CUDA 13.2.
///
/// # Safety
/// 1. `raw` is a function of `context`, and loaded.
unsafe fn driver_count(context: &CudaContext, raw: CUfunction, name: &str) -> Result<Option<usize>, Error> {
    const CALL: &str = "cuFuncGetParamCount";
    if !context.driver().has(CALL) {
        return Ok(None);
    }
    let mut count = 0;
    // SAFETY: the function is loaded, by the caller's duty 1, in the context that `describe` has bound; `count` is a local, which outlives
    // the call.
    let code = unsafe { context.driver().cuFuncGetParamCount(raw, &mut count) };
    if code == CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER {
        return Ok(None);
    }
    context.check(code, CALL, || name.to_string()).map(|()| Some(count))
}

/// The size of each parameter, as far as the driver reports it: for the number of parameters that the image has `listed`, or that the
/// driver's own `count` gives. `None` if the driver returns that it is too old although the library has the function.
///
/// If the number is known from either, no parameter past the end is queried: the driver's INVALID_VALUE would be a normal answer there, but
/// tools that watch the API report it as a mistake. If the number is unknown, an INVALID_VALUE after the first parameter is taken as the
/// end, although a call that failed with that code looks the same. A driver without `cuFuncGetParamCount` has no other call that gives the
/// number: repeating the query, querying the next parameter, or `cuKernelGetParamInfo` would fail for the same reason as the first query,
/// unless the cause was temporary, and each would be one more result that tools report as a mistake.
///
/// # Safety
/// 1. `raw` is a function of `context`, and loaded.
unsafe fn driver_sizes(
    context: &CudaContext,
    raw: CUfunction,
    name: &str,
    listed: Option<usize>,
    count: Option<usize>,
) -> Result<Option<Vec<usize>>, Error> {
    let mut sizes = Vec::new();
    while listed.or(count).is_none_or(|most| sizes.len() < most) {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is loaded, by the caller's duty 1, in the context that `describe` has bound; the driver
        // checks the index; both outputs are locals, which outlive the call.
        let code = unsafe { context.driver().cuFuncGetParamInfo(raw, sizes.len(), &mut offset, &mut size) };
        match code {
            CUresult::CUDA_ERROR_INVALID_VALUE if count.is_none() => break,
            CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER => return Ok(None),
            code => context
                .check(code, "cuFuncGetParamInfo", || format!("parameter {} of {name}", sizes.len()))?,
        }
        sizes.push(size);
    }
    Ok(Some(sizes))
}
