//! Dimensions, contexts and attributes of launches, and what the driver refuses, against a table of Rust functions.
//! Runs under Miri, as `packet` does.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

#[path = "support/rig.rs"]
mod rig;

use cuda_launch::error::LaunchError;
use cuda_launch::launch::{
    AccessPolicyWindow, AccessProperty, ClusterSchedulingPolicy, MemSyncDomain, PortableClusterMode,
    SharedMemoryMode, SynchronizationPolicy,
};
use cuda_launch::sys::CUaccessProperty;
use cuda_launch::{
    Attribute, CudaContext, CudaEvent, CudaFunction, DeviceBuffer, ErrorKind, LaunchConfig, cuda_launch,
};
use rig::{ONE, PTX, Rig};
use support::{counted, expect_parameters, reset};

fn launch(rig: &Rig, f: &CudaFunction, config: LaunchConfig) -> Result<(), cuda_launch::Error> {
    reset();
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: config, args: [] }
    }
}

#[test]
fn dimensions_outside_the_limits_are_errors_with_value_and_limit() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let config = |grid_dim, block_dim, shared_mem_bytes| {
        LaunchConfig::new(grid_dim, block_dim).with_shared(shared_mem_bytes)
    };
    let one = (1, 1, 1);
    let big = i32::MAX as u32;
    for (bad, text) in [
        (config((0, 1, 1), one, 0), "grid x is 0 blocks; this device supports 1 to 2147483647"),
        (config((1, 0, 1), one, 0), "grid y is 0"),
        (config((1, 1, 0), one, 0), "grid z is 0"),
        (config((big + 1, 1, 1), one, 0), "grid x is 2147483648"),
        (config((u32::MAX, 1, 1), one, 0), "grid x is 4294967295"),
        (config((1, 65536, 1), one, 0), "grid y is 65536 blocks; this device supports 1 to 65535"),
        (config((1, 1, 65536), one, 0), "grid z is 65536"),
        (config(one, (0, 1, 1), 0), "block x is 0 threads; this device supports 1 to 1024"),
        (config(one, (1, 0, 1), 0), "block y is 0"),
        (config(one, (1, 1, 0), 0), "block z is 0"),
        (config(one, (1025, 1, 1), 0), "block x is 1025"),
        (config(one, (1, 1025, 1), 0), "block y is 1025"),
        (config(one, (1, 1, 65), 0), "block z is 65 threads; this device supports 1 to 64"),
        (
            config(one, (1024, 2, 1), 0),
            "2048 threads; the kernel takes at most 1024 here, as every kernel on this device",
        ),
        (config(one, (u32::MAX, u32::MAX, u32::MAX), 0), "block x is 4294967295"),
        (config(one, (1024, 1024, 64), 0), "67108864 threads"),
        (config((big, 65535, 65535), (1025, 1, 1), 0), "block x is 1025"),
        (config(one, one, 49153), "49153 bytes of dynamic shared memory"),
        (config(one, one, u32::MAX), "4294967295 bytes of dynamic shared memory"),
    ] {
        // Cold, and once a good launch has made the kernel warm.
        for _ in 0..2 {
            let error = launch(&rig, &f, bad).unwrap_err();
            assert!(
                error.is_launch_refused() && error.to_string().contains(text),
                "{error}\nshould say: {text}"
            );
            assert_eq!(counted().1, 0);
            launch(&rig, &f, ONE).unwrap();
        }
    }
    for good in [
        config((big, 65535, 65535), one, 0),
        config(one, (1024, 1, 1), 49152),
        config(one, (1, 1024, 1), 0),
        config(one, (4, 4, 64), 0),
    ] {
        launch(&rig, &f, good).unwrap();
        assert_eq!(counted(), (1, 1));
    }
}

#[test]
fn opting_in_raises_the_shared_memory_limit() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let config = ONE.with_shared(100_000);
    let error = launch(&rig, &f, config).unwrap_err();
    assert!(error.to_string().contains("set_max_dynamic_shared_memory(100000)"), "{error}");
    f.set_max_dynamic_shared_memory(100_000).unwrap();
    launch(&rig, &f, config).unwrap();
    let error = launch(&rig, &f, ONE.with_shared(300_000)).unwrap_err();
    let help = "this device allows 232448 bytes in all, static and dynamic together; request at most 232448 dynamic bytes";
    assert!(error.to_string().contains(help), "{error}");
}

