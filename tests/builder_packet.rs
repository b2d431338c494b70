//! The launch builder against a table of Rust functions: what reaches the driver, and what does not.
//! Runs under Miri (`cargo miri test --test builder_packet`): the table reads the packet as a driver does.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_launch::event::EventFlags;
use cuda_launch::foundation::Bits;
use cuda_launch::{
    Attribute, CudaContext, CudaFunction, CudaStream, DeviceBuffer, DeviceCopy, DevicePtr, DeviceSlice,
    Error, LaunchConfig, sys,
};
use std::marker::PhantomData;
use support::{counted, expect_parameters, marks, reset};

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
const PTX: &str = ".version 7.8\n.target sm_52\n.address_size 64\n";

struct Rig {
    stream: CudaStream,
    module: cuda_launch::CudaModule,
    names: usize,
}

impl Rig {
    fn new() -> Self {
        Self::on(&support::driver(&[]), 0)
    }

    fn on(driver: &std::sync::Arc<cuda_launch::Driver>, device: u32) -> Self {
        let ctx = CudaContext::with_driver(driver, device).unwrap();
        Self { stream: ctx.new_stream().unwrap(), module: ctx.load_module(PTX).unwrap(), names: 0 }
    }

    /// A kernel that says its parameters have these sizes.
    fn kernel(&mut self, sizes: &[usize]) -> CudaFunction {
        expect_parameters(sizes);
        self.names += 1;
        self.module.load_function(&format!("kernel_{}", self.names)).unwrap()
    }
}

fn packet() -> Vec<Vec<u8>> {
    support::packet()
}

fn attributes() -> Vec<u32> {
    support::attributes()
}

fn numbers(of: impl IntoIterator<Item = u32>) -> Vec<Vec<u8>> {
    of.into_iter().map(|n| n.to_ne_bytes().to_vec()).collect()
}

#[test]
fn every_kind_of_argument_arrives_byte_for_byte() {
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        bias: f64,
        idx: [i32; 4],
    }
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8, 8, 8, 32, 4, 8, 16, 8, 1, 4]);
    let a = DeviceBuffer::<f32>::uninit(&rig.stream, 5).unwrap();
    let mut b = DeviceBuffer::<u16>::uninit(&rig.stream, 6).unwrap();
    let (address, p) = (a.cu_deviceptr(), Params { scale: 2.0, bias: 0.5, idx: [1, 2, 3, 4] });
    let (k, l) = (3u64, 9u64);
    let closure = move || k + l;
    let foreign = DevicePtr::<u8>::from_raw(0x1234);
    for _ in 0..2 {
        unsafe {
            rig.stream
                .launch_builder(&f)
                .slice(&a)
                .arg(&a.slice(2..))
                .arg(&mut b)
                .arg(&p)
                .arg(&-1i32)
                .arg(&foreign)
                .byval(&closure)
                .arg(&[1u16, 2, 3, 4])
                .byval(&true)
                .arg(Bits(&'x'))
                .launch(ONE)
        }
        .unwrap();
        let packet = packet();
        assert_eq!(packet[0], address.to_ne_bytes());
        assert_eq!(packet[1], 5u64.to_ne_bytes());
        assert_eq!(packet[2], (address + 8).to_ne_bytes());
        assert_eq!(packet[3], b.cu_deviceptr().to_ne_bytes());
        assert_eq!(packet[4][..4], 2.0f32.to_ne_bytes());
        assert_eq!(packet[4][8..16], 0.5f64.to_ne_bytes());
        assert_eq!(packet[4][20..24], 2i32.to_ne_bytes());
        assert_eq!(packet[5], (-1i32).to_ne_bytes());
        assert_eq!(packet[6], 0x1234u64.to_ne_bytes());
        assert_eq!(packet[7], [3u64.to_ne_bytes(), 9u64.to_ne_bytes()].concat());
        assert_eq!(packet[8], [1u8, 0, 2, 0, 3, 0, 4, 0]);
        assert_eq!((&packet[9][..], &packet[10][..]), (&[1u8][..], &('x' as u32).to_ne_bytes()[..]));
    }
    assert_eq!(closure(), 12);
}

