//! Contexts, streams, events, modules and functions on whichever driver is chosen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::{child, skipped};
use cuda_launch::event::TimingEvent;
use cuda_launch::sys::{CUdevice_attribute as A, CUresult};
use cuda_launch::{
    CudaContext, CudaEvent, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig, cuda_launch,
    load_kernel_module,
};
use std::ffi::OsStr;
use std::process::Command;

const FILL: &str = include_str!("../examples/kernels/fill.ptx");

fn context() -> CudaContext {
    CudaContext::new(0).unwrap()
}

/// Whether the kernels run on the emulator.
fn emulated() -> bool {
    context().device_name().unwrap().contains("emulator")
}

#[test]
fn handles_may_be_shared_and_sent() {
    fn both<T: Send + Sync>() {}
    both::<CudaContext>();
    both::<CudaStream>();
    both::<CudaEvent>();
    both::<TimingEvent>();
    both::<cuda_launch::CudaModule>();
    both::<cuda_launch::CudaFunction>();
    both::<cuda_launch::DeviceBuffer<f32>>();
    both::<cuda_launch::interop::ExternalMemoryHandle>();
    both::<cuda_launch::interop::ExternalSemaphoreHandle>();
    both::<cuda_launch::interop::OsHandle>();
    both::<cuda_launch::memory::PointerAttributes>();
    both::<cuda_launch::memory::CopySource<'_, f32>>();
    both::<cuda_launch::memory::CopyTarget<'_, f32>>();
    both::<cuda_launch::memory::RegionBatch<'_>>();
    both::<Error>();
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>(), "a launch returns one register");
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let error = CudaContext::new(99).unwrap_err();
    assert_eq!(
        (error.call(), error.code()),
        (Some("cuDeviceGet"), Some(CUresult::CUDA_ERROR_INVALID_DEVICE))
    );
    assert!(error.to_string().contains("device 99"), "{error}");
    assert!(CudaContext::new(u32::MAX).is_err());
}

/// One dependency with the feature `emulator` decides for a whole program, which must be able to see that.
#[test]
fn the_emulator_is_reported_once_if_nobody_asked_for_it() {
    const NAME: &str = "the_emulator_is_reported_once_if_nobody_asked_for_it";
    if child::is_child(NAME) {
        drop([context(), context()]);
        println!("{}", if emulated() { "on the emulator" } else { "on a GPU" });
    } else {
        let run = |driver: &str, quiet: &[&str]| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", NAME, "--nocapture"]).env("CUDA_LAUNCH_TEST_CHILD", NAME);
            command.env("CUDA_LAUNCH_DRIVER", driver).env_remove("CUDA_LAUNCH_QUIET");
            let output = command.envs(quiet.iter().map(|name| (name, "1"))).output().unwrap();
            let [stdout, stderr] =
                [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
            assert!(output.status.success(), "{stdout}{stderr}");
            (stdout.contains("on a GPU"), stderr.matches("using the CPU emulator, because").count())
        };
        match run("", &[]) {
            (true, lines) => {
                assert_eq!(lines, 0);
                skipped("it needs a machine without a GPU");
            }
            (false, lines) => {
                assert_eq!(lines, 1);
                assert_eq!(run("", &["CUDA_LAUNCH_QUIET"]), (false, 0));
                assert_eq!(run("emulator", &[]), (false, 0));
            }
        }
    }
}

