//! More contexts than have numbers, against a table of Rust functions: those without a number are never warm, and are told apart all the
//! same. In a program of its own, as numbers are of the process.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/form.rs"]
mod form;
#[path = "support/rig.rs"]
mod rig;
mod support;

use cuda_launch::sys::CUresult;
use cuda_launch::{CudaFunction, CudaStream, DeviceBuffer, Error, cuda_launch};
use form::FORMS;
use rig::{ONE, Rig};
use support::{answer, counted, expect_parameters, reset};

/// So many have a number.
const NUMBERS: usize = 64;

/// A launch of a kernel without parameters, so that there is no memory that tells contexts apart.
type Way = fn(&CudaFunction, &CudaStream) -> Result<(), Error>;

const WAYS: &[Way] = &[
    |f, stream| unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [] }
    },
    |f, stream| unsafe { stream.launch_builder(f).launch(ONE) }.map(drop),
    |f, stream| unsafe { stream.launch_builder(f).prepare(ONE)?.launch_on(stream) }.map(drop),
];

/// Whether the third of three launches is warm: where it is refused for what is current, the driver is called again.
fn is_warm(rig: &Rig, mut launch: impl FnMut() -> Result<(), Error>) -> bool {
    rig.stream.context().bind().unwrap();
    (0..2).for_each(|_| launch().unwrap());
    answer(CUresult::CUDA_ERROR_INVALID_HANDLE);
    reset();
    launch().unwrap_err();
    answer(CUresult::SUCCESS);
    counted().1 == 2
}

#[test]
fn contexts_without_a_number_are_told_apart() {
    let mut numbered: Vec<Rig> = (0..NUMBERS).map(|_| Rig::new()).collect();
    let mut without = [Rig::new(), Rig::new()];
    let mut rigs: Vec<&mut Rig> = numbered[..2].iter_mut().chain(&mut without).collect();
    let kernels: Vec<_> = rigs.iter_mut().map(|rig| (rig.kernel(&[]), rig.kernel(&[8, 8, 8, 8]))).collect();
    let buffer = |stream: &CudaStream| DeviceBuffer::from_host(stream, &[0; 4]).unwrap();
    let mut buffers: Vec<_> = rigs.iter().map(|rig| [(); 2].map(|()| buffer(&rig.stream))).collect();
    for _ in 0..2 {
        for (on, rig) in rigs.iter().enumerate() {
            for (at, (empty, pairs)) in kernels.iter().enumerate() {
                let check = |launched: Result<(), Error>| match launched {
                    Ok(()) => assert_eq!((at, counted().1), (on, 1)),
                    Err(error) => assert!(at != on && error.is_context_mismatch() && counted().1 == 0),
                };
                expect_parameters(&[]);
                for way in WAYS {
                    reset();
                    check(way(empty, &rig.stream));
                }
                expect_parameters(&[8, 8, 8, 8]);
                let [from, to] = &mut buffers[at];
                for form in FORMS {
                    reset();
                    check(form.collect((pairs, &rig.stream, ONE), to, from));
                }
            }
        }
    }
    expect_parameters(&[]);
    for way in WAYS {
        for (rig, (empty, _)) in rigs.iter().zip(&kernels) {
            let has_number = !std::ptr::eq(*rig, rigs[2]) && !std::ptr::eq(*rig, rigs[3]);
            for stream in [&rig.stream, &rig.stream.context().default_stream()] {
                assert_eq!(is_warm(rig, || way(empty, stream)), has_number);
            }
        }
    }
    // Numbers come back, and are those of others then.
    drop((buffers, numbered));
    for _ in 0..2 * NUMBERS {
        let mut late = Rig::new();
        let kernel = late.kernel(&[]);
        for way in WAYS {
            assert!(is_warm(&late, || way(&kernel, &late.stream)));
            assert!(way(&kernel, &without[0].stream).unwrap_err().is_context_mismatch());
            assert!(way(&kernels[2].0, &late.stream).unwrap_err().is_context_mismatch());
        }
    }
}
