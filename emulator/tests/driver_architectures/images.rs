//! What runs on which device.

use super::*;

const SUCCESS: CUresult = CUresult::SUCCESS;
const INVALID_PTX: CUresult = CUresult::CUDA_ERROR_INVALID_PTX;

#[test]
fn targets_run_where_ptxas_says() {
    use Architecture::{Sm75, Sm80, Sm86, Sm89, Sm90, Sm100, Sm120};
    // The words of ptxas 13.0, which was asked for each of these.
    let newer = "SM version specified by .target is higher than default SM version assumed";
    let later = |target| format!("Program with .target '{target}' cannot be compiled to future architecture");
    let family = |target| {
        format!("Program with .target '{target}' cannot be compiled to different SM-family architecture")
    };
    let older = |version, target| format!("PTX .version {version} does not support .target {target}");
    let refused: &[(Architecture, &str, &str, String)] = &[
        (Sm90, "7.8", "sm_90a", older("7.8", "sm_90a")),
        (Sm100, "8.6", "sm_100f", older("8.6", "sm_100f")),
        (Sm120, "8.7", "sm_120f", older("8.7", "sm_120f")),
        (Sm90, "7.2", "sm_88", older("7.2", "sm_88")),
        (Sm80, "8.0", "sm_90", newer.into()),
        (Sm86, "7.8", "sm_89", newer.into()),
        (Sm75, "7.0", "sm_80", newer.into()),
        (Sm90, "8.6", "sm_100", newer.into()),
        (Sm90, "8.6", "sm_100a", newer.into()),
        (Sm100, "8.8", "sm_103", newer.into()),
        (Sm100, "8.8", "sm_103f", newer.into()),
        (Sm120, "8.8", "sm_121", newer.into()),
        (Sm100, "8.0", "sm_90a", later("sm_90a")),
        (Sm120, "8.0", "sm_90a", later("sm_90a")),
        (Sm120, "8.6", "sm_100a", later("sm_100a")),
        (Sm120, "8.8", "sm_100f", family("sm_100f")),
    ];
    for (architecture, version, target, words) in refused {
        let (_instance, cuda) = device(*architecture);
        let (code, log) = loads(&cuda, &ptx(version, target));
        assert_eq!(code, INVALID_PTX, "{target} on {architecture}");
        assert!(log.contains(words.as_str()), "{target} on {architecture}: {log}");
    }
    let accepted = [
        (Sm75, "7.0", "sm_75"),
        (Sm80, "8.0", "sm_75"),
        (Sm86, "7.0", "sm_80"),
        (Sm89, "7.3", "sm_88"),
        (Sm90, "8.0", "sm_90a"),
        (Sm100, "8.0", "sm_90"),
        (Sm100, "8.6", "sm_100a"),
        (Sm100, "8.8", "sm_100f"),
        (Sm120, "8.8", "sm_103"),
        (Sm120, "8.7", "sm_120a"),
        (Sm120, "8.8", "sm_120f"),
    ];
    for (architecture, version, target) in accepted {
        let (_instance, cuda) = device(architecture);
        assert_eq!(
            loads(&cuda, &ptx(version, target)),
            (SUCCESS, String::new()),
            "{target} on {architecture}"
        );
    }
}

#[test]
fn the_target_option_is_one_that_the_device_has() {
    let (_instance, cuda) = device(Architecture::Sm80);
    let text = std::ffi::CString::new(ptx("7.0", "sm_75")).unwrap();
    let load = |target: usize| {
        let (mut module, mut option) = (null_mut(), CUjit_option::CU_JIT_TARGET);
        let mut value = std::ptr::without_provenance_mut(target);
        unsafe { cuda.cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 1, &mut option, &mut value) }
    };
    assert_eq!((load(80), load(75)), (SUCCESS, SUCCESS));
    assert_eq!(load(86), CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    // With bits that mean no letter, and a letter that it never had.
    assert_eq!([0x3_0000 + 80, 0x1_0000 + 80].map(load), [CUresult::CUDA_ERROR_INVALID_IMAGE; 2]);
}