#[test]
fn objects_of_two_contexts_do_not_meet() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8]);
    let driver = rig.stream.context().driver().clone();
    let other = CudaContext::with_driver(&driver, 1).unwrap().new_stream().unwrap();
    let (own, foreign) = (DeviceBuffer::<u8>::uninit(&rig.stream, 1), DeviceBuffer::<u8>::uninit(&other, 1));
    let (own, foreign) = (own.unwrap(), foreign.unwrap());
    for _ in 0..2 {
        reset();
        let error = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(foreign)] }
        };
        assert!(error.unwrap_err().to_string().contains(
            "a buffer among its arguments belongs to device 1, the stream of the launch to device 0"
        ));
        let error = unsafe {
            cuda_launch! { function: f, stream: other, config: ONE, args: [slice(foreign)] }
        };
        assert!(error.unwrap_err().is_context_mismatch());
        assert_eq!(counted(), (0, 0));
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(own)] }
        }
        .unwrap();
    }
    assert!(own.to_host_vec(&other).unwrap_err().is_context_mismatch());
    let (here, there) = (rig.stream.context().new_event().unwrap(), other.context().new_event().unwrap());
    for (event, fits) in [(&here, true), (&there, false)] {
        let result = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(own)],
            attributes: [Attribute::launch_completion_event(event)] }
        };
        assert_eq!(result.as_ref().err().map(|error| error.is_context_mismatch()), (!fits).then_some(true));
    }
    // Two handles of one device are one context.
    let again = CudaContext::with_driver(&driver, 0).unwrap();
    let buffer = DeviceBuffer::<u8>::uninit(&again.new_stream().unwrap(), 1).unwrap();
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(buffer)] }
    }
    .unwrap();
}

fn every_attribute(event: &CudaEvent) -> Vec<Attribute<'_>> {
    let window = AccessPolicyWindow::new(0x1000, 4096).hit_ratio(0.5).miss(AccessProperty::Streaming);
    vec![
        Attribute::ignore(),
        Attribute::access_policy_window(window),
        Attribute::cooperative(true),
        Attribute::cluster_dimension((2, 1, 1)),
        Attribute::cluster_scheduling_policy_preference(ClusterSchedulingPolicy::Spread),
        Attribute::programmatic_stream_serialization(true),
        Attribute::programmatic_event(event, true),
        Attribute::priority(-1),
        Attribute::mem_sync_domain_map(0, 1),
        Attribute::mem_sync_domain(MemSyncDomain::Remote),
        Attribute::preferred_cluster_dimension((4, 1, 1)),
        Attribute::launch_completion_event(event),
        Attribute::device_updatable_kernel_node(),
        Attribute::preferred_shared_memory_carveout(50),
        Attribute::nvlink_util_centric_scheduling(true),
        Attribute::portable_cluster_size_mode(PortableClusterMode::AllowNonPortable),
        Attribute::shared_memory_mode(SharedMemoryMode::AllowNonPortable),
    ]
}

#[test]
fn every_attribute_of_the_header_is_there_and_arrives() {
    let ids = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18];
    let ctx = CudaContext::with_driver(&support::driver_of_version(13050, &[]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    expect_parameters(&[]);
    let f = ctx.load_module(PTX).unwrap().load_function("k").unwrap();
    let event = ctx.new_event().unwrap();
    let all = every_attribute(&event);
    assert_eq!(all.iter().map(|a| a.raw().id.0).collect::<Vec<_>>(), ids);
    assert!(all.iter().all(|a| a.since() >= 11080 && !a.name().contains("unknown")));
    let window = unsafe { all[1].raw().value.accessPolicyWindow };
    assert_eq!((window.base_ptr.addr(), window.num_bytes, window.hitRatio), (0x1000, 4096, 0.5));
    assert_eq!(
        (window.hitProp, window.missProp),
        (CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING, CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING)
    );
    let updatable = all.iter().find(|a| a.name() == "DEVICE_UPDATABLE_KERNEL_NODE").unwrap();
    assert_eq!(unsafe { updatable.raw().value.deviceUpdatableKernelNode.deviceUpdatable }, 1);
    let grid = LaunchConfig::new((8, 1, 1), ONE.block_dim);
    unsafe {
        cuda_launch! { function: f, stream: stream, config: grid, args: [], attributes: all }
    }
    .unwrap();
    assert_eq!(support::attributes(), ids);
    let of_streams = [Attribute::synchronization_policy(SynchronizationPolicy::Spin)];
    let error = unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [], attributes: of_streams }
    };
    assert!(error.unwrap_err().to_string().contains("a stream attribute"));
    let many = vec![Attribute::ignore(); 25];
    let error = unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [], attributes: many }
    };
    assert!(error.unwrap_err().to_string().contains("25 launch attributes"));
}

#[test]
fn fields_become_attributes() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let grid = LaunchConfig::new((8, 1, 1), ONE.block_dim);
    unsafe {
        cuda_launch! { args: [], cooperative: true, attributes: [Attribute::priority(1)], cluster_dim: (4, 1, 1),
        config: grid, stream: rig.stream, function: f }
    }
    .unwrap();
    assert_eq!(support::attributes(), [4, 2, 8]);
    let launch = cuda_harness::null::last_launch();
    assert_eq!((launch.grid, launch.block, launch.shared_bytes), ([8, 1, 1], [32, 1, 1], 0));
}

