//! What a launch and the wait for it cost, through the driver.

#![allow(unsafe_code)] // Launches of a kernel without parameters that does nothing.

use cuda_launch::{CudaContext, LaunchConfig, cuda_launch};
use std::fmt::Write as _;
use std::time::Instant;

/// Nanoseconds of a launch of a kernel that does nothing and the wait for it: the median of many.
pub(crate) fn empty() -> f64 {
    let mut times = Vec::new();
    launches(10_000, |time| times.push(time));
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Launches such a kernel and waits for it, that many times.
pub(crate) fn launches(count: usize, mut took: impl FnMut(f64)) {
    let ctx = CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(include_str!("kernels.ptx")).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (32, 1, 1));
    for _ in 0..count {
        let start = Instant::now();
        // SAFETY: 1: the kernel has no parameters; 2 to 5: it touches no memory; 6: it ends.
        unsafe {
            cuda_launch! { kernel: empty, module: module, stream: stream, config: config, args: [] }
        }
        .unwrap();
        stream.synchronize().unwrap();
        took(start.elapsed().as_nanos() as f64);
    }
}

/// Loads a module with that many variables, and looks the last one up.
pub(crate) fn variables(count: usize) {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    (0..count).for_each(|index| writeln!(text, ".visible .global .u32 v{index} = {index};").unwrap());
    let ctx = CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap();
    let module = ctx.load_module(&text).unwrap();
    assert_eq!(module.raw_global(&format!("v{}", count - 1)).unwrap().1, 4);
}