/// A fatbin with PTX for these architectures; the letter is that of the target.
fn fatbin(entries: &[(u8, Option<char>, String)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (sm, letter, text) in entries {
        let mut header = [0; 64];
        header[..8].copy_from_slice(&[1, 0, 1, 1, 64, 0, 0, 0]);
        header[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
        header[28] = *sm;
        header[42] = match letter {
            None => 0,
            Some('a') => 0x10,
            Some(_) => 0x20,
        };
        body.extend(header);
        body.extend(text.as_bytes());
    }
    [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], &(body.len() as u64).to_le_bytes()[..], &body].concat()
}

/// A module with one kernel, named for its target.
fn named(version: &str, target: &str) -> String {
    format!(".version {version}\n.target {target}\n.address_size 64\n.visible .entry {target}() {{ ret; }}\n")
}

/// An image with entries for several devices.
fn several() -> Vec<u8> {
    fatbin(&[
        (80, None, named("7.0", "sm_80")),
        (90, None, named("7.8", "sm_90")),
        (90, Some('a'), named("8.0", "sm_90a")),
        (100, Some('f'), named("8.8", "sm_100f")),
        (120, None, named("8.7", "sm_120")),
    ])
}

/// The kernel of a module.
fn kernel(cuda: &Driver, module: CUmodule) -> String {
    let (mut function, mut name) = (null_mut(), std::ptr::null());
    unsafe {
        ok(cuda.cuModuleEnumerateFunctions(&mut function, 1, module));
        ok(cuda.cuFuncGetName(&mut name, function));
        std::ffi::CStr::from_ptr(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn of_a_fatbin_a_device_takes_the_newest_that_it_runs() {
    let bytes = several();
    for (architecture, expected) in [
        (Architecture::Sm80, "sm_80"),
        (Architecture::Sm86, "sm_80"),
        (Architecture::Sm89, "sm_80"),
        (Architecture::Sm90, "sm_90a"),
        (Architecture::Sm100, "sm_100f"),
        (Architecture::Sm120, "sm_120"),
    ] {
        let (_instance, cuda) = device(architecture);
        let mut module = null_mut();
        ok(unsafe { cuda.cuModuleLoadData(&mut module, bytes.as_ptr().cast()) });
        assert_eq!(kernel(&cuda, module), expected, "{architecture}");
    }
    let (_instance, cuda) = device(Architecture::Sm75);
    let (code, log, _) = load_with_logs(&cuda, bytes.as_ptr().cast());
    assert_eq!(code, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert!(log.contains("no PTX for sm_75 or older"), "{log}");
}

#[test]
fn a_library_is_another_image_on_each_device() {
    let bytes = several();
    let (_instance, cuda) = instance(&[Architecture::Sm75, Architecture::Sm86, Architecture::Sm120]);
    let mut library = null_mut();
    let (none, nothing) = (null_mut(), null_mut());
    ok(unsafe {
        cuda.cuLibraryLoadData(
            &mut library,
            bytes.as_ptr().cast(),
            none,
            nothing,
            0,
            null_mut(),
            null_mut(),
            0,
        )
    });
    for (ordinal, expected) in [(1, "sm_80"), (2, "sm_120")] {
        enter(&cuda, ordinal);
        let mut module = null_mut();
        ok(unsafe { cuda.cuLibraryGetModule(&mut module, library) });
        assert_eq!(kernel(&cuda, module), expected);
    }
    enter(&cuda, 0);
    let code = unsafe { cuda.cuLibraryGetModule(&mut null_mut(), library) };
    assert_eq!(code, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    ok(unsafe { cuda.cuLibraryUnload(library) });
}

#[test]
fn the_attributes_of_a_kernel_are_those_of_the_device() {
    let (_instance, cuda) = instance(&[Architecture::Sm75, Architecture::Sm120]);
    let text = std::ffi::CString::new(ptx("7.0", "sm_75")).unwrap();
    let (mut library, mut kernel) = (null_mut(), null_mut());
    let (none, nothing) = (null_mut(), null_mut());
    unsafe {
        let image = text.as_ptr().cast();
        ok(cuda.cuLibraryLoadData(&mut library, image, none, nothing, 0, null_mut(), null_mut(), 0));
        ok(cuda.cuLibraryGetKernel(&mut kernel, library, c"room".as_ptr()));
    }
    let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // The larger first: the other device could not have it.
    for (device, number, most) in [(1, 120, 99 << 10), (0, 75, 64 << 10)] {
        let of = |id| {
            let mut value = 0;
            ok(unsafe { cuda.cuKernelGetAttribute(&mut value, id, kernel, device) });
            value
        };
        assert_eq!(of(CUfunction_attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION), number);
        let set = |bytes| unsafe { cuda.cuKernelSetAttribute(dynamic, bytes, kernel, device) };
        assert_eq!((set(most), set(most + 1)), (SUCCESS, CUresult::CUDA_ERROR_INVALID_VALUE));
        // What is set for one device is not for the other.
        enter(&cuda, device);
        let (mut function, mut value) = (null_mut(), 0);
        ok(unsafe { cuda.cuKernelGetFunction(&mut function, kernel) });
        ok(unsafe { cuda.cuFuncGetAttribute(&mut value, dynamic, function) });
        assert_eq!(value, most);
    }
}

/// A library for one image, and its kernel of that name.
fn library_with(
    cuda: &Driver,
    image: *const std::ffi::c_void,
    name: &std::ffi::CStr,
) -> (CUlibrary, CUkernel) {
    let (mut library, mut kernel) = (null_mut(), null_mut());
    let (none, nothing) = (null_mut(), null_mut());
    unsafe {
        ok(cuda.cuLibraryLoadData(&mut library, image, none, nothing, 0, null_mut(), null_mut(), 0));
        ok(cuda.cuLibraryGetKernel(&mut kernel, library, name.as_ptr()));
    }
    (library, kernel)
}

#[test]
fn a_library_has_the_kernels_of_all_devices() {
    let (_instance, cuda) = instance(&[Architecture::Sm80, Architecture::Sm120]);
    let bytes = several();
    let (library, kernel) = library_with(&cuda, bytes.as_ptr().cast(), c"sm_120");
    let (mut count, mut kernels) = (0, [null_mut(); 3]);
    ok(unsafe { cuda.cuLibraryGetKernelCount(&mut count, library) });
    ok(unsafe { cuda.cuLibraryEnumerateKernels(kernels.as_mut_ptr(), 3, library) });
    assert_eq!((count, kernels[1], kernels[2]), (2, kernel, null_mut()));
    let missing = unsafe { cuda.cuLibraryGetKernel(&mut null_mut(), library, c"sm_90".as_ptr()) };
    assert_eq!(missing, CUresult::CUDA_ERROR_NOT_FOUND);
    for (device, expected) in [(0, CUresult::CUDA_ERROR_NOT_FOUND), (1, SUCCESS)] {
        enter(&cuda, device);
        assert_eq!(launch(&cuda, kernel.cast(), null_mut(), &mut []), expected);
        ok(unsafe { cuda.cuCtxSynchronize() });
    }
}

#[test]
fn what_is_set_of_a_kernel_holds_for_one_device() {
    let (_instance, cuda) = instance(&[Architecture::Sm86, Architecture::Sm86]);
    let text = std::ffi::CString::new(ptx("7.0", "sm_75")).unwrap();
    let (_, kernel) = library_with(&cuda, text.as_ptr().cast(), c"room");
    let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    ok(unsafe { cuda.cuKernelSetAttribute(dynamic, 80 << 10, kernel, 1) });
    let of = |device| {
        let mut value = 0;
        ok(unsafe { cuda.cuKernelGetAttribute(&mut value, dynamic, kernel, device) });
        value
    };
    assert_eq!([0, 1].map(of), [48 << 10, 80 << 10]);
}

#[test]
fn the_parameters_of_a_kernel_are_those_on_the_current_device() {
    let (_instance, cuda) = instance(&[Architecture::Sm75, Architecture::Sm90]);
    let text = c".version 7.0\n.target sm_75\n.address_size 64\n\
                 .visible .entry k(.param .u32 a, .param .align 32 .b8 b[32]) { ret; }\n";
    let (_, kernel) = library_with(&cuda, text.as_ptr().cast(), c"k");
    for (device, expected) in [(0, 32), (1, 16)] {
        enter(&cuda, device);
        let (mut offset, mut size) = (9, 9);
        ok(unsafe { cuda.cuKernelGetParamInfo(kernel, 1, &mut offset, &mut size) });
        assert_eq!(offset, expected);
    }
}

#[test]
fn parameters_are_where_the_compiler_puts_them() {
    // ptxas 13.0, in the table of a cubin's parameters.
    let text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 a, .param .align 32 .b8 b[32], .param .u32 c,\n\
                .param .align 64 .b8 d[64], .param .u32 e, .param .align 128 .b8 f[128], .param .u32 g) { ret; }\n";
    for (architecture, expected) in [
        (Architecture::Sm80, [0, 32, 64, 96, 160, 288, 416]),
        (Architecture::Sm90, [0, 16, 48, 112, 176, 240, 368]),
        (Architecture::Sm120, [0, 32, 64, 128, 192, 256, 384]),
    ] {
        let (_instance, cuda) = device(architecture);
        let kernel = function(&cuda, load(&cuda, text), "k");
        let offsets = std::array::from_fn(|index| {
            let (mut offset, mut size) = (9, 9);
            ok(unsafe { cuda.cuFuncGetParamInfo(kernel, index, &mut offset, &mut size) });
            offset
        });
        assert_eq!(offsets, expected, "{architecture}");
    }
}

#[test]
fn a_link_is_for_the_device_of_its_context() {
    for (architecture, expected) in
        [(Architecture::Sm86, CUresult::CUDA_ERROR_INVALID_PTX), (Architecture::Sm90, SUCCESS)]
    {
        let (_instance, cuda) = device(architecture);
        let (mut link, text) = (null_mut(), std::ffi::CString::new(ptx("7.8", "sm_90")).unwrap());
        let code = unsafe {
            ok(cuda.cuLinkCreate(0, null_mut(), null_mut(), &mut link));
            let (bytes, size) = (text.as_ptr().cast_mut().cast(), text.as_bytes_with_nul().len());
            let kind = CUjitInputType::CU_JIT_INPUT_PTX;
            cuda.cuLinkAddData(link, kind, bytes, size, c"k".as_ptr(), 0, null_mut(), null_mut())
        };
        assert_eq!(code, expected, "{architecture}");
        ok(unsafe { cuda.cuLinkDestroy(link) });
    }
}

#[test]
fn newer_ptx_is_read_if_that_is_asked_for() {
    let begin = |options: InstanceOptions| {
        let instance = options.start().unwrap();
        let cuda = instance.driver();
        ok(unsafe { cuda.cuInit(0) });
        enter(&cuda, 0);
        (instance, cuda)
    };
    let unsupported = CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    let (_instance, cuda) = begin(InstanceOptions::new());
    let (code, log) = loads(&cuda, &ptx("9.1", "sm_90"));
    assert_eq!(code, unsupported);
    assert!(log.contains("Unsupported .version 9.1; current version is '9.0'"), "{log}");
    assert!(logged(&cuda).contains(
        "help: the text is PTX ISA 9.1: CUDA_LAUNCH_EMULATOR_PTX=9.1 (`InstanceOptions::newest_ptx`)"
    ));
    let (_instance, cuda) = begin(InstanceOptions::new().newest_ptx(9, 4));
    for version in ["9.0", "9.1", "9.2", "9.3", "9.4"] {
        assert_eq!(loads(&cuda, &ptx(version, "sm_90")).0, SUCCESS, "{version}");
    }
    let module = load(&cuda, &ptx("9.4", "sm_90"));
    assert_eq!(multiprocessors(&cuda, module), 132);
    let (code, log) = loads(&cuda, &ptx("9.5", "sm_90"));
    assert!(code == unsupported && log.contains("current version is '9.4'"), "{log}");
    // What is not known is refused by name.
    let unknown = ptx("9.4", "sm_90").replace("ret; }", "fabric.submit.commit_group; ret; }");
    let (code, log) = loads(&cuda, &unknown);
    assert!(code == INVALID_PTX && log.contains("fabric.submit.commit_group"), "{code:?} {log}");
    // As of an older version, too.
    let (_instance, cuda) = begin(InstanceOptions::new().as_of(12_000).newest_ptx(8, 4));
    assert_eq!(loads(&cuda, &ptx("8.4", "sm_90")).0, SUCCESS);
    assert_eq!(loads(&cuda, &ptx("8.5", "sm_90")).0, unsupported);
}