#[test]
fn a_warm_launch_is_one_call_and_the_first_is_no_more() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 4]);
    let mut x = DeviceBuffer::from_host(&rig.stream, &[0u8; 4]).unwrap();
    let mut builder = rig.stream.launch_builder(&f);
    builder.arg(&mut x).arg(&7u32);
    unsafe { builder.launch(ONE) }.unwrap();
    reset();
    for n in 1..5 {
        unsafe { builder.launch(ONE) }.unwrap();
        assert_eq!((counted(), marks()), ((n, n), vec![]));
    }
    let mut launch = builder.prepare(ONE).unwrap();
    assert_eq!(counted(), (4, 4), "preparing is no call");
    unsafe { launch.launch_on(&rig.stream) }.unwrap();
    assert_eq!(counted(), (5, 5));
    assert_eq!(support::queries(), 0, "and no cuCtxGetCurrent");
}

#[test]
fn wrong_lists_never_reach_the_driver() {
    let mut rig = Rig::new();
    let big = [0u8; 300];
    let mut other = DeviceBuffer::<f32>::uninit(&rig.stream, 4).unwrap();
    for sizes in [[8usize, 4].as_slice(), &[8, 4, 4], &[8], &[4, 8], &[300, 4], &[8, 4, 300]] {
        let f = rig.kernel(sizes);
        reset();
        // No arguments, too few, too many, swapped, one of another size, one more than fits into the short form.
        let mut lists: [cuda_launch::LaunchBuilder<'_, '_>; 6] =
            std::array::from_fn(|_| rig.stream.launch_builder(&f));
        lists[1].arg(&1u16);
        lists[2].arg(&other).arg(&1u32).arg(&2u32).arg(&3u32);
        lists[3].arg(&1u16).arg(&other);
        lists[4].arg(&other).arg(&1.0f64);
        lists[5].arg(&big).arg(&big);
        for builder in &mut lists {
            for _ in 0..2 {
                let error = unsafe { builder.launch(ONE) }.unwrap_err();
                assert!(error.is_argument_mismatch(), "{error}");
                assert!(builder.prepare(ONE).unwrap_err().is_argument_mismatch());
            }
        }
        assert_eq!(counted(), (0, 0));
    }
    let f = rig.kernel(&[8, 8, 4]);
    let message = |builder: &mut cuda_launch::LaunchBuilder<'_, '_>| {
        unsafe { builder.launch(ONE) }.unwrap_err().to_string()
    };
    let none = message(&mut rig.stream.launch_builder(&f));
    assert!(none.contains("kernel_7") && none.contains("8 bytes"), "{none}");
    let pointer = message(rig.stream.launch_builder(&f).arg(&mut other).arg(&4u32));
    assert!(pointer.contains("slice(x)") && pointer.contains("DevicePtr<f32>"), "{pointer}");
}

#[test]
fn no_arguments_are_right_for_a_kernel_without_parameters() {
    let rig = Rig::new();
    // An image that lists none: from a driver alone that is not known, as it says no more of a call that failed.
    let image = format!("{PTX}.visible .entry none() {{ ret; }}");
    let f = rig.stream.context().load_module(image).unwrap().load_function("none").unwrap();
    unsafe { rig.stream.launch_builder(&f).launch(ONE) }.unwrap();
    assert!(
        unsafe { rig.stream.launch_builder(&f).arg(&1u32).launch(ONE) }.unwrap_err().is_argument_mismatch()
    );
    let mut launch = rig.stream.launch_builder(&f).prepare(ONE).unwrap();
    unsafe { launch.launch_on(&rig.stream) }.unwrap();
    assert!(launch.names().is_empty());
}

#[test]
fn any_number_of_arguments() {
    let mut rig = Rig::new();
    let counts: &[u32] = if cfg!(miri) { &[15, 16, 17, 64] } else { &[15, 16, 17, 18, 64, 200] };
    for &count in counts {
        let f = rig.kernel(&vec![4; count as usize]);
        let values: Vec<u32> = (0..count).collect();
        let mut builder = rig.stream.launch_builder(&f);
        values.iter().for_each(|value| {
            builder.arg(value);
        });
        for _ in 0..2 {
            reset();
            unsafe { builder.launch(ONE) }.unwrap();
            assert_eq!(packet(), numbers(0..count));
        }
        assert_eq!(support::queries(), 0, "the second is warm: no cuCtxGetCurrent");
        unsafe { builder.prepare(ONE).unwrap().launch_on(&rig.stream) }.unwrap();
        assert_eq!(packet(), numbers(0..count));
        let error = unsafe { builder.arg(&1u32).launch(ONE) }.unwrap_err();
        assert!(error.is_argument_mismatch(), "one more than {count}");
    }
    let f = rig.kernel(&[8; 40]);
    let buffers: Vec<_> = (0..40).map(|_| DeviceBuffer::<u8>::uninit(&rig.stream, 1).unwrap()).collect();
    let mut builder = rig.stream.launch_builder(&f);
    buffers.iter().for_each(|buffer| {
        builder.arg(buffer);
    });
    let other = rig.stream.context().new_stream().unwrap();
    reset();
    unsafe { builder.prepare(ONE).unwrap().launch_on(&other) }.unwrap();
    assert_eq!(marks().len(), 2, "40 buffers of one stream: one record, one wait");
}

