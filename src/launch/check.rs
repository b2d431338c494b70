//! The checks before the driver is called; `refused.rs` explains its refusals.
//!
//! The functions that a warm launch runs are a few comparisons; everything that builds a message is cold.

use cuda_driver_sys::{CUfunction_attribute as A, CUlaunchConfig};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use super::args::{ArgumentList, Memory, ParameterType, Role, Signature};
use super::attributes::Attribute;
use super::config::Dim3;
use super::guess::{guess, kind};
use super::launch_arguments::ParameterTypes;
use super::submit::{MAX_ATTRIBUTES, Request};
use crate::driver::{
    Kernel, Kind, LaunchBounds, Limits, StreamQueue, USUAL_DIMS, USUAL_THREADS, biased,
    kind as parameter_kind,
};
use crate::error::{
    ArgumentMismatch, AttributeError, Axis, Error, ErrorKind, LaunchError, Parameter, PassedArgument,
};

/// Whether a list of these types was found to match the kernel before, the stream is warm for the kernel, and the configuration is
/// within the limits.
#[inline(always)]
pub(super) fn is_warm<L: ArgumentList>(
    kernel: &Kernel,
    queue: &StreamQueue,
    config: &CUlaunchConfig,
) -> bool {
    is_verified(L::SIGNATURE, kernel, queue, config)
}

/// The same for types that are known at run time.
#[inline(always)]
pub(super) fn is_warm_for(
    types: ParameterTypes<'_>,
    kernel: &Kernel,
    queue: &StreamQueue,
    config: &CUlaunchConfig,
) -> bool {
    match types {
        ParameterTypes::Fixed(signature) => is_verified(signature, kernel, queue, config),
        ParameterTypes::Gathered(_) => {
            queue.is_warm_for(kernel)
                && !kernel.has_special_rules()
                && within_limits(kernel, config)
                && fits(kernel, types)
        }
    }
}

#[inline(always)]
fn is_verified(
    signature: Option<&'static Signature>,
    kernel: &Kernel,
    queue: &StreamQueue,
    config: &CUlaunchConfig,
) -> bool {
    let inside = match kernel.verified(address(signature), queue) {
        Some(Limits::Usual) => are_within(config, &USUAL_DIMS, USUAL_THREADS),
        Some(Limits::Own) => are_within(config, &kernel.max_dims, kernel.max_threads),
        None => false,
    };
    inside && within_shared(kernel, config)
}

/// Signatures are static, so one address identifies one list of types (the same list may have several addresses).
#[inline(always)]
fn address(signature: Option<&'static Signature>) -> usize {
    /// Its address stands for the list without arguments.
    static EMPTY: u8 = 0;
    signature.map_or_else(|| std::ptr::from_ref(&EMPTY).addr(), |it| std::ptr::from_ref(it).addr())
}

/// Compares the list with the kernel's parameters; remembers one that fits.
#[inline] // Reached by every launch that must wait for accesses on other streams.
pub(super) fn arguments(kernel: &Kernel, types: ParameterTypes<'_>) -> Result<(), Error> {
    let ParameterTypes::Fixed(signature) = types else { return compare(kernel, types) };
    // Reached by every launch with attributes.
    if kernel.has_verified(address(signature)) {
        return Ok(());
    }
    compare(kernel, types)?;
    if !kernel.has_special_rules() {
        kernel.verify(address(signature));
    }
    Ok(())
}

/// The same without remembering the result, for lists that are not launched now, or whose address may differ at the
/// launch.
pub(super) fn compare(kernel: &Kernel, types: ParameterTypes<'_>) -> Result<(), Error> {
    if fits(kernel, types) { Ok(()) } else { Err(mismatch(kernel, types)) }
}