#[test]
fn limits_are_the_devices() {
    let ctx = context();
    let limits = ctx.limits();
    assert_eq!((limits.warp_size, limits.max_threads_per_block), (32, 1024));
    assert_eq!(limits.max_grid_dim, (i32::MAX as u32, 65535, 65535));
    assert!(limits.max_shared_memory_optin >= limits.max_shared_memory && limits.multiprocessors > 0);
    let told = |attribute| ctx.device_attribute(attribute).unwrap();
    let numbers = [
        (A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, limits.multiprocessors),
        (A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, limits.max_shared_memory),
        (A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, limits.max_shared_memory_optin),
        (A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, limits.cooperative_launch.into()),
        (A::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, limits.cluster_launch.into()),
        (A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, limits.memory_pools.into()),
    ];
    for (attribute, limit) in numbers {
        assert_eq!(u32::try_from(told(attribute)), Ok(limit), "{attribute:?}");
    }
    // The emulator has the numbers of an H200.
    if emulated() || ctx.device_name().unwrap().contains("H200") {
        assert_eq!((limits.multiprocessors, limits.max_shared_memory), (132, 48 << 10));
        assert_eq!((limits.max_shared_memory_optin, limits.compute_capability), (227 << 10, (9, 0)));
        assert!(limits.cooperative_launch && limits.cluster_launch && limits.memory_pools);
    }
    assert!(ctx.driver_version() >= 11080 && ctx.limits().compute_capability >= (5, 0));
    let warp = ctx.device_attribute(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    assert_eq!(warp.unwrap(), 32);
    assert!(ctx.device_attribute(A(9999)).is_err());
}

#[test]
fn a_function_knows_its_parameters_and_outlives_its_module_handle() {
    let f = context().load_module(FILL).unwrap().load_function("fill").unwrap();
    let list = f.parameters().list().unwrap();
    assert_eq!(list.iter().map(|p| p.size).collect::<Vec<_>>(), [8, 4, 4]);
    assert_eq!(list[1].ty.as_deref(), Some(".u32"));
    assert_eq!((f.name(), f.max_threads_per_block(), f.static_shared_memory()), ("fill", 1024, 0));
    assert!(f.max_dynamic_shared_memory() >= 48 * 1024 && f.registers().is_ok() && f.local_memory().is_ok());
    let best = f.max_potential_block_size(0).unwrap();
    let block = best.block_threads;
    assert!(
        (1..=1024).contains(&block) && best.min_grid_blocks > 0 && f.max_active_blocks(block, 0).unwrap() > 0
    );
    let limit = f.context().limits().max_shared_memory_optin;
    f.set_max_dynamic_shared_memory(limit).unwrap();
    assert_eq!(f.max_dynamic_shared_memory(), limit);
    assert!(f.set_max_dynamic_shared_memory(limit + 1).is_err());
    assert_eq!(f.max_dynamic_shared_memory(), limit, "an opt-in that failed changes nothing");
}

#[test]
fn names_that_are_not_there_come_with_the_nearest() {
    let module = context().load_module(FILL).unwrap();
    let error = module.load_function("fil").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("did you mean fill?"), "{error}");
    assert!(matches!(module.load_function("a\0b").unwrap_err().kind(), ErrorKind::Name { .. }));
    assert!(module.load_function("").unwrap_err().to_string().contains("empty"));
    assert!(module.raw_global("nothing").unwrap_err().is_not_found());
    assert_eq!(module.kernel_names().collect::<Vec<_>>(), ["fill"]);
}

/// What each image is refused for, before the driver sees it or by it.
#[test]
fn bad_images_are_errors_that_say_where() {
    let ctx = context();
    let refuse = |image: &[u8]| ctx.load_module(image).unwrap_err();
    for bytes in [&b""[..], b"hello", b"\x7fELF", b"BC\xc0\xde", &[0x50, 0xed, 0x55, 0xba]] {
        let error = refuse(bytes);
        assert!(matches!(error.kind(), ErrorKind::Image { .. }), "{bytes:?}: {error}");
    }
    let cubin = include_bytes!("kernels/vecadd_sm90.cubin");
    let fatbin = include_bytes!("kernels/vecadd.fatbin");
    for cut in [4, 16, 64, 200, 1000, cubin.len() / 2, cubin.len() - 1] {
        assert!(matches!(refuse(&cubin[..cut]).kind(), ErrorKind::Image { .. }), "cubin cut to {cut}");
    }
    for cut in [4, 15, 16, 60, fatbin.len() / 2, fatbin.len() - 1] {
        assert!(matches!(refuse(&fatbin[..cut]).kind(), ErrorKind::Image { .. }), "fatbin cut to {cut}");
    }
    let header = ".version 7.8\n.target sm_52\n.address_size 64\n";
    let bad = format!("{header}.visible .entry k() {{\n  frobnicate;\n  ret;\n}}\n");
    let error = refuse(bad.as_bytes());
    let ErrorKind::Compiler(log) = error.kind() else { panic!("{error}") };
    assert_eq!((log.code, log.line), (CUresult::CUDA_ERROR_INVALID_PTX, Some(5)), "{error}");
    assert_eq!(log.excerpt.as_deref().map(str::trim), Some("frobnicate;"), "{error}");
    let error = refuse(b".version 99.9\n.target sm_90\n.address_size 64\n");
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
    assert!(error.to_string().contains("PTX ISA 99.9"), "{error}");
    let error = refuse(b".version 7.8\n.target sm_100\n.address_size 64\n");
    assert!(error.is_invalid_image(), "{error}");
    // The context is none the worse.
    ctx.load_module(FILL).unwrap().load_function("fill").unwrap();
    ctx.load_module(format!("{FILL}\0")).unwrap();
    ctx.load_module([FILL.as_bytes(), &[0; 100]].concat()).unwrap();
}