#[test]
fn what_has_no_size_is_no_parameter() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let (nothing, empty, phantom) = (|| (), [0u32; 0], PhantomData::<f64>);
    let mut builder = rig.stream.launch_builder(&f);
    builder.byval(&nothing).arg(&empty).named("lost", &phantom).named("left", &1u32).byval(&());
    unsafe { builder.launch(ONE) }.unwrap();
    assert_eq!(packet(), numbers([1]));
    let mut launch = builder.prepare(ONE).unwrap();
    assert_eq!(launch.names(), ["left"], "a name needs a parameter");
    launch.set("left", 5u32).unwrap();
    unsafe { launch.launch_on(&rig.stream) }.unwrap();
    assert_eq!(packet(), numbers([5]));
}

#[test]
fn a_name_may_stand_for_several_arguments() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4, 4, 4]);
    let mut builder = rig.stream.launch_builder(&f);
    let mut launch = builder.named("n", &1u32).arg(&2u32).named("n", &3u32).prepare(ONE).unwrap();
    launch.set("n", 7u32).unwrap();
    unsafe { launch.launch_on(&rig.stream) }.unwrap();
    assert_eq!(packet(), numbers([7, 2, 7]));
    let f = rig.kernel(&[4, 4]);
    let mut mixed = rig.stream.launch_builder(&f).named("n", &1u32).named("n", &1.0f32).prepare(ONE).unwrap();
    assert!(mixed.set("n", 7u32).unwrap_err().is_plan_error());
    unsafe { mixed.launch_on(&rig.stream) }.unwrap();
    assert_eq!(packet(), [1u32.to_ne_bytes(), 1.0f32.to_ne_bytes()], "nothing was set");
}

#[test]
fn a_value_is_set_where_its_name_is_among_others_of_its_type() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4, 4, 4]);
    let mut builder = rig.stream.launch_builder(&f);
    let mut launch = builder.named("a", &1u32).named("b", &2u32).named("c", &3u32).prepare(ONE).unwrap();
    for (name, value, expected) in [("a", 10u32, [10, 2, 3]), ("c", 30, [10, 2, 30]), ("b", 20, [10, 20, 30])]
    {
        launch.set(name, value).unwrap();
        unsafe { launch.launch_on(&rig.stream) }.unwrap();
        assert_eq!(packet(), numbers(expected), "{name}");
    }
}

#[test]
fn memory_of_one_name_may_stand_for_several_arguments() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8, 8]);
    let buffer = || DeviceBuffer::<u8>::uninit(&rig.stream, 1).unwrap();
    let (x, y, set) = (buffer(), buffer(), buffer());
    let address = |buffer: &DeviceBuffer<u8>| buffer.parts().address().to_ne_bytes().to_vec();
    let (of_y, of_set) = (address(&y), address(&set));
    let mut builder = rig.stream.launch_builder(&f);
    let mut launch = builder.named("m", &x).named("y", &y).named("m", &x).prepare(ONE).unwrap();
    launch.set_ptr("m", &set).unwrap();
    reset();
    drop(set);
    assert!(!marks().iter().any(|(what, _)| *what == "free"), "the launch has it");
    unsafe { launch.launch_on(&rig.stream) }.unwrap();
    assert_eq!(packet(), [of_set.clone(), of_y, of_set]);
    // A type that one of them does not take leaves both as they were.
    assert!(
        launch
            .set_ptr("m", &DeviceBuffer::<u32>::uninit(&rig.stream, 1).unwrap())
            .unwrap_err()
            .is_plan_error()
    );
    assert!(launch.set("m", 7u32).unwrap_err().is_plan_error());
}

