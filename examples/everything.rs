//! What `cuda_launch!` accepts: structures, pointers, slices, closures, attributes, clusters, grid-wide barriers; and what it
//! refuses.
//!
//! `cargo run --example everything`

#![allow(unsafe_code)] // Launching kernels by name: each launch says which duties are met.

use cuda_launch::{Attribute, CudaContext, DeviceBuffer, DeviceCopy, Error, LaunchConfig, cuda_launch};

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    bias: f64,
    tag: u16,
    idx: [i32; 4],
}

fn main() -> Result<(), Error> {
    let ctx = CudaContext::new(0)?;
    let stream = ctx.new_stream()?;
    let module = ctx.load_module(include_str!("kernels/mix.ptx"))?; // text, or bytes of a cubin or fatbin
    let n = 1000u32;
    let x = DeviceBuffer::from_host(&stream, &(0..n).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, n as usize)?;
    let p = Params { scale: 2.0, bias: 0.5, tag: 7, idx: [1, 2, 3, 4] };

    // Fields in any order; a kernel by name, or `function: f` for one already looked up.
    // SAFETY: 1: mix takes the structure, two pointers, a count and a float; 2: it touches `n` elements, which both buffers
    // have; 3, 4: they are ordered for us, and nobody else uses them; 5, 6: it writes floats, and ends.
    unsafe {
        cuda_launch! {
            module: module, kernel: "mix", stream: stream, config: LaunchConfig::for_num_elems(n),
            args: [p, ptr(x), ptr_mut(y), n, 3.0f32],
        }
    }?;
    for (i, value) in y.to_host_vec(&stream)?.into_iter().enumerate() {
        let wanted = p.scale * 3.0 * i as f32 + p.bias as f32 + p.idx[i % 4] as f32;
        assert!((value - wanted).abs() <= wanted.abs() * 1e-6, "element {i}: {value}, not {wanted}");
    }
    println!("mix: {n} elements as on the host");

    // Every launch attribute the driver has; cluster_dim and cooperative have fields of their own.
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    // SAFETY: 1, 2: ranks takes one slice and writes one element per block, of eight; 3 to 6: as above, but of integers.
    // It may start before the previous kernel has ended: that is `mix`, which was waited for.
    unsafe {
        cuda_launch! {
            kernel: ranks, module: module, stream: stream,
            config: LaunchConfig::new((8, 1, 1), (32, 1, 1)),
            cluster_dim: (4, 1, 1),
            attributes: [Attribute::priority(-1), Attribute::programmatic_stream_serialization(true),
                         Attribute::preferred_shared_memory_carveout(50)],
            args: [slice_mut(out)]
        }
    }?;
    assert_eq!(out.to_host_vec(&stream)?, [0, 1, 2, 3, 0, 1, 2, 3]);
    println!("ranks: eight blocks in two clusters");

    let f = module.load_function("grid_sum")?;
    let blocks = (f.max_active_blocks(256, 0)? * ctx.multiprocessor_count()?).min(16);
    let xs = DeviceBuffer::from_host(&stream, &vec![1u32; 4096])?;
    let mut partial = DeviceBuffer::<u32>::zeroed(&stream, blocks as usize)?;
    let mut sum = DeviceBuffer::<u32>::zeroed(&stream, 1)?;
    // SAFETY: 1, 2: grid_sum reads 4096 elements, writes one partial sum per block and one sum; 3 to 5: as above; 6: all
    // blocks are resident: it is cooperative.
    unsafe {
        cuda_launch! {
            function: f, stream: stream, cooperative: true,
            config: LaunchConfig::new((blocks, 1, 1), (256, 1, 1)),
            args: [ptr(xs), 4096u32, ptr_mut(partial), ptr_mut(sum)]
        }
    }?;
    assert_eq!(sum.to_host_vec(&stream)?, [4096]);
    println!("grid_sum: {blocks} blocks waited for each other");

    // A closure, or any Copy value, is one by-value parameter.
    let (k, mut o) = (5u32, DeviceBuffer::<u32>::zeroed(&stream, 16)?);
    let add = move |i: u32| i + k;
    // SAFETY: 1: the kernel's parameter is what this closure captures, one u32; 2: it stays inside the slice;
    // 3 to 6: as above.
    unsafe {
        cuda_launch! { kernel: apply, module: module, stream: stream, config: LaunchConfig::for_num_elems(16),
        args: [byval(add), slice_mut(o)] }
    }?;
    assert!(o.to_host_vec(&stream)?.into_iter().eq((0..16).map(add)));
    println!("apply: the closure's value was added on the device");

    // What everyone else calls undefined behaviour is an error here, before the driver is called.
    // SAFETY: 1 to 6: nothing is launched: an f64 is refused where the kernel takes an f32, which `mix.ptx` declares.
    let wrong = unsafe {
        cuda_launch! { kernel: mix, module: module, stream: stream, config: LaunchConfig::for_num_elems(n),
        args: [p, ptr(x), ptr_mut(y), n, 3.0f64] }
    };
    let Err(error) = wrong else { unreachable!("an f64 is not an f32") };
    assert!(error.is_argument_mismatch());
    println!("\nrefused, as it should be:\n{error}");
    Ok(())
}