/// Whether the arguments match the kernel's parameters in number and size, and none is a float for an integer or the reverse, as far
/// as the parameters are known.
pub(super) fn fits(kernel: &Kernel, types: ParameterTypes<'_>) -> bool {
    let mut types = types.iter();
    kernel.parameters.list().is_none_or(|wanted| {
        wanted.iter().all(|w| types.next().is_some_and(|g| fit(g, w))) && types.next().is_none()
    })
}

/// One argument for one parameter.
pub(super) fn fit(given: &ParameterType, wanted: &Parameter) -> bool {
    given.size == wanted.size && !clash(given, wanted)
}

/// Whether one is a float and the other an integer, where both are known.
pub(super) fn clash(given: &ParameterType, wanted: &Parameter) -> bool {
    let of_kernel = parameter_kind(wanted);
    // Names are compared only where the answer matters.
    of_kernel != Kind::Other && kind(given).clashes(of_kernel)
}

#[cold]
fn mismatch(kernel: &Kernel, types: ParameterTypes<'_>) -> Error {
    let given: Vec<ParameterType> = types.iter().copied().collect();
    let wanted = kernel.parameters.list().unwrap_or_default().to_vec();
    let same = given.iter().zip(&wanted).take_while(|(g, w)| fit(g, w)).count();
    ErrorKind::Arguments(ArgumentMismatch {
        kernel: name(kernel),
        at: same,
        guess: guess(&given, &wanted, same),
        given: given.iter().map(describe).collect(),
        wanted,
    })
    .into()
}

fn describe(parameter: &ParameterType) -> PassedArgument {
    let name = short_type_name((parameter.type_name)());
    let type_name = match parameter.role {
        Role::Value => name,
        Role::Bits => format!("byval({name})"),
        Role::Address => format!("address of [{name}]"),
        Role::Length => format!("length of [{name}]"),
        Role::Pointer => format!("DevicePtr<{name}>"),
        Role::Rows => format!("address of rows of {name}"),
        Role::Pitch => "pitch of rows".into(),
    };
    PassedArgument { size: parameter.size, type_name }
}