/// What one name was set to is kept until that name is set again, or the launch ends.
#[test]
fn a_prepared_launch_keeps_the_memory_of_each_name() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8]);
    let buffer = || DeviceBuffer::<u8>::uninit(&rig.stream, 1).unwrap();
    let (x, y) = (buffer(), buffer());
    let mut launch = rig.stream.launch_builder(&f).named("x", &x).named("y", &y).prepare(ONE).unwrap();
    let frees = || marks().iter().filter(|(what, _)| *what == "free").count();
    let (first, second) = (buffer(), buffer());
    launch.set_ptr("x", &first).unwrap();
    launch.set_ptr("y", &second).unwrap();
    reset();
    drop((first, second));
    assert_eq!(frees(), 0, "the launch has both");
    launch.set_ptr("x", &x).unwrap();
    assert_eq!(frees(), 1, "that of x alone");
    launch.set_ptr("y", &y).unwrap();
    assert_eq!(frees(), 2);
}

#[test]
fn objects_of_two_contexts_are_named() {
    let driver = support::driver(&[]);
    let (mut here, mut there) = (Rig::on(&driver, 0), Rig::on(&driver, 1));
    let (f, g) = (here.kernel(&[8]), there.kernel(&[8]));
    let (mine, mut theirs) = (
        DeviceBuffer::<u8>::uninit(&here.stream, 1).unwrap(),
        DeviceBuffer::<u8>::uninit(&there.stream, 1).unwrap(),
    );
    reset();
    let refused = |error: Error, what: &str| {
        assert!(error.is_context_mismatch() && error.to_string().contains(what), "{error}");
    };
    refused(unsafe { here.stream.launch_builder(&g).arg(&mine).launch(ONE) }.unwrap_err(), "its module");
    refused(
        unsafe { here.stream.launch_builder(&f).arg(&theirs).launch(ONE) }.unwrap_err(),
        "a buffer among",
    );
    let mut builder = here.stream.launch_builder(&f);
    builder.arg(&mut theirs);
    refused(builder.prepare(ONE).unwrap_err(), "a buffer among");
    let timed = unsafe { builder.record_kernel_launch(EventFlags::empty()).launch(ONE) };
    refused(timed.unwrap_err(), "a buffer among");
    let mut launch = here.stream.launch_builder(&f).named("x", &mine).prepare(ONE).unwrap();
    refused(unsafe { launch.launch_on(&there.stream) }.unwrap_err(), "its module");
    let theirs = DeviceBuffer::<u8>::uninit(&there.stream, 1).unwrap();
    refused(launch.set_ptr("x", &theirs).unwrap_err(), "the memory");
    assert_eq!((counted().1, marks()), (0, vec![]), "nothing was launched, recorded or waited for");
}

#[test]
fn attributes_arrive_and_one_too_many_is_refused() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let wide = LaunchConfig::new((4, 1, 1), ONE.block_dim);
    let event = rig.stream.context().new_event().unwrap();
    let mut builder = rig.stream.launch_builder(&f);
    builder.cluster_dim((4, 1, 1)).cluster_dim((2, 1, 1)).cooperative(true).attribute(Attribute::priority(1));
    builder.attributes([Attribute::ignore(), Attribute::programmatic_event(&event, true)]);
    unsafe { builder.launch(wide) }.unwrap();
    let expected = [
        sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.0,
        sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE.0,
        sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY.0,
        sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_IGNORE.0,
        sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT.0,
    ];
    assert_eq!(attributes(), expected);
    let mut launch = builder.prepare(wide).unwrap();
    drop(builder);
    unsafe { launch.launch_on(&rig.stream) }.unwrap();
    assert_eq!(attributes(), expected, "the prepared launch borrows the event alone");

    let mut builder = rig.stream.launch_builder(&f);
    unsafe { builder.launch_cooperative(wide) }.unwrap();
    assert_eq!(attributes(), expected[1..2]);
    unsafe { builder.launch(wide) }.unwrap();
    assert!(attributes().is_empty(), "for that launch only");
    unsafe { builder.cooperative(true).cooperative(false).launch(wide) }.unwrap();
    assert!(attributes().is_empty());

    (0..24).for_each(|_| {
        builder.attribute(Attribute::ignore());
    });
    unsafe { builder.launch(wide) }.unwrap();
    assert_eq!(attributes().len(), 24);
    reset();
    let error = unsafe { builder.launch_cooperative(wide) }.unwrap_err();
    assert!(error.is_launch_refused() && error.to_string().contains("25"), "{error}");
    assert!(unsafe { builder.attributes(vec![Attribute::ignore(); 100]).launch(wide) }.is_err());
    assert!(builder.prepare(wide).is_err());
    let clusters = unsafe { rig.stream.launch_builder(&f).cluster_dim((3, 1, 1)).launch(wide) }.unwrap_err();
    assert!(clusters.is_launch_refused() && clusters.to_string().contains("(3, 1, 1)"), "{clusters}");
    assert_eq!(counted().1, 0);
}

