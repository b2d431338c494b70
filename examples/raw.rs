//! The raw layer alone: C names, no policy, no toolkit; a missing driver is an error in one place.
//!
//! `cargo run --example raw`

#![allow(unsafe_code)] // Raw driver calls: the handles come from the calls before, outputs are locals.

use cuda_driver_sys::{CUresult, Driver};
use std::ptr::{from_mut, null_mut};

/// The system's driver; the emulator if there is none, or if `CUDA_LAUNCH_DRIVER` says so.
fn driver() -> Driver {
    // Or Driver::open(path), Driver::from_lookup(|name| ...).
    let system = match std::env::var("CUDA_LAUNCH_DRIVER").as_deref() {
        Ok("emulator") => None,
        _ => Driver::system().map_err(|e| eprintln!("{e}")).ok(), // every name tried, and why each failed
    };
    system.unwrap_or_else(|| (*cuda_emulator::driver()).clone())
}

fn main() -> Result<(), String> {
    let cuda = driver();
    let ok = |r: CUresult| if r == CUresult::SUCCESS { Ok(()) } else { Err(format!("{r:?}")) }; // CUDA_ERROR_INVALID_VALUE (1)
    // SAFETY: each handle is the output of a call that succeeded, and is destroyed after its last use; outputs are locals. The
    // image and the name end in NUL; fill takes an address, a count and a value, as `params` has them, and writes 256 numbers,
    // which `mem` and `host` have; the copy waits for the launch.
    unsafe {
        ok(cuda.cuInit(0))?;
        let (mut device, mut ctx, mut module, mut f, mut mem) = (0, null_mut(), null_mut(), null_mut(), 0);
        ok(cuda.cuDeviceGet(&mut device, 0))?;
        ok(cuda.cuDevicePrimaryCtxRetain(&mut ctx, device))?;
        ok(cuda.cuCtxSetCurrent(ctx))?;
        ok(cuda
            .cuModuleLoadData(&mut module, concat!(include_str!("kernels/fill.ptx"), "\0").as_ptr().cast()))?;
        ok(cuda.cuModuleGetFunction(&mut f, module, c"fill".as_ptr()))?;
        ok(cuda.cuMemAlloc(&mut mem, 4 * 256))?; // the header's own name for cuMemAlloc_v2
        let (mut n, mut x) = (256u32, 7u32);
        let mut params = [from_mut(&mut mem).cast(), from_mut(&mut n).cast(), from_mut(&mut x).cast()];
        ok(cuda.cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, null_mut(), params.as_mut_ptr(), null_mut()))?;
        let mut host = [0u32; 256];
        ok(cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), mem, 4 * 256))?;
        assert_eq!(host, [7; 256]);
        ok(cuda.cuMemFree(mem))?;
        ok(cuda.cuModuleUnload(module))?;
        ok(cuda.cuDevicePrimaryCtxRelease(device))?;
    }
    println!("256 elements are 7");
    Ok(())
}
