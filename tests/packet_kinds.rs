//! Kinds of arguments: a float for an integer of the same size, or the other way round, is refused where the image tells, by every way
//! to launch and whatever was launched before; `byval` passes bits.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod kernel_files;
mod support;

use cuda_launch::{
    CudaContext, CudaFunction, CudaStream, DevicePtr, LaunchBuilder, LaunchConfig, cuda_launch,
};
use support::{counted, expect_parameters, reset};

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
const PTX: &str = ".version 7.8\n.target sm_52\n.address_size 64\n";

struct Rig {
    stream: CudaStream,
}

impl Rig {
    fn new() -> Self {
        let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
        Self { stream: ctx.new_stream().unwrap() }
    }
}

fn packet() -> Vec<Vec<u8>> {
    support::packet()
}

/// A kernel that PTX says these parameters of, each with its size.
fn typed_kernel(rig: &Rig, parameters: &[(&str, usize)]) -> CudaFunction {
    expect_parameters(&parameters.iter().map(|(_, size)| *size).collect::<Vec<_>>());
    let list: Vec<String> =
        parameters.iter().enumerate().map(|(i, (ty, _))| format!(".param {ty} p{i}")).collect();
    let text = format!("{PTX}.visible .entry k({}) {{ ret; }}", list.join(", "));
    rig.stream.context().load_module(text).unwrap().load_function("k").unwrap()
}

/// Launches by the macro and the builder, cold and warm; all agree on whether the driver is called.
macro_rules! by_all {
    ($rig:expr, $f:expr, [$($x:expr),*]) => {{
        let (rig, f): (&Rig, &CudaFunction) = ($rig, &$f);
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(unsafe { cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [$($x),*] } });
            answers.push(unsafe { rig.stream.launch_builder(f)$(.arg(&$x))*.launch(ONE) }.map(drop));
            answers.push(rig.stream.launch_builder(f)$(.arg(&$x))*.prepare(ONE).map(drop));
            answers.push(cuda_launch::graph::KernelNode::new(f, ONE, &[], cuda_launch::kernel_args![$($x),*]).map(drop));
        }
        assert!(answers.iter().all(|answer| answer.is_ok() == answers[0].is_ok()), "{answers:?}");
        answers.swap_remove(0)
    }};
}

#[test]
fn a_float_for_an_integer_is_refused_where_the_image_tells() {
    let rig = Rig::new();
    let f = typed_kernel(&rig, &[(".f32", 4), (".u32", 4), (".f64", 8), (".s64", 8)]);
    let address = DevicePtr::<f64>::from_raw(0x1000);
    // Signatures of one shape, in turn: that one was found to fit says nothing of the next.
    for _ in 0..3 {
        by_all!(&rig, f, [1.0f32, 2u32, 3.0f64, 4i64]).unwrap();
        by_all!(&rig, f, [1.0f32, 2i32, 3.0f64, address]).unwrap();
        reset();
        let error = by_all!(&rig, f, [1i32, 2u32, 3.0f64, 4i64]).unwrap_err();
        assert!(error.is_argument_mismatch());
        assert_eq!(
            error.to_string().lines().next().unwrap(),
            "k: argument 0 is of type `i32`; the kernel's parameter 0 is a floating-point number, 4 bytes (.f32). Pass an `f32`; \
             `byval(x)` passes the bits as they are"
        );
        let error = by_all!(&rig, f, [1.0f32, 2.0f32, 3.0f64, 4i64]).unwrap_err().to_string();
        assert!(error.starts_with(
            "k: argument 1 is of type `f32`; the kernel's parameter 1 is an integer, 4 bytes (.u32)"
        ));
        assert!(error.contains("Pass a `u32` or an `i32`; `byval(x)` passes the bits"), "{error}");
        let error = by_all!(&rig, f, [1.0f32, 2u32, 3u64, 4.0f64]).unwrap_err().to_string();
        assert!(error.contains("Arguments 2 and 3 look swapped"), "{error}");
        for error in [
            by_all!(&rig, f, [1u32, 2u32, 3.0f64, 4i64]),
            by_all!(&rig, f, [1.0f32, 2u32, address, 4i64]),
            by_all!(&rig, f, [1.0f32, 2u32, 3usize, 4i64]),
            by_all!(&rig, f, [1.0f32, 2u32, 3.0f64, 4.0f64]),
        ] {
            assert!(error.unwrap_err().is_argument_mismatch());
        }
        assert_eq!(counted(), (0, 0));
    }
}

