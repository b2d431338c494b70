//! Launches with attributes: after the first they are warm, and what is checked of them is checked each time that it matters.
//! Against a table of Rust functions, and under Miri, as `packet` does.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

#[path = "support/rig.rs"]
mod rig;

use cuda_launch::launch::{PortableClusterMode, SynchronizationPolicy};
use cuda_launch::sys::{CUlaunchAttributeID, CUresult};
use cuda_launch::{Attribute, CudaContext, CudaFunction, CudaStream, Error, LaunchConfig, cuda_launch};
use rig::{ONE, PTX, Rig};
use support::{counted, expect_parameters, reset};

const EIGHT: LaunchConfig = LaunchConfig::new((8, 1, 1), (32, 1, 1));

/// One call site for all of them.
fn launch(
    f: &CudaFunction,
    stream: &CudaStream,
    config: LaunchConfig,
    attributes: &[Attribute<'_>],
) -> Result<(), Error> {
    reset();
    unsafe {
        cuda_launch! { function: f, stream: stream, config: config, args: [1u32], attributes: attributes }
    }
}

fn queries() -> usize {
    support::queries()
}

/// Which attributes the driver was given last.
fn ids() -> Vec<u32> {
    support::attributes()
}

#[test]
fn a_second_launch_with_attributes_is_one_call() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let priority = |level| Attribute::priority(level);
    let cluster = Attribute::cluster_dimension((2, 1, 1));
    for attributes in
        [vec![priority(1)], vec![cluster], vec![cluster, priority(1), Attribute::cooperative(false)]]
    {
        launch(&f, &rig.stream, EIGHT, &attributes).unwrap();
        // Other values of the same attributes need no look either, but for the shape of a cluster.
        for attributes in [attributes.clone(), attributes] {
            launch(&f, &rig.stream, EIGHT, &attributes).unwrap();
            assert_eq!((counted(), queries()), ((1, 1), 0));
            assert_eq!(ids(), attributes.iter().map(|attribute| attribute.raw().id.0).collect::<Vec<_>>());
        }
    }
    launch(&f, &rig.stream, EIGHT, &[]).unwrap();
    assert_eq!(ids(), [], "none are left over");
    // As fields, in a builder, and kept.
    for _ in 0..2 {
        reset();
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: EIGHT, args: [1u32], cluster_dim: (4, 1, 1), cooperative: true }
        }
        .unwrap();
    }
    assert_eq!((counted(), ids()), ((1, 1), vec![4, 2]));
    let mut builder = rig.stream.launch_builder(&f);
    builder.arg(&1u32).attribute(priority(1)).cluster_dim((2, 1, 1));
    let mut kept = builder.prepare(EIGHT).unwrap();
    reset();
    unsafe { kept.launch_on(&rig.stream) }.unwrap();
    assert_eq!((counted(), queries(), ids()), ((1, 1), 0, vec![4, 8]));
}

/// The shape of a cluster is compared with the grid each time, whatever was launched from the same place before.
#[test]
fn a_cluster_that_does_not_fit_is_refused_after_one_that_did() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let wide = LaunchConfig::new((16, 1, 1), ONE.block_dim);
    let cube = LaunchConfig::new((16, 16, 16), ONE.block_dim);
    let cluster = Attribute::cluster_dimension;
    let portable = |mode| Attribute::portable_cluster_size_mode(mode);
    let good = || {
        launch(&f, &rig.stream, EIGHT, &[cluster((2, 1, 1))]).unwrap();
        assert_eq!((counted(), ids()), ((1, 1), vec![4]));
    };
    good();
    for (config, shape) in [
        (EIGHT, (3, 1, 1)),
        (EIGHT, (0, 1, 1)),
        (EIGHT, (2, 0, 1)),
        (EIGHT, (2, 2, 1)),
        (wide, (16, 1, 1)),
        (wide, (1 << 31, 2, 1)),
        (wide, (1 << 16, 1 << 16, 1)),
        (cube, (4, 4, 1)),
        (cube, (2, 2, 4)),
        (LaunchConfig::new((7, 1, 1), ONE.block_dim), (2, 1, 1)),
    ] {
        let error = launch(&f, &rig.stream, config, &[cluster(shape)]).unwrap_err();
        assert!(error.is_launch_refused(), "{shape:?}: {error}");
        assert_eq!(counted().1, 0, "{shape:?}");
        good();
    }
    // Of several the last one counts, as for the driver.
    launch(&f, &rig.stream, EIGHT, &[cluster((3, 1, 1)), cluster((2, 1, 1))]).unwrap();
    assert!(launch(&f, &rig.stream, EIGHT, &[cluster((2, 1, 1)), cluster((3, 1, 1))]).is_err());
    let allowed = [cluster((16, 1, 1)), portable(PortableClusterMode::Default)];
    assert!(launch(&f, &rig.stream, wide, &allowed).is_err());
    // One that needs another beside it has none, whichever had it before.
    let preferred = Attribute::preferred_cluster_dimension((4, 1, 1));
    launch(&f, &rig.stream, EIGHT, &[cluster((2, 1, 1)), preferred]).unwrap();
    assert!(launch(&f, &rig.stream, EIGHT, &[preferred]).is_err());
    // The dimensions too.
    let error = launch(&f, &rig.stream, LaunchConfig::new((0, 1, 1), (32, 1, 1)), &[cluster((2, 1, 1))]);
    assert!(error.unwrap_err().is_launch_refused());
    good();
}

