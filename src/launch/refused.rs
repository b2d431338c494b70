//! Explanations of launches that the driver refused.

use cuda_driver_sys::{CUfunction_attribute as A, CUlaunchConfig, CUresult};

use super::attributes::Attribute;
use super::check::{block_dim, grid_dim, volume};
use super::submit::Request;
use crate::driver::{Kernel, host_call};
use crate::error::{DriverError, Error, joined, log};

/// The error for a launch that the driver refused, with the most likely reason.
#[cold]
pub(super) fn refused(code: CUresult, request: &Request<'_>) -> Error {
    let (kernel, config) = (request.kernel, request.config);
    let is_inside = code == CUresult::CUDA_ERROR_NOT_PERMITTED && host_call::is_running();
    if code.is_sticky() || code == CUresult::CUDA_ERROR_NOT_INITIALIZED || is_inside {
        // Not caused by this launch: an earlier kernel faulted, the process was forked, or this runs inside a host function, which a warm
        // launch does not check itself.
        return kernel.context.failed(code, "cuLaunchKernelEx", kernel.name().to_string());
    }
    let all: Vec<&Attribute<'_>> = request.fields.iter().chain(request.attributes).collect();
    let mut asked = format!(
        "{} with grid {:?}, block {:?}, {} bytes of dynamic shared memory",
        kernel.name(),
        grid_dim(config),
        block_dim(config),
        config.sharedMemBytes
    );
    if !all.is_empty() {
        let names = joined(all.iter().map(|attribute| attribute.name()), ", ");
        asked.push_str(&format!(", attributes {names}"));
    }
    if request.stream.capture().is_some() {
        asked.push_str(&format!(", recorded on {}", request.stream.label()));
    }
    let cooperative = all.iter().any(|a| a.is_cooperative());
    let call = "cuLaunchKernelEx";
    let version = Some(kernel.context().driver_version());
    let said = log::of_call(kernel.context.driver(), call, code);
    let hint = launch_hint(code, kernel, config, cooperative, said.reason.is_some());
    DriverError::of(said, call, code, asked, version, hint)
}

fn launch_hint(
    code: CUresult,
    kernel: &Kernel,
    config: &CUlaunchConfig,
    cooperative: bool,
    is_told: bool,
) -> Option<String> {
    let threads = volume(block_dim(config));
    match code {
        CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => {
            let resident = resident_blocks(kernel, config)?;
            let asked = volume(grid_dim(config));
            Some(format!(
                "{asked} blocks cannot run at once: this kernel and block size fit {resident} on the device; launch \
                 at most max_active_blocks(..) x multiprocessor_count()"
            ))
        }
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            let registers = kernel.attribute(A::CU_FUNC_ATTRIBUTE_NUM_REGS).unwrap_or(0);
            Some(format!(
                "{registers} registers per thread (on the emulator an estimate) times {threads} threads, or shared memory, do not fit: use a \
                 smaller block"
            ))
        }
        // The driver's own reason says more than the rest.
        _ if is_told => None,
        CUresult::CUDA_ERROR_NOT_SUPPORTED => {
            Some("this driver or device cannot run the kernel with this configuration, or the kernel launches graphs, which only a graph's kernel can (`CudaGraph::add_kernel`); nothing was launched, and the context is still usable".into())
        }
        CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE => {
            Some("the device cannot run clusters of this shape with this block and shared memory".into())
        }
        CUresult::CUDA_ERROR_INVALID_VALUE if cooperative => {
            Some("a cooperative launch cannot have this attribute, grid or stream".into())
        }
        CUresult::CUDA_ERROR_INVALID_VALUE => {
            Some("the driver enforces a rule unknown to this crate: check the attributes first".into())
        }
        _ => None,
    }
}

/// The number of blocks of this shape that the device can run at once.
#[allow(unsafe_code)]
fn resident_blocks(kernel: &Kernel, config: &CUlaunchConfig) -> Option<u64> {
    let mut blocks = 0;
    let driver = kernel.context.driver();
    let threads = i32::try_from(volume(block_dim(config))).ok()?;
    let shared = config.sharedMemBytes as usize;
    // SAFETY: the function is loaded as long as the kernel is used (`Kernel::raw`); `blocks` is a local that outlives
    // the call. A driver that requires the context to be current and finds another one returns an error.
    let code = unsafe {
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, kernel.raw, threads, shared)
    };
    let multiprocessors = u64::from(kernel.context.limits().multiprocessors);
    (code == CUresult::SUCCESS).then(|| blocks.max(0) as u64 * multiprocessors)
}