#[test]
fn dimensions_are_checked_at_each_launch() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let mut builder = rig.stream.launch_builder(&f);
    builder.arg(&1u32);
    unsafe { builder.launch(ONE) }.unwrap();
    reset();
    for wrong in [
        LaunchConfig::new((0, 1, 1), ONE.block_dim),
        LaunchConfig::new(ONE.grid_dim, (1025, 1, 1)),
        LaunchConfig::new(ONE.grid_dim, (64, 32, 1)),
        ONE.with_shared(50_000),
    ] {
        assert!(unsafe { builder.launch(wrong) }.unwrap_err().is_launch_refused());
        assert!(builder.prepare(wrong).unwrap_err().is_launch_refused());
    }
    assert_eq!(counted(), (0, 0));
}

#[test]
fn the_first_event_comes_after_the_waits() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8]);
    let x = DeviceBuffer::<u8>::uninit(&rig.stream, 1).unwrap();
    let other = rig.stream.context().new_stream().unwrap();
    reset();
    let events =
        unsafe { other.launch_builder(&f).arg(&x).record_kernel_launch(EventFlags::empty()).launch(ONE) };
    assert!(events.unwrap().is_some());
    let (from, to) = (rig.stream.raw().addr(), other.raw().addr());
    assert_eq!(marks(), [("record", from), ("wait", to), ("record", to), ("record", to)]);
}

#[test]
fn what_the_driver_refuses_comes_back() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let mut builder = rig.stream.launch_builder(&f);
    builder.arg(&1u32);
    let mut launch = builder.prepare(ONE).unwrap();
    support::answer(sys::CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    for error in [
        unsafe { builder.launch(ONE) }.unwrap_err(),
        unsafe { builder.launch_cooperative(ONE) }.unwrap_err(),
        unsafe { launch.launch_on(&rig.stream) }.unwrap_err(),
    ] {
        assert!(error.to_string().contains("kernel_1 with grid (1, 1, 1)"), "{error}");
    }
    support::answer(sys::CUresult::SUCCESS);
    unsafe { builder.launch(ONE) }.unwrap();
}

#[test]
fn a_list_that_nobody_knows_is_not_compared() {
    let mut rig = Rig::on(&support::driver(&["cuFuncGetParamInfo"]), 0);
    let f = rig.kernel(&[4, 4]);
    for _ in 0..2 {
        unsafe { rig.stream.launch_builder(&f).arg(&1u32).arg(&2u32).launch(ONE) }.unwrap();
        assert_eq!(packet(), numbers([1, 2]));
    }
}

/// A prepared launch compares nothing again that stays as it is; what may change is compared each time.
#[test]
fn a_prepared_launch_is_refused_where_something_has_changed() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 4]);
    let mut x = DeviceBuffer::<u8>::uninit(&rig.stream, 4).unwrap();
    let mut builder = rig.stream.launch_builder(&f);
    let mut launch = builder.named("x", &mut x).arg(&7u32).prepare(ONE.with_shared(1000)).unwrap();
    let other = CudaContext::with_driver(rig.stream.context().driver(), 1).unwrap();
    let strange = other.new_stream().unwrap();
    for _ in 0..2 {
        unsafe { launch.launch_on(&rig.stream) }.unwrap();
        f.set_max_dynamic_shared_memory(500).unwrap();
        assert!(unsafe { launch.launch_on(&rig.stream) }.unwrap_err().is_launch_refused());
        f.set_max_dynamic_shared_memory(1000).unwrap();
        assert!(unsafe { launch.launch_on(&strange) }.unwrap_err().is_context_mismatch());
        reset();
        unsafe { launch.launch_on(&rig.stream) }.unwrap();
        assert_eq!(counted(), (1, 1));
    }
    // A stream that has not had the memory waits for the one that had.
    let second = rig.stream.context().new_stream().unwrap();
    reset();
    unsafe { launch.launch_on(&second) }.unwrap();
    assert_eq!(marks().len(), 2, "a record and a wait");
    assert!(builder.prepare(LaunchConfig::new((0, 1, 1), (32, 1, 1))).is_err());
}
