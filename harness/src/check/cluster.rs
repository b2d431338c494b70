//! Why a driver refused the cluster of a launch.
//!
//! The driver decides, because only it knows all limits: this only finds the one that was broken.
//!
//! Relies on: callers pass a live handle of the kind that they state, as duty 1 of `why` requires.
#![allow(unsafe_code)]

use super::kernel::{function_of, of_function};
use crate::launch::Raw;
use cuda_driver_sys::{CUfunction_attribute as Of, CUlaunchConfig, CUresult, Driver};
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// Blocks in a cluster that every device with clusters can have.
const PORTABLE: u32 = 8;

/// What the driver and the kernel say about clusters.
struct Kernel {
    /// What the kernel was compiled for or set to; zeros if it takes any.
    required: [u32; 3],
    has_to: bool,
    is_non_portable: bool,
    /// Blocks in a cluster that the device can have for this block and its shared memory.
    most: Option<u32>,
}

/// What is wrong with the cluster of a launch that returned `CUDA_ERROR_INVALID_CLUSTER_SIZE`.
///
/// # Safety
///
/// 1. The function of the launch is one of the driver, or a kernel if `of_library`, and is live until this returns.
pub(super) unsafe fn why(driver: &Driver, raw: &Raw, of_library: bool) -> String {
    // SAFETY: 1: duty 1.
    let function = if of_library { unsafe { function_of(driver, raw.function) } } else { Some(raw.function) };
    // SAFETY: 1: the handle itself, or the function that the driver has just returned for it, which lives as long: duty 1.
    let kernel = function.map(|function| unsafe { Kernel::ask(driver, raw, function) });
    kernel.and_then(|kernel| kernel.broken(raw)).unwrap_or_else(|| match asked(raw) {
        Some(cluster) => format!("the driver refuses a cluster of {}", tuple(cluster)),
        None => "the driver refuses the cluster of the launch".to_owned(),
    })
}

/// The cluster in the attributes of a launch.
fn asked(raw: &Raw) -> Option<[u32; 3]> {
    let cluster = raw.attributes.iter().rev().find_map(|attribute| attribute.cluster);
    cluster.filter(|cluster| *cluster != [0; 3])
}

impl Kernel {
    /// # Safety
    ///
    /// 1. It is a function of the driver, and is live until this returns.
    unsafe fn ask(driver: &Driver, raw: &Raw, function: u64) -> Kernel {
        // SAFETY: 1: the caller's duty 1.
        let of = |which| unsafe { of_function(driver, function, which) }.unwrap_or(0);
        Kernel {
            required: [
                of(Of::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
                of(Of::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                of(Of::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
            ],
            has_to: of(Of::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) != 0,
            is_non_portable: of(Of::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0,
            // SAFETY: 1: the caller's duty 1.
            most: unsafe { most(driver, raw, function) },
        }
    }

    fn broken(&self, raw: &Raw) -> Option<String> {
        let required = (self.required != [0; 3]).then(|| self.required.map(|size| size.max(1)));
        let cluster = match (asked(raw), required) {
            (Some(asked), _) if asked.contains(&0) => {
                return Some(format!("a cluster of {} has size 0", tuple(asked)));
            }
            (Some(asked), Some(required)) if asked != required => {
                let (asked, required) = (tuple(asked), tuple(required));
                return Some(format!("a cluster of {asked}, but this kernel has to have {required}"));
            }
            (Some(cluster), _) | (None, Some(cluster)) => cluster,
            (None, None) if self.has_to => {
                return Some("no cluster, but this kernel has to be launched with one".to_owned());
            }
            (None, None) => return None,
        };
        let blocks = cluster.iter().fold(1_u32, |product, size| product.saturating_mul(*size));
        let axes = ["x", "y", "z"].into_iter().zip(raw.grid).zip(cluster);
        for ((axis, grid), size) in axes {
            if !grid.is_multiple_of(size) {
                return Some(format!(
                    "a grid of size {grid} in {axis} is no multiple of the cluster, which has size {size} there"
                ));
            }
        }
        let cluster = format!("a cluster of {} has {blocks} blocks", tuple(cluster));
        if blocks > PORTABLE && !self.is_non_portable {
            return Some(format!("{cluster}, but this kernel allows {PORTABLE}"));
        }
        let most = self.most.filter(|most| blocks > *most)?;
        Some(format!(
            "{cluster}, but the device allows {most} of these blocks, with {} bytes of dynamic shared memory each",
            raw.shared
        ))
    }
}

/// The driver's own limit for a block of this size and shared memory.
///
/// # Safety
///
/// 1. It is a function of the driver, and is live until this returns.
unsafe fn most(driver: &Driver, raw: &Raw, function: u64) -> Option<u32> {
    let ([gx, gy, gz], [bx, by, bz]) = (raw.grid, raw.block);
    let config = CUlaunchConfig {
        gridDimX: gx,
        gridDimY: gy,
        gridDimZ: gz,
        blockDimX: bx,
        blockDimY: by,
        blockDimZ: bz,
        sharedMemBytes: raw.shared,
        hStream: null_mut(),
        attrs: null_mut(),
        numAttrs: 0,
    };
    let mut most = 0;
    let function = with_exposed_provenance_mut(function as usize);
    // SAFETY: the output and the configuration, which has no attributes, outlive the call; the function belongs to the driver and is live,
    // by the caller's duty 1.
    let answer = unsafe { driver.cuOccupancyMaxPotentialClusterSize(&mut most, function, &config) };
    if answer == CUresult::SUCCESS { u32::try_from(most).ok() } else { None }
}

fn tuple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}
