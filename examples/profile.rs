//! What each line of a kernel does, counted by the emulator: `cargo run --example profile`. It needs no GPU, and uses none.

#![allow(unsafe_code)] // Launches of strided_copy, which takes two pointers, a count and a stride.

use cuda_launch::{CudaContext, Error, LaunchConfig, cuda_launch, emulator, load_kernel_module};

fn main() -> Result<(), Error> {
    let ctx = CudaContext::with_driver(&cuda_emulator::driver(), 0)?;
    let stream = ctx.new_stream()?;
    let module = load_kernel_module(&ctx, "strided_copy")?;
    let strided_copy = module.load_function("strided_copy")?;
    let (n, stride) = (1000u32, 4u32);
    let from = stream.clone_htod(&vec![1.0f32; 4000])?;
    let mut to = stream.alloc_zeros::<f32>(1000)?;
    let config = LaunchConfig::for_num_elems(n);

    // One launch of a builder.
    let mut builder = stream.launch_builder(&strided_copy);
    builder.arg(&mut to).arg(&from).arg(&n).arg(&stride);
    // SAFETY: 1, 2: strided_copy takes two pointers, a count and a stride, reads so many floats so far apart, of which `from` has 4000, and
    // writes as many, of which `to` has 1000; 3, 4: the builder borrows and orders them; 5: it writes floats; 6: it ends.
    let profile = unsafe { builder.profile(config) }?;
    println!("{profile}");
    for instruction in &profile.instructions {
        let counts = instruction.counts;
        if counts.global_sectors > counts.global_sectors_ideal {
            let (line, name) = (instruction.ptx_line, &instruction.name);
            println!(
                "line {line}, {name}: {} sectors, {} would do",
                counts.global_sectors, counts.global_sectors_ideal
            );
        }
    }

    // Everything that some code launches: macros, typed modules, plans, graphs.
    let (_, kernels) = emulator::profile(&ctx, || {
        for stride in 1..=4u32 {
            // SAFETY: 1, 2: as above, no further apart; 3, 4: `from` and `to` are ordered; 5, 6: as above.
            unsafe {
                cuda_launch! {
                    function: strided_copy, stream: stream, config: config,
                    args: [ptr_mut(to), ptr(from), n, stride],
                }
            }?;
        }
        Ok(())
    })?;
    let total = kernels.iter().map(|kernel| kernel.total().global_sectors).sum::<u64>();
    println!("four launches: {total} sectors");
    // 125 for what each launch writes; for reads, a sector for 8, 4, 2.66 and 2 floats.
    assert_eq!(total, 4 * 125 + 125 + 250 + 375 + 500);
    Ok(())
}
