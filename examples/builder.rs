//! For users of cudarc: a builder that knows which buffers are read and which are written.
//!
//! `cargo run --example builder`; `docs/migration/` has the other calls.

#![allow(unsafe_code)] // Launches of sin_kernel, which takes two pointers and the number of floats behind each.

use cuda_launch::event::EventFlags;
use cuda_launch::{CudaContext, DeviceBuffer, Error, LaunchConfig, load_kernel_module};
use std::panic::resume_unwind;
use std::thread;

fn main() -> Result<(), Error> {
    let ctx = CudaContext::new(0)?;
    let stream = ctx.default_stream();
    let f = load_kernel_module(&ctx, "sin")?.load_function("sin_kernel")?; // keeps its module alive

    let a = stream.clone_htod(&[1.0f32, 2.0, 3.0])?;
    let mut b = stream.alloc_zeros::<f32>(3)?;
    let other = stream.fork()?; // waits for the earlier work of `stream`

    // SAFETY: 1, 2: sin_kernel takes two pointers and the number of floats behind each, of which both buffers have 3;
    // 3, 4: the builder borrows and orders them; 5: it writes floats; 6: it ends.
    let events = unsafe {
        other
            .launch_builder(&f)
            .arg(&mut b) // written
            .arg(&a) // read
            .arg(&3i32)
            .record_kernel_launch(EventFlags::empty()) // events before and after
            .launch(LaunchConfig::for_num_elems(3))? // or .launch_cooperative(..), .attribute(..)
    };
    // `b` was last written on `other`: copying it on `stream` waits for that automatically.
    let host: Vec<f32> = stream.clone_dtoh(&b)?;
    for (got, x) in host.iter().zip([1.0f32, 2.0, 3.0]) {
        assert!((got - x.sin()).abs() < 1e-6);
    }
    if let Some((start, end)) = events {
        let ms = start.elapsed_ms(&end)?;
        assert!(ms > 0.0);
        println!("sin of 3 numbers: {host:?}, in {ms} ms");
    }

    // Views: the borrow checker sees device memory.
    let mut big = stream.alloc_zeros::<f32>(30)?;
    for mut part in big.chunks_mut(10) {
        // SAFETY: 1, 2: each part has 10 floats, of which the kernel writes 3; 3 to 6: as above.
        unsafe {
            stream
                .launch_builder(&f)
                .arg(&mut part)
                .arg(&a)
                .arg(&3i32)
                .launch(LaunchConfig::for_num_elems(3))?
        };
    }
    let (left, right) = big.split_at(10);
    assert_eq!((left.len(), right.slice(5..).len()), (10, 15));
    assert!(big.try_slice(25..40).is_none());
    assert_eq!(stream.clone_dtoh(&right)?.get(..4), Some([host[0], host[1], host[2], 0.0].as_slice()));

    // The same launch, checked once and submitted many times, with an argument set by name.
    let mut launch = stream
        .launch_builder(&f)
        .named("out", &mut b)
        .named("in", &a)
        .arg(&3i32)
        .prepare(LaunchConfig::for_num_elems(3))?;
    launch.set_ptr("in", &right)?;
    // SAFETY: 1: as above, with the first 3 floats of `right`, which has 20; 2: no other thread uses the memory.
    unsafe { launch.launch_on(&stream) }?;
    println!("sin of that: {:?}", stream.clone_dtoh(&b)?);

    // Contexts, modules and functions are shared between threads; streams and buffers may be sent.
    thread::scope(|s| {
        let threads: Vec<_> = (0..10)
            .map(|i| {
                let (ctx, f, a, host) = (&ctx, &f, &a, &host);
                s.spawn(move || -> Result<(), Error> {
                    let stream = ctx.new_stream()?;
                    let mut out = stream.alloc_zeros::<f32>(3)?;
                    let config = LaunchConfig::for_num_elems(3);
                    // SAFETY: 1, 2: both buffers have 3 floats; 3 to 6: as above.
                    unsafe { stream.launch_builder(f).arg(&mut out).arg(a).arg(&3i32).launch(config)? };
                    assert_eq!(&stream.clone_dtoh(&out)?, host, "thread {i}");
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    drop(DeviceBuffer::<f32>::uninit(&stream, 0)); // an empty buffer is fine everywhere
    Ok(())
}