#[test]
fn what_the_image_does_not_tell_is_not_refused() {
    let rig = Rig::new();
    let f = typed_kernel(&rig, &[(".b32", 4), (".b64", 8), (".align 4 .b8", 1)]);
    by_all!(&rig, f, [1.0f32, 2.0f64, 3u8]).unwrap();
    by_all!(&rig, f, [1i32, 2u64, 3i8]).unwrap();
    // A structure says nothing, whatever is in it, nor does a kernel that no PTX is known of.
    let f = typed_kernel(&rig, &[(".f32", 4), (".u64", 8)]);
    by_all!(&rig, f, [[1u32], [2.0f64]]).unwrap();
    by_all!(&rig, f, [std::num::Wrapping(1u32), [2.0f32; 2]]).unwrap();
    expect_parameters(&[4, 8]);
    let f = rig.stream.context().load_module(PTX).unwrap().load_function("untold").unwrap();
    by_all!(&rig, f, [1.0f32, 2.0f64]).unwrap();
    by_all!(&rig, f, [1u32, 2u64]).unwrap();
}

#[test]
fn byval_passes_bits_of_any_kind() {
    let rig = Rig::new();
    let f = typed_kernel(&rig, &[(".f32", 4), (".u32", 4)]);
    let (a, b) = (7u32, 1.5f32);
    let host = [1u32, 2];
    let first = &host[0];
    for _ in 0..2 {
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [byval(a), byval(b)] }
        }
        .unwrap();
        assert_eq!(packet(), [a.to_ne_bytes(), b.to_ne_bytes()]);
        unsafe { rig.stream.launch_builder(&f).byval(&a).byval(&b).launch(ONE) }.unwrap();
        assert_eq!(packet(), [a.to_ne_bytes(), b.to_ne_bytes()]);
        unsafe { rig.stream.launch_builder(&f).arg(cuda_launch::foundation::Bits(&a)).byval(&b).launch(ONE) }
            .unwrap();
        // One of them only: the other is compared.
        let wrong = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [byval(a), b] }
        };
        assert!(wrong.unwrap_err().is_argument_mismatch());
        let wrong = unsafe { rig.stream.launch_builder(&f).byval(&a).arg(&b).launch(ONE) };
        assert!(wrong.unwrap_err().is_argument_mismatch());
    }
    let f = typed_kernel(&rig, &[(".u64", 8)]);
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [byval_borrowed(first)] }
    }
    .unwrap();
    assert_eq!(packet(), [std::ptr::from_ref(first).addr().to_ne_bytes()]);
    unsafe { rig.stream.launch_builder(&f).byval_borrowed(&first).launch(ONE) }.unwrap();
    assert_eq!(packet(), [std::ptr::from_ref(first).addr().to_ne_bytes()]);
    let sum = || host.iter().sum::<u32>();
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [named("f", byval_borrowed(sum))] }
    }
    .unwrap();
    assert_eq!(sum(), 3);
}

#[test]
fn long_lists_and_large_arguments_are_compared_too() {
    let rig = Rig::new();
    let f = typed_kernel(&rig, &[(".f32", 4); 17]);
    let (good, wrong) = ([1.0f32; 17], 1u32);
    let launch = |last: Option<&u32>| {
        let mut builder = rig.stream.launch_builder(&f);
        for x in &good[..16] {
            builder.arg(x);
        }
        match last {
            Some(wrong) => builder.arg(wrong),
            None => builder.arg(&good[16]),
        };
        unsafe { builder.launch(ONE) }
    };
    launch(None).unwrap();
    assert!(launch(Some(&wrong)).unwrap_err().is_argument_mismatch());
    launch(None).unwrap();
}