#[test]
fn an_attribute_newer_than_the_driver_is_named_with_both_versions() {
    let ctx = CudaContext::with_driver(&support::driver_of_version(12030, &[]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    expect_parameters(&[]);
    let f = ctx.load_module(PTX).unwrap().load_function("k").unwrap();
    let event = ctx.new_event().unwrap();
    for attribute in every_attribute(&event) {
        reset();
        let config = LaunchConfig::new((8, 1, 1), ONE.block_dim);
        let result = unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [], attributes: [attribute] }
        };
        if attribute.since() <= 12030 {
            result.unwrap();
        } else {
            let text = result.unwrap_err().to_string();
            let since =
                format!("requires CUDA {}.{}", attribute.since() / 1000, attribute.since() % 1000 / 10);
            assert!(
                text.contains(attribute.name()) && text.contains(&since) && text.contains("CUDA 12.3"),
                "{text}"
            );
            assert_eq!(counted(), (0, 0));
        }
    }
}

#[test]
fn modes_lift_the_limits_of_a_launch() {
    let ctx = CudaContext::with_driver(&support::driver_of_version(13040, &[]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    expect_parameters(&[]);
    let f = ctx.load_module(PTX).unwrap().load_function("k").unwrap();
    let fits = |config: LaunchConfig, attributes: &[Attribute<'_>]| {
        let launched = unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [], attributes: attributes }
        };
        launched.map_err(|error| assert!(error.is_launch_refused(), "{error}")).is_ok()
    };
    let (wide, large) = (LaunchConfig::new((16, 1, 1), ONE.block_dim), ONE.with_shared(100_000));
    let cluster = Attribute::cluster_dimension((16, 1, 1));
    for (mode, allowed) in [
        (PortableClusterMode::Default, false),
        (PortableClusterMode::RequirePortable, false),
        (PortableClusterMode::AllowNonPortable, true),
    ] {
        assert_eq!(fits(wide, &[cluster, Attribute::portable_cluster_size_mode(mode)]), allowed, "{mode:?}");
    }
    assert!(!fits(large, &[Attribute::priority(2)]));
    for (mode, allowed) in [
        (SharedMemoryMode::Default, false),
        (SharedMemoryMode::RequirePortable, false),
        (SharedMemoryMode::AllowNonPortable, true),
        (SharedMemoryMode::AllowOversized, true),
        (SharedMemoryMode::PreferOversized, true),
    ] {
        assert_eq!(fits(large, &[Attribute::shared_memory_mode(mode)]), allowed, "{mode:?}");
    }
}

#[test]
fn a_stream_takes_no_attribute_newer_than_the_driver() {
    let attribute = || Attribute::mem_sync_domain(MemSyncDomain::Remote);
    let since = attribute().since();
    assert_eq!(
        Attribute::synchronization_policy(SynchronizationPolicy::Spin).name(),
        "SYNCHRONIZATION_POLICY"
    );
    for version in [since - 10, since, since + 10] {
        let driver = support::driver_of_version(version, &[]);
        let stream = CudaContext::with_driver(&driver, 0).unwrap().new_stream().unwrap();
        let error = stream.set_attribute(attribute()).unwrap_err();
        // The table has no such function.
        assert_eq!(error.call().is_none(), version < since, "{version}: {error}");
    }
}

/// The names of types in messages are without the paths of modules, except for closures, which have no name of their own.
#[test]
fn a_message_has_short_names_of_types() {
    mod inner {
        #[allow(non_camel_case_types)] // An underscore is part of a name.
        #[derive(Clone, Copy)]
        pub(super) struct Of_2<T>(pub(super) T);
    }
    let mut rig = Rig::new();
    let f = rig.kernel(&[64]);
    let long = inner::Of_2((1u8, inner::Of_2([1u16; 2])));
    let closure = move || long.0.0;
    let wrong = unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [byval(long)] }
    };
    let text = wrong.unwrap_err().to_string();
    assert!(text.contains("byval(Of_2<(u8, Of_2<[u16; 2]>)>)"), "{text}");
    let wrong = unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [byval(closure)] }
    };
    let text = wrong.unwrap_err().to_string();
    assert!(text.contains("::a_message_has_short_names_of_types::{{closure}}"), "{text}");
}