/// `std::any::type_name` without the paths of modules, which hide the name that matters.
pub(super) fn short_type_name(full: &str) -> String {
    let mut short = String::new();
    // Non-ASCII characters occur only in names.
    for part in
        full.split_inclusive(|c: char| c.is_ascii() && !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
    {
        short.push_str(part.rsplit(':').next().unwrap_or(part));
    }
    if short.ends_with("}}") || short.is_empty() { full.to_string() } else { short }
}

/// Checks that kernel, stream, buffers and events belong to one context.
pub(super) fn contexts(request: &Request<'_>, memory: &dyn Memory) -> Result<(), Error> {
    let (kernel, context) = (request.kernel, request.stream.context());
    let events = request.fields.iter().chain(request.attributes).filter_map(Attribute::event);
    let (what, object) = match memory.foreign_context(context) {
        _ if !kernel.context.is_same(context) => ("its module", &kernel.context),
        Some(foreign) => ("a buffer among its arguments", foreign),
        None => match events.map(|event| event.context()).find(|own| !own.is_same(context)) {
            Some(own) => ("the event of an attribute", own),
            None => return Ok(()),
        },
    };
    context.same_context(object, &format!("{}: {what}", kernel.name()), "the stream of the launch")
}

/// Compares grid, block and shared memory with the limits of kernel and device.
#[inline(always)]
pub(super) fn within_limits(kernel: &Kernel, config: &CUlaunchConfig) -> bool {
    are_within(config, &kernel.max_dims, kernel.max_threads) && within_shared(kernel, config)
}

/// Compares grid and block with the limits; those of the dimensions are biased.
///
/// Without short-circuiting between the dimensions, so that the comparisons do not depend on each other.
#[inline(always)]
fn are_within(c: &CUlaunchConfig, max_dims: &[i32; 6], max_threads: u32) -> bool {
    let dims = [c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ];
    let mut inside = true;
    for (value, most) in dims.into_iter().zip(max_dims) {
        inside &= biased(value) <= *most;
    }
    // With each factor inside the device's limits (1024, 1024, 64) the product cannot wrap.
    inside && c.blockDimX.wrapping_mul(c.blockDimY).wrapping_mul(c.blockDimZ) <= max_threads
}

/// Compares shared memory with the limit of the kernel, which may change between launches.
#[inline(always)]
pub(super) fn within_shared(kernel: &Kernel, config: &CUlaunchConfig) -> bool {
    // Zero first: for most launches it is a constant at compile time, and then the limit is not read.
    config.sharedMemBytes == 0 || config.sharedMemBytes <= kernel.max_dynamic_shared.load(Ordering::Relaxed)
}

/// Whether an earlier launch of the kernel passed the check of this attribute, and nothing else about it needs checking: the kernel
/// has no cluster shape of its own, as [`LaunchArguments::is_warm`](super::launch_arguments::LaunchArguments::is_warm) has
/// established.
#[inline(always)]
pub(super) fn attribute_verified(
    kernel: &Kernel,
    config: &CUlaunchConfig,
    attribute: &Attribute<'_>,
) -> bool {
    // A bit is set only after `dimensions` accepted a launch of the kernel with such an attribute. For attributes that have a bit, it
    // checks only the driver's version and whether the device supports clusters, neither of which changes for a kernel, and the dimensions
    // of a cluster. Attributes that refer to an object or depend on another attribute have no bit; a limit that an attribute lifts is
    // compared as if it were not lifted.
    attribute.is_among(kernel.attributes.load(Ordering::Relaxed))
        && attribute.cluster().is_none_or(|cluster| portable_cluster(config, cluster))
}

/// Whether every kernel without a cluster shape of its own may be launched with this one, on every device that supports clusters: the
/// part of [`clusters`] that depends on the dimensions. That the device supports clusters was checked when the attribute got its bit.
#[inline(always)]
fn portable_cluster(config: &CUlaunchConfig, (x, y, z): Dim3) -> bool {
    let (Some(x), Some(y), Some(z)) = (NonZeroU32::new(x), NonZeroU32::new(y), NonZeroU32::new(z)) else {
        return false;
    };
    // The product of two is limited to 8 before the third is multiplied in, so nothing overflows; no dimension is 0, so
    // none exceeds the product.
    let two = u64::from(x.get()) * u64::from(y.get());
    two <= PORTABLE
        && two * u64::from(z.get()) <= PORTABLE
        && config.gridDimX % x == 0
        && config.gridDimY % y == 0
        && config.gridDimZ % z == 0
}

/// Checks dimensions and attributes; the error names the first rule that is violated.
pub(super) fn dimensions(request: &Request<'_>) -> Result<(), Error> {
    let (kernel, config) = (request.kernel, request.config);
    let all = || request.fields.iter().chain(request.attributes);
    attributes_known(kernel, all(), request.fields.len() + request.attributes.len())?;
    grid_and_block(kernel, config)?;
    if !all().any(Attribute::lifts_shared_memory) {
        shared_memory(kernel, config)?;
    }
    let cluster = all().filter_map(Attribute::cluster).next_back();
    if cluster.or(kernel.required_cluster).is_none()
        && let Some(preferred) = all().find_map(Attribute::preferred_cluster)
    {
        return Err(preferred_alone(kernel, config, preferred));
    }
    clusters(kernel, config, cluster, all().any(Attribute::allows_non_portable))?;
    // Only now, because `clusters` checks that the device supports clusters.
    let bits = all().map(Attribute::plain_bit).fold(0, |all, bit| all | bit);
    if bits != 0 {
        kernel.attributes.fetch_or(bits, Ordering::Relaxed);
    }
    Ok(())
}

fn attributes_known<'a>(
    kernel: &Kernel,
    attributes: impl Iterator<Item = &'a Attribute<'a>>,
    count: usize,
) -> Result<(), Error> {
    let driver = kernel.context.driver_version();
    if count > MAX_ATTRIBUTES {
        return Err(ErrorKind::from(AttributeError::TooMany {
            kernel: name(kernel),
            count,
            limit: MAX_ATTRIBUTES,
        })
        .into());
    }
    for attribute in attributes {
        let (attribute_name, since) = (attribute.name(), attribute.since());
        if attribute.is_stream_only() {
            return Err(ErrorKind::from(AttributeError::StreamOnly {
                kernel: name(kernel),
                attribute: attribute_name,
            })
            .into());
        }
        if since > driver {
            let error =
                AttributeError::TooNew { kernel: name(kernel), attribute: attribute_name, since, driver };
            return Err(ErrorKind::from(error).into());
        }
    }
    Ok(())
}