/// Gives the builder an argument for a parameter: of the right kind, or the other one. Answers whether PTX tells that it is wrong;
/// nothing for what this test has no argument of that size for.
#[cfg_attr(miri, allow(dead_code))] // Its test reads files.
fn push(
    builder: &mut LaunchBuilder<'_, '_>,
    parameter: &cuda_ptx::Parameter,
    signed: bool,
    odd: bool,
) -> Option<bool> {
    macro_rules! bytes {
        ($($size:literal)*) => {
            match parameter.size {
                $($size => { builder.byval(&[0u8; $size]); })*
                _ => return None,
            }
        };
    }
    let name = parameter.ty.name();
    let (is_float, is_integer) = (name.starts_with('f'), name.starts_with(['u', 's']));
    let is_told = !parameter.array && (is_float || is_integer);
    match (parameter.size, is_float != odd, signed) {
        (1 | 2 | 4 | 8, false, _) if !is_told => bytes! { 1 2 4 8 },
        (1, _, true) => {
            builder.arg(&1i8);
        }
        (1, _, false) => {
            builder.arg(&1u8);
        }
        (2, _, true) => {
            builder.arg(&1i16);
        }
        (2, _, false) => {
            builder.arg(&1u16);
        }
        (4, true, _) => {
            builder.arg(&1.0f32);
        }
        (4, false, true) => {
            builder.arg(&1i32);
        }
        (4, false, false) => {
            builder.arg(&1u32);
        }
        (8, true, _) => {
            builder.arg(&1.0f64);
        }
        (8, false, true) => {
            builder.arg(&1i64);
        }
        (8, false, false) => {
            builder.arg(const { &DevicePtr::<u8>::from_raw(8) });
        }
        _ => {
            bytes! { 3 5 6 7 12 16 20 24 28 32 36 40 48 56 64 72 80 96 100 104 128 256 512 1024 4000 4096 32764 }
        }
    }
    Some(is_told && odd && matches!(parameter.size, 4 | 8))
}

/// Every kernel of this tree with one right argument for each of its parameters, whichever sign an integer has; and with one of the
/// wrong kind at each place where PTX tells.
#[test]
#[cfg(not(miri))] // A hundred files.
fn no_kernel_of_this_tree_refuses_its_right_arguments() {
    let rig = Rig::new();
    let (mut right, mut wrong, mut without) = (0, 0, 0);
    for path in kernel_files::all(&kernel_files::root()) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let (Ok(ptx), Ok(module)) = (cuda_ptx::parse(&text), rig.stream.context().load_module(text.as_str()))
        else {
            continue;
        };
        let entries =
            ptx.functions.iter().filter(|f| f.kind == cuda_ptx::FunctionKind::Entry && f.body.is_some());
        for entry in entries {
            let parameters = entry.parameters();
            expect_parameters(&parameters.iter().map(|p| p.size).collect::<Vec<_>>());
            let f = module.load_function(entry.name).unwrap();
            let places = [None].into_iter().chain((0..parameters.len()).map(Some));
            for (signed, odd) in places.flat_map(|odd| [(false, odd), (true, odd)]) {
                let mut builder = rig.stream.launch_builder(&f);
                let pushed =
                    parameters.iter().enumerate().map(|(i, p)| push(&mut builder, p, signed, odd == Some(i)));
                let Some(told) = pushed.collect::<Option<Vec<bool>>>() else {
                    without += 1;
                    break;
                };
                let told = told.contains(&true);
                if odd.is_some() && !told {
                    continue; // Nothing says what this one is.
                }
                let error = builder.prepare(ONE).err();
                let mismatch = error.as_ref().is_some_and(cuda_launch::Error::is_argument_mismatch);
                assert_eq!(mismatch, told, "{}: {}: {error:?}", path.display(), entry.name);
                *(if told { &mut wrong } else { &mut right }) += 1;
            }
        }
    }
    println!("{right} right lists, {wrong} wrong ones; {without} kernels take what has no argument here");
    assert!(right > 400 && wrong > 400 && without < 40, "{right}, {wrong}, {without}");
}