#[test]
fn clusters_that_do_not_fit_are_refused() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    for (grid, cluster, text) in [
        ((8, 1, 1), (3, 1, 1), "must be a multiple"),
        ((8, 1, 1), (0, 1, 1), "may be 0"),
        ((32, 1, 1), (32, 1, 1), "no device supports clusters of more than 16"),
        ((16, 1, 1), (16, 1, 1), "without opting in the limit is 8"),
    ] {
        let config = LaunchConfig::new(grid, ONE.block_dim);
        reset();
        let result = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: config, args: [], cluster_dim: cluster }
        };
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Launch(LaunchError::Cluster { .. })), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(counted().1, 0);
    }
}

#[test]
fn what_the_driver_refuses_comes_back_with_the_launch() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    support::answer(cuda_launch::sys::CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    let error = launch(&rig, &f, ONE).unwrap_err();
    assert_eq!(error.call(), Some("cuLaunchKernelEx"));
    let text = error.to_string();
    assert!(
        text.contains("kernel_1")
            && text.contains("32 registers per thread (on the emulator an estimate) times 32 threads"),
        "{text}"
    );
    assert!(!text.contains("attributes"), "{text}");
    use cuda_launch::sys::CUresult as Code;
    for (code, cooperative, hint) in [
        (Code::CUDA_ERROR_INVALID_CLUSTER_SIZE, false, "clusters of this shape"),
        (Code::CUDA_ERROR_INVALID_VALUE, true, "a cooperative launch cannot have"),
        (Code::CUDA_ERROR_INVALID_VALUE, false, "a rule unknown to this crate"),
    ] {
        support::answer(code);
        let result = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [],
            cooperative: cooperative, attributes: [Attribute::priority(-1)] }
        };
        let text = result.unwrap_err().to_string();
        assert!(text.contains(hint) && text.contains(", attributes ") && text.contains("PRIORITY"), "{text}");
    }
    support::answer(cuda_launch::sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let error = launch(&rig, &f, ONE).unwrap_err();
    assert!(error.is_sticky() && error.to_string().contains("restart it"), "{error}");
}

/// A fault names the launches that may have caused it: not one that the driver refused, though it was warm and so noted first.
#[test]
fn a_refused_launch_is_no_suspect() {
    use cuda_launch::sys::CUresult;
    let mut rig = Rig::new();
    let (refused, other) = (rig.kernel(&[4]), rig.kernel(&[4]));
    // With an argument: launches of kernels that take none are all examined.
    let launch = |f: &CudaFunction| unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1u32] }
    };
    launch(&refused).unwrap();
    rig.stream.synchronize().unwrap();
    support::answer(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_eq!(launch(&refused).unwrap_err().call(), Some("cuLaunchKernelEx"));
    support::answer(CUresult::SUCCESS);
    launch(&other).unwrap();
    support::answer(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let error = launch(&other).unwrap_err();
    let ErrorKind::Faulted(fault) = error.kind() else { panic!("{error}") };
    assert_eq!(
        fault.unfinished,
        [cuda_launch::error::UnfinishedLaunch::Kernel("kernel_2".into())],
        "{error}"
    );
}

/// What a refusal of the driver means for a launch, and the next step.
#[test]
fn a_refused_launch_is_told_with_a_hint_of_its_own() {
    use cuda_launch::sys::CUresult as R;
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    for (code, hint) in [
        (R::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "use a smaller block"),
        (R::CUDA_ERROR_NOT_SUPPORTED, "nothing was launched, and the context is still usable"),
        (R::CUDA_ERROR_INVALID_CLUSTER_SIZE, "cannot run clusters of this shape"),
        (R::CUDA_ERROR_INVALID_VALUE, "check the attributes first"),
    ] {
        support::answer(code);
        let refused = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1u32] }
        };
        support::answer(R::SUCCESS);
        let error = refused.unwrap_err();
        assert!(error.code() == Some(code) && error.to_string().contains(hint), "{error}");
    }
}

#[test]
fn a_driver_that_knows_no_parameters_says_why_and_launches() {
    let ctx =
        CudaContext::with_driver(&support::driver_of_version(12000, &["cuFuncGetParamInfo"]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let known = format!("{PTX}.visible .entry k(.param .u32 a) {{ ret; }}");
    let f = ctx.load_module(known).unwrap().load_function("k").unwrap();
    assert!(matches!(
        f.parameters(),
        cuda_launch::module::Parameters::Known(_, cuda_launch::module::ParameterSource::Image)
    ));
    let wrong = unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u64] }
    };
    assert!(wrong.unwrap_err().is_argument_mismatch());
    let f = ctx.load_module(PTX).unwrap().load_function("unlisted").unwrap();
    let cuda_launch::module::Parameters::Unknown(why) = f.parameters() else { panic!("nobody knows them") };
    assert!(why.contains("12000") && why.contains("cuFuncGetParamInfo"), "{why}");
    expect_parameters(&[8]);
    unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u64] }
    }
    .unwrap();
}