fn grid_and_block(kernel: &Kernel, config: &CUlaunchConfig) -> Result<(), Error> {
    let limits = kernel.context.limits();
    let (grid, block) = (grid_dim(config), block_dim(config));
    if let Some((axis, value, limit)) = outside(grid, limits.max_grid_dim) {
        return Err(ErrorKind::from(LaunchError::Grid { kernel: name(kernel), axis, value, limit }).into());
    }
    if let Some((axis, value, limit)) = outside(block, limits.max_block_dim) {
        return Err(ErrorKind::from(LaunchError::Block { kernel: name(kernel), axis, value, limit }).into());
    }
    let threads = volume(block);
    if threads > u64::from(kernel.max_threads) {
        let (kernel, limit, why) = (name(kernel), kernel.max_threads, why_fewer_threads(kernel));
        return Err(ErrorKind::from(LaunchError::Threads { kernel, block, threads, limit, why }).into());
    }
    match kernel.required_block {
        // For a kernel with `.blocksareclusters`, block (1, 1, 1) stands for "as compiled".
        Some(required) if block != required && !(kernel.grid_counts_clusters && block == (1, 1, 1)) => {
            let error = LaunchError::RequiredBlock { kernel: name(kernel), given: block, required };
            Err(ErrorKind::from(error).into())
        }
        _ => Ok(()),
    }
}

/// The first axis whose extent is 0 or above its limit, both named.
fn outside(dim: Dim3, limit: Dim3) -> Option<(Axis, u32, u32)> {
    axes(dim, limit).into_iter().find(|&(_, value, limit)| value == 0 || value > limit)
}

/// The name of the kernel, for an error.
#[cold]
#[inline(never)]
fn name(kernel: &Kernel) -> String {
    kernel.name().to_string()
}

pub(super) fn grid_dim(config: &CUlaunchConfig) -> Dim3 {
    (config.gridDimX, config.gridDimY, config.gridDimZ)
}

pub(super) fn block_dim(config: &CUlaunchConfig) -> Dim3 {
    (config.blockDimX, config.blockDimY, config.blockDimZ)
}

fn axes(dim: Dim3, limit: Dim3) -> [(Axis, u32, u32); 3] {
    [(Axis::X, dim.0, limit.0), (Axis::Y, dim.1, limit.1), (Axis::Z, dim.2, limit.2)]
}

pub(super) fn volume((x, y, z): Dim3) -> u64 {
    u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z))
}

fn why_fewer_threads(kernel: &Kernel) -> String {
    let device = kernel.context.limits().max_threads_per_block;
    if kernel.max_threads == device {
        return ", as every kernel on this device\n  help: use smaller blocks, and more of them".into();
    }
    if kernel.launch_bounds == LaunchBounds::Threads(kernel.max_threads) {
        return format!(
            " ({device} on this device; the kernel was compiled for no more: `__launch_bounds__`, `.maxntid`)\n  help: use a \
             smaller block, or compile it with larger launch bounds"
        );
    }
    let registers = kernel.attribute(A::CU_FUNC_ATTRIBUTE_NUM_REGS).unwrap_or(0);
    let bounds = match kernel.launch_bounds {
        LaunchBounds::Unknown => "its launch bounds (`.maxntid`) or ",
        _ => "",
    };
    format!(
        " ({device} on this device; {bounds}its {registers} registers per thread, on the emulator an estimate, allow no more)\n  help: use a \
         smaller block, or compile it for larger ones: __launch_bounds__, or -maxrregcount"
    )
}