#[test]
fn what_other_launches_of_the_kernel_had_makes_no_other_attribute_right() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let priority = Attribute::priority(0);
    launch(&f, &rig.stream, ONE, &[priority]).unwrap();
    let of_streams = Attribute::synchronization_policy(SynchronizationPolicy::Spin);
    for _ in 0..2 {
        let error = launch(&f, &rig.stream, ONE, &[priority, of_streams]).unwrap_err();
        assert!(error.to_string().contains("a stream attribute"), "{error}");
        let error = launch(&f, &rig.stream, ONE, &[priority; 25]).unwrap_err();
        assert!(error.to_string().contains("25 launch attributes"), "{error}");
        launch(&f, &rig.stream, ONE, &[priority; 24]).unwrap();
        assert_eq!(ids(), [8; 24]);
    }
    // A driver that has the attribute, and an older one that does not: kernels of one site.
    let stream_of = |version| {
        let context = CudaContext::with_driver(&support::driver_of_version(version, &[]), 0).unwrap();
        expect_parameters(&[4]);
        let f = context.load_module(PTX).unwrap().load_function("k").unwrap();
        (context.new_stream().unwrap(), f)
    };
    let ((old, f_old), (new, f_new)) = (stream_of(12030), stream_of(13000));
    let carveout = Attribute::preferred_shared_memory_carveout(50);
    for _ in 0..3 {
        launch(&f_new, &new, ONE, &[carveout]).unwrap();
        let error = launch(&f_old, &old, ONE, &[carveout]).unwrap_err();
        assert!(error.to_string().contains("requires CUDA 12.5"), "{error}");
        assert!(launch(&f_new, &old, ONE, &[carveout]).unwrap_err().is_context_mismatch());
    }
}

/// Ids that have no bit of their own, the first of them among these.
#[test]
fn an_attribute_that_this_crate_does_not_know_arrives_each_time() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    for id in [63, 64, 65, u32::MAX] {
        let mut raw = Attribute::ignore().raw();
        raw.id = CUlaunchAttributeID(id);
        let unknown = unsafe { Attribute::from_raw(raw) };
        for _ in 0..3 {
            launch(&f, &rig.stream, ONE, &[unknown]).unwrap();
            assert_eq!((counted().1, ids()), (1, vec![id]));
        }
    }
}

/// An event is compared with the stream's context each time, and what the launch records is known of it.
#[test]
fn an_event_among_the_attributes_is_looked_at_each_time() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let other = CudaContext::with_driver(rig.stream.context().driver(), 1).unwrap();
    let (own, strange) = (rig.stream.context().new_event().unwrap(), other.new_event().unwrap());
    for _ in 0..3 {
        launch(&f, &rig.stream, ONE, &[Attribute::priority(0)]).unwrap();
        launch(&f, &rig.stream, ONE, &[Attribute::programmatic_event(&own, true)]).unwrap();
        assert_eq!(ids(), [7]);
        let error = launch(&f, &rig.stream, ONE, &[Attribute::programmatic_event(&strange, true)]);
        assert!(error.unwrap_err().is_context_mismatch());
    }
}

/// The driver answers that another context is current: the launch is made again, and has its attributes.
#[test]
fn a_refused_launch_is_told_with_its_attributes_and_the_next_one_is_checked() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let attributes = [Attribute::priority(0), Attribute::cluster_dimension((2, 1, 1))];
    launch(&f, &rig.stream, EIGHT, &attributes).unwrap();
    support::answer(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
    let error = launch(&f, &rig.stream, EIGHT, &attributes).unwrap_err();
    support::answer(CUresult::SUCCESS);
    let text = error.to_string();
    assert!(
        text.contains("attributes PRIORITY, CLUSTER_DIMENSION") && text.contains("clusters of this shape"),
        "{text}"
    );
    assert!(launch(&f, &rig.stream, EIGHT, &[Attribute::cluster_dimension((3, 1, 1))]).is_err());
    // Nothing is current on this thread, or what is gone, which the driver minds once.
    let context = rig.stream.context();
    use CUresult as R;
    for code in
        [R::CUDA_ERROR_INVALID_CONTEXT, R::CUDA_ERROR_INVALID_HANDLE, R::CUDA_ERROR_CONTEXT_IS_DESTROYED]
    {
        launch(&f, &rig.stream, EIGHT, &attributes).unwrap();
        support::reset();
        let _ = unsafe { context.driver().cuCtxSetCurrent(std::ptr::null_mut()) };
        support::answer_unless_current(code, context.raw().addr());
        launch(&f, &rig.stream, EIGHT, &attributes).unwrap();
        assert_eq!((counted().1, ids()), (2, vec![8, 4]), "{code:?}");
        support::answer(CUresult::SUCCESS);
    }
}