#[test]
fn a_file_is_loaded_and_named() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    for file in ["examples/kernels/vecadd.ptx", "tests/kernels/vecadd.fatbin"] {
        let module = ctx.load_module_from_file(file).unwrap();
        assert_eq!(module.origin(), file);
        let a = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0]).unwrap();
        let mut sum = DeviceBuffer::<f32>::zeroed(&stream, 3).unwrap();
        let config = LaunchConfig::for_num_elems(3);
        #[allow(unsafe_code)]
        // SAFETY: 1, 2: the kernel takes three slices and bounds its index by each; 3, 4: the buffers live until `to_host_vec`
        // below has waited for the stream, and nothing else uses them; 5: it writes floats; 6: it ends, it has no loop.
        unsafe {
            cuda_launch! { kernel: vecadd, module: module, stream: stream, config: config,
            args: [slice(a), slice(a), slice_mut(sum)] }
        }
        .unwrap();
        assert_eq!(sum.to_host_vec(&stream).unwrap(), [2.0, 4.0, 6.0]);
    }
    let error = ctx.load_module_from_file("tests/kernels/not_there.ptx").unwrap_err();
    let ErrorKind::File { path, .. } = error.kind() else { panic!("{error}") };
    assert!(path.ends_with("not_there.ptx"), "{error}");
    let folder = std::env::temp_dir().join(format!("cuda-launch-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let damaged = folder.join("damaged.cubin");
    std::fs::write(&damaged, b"\x7fELF cut").unwrap();
    let error = ctx.load_module_from_file(&damaged).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Image { .. }), "{error}");
    assert!(error.to_string().contains("damaged.cubin"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_cubin_for_another_device_names_both() {
    let ctx = context();
    if ctx.limits().compute_capability.0 == 8 && !emulated() {
        return skipped("the device runs it");
    }
    let error = ctx.load_module(include_bytes!("kernels/vecadd_sm80.cubin")).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU));
    let (major, minor) = ctx.limits().compute_capability;
    let text = error.to_string();
    let is_named = text.contains("sm_80") && text.contains(&format!("sm_{major}{minor}"));
    // What a cubin is for makes no difference there.
    assert_eq!((is_named, text.contains("help: load PTX instead")), (!emulated(), emulated()), "{text}");
}

