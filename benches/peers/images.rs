//! The kernels that are launched and loaded.

use cuda_launch::CudaContext;
use cuda_launch::module::{JitOptions, Linker};

/// The kernel that all ways launch.
pub(crate) const FOUR: &str = include_str!("four.ptx");

/// A module of so many kernels of seven parameters, about 270 bytes each.
pub(crate) fn text(kernels: usize) -> String {
    let parameters =
        "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .f32 alpha, .param .u32 flags,";
    let kernel = |number: usize| {
        let code = "\t.reg .b32 r;\n\tld.param.u32 r, [n];\n\tadd.u32 r, r, 1;\n\tret;\n";
        format!(".visible .entry kernel_{number}{parameters} .param .align 8 .b8 shape[48])\n{{\n{code}}}\n")
    };
    let head = String::from(".version 7.8\n.target sm_52\n.address_size 64\n");
    (0..kernels).fold(head, |text, number| text + &kernel(number))
}

/// What this driver's linker makes of such a module: a cubin on a GPU, text with a zero behind it on the emulator.
pub(crate) fn linked(context: &CudaContext, kernels: usize) -> Vec<u8> {
    let mut linker = Linker::new(context, &JitOptions::new()).unwrap();
    linker.add(text(kernels), "kernels.ptx").unwrap();
    let mut image = linker.complete().unwrap().bytes;
    if !is_cubin(&image) && image.last() != Some(&0) {
        image.push(0);
    }
    image
}

pub(crate) fn is_cubin(image: &[u8]) -> bool {
    image.starts_with(b"\x7fELF")
}
