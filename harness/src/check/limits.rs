//! Launches beyond what a device or a kernel allows.

use super::kernel::{Kernel, Limits};
use super::rule::Rule;
use crate::launch::Raw;

/// What is wrong with the size of a launch. `now` queries the kernel's current limits of threads and shared memory.
pub(super) fn broken(
    raw: &Raw,
    kernel: &Kernel,
    now: impl FnOnce() -> Option<(u32, u32)>,
) -> Option<(Rule, String)> {
    let limits = kernel.limits?;
    if let Some(message) = dimensions(raw, &limits) {
        return Some((Rule::LaunchDimensions, message));
    }
    let threads = threads(raw);
    if threads <= u64::from(limits.threads) && raw.shared <= limits.shared {
        return None;
    }
    let (most_threads, most_shared) = now()?;
    if threads > u64::from(most_threads) {
        let [x, y, z] = raw.block;
        let message = format!(
            "a block of ({x}, {y}, {z}) has {threads} threads, but this kernel allows {most_threads} threads per block"
        );
        return Some((Rule::BlockSize, message));
    }
    (raw.shared > most_shared).then(|| {
        let message =
            format!("{} bytes of dynamic shared memory, but this kernel allows {most_shared}", raw.shared);
        (Rule::SharedMemory, message)
    })
}

fn threads(raw: &Raw) -> u64 {
    raw.block.iter().map(|n| u64::from(*n)).product()
}

fn dimensions(raw: &Raw, limits: &Limits) -> Option<String> {
    for (what, sizes, most) in [("grid", raw.grid, limits.grid), ("block", raw.block, limits.block)] {
        for ((axis, size), most) in ["x", "y", "z"].iter().zip(sizes).zip(most) {
            if size == 0 {
                return Some(format!("the {what} has size 0 in {axis}"));
            }
            if size > most {
                return Some(format!("the {what} has size {size} in {axis}, but the device allows {most}"));
            }
        }
    }
    let threads = threads(raw);
    (threads > u64::from(limits.device_threads)).then(|| {
        let [x, y, z] = raw.block;
        format!(
            "a block of ({x}, {y}, {z}) has {threads} threads, but the device allows {} threads per block",
            limits.device_threads
        )
    })
}