#[test]
fn a_module_is_found_by_name_and_every_path_tried_is_listed() {
    let ctx = context();
    let folder = std::env::temp_dir().join(format!("cuda-launch-find-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("kernels")).unwrap();
    let error = load_kernel_module(&ctx, "surely_not_there").unwrap_err();
    let ErrorKind::Module(lost) = error.kind() else { panic!("{error}") };
    assert!(error.is_not_found() && lost.tried.len() >= 9, "{error}");
    let endings = "surely_not_there.cubin, .fatbin, .ptx, .ltoir, .bc, .ll, .cu: no such file";
    assert!(error.to_string().contains(endings), "{error}");
    // A file that does not load is passed over, and told about only if nothing else serves.
    std::fs::write(folder.join("found.cubin"), b"\x7fELF cut").unwrap();
    let run = |name: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child_finds_a_module", "--nocapture", "--ignored"]);
        child
            .env("CUDA_LAUNCH_KERNEL_DIR", &folder)
            .env("CUDA_LAUNCH_TEST_MODULE", name)
            .current_dir(&folder);
        String::from_utf8_lossy(&child.output().unwrap().stdout).into_owned()
    };
    let told = run("found");
    assert!(told.contains("found.cubin") && told.contains("found.fatbin, .ptx, "), "{told}");
    std::fs::write(folder.join("found.ptx"), FILL).unwrap();
    assert!(run("found").contains("loaded"), "{}", run("found"));
    std::fs::write(folder.join("kernels").join("beside.ptx"), FILL).unwrap();
    assert!(run("beside").contains("loaded"), "the current folder's kernels");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "run by the test above, in an environment of its own"]
fn child_finds_a_module() {
    let Ok(name) = std::env::var("CUDA_LAUNCH_TEST_MODULE") else { return };
    match load_kernel_module(&context(), &name) {
        Ok(module) => println!("loaded {}", module.origin()),
        Err(error) => println!("{error}"),
    }
}

/// The default driver in a process of its own, with these variables.
fn choose<V: AsRef<OsStr>>(variables: &[(&str, V)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_says_its_driver", "--nocapture", "--ignored"]);
    child.env_remove("CUDA_LAUNCH_DRIVER").envs(variables.iter().map(|(name, value)| (name, value)));
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "run by the test below, in an environment of its own"]
fn child_says_its_driver() {
    match CudaContext::new(0) {
        Ok(ctx) => println!("device: {}", ctx.device_name().unwrap()),
        Err(error) => println!("no device: {} {error}", error.is_no_driver()),
    }
}

#[test]
fn the_variable_chooses_the_driver() {
    assert!(choose(&[("CUDA_LAUNCH_DRIVER", "emulator")]).contains("emulator"));
    let told = choose(&[("CUDA_LAUNCH_DRIVER", "/nonexistent/libcuda.so")]);
    assert!(told.contains("no device: true") && told.contains("/nonexistent/libcuda.so"), "{told}");
    let told = choose(&[("CUDA_LAUNCH_DRIVER", "emulated")]);
    for part in [
        "CUDA_LAUNCH_DRIVER is \"emulated\", which is neither `system` nor `emulator`",
        "help: correct the variable, or unset it",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!told.contains("install"), "{told}");
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let told = choose(&[("CUDA_LAUNCH_DRIVER", OsStr::from_bytes(b"/no\xffwhere/libcuda.so"))]);
        assert!(
            told.contains("no device: true") && told.contains("where/libcuda.so"),
            "a name in no UTF-8: {told}"
        );
    }
    let unset = choose::<&str>(&[]);
    assert!(unset.contains("device: "), "some driver serves: {unset}");
    if emulated() {
        let told = choose(&[("CUDA_LAUNCH_DRIVER", "system")]);
        // A machine without a driver says so; one with a driver that the caller passed over may serve.
        assert!(told.contains("libcuda.so.1") || told.contains("device: "), "{told}");
    }
}

#[test]
fn two_drivers_serve_one_process() {
    let instance = cuda_emulator::Instance::new().unwrap();
    let (emulator, chosen) = (CudaContext::with_driver(&instance.driver(), 0).unwrap(), context());
    assert!(emulator.device_name().unwrap().contains("emulator"));
    let (a, b) = (emulator.new_stream().unwrap(), chosen.new_stream().unwrap());
    let x = cuda_launch::DeviceBuffer::from_host(&a, &[1u8, 2]).unwrap();
    let y = cuda_launch::DeviceBuffer::from_host(&b, &[3u8, 4]).unwrap();
    assert_eq!((x.to_host_vec(&a).unwrap(), y.to_host_vec(&b).unwrap()), (vec![1, 2], vec![3, 4]));
}