fn shared_memory(kernel: &Kernel, config: &CUlaunchConfig) -> Result<(), Error> {
    let (value, limit) = (config.sharedMemBytes, kernel.max_dynamic_shared_memory());
    if value <= limit {
        return Ok(());
    }
    let optin = kernel.context.limits().max_shared_memory_optin;
    let fixed = kernel.static_shared;
    let help = if value.saturating_add(fixed) <= optin {
        format!(
            "call set_max_dynamic_shared_memory({value}) on the function first; this device allows {optin} in all"
        )
    } else {
        format!(
            "this device allows {optin} bytes in all, static and dynamic together; request at most {} dynamic bytes",
            optin.saturating_sub(fixed)
        )
    };
    let kernel = name(kernel);
    Err(ErrorKind::from(LaunchError::SharedMemory { kernel, value, fixed, limit, help }).into())
}

/// The largest number of blocks per cluster that every device with clusters allows, and the largest that any device
/// allows.
const PORTABLE: u64 = 8;
const LARGEST: u64 = 16;

#[cold]
fn preferred_alone(kernel: &Kernel, config: &CUlaunchConfig, cluster: Dim3) -> Error {
    let why = "`preferred_cluster_dimension` needs `cluster_dim` (the attribute `cluster_dimension`) beside it\n  help: set that \
               too, for where the preferred shape does not fit"
        .to_string();
    ErrorKind::from(LaunchError::Cluster { kernel: name(kernel), cluster, grid: grid_dim(config), why })
        .into()
}

fn clusters(
    kernel: &Kernel,
    config: &CUlaunchConfig,
    given: Option<Dim3>,
    non_portable: bool,
) -> Result<(), Error> {
    let Some(cluster) = given.or(kernel.required_cluster) else { return Ok(()) };
    let grid = grid_dim(config);
    let refuse = |why: String| {
        let kernel = name(kernel);
        Err(Error::from(ErrorKind::from(LaunchError::Cluster { kernel, cluster, grid, why })))
    };
    let blocks = volume(cluster);
    if !kernel.context.limits().cluster_launch {
        return refuse(
            "this device does not support clusters, which need compute capability 9.0 or later\n  help: launch without a cluster".into(),
        );
    }
    if blocks == 0 {
        return refuse(
            "no dimension of a cluster may be 0\n  help: a cluster of (1, 1, 1) is one block".into(),
        );
    }
    if let Some(required) = kernel.required_cluster.filter(|&r| r != cluster) {
        return refuse(format!(
            "the kernel was compiled for clusters of {required:?}\n  help: use that shape, or set none"
        ));
    }
    if blocks > LARGEST {
        return refuse(format!(
            "{blocks} blocks; no device supports clusters of more than {LARGEST}\n  help: use smaller clusters"
        ));
    }
    let attribute = A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    if blocks > PORTABLE && !non_portable && kernel.attribute(attribute).is_ok_and(|v| v == 0) {
        return refuse(format!(
            "{blocks} blocks; without opting in the limit is {PORTABLE}\n  help: call set_non_portable_cluster_size_allowed(true) on the function first"
        ));
    }
    let divides = axes(grid, cluster).iter().all(|(_, blocks, size)| blocks % size == 0);
    if !divides && !kernel.grid_counts_clusters {
        return refuse("each dimension of the grid must be a multiple of the cluster's\n  help: round the grid up, and let the threads beyond the data return".into());
    }
    Ok(())
}
