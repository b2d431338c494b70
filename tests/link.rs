//! The driver's linker: PTX with PTX, files, and what cannot be linked.

#![allow(unsafe_code)] // Launches and unchecked inputs: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_harness::skipped;
use cuda_launch::error::CompilerLog;
use cuda_launch::module::{JitOptions, LinkInput, LinkedImage, Linker};
use cuda_launch::sys::CUresult;
use cuda_launch::{Error, ErrorKind, cuda_launch};
use cuda_ptx::image::{EntryKind, Image};
use references::{Gpu, line};

const HEAD: &str = ".version 7.8\n.target sm_52\n.address_size 64\n";

/// Defines `scale` (x -> x * factor), the variable `factor`, and keeps `hidden` to itself.
const LIBRARY: &str = "
.visible .global .align 4 .u32 factor = 3;
.global .align 4 .u32 hidden = 100;
.func (.param .b32 result) helper(.param .b32 x) {
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [x];
    ld.global.u32 %r2, [hidden];
    add.u32 %r3, %r1, %r2;
    st.param.b32 [result], %r3;
    ret;
}
.visible .func (.param .b32 result) scale(.param .b32 x) {
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [x];
    ld.global.u32 %r2, [factor];
    mul.lo.u32 %r3, %r1, %r2;
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r3;
      call.uni (b), helper, (a);
      ld.param.b32 %r4, [b]; }
    st.param.b32 [result], %r4;
    ret;
}
";

/// out[0] = helper(scale(x)), with a `hidden` and a `helper` of its own.
const KERNEL: &str = "
.extern .global .align 4 .u32 factor;
.extern .func (.param .b32 result) scale(.param .b32 x);
.global .align 4 .u32 hidden = 5;
.func (.param .b32 result) helper(.param .b32 x) {
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [x];
    ld.global.u32 %r2, [hidden];
    add.u32 %r3, %r1, %r2;
    st.param.b32 [result], %r3;
    ret;
}
.visible .entry k(.param .u64 out, .param .u32 x) {
    .reg .b32 %r<5>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u32 %r1, [x];
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r1;
      call.uni (b), scale, (a);
      ld.param.b32 %r2, [b]; }
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r2;
      call.uni (b), helper, (a);
      ld.param.b32 %r3, [b]; }
    ld.global.u32 %r4, [factor];
    st.global.u32 [%rd2], %r3;
    st.global.u32 [%rd2+4], %r4;
    ret;
}
";

fn text(body: &str) -> String {
    format!("{HEAD}{body}")
}

fn link(gpu: &Gpu, inputs: &[&str]) -> Result<LinkedImage, Error> {
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new())?;
    for (body, name) in inputs.iter().zip(["first", "second", "third"]) {
        linker.add(text(body), name)?;
    }
    linker.complete()
}

fn log(error: &Error) -> &CompilerLog {
    match error.kind() {
        ErrorKind::Compiler(log) => log,
        _ => panic!("{error}"),
    }
}

/// Runs `k` of a linked image.
fn runs(gpu: &Gpu, image: &LinkedImage) {
    let module = image.load(&gpu.ctx).unwrap();
    let mut out = gpu.zeros::<u32>(2);
    // k(out, x)
    unsafe {
        cuda_launch! { kernel: k, module: module, stream: gpu.stream, config: line(1, 1),
        args: [out.as_mut_device_ptr(), 7u32] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [7 * 3 + 100 + 5, 3]);
    let mut factor = module.global::<u32>("factor").unwrap();
    factor.copy_from_host(&gpu.stream, &[10]).unwrap();
    unsafe {
        cuda_launch! { kernel: k, module: module, stream: gpu.stream, config: line(1, 1),
        args: [out.as_mut_device_ptr(), 7u32] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [7 * 10 + 100 + 5, 10]);
}

#[test]
fn functions_and_variables_of_other_inputs_are_found() {
    let gpu = Gpu::new();
    for inputs in [[LIBRARY, KERNEL], [KERNEL, LIBRARY]] {
        let image = link(&gpu, &inputs).unwrap();
        assert_eq!(image.inputs, ["first", "second"]);
        assert!(!image.bytes.is_empty());
        runs(&gpu, &image);
    }
}

#[test]
fn files_are_linked() {
    let gpu = Gpu::new();
    let folder = std::env::temp_dir().join(format!("cuda-launch-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (library, kernel) = (folder.join("library.ptx"), folder.join("kernel.ptx"));
    std::fs::write(&library, text(LIBRARY)).unwrap();
    std::fs::write(&kernel, text(KERNEL) + "\0").unwrap();
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new().log_bytes(4096)).unwrap();
    linker.add_file(&library).unwrap();
    // SAFETY: 1: it was just written: complete PTX, with a NUL at its end; only this test uses its folder.
    unsafe { linker.add_file_unchecked(LinkInput::Ptx, &kernel).unwrap() };
    let image = linker.complete().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    runs(&gpu, &image);
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new()).unwrap();
    assert!(matches!(linker.add_file(&library).unwrap_err().kind(), ErrorKind::File { .. }));
    // SAFETY: 1: the file was removed above: there is nothing to be read.
    let missing = unsafe { linker.add_file_unchecked(LinkInput::Ptx, &kernel) }.unwrap_err();
    assert_eq!(log(&missing).call, "cuLinkAddFile");
}

#[test]
fn weak_definitions_give_way() {
    let gpu = Gpu::new();
    let kernel = "
.weak .global .align 4 .u32 value = 1;
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [value];
    st.global.u32 [%rd2], %r1;
    ret;
}
";
    for (inputs, expected) in [
        (vec![kernel], 1),
        (vec![kernel, ".weak .global .align 4 .u32 value = 2;\n"], 1),
        (vec![kernel, ".visible .global .align 4 .u32 value = 3;\n"], 3),
    ] {
        let module = link(&gpu, &inputs).unwrap().load(&gpu.ctx).unwrap();
        let mut out = gpu.zeros::<u32>(1);
        // k(out)
        unsafe {
            cuda_launch! { kernel: k, module: module, stream: gpu.stream, config: line(1, 1),
            args: [out.as_mut_device_ptr()] }
        }
        .unwrap();
        assert_eq!(gpu.get(&out), [expected], "{} inputs", inputs.len());
    }
}

#[test]
fn what_nobody_defines_is_named() {
    let gpu = Gpu::new();
    let error = link(&gpu, &[KERNEL]).unwrap_err();
    let log = log(&error);
    assert!(log.call == "cuLinkComplete" && error.is_invalid_image() && !error.is_sticky(), "{error}");
    assert!(log.error_log.contains("scale") || log.error_log.contains("factor"), "{error}");
    assert!(error.to_string().contains("link of first"), "{error}");
    // A variable that is only declared: alone it would be defined by that, in a link it is not.
    let reader = "
.extern .global .align 4 .u32 outside;
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [outside];
    st.global.u32 [%rd2], %r1;
    ret;
}
";
    let error = link(&gpu, &[reader]).unwrap_err();
    assert!(error.is_invalid_image() && error.to_string().contains("outside"), "{error}");
}

#[test]
fn what_two_define_is_named() {
    let gpu = Gpu::new();
    let error = link(&gpu, &[LIBRARY, KERNEL, LIBRARY]).unwrap_err();
    assert!(error.is_invalid_image(), "{error}");
    let log = log(&error);
    assert!(log.error_log.contains("scale") || log.error_log.contains("factor"), "{error}");
}

#[test]
fn inputs_are_checked_when_they_are_added() {
    let gpu = Gpu::new();
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new()).unwrap();
    let add = |linker: &mut Linker, bytes: &[u8]| linker.add(bytes, "it").unwrap_err();
    // Before the driver.
    for bytes in [&b""[..], b"hello", b"\x7fELF", &[0x50, 0xed, 0x55, 0xba]] {
        assert!(matches!(add(&mut linker, bytes).kind(), ErrorKind::Image { .. }));
    }
    // By the driver, with its log.
    let error = add(&mut linker, text(".visible .entry k() {\nfrobnicate;\nret; }\n").as_bytes());
    assert_eq!((error.call(), error.code()), (Some("cuLinkAddData"), Some(CUresult::CUDA_ERROR_INVALID_PTX)));
    assert!(log(&error).error_log.contains("frobnicate"), "{error}");
    let error = add(&mut linker, text("").replace("7.8", "9.9").as_bytes());
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION), "{error}");
    // SAFETY: 1: there is no kind 77, which is refused by its number: the bytes are read as no input.
    let garbage = unsafe { linker.add_unchecked(LinkInput::Other(77), &[0; 4096], "it") };
    assert!(garbage.is_err());
    linker.close().unwrap();
}

#[test]
fn a_fatbin_is_an_input() {
    let gpu = Gpu::new();
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new()).unwrap();
    linker.add(include_bytes!("kernels/vecadd_link.fatbin"), "vecadd").unwrap();
    let module = linker.complete().unwrap().load(&gpu.ctx).unwrap();
    assert_eq!(module.load_function("vecadd").unwrap().name(), "vecadd");
}

/// Compiled without `-rdc=true`, it has no code for a linker; the emulator takes its PTX.
#[test]
fn a_fatbin_of_whole_programs_is_an_input_or_refused() {
    let gpu = Gpu::new();
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new()).unwrap();
    let added = linker.add(include_bytes!("kernels/vecadd_plain.fatbin"), "vecadd");
    match added.and_then(|()| linker.complete()) {
        Ok(image) => drop(image.load(&gpu.ctx).unwrap().load_function("vecadd").unwrap()),
        Err(error) => {
            assert!(!gpu.is_emulator(), "{error}");
            assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU), "{error}");
        }
    }
}

/// The machine code of a fatbin that was made for linking: relocatable, for sm_90.
fn relocatable() -> Vec<u8> {
    let Ok(Image::Fatbin(fatbin)) = Image::read(include_bytes!("kernels/vecadd_link.fatbin")) else {
        panic!("no fatbin")
    };
    let cubin = fatbin.entries().iter().find(|entry| entry.kind() == EntryKind::Cubin).unwrap();
    cubin.content().unwrap().into_owned()
}

#[test]
fn cubins_are_linked_where_they_run() {
    let gpu = Gpu::new();
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new()).unwrap();
    let linked = linker.add(relocatable(), "vecadd").and_then(|()| linker.complete());
    if gpu.is_emulator() || gpu.ctx.limits().compute_capability.0 != 9 {
        let error = linked.unwrap_err();
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU), "{error}");
        assert_eq!(error.to_string().contains("emulator runs PTX only"), gpu.is_emulator(), "{error}");
        return skipped("the machine code is of compute capability 9");
    }
    let module = linked.unwrap().load(&gpu.ctx).unwrap();
    let (a, b): (Vec<f32>, Vec<f32>) = (0..1000).map(|i| (i as f32, 0.5 * i as f32)).unzip();
    let (da, db, mut sum) = (gpu.put(&a), gpu.put(&b), gpu.zeros::<f32>(1000));
    unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: gpu.stream, config: line(4, 256),
        args: [slice(da), slice(db), slice_mut(sum)] }
    }
    .unwrap();
    assert!(gpu.get(&sum).iter().enumerate().all(|(i, sum)| *sum == 1.5 * i as f32));
}

/// Compiled code with line information, linked with another of its kind: numbers of files stay apart.
#[test]
fn compiled_modules_are_linked() {
    let gpu = Gpu::new();
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::new()).unwrap();
    let inputs = [
        ("globals", include_str!("kernels/globals.ptx")),
        ("shared", include_str!("kernels/shared.ptx")),
        ("calls", include_str!("kernels/calls.ptx")),
        ("print", include_str!("kernels/print.ptx")),
    ];
    for (name, text) in inputs {
        linker.add(text, name).unwrap();
    }
    let module = linker.complete().unwrap().load(&gpu.ctx).unwrap();
    let mut out = gpu.zeros::<u32>(1);
    // count(out): out = counter++
    unsafe {
        cuda_launch! { kernel: count, module: module, stream: gpu.stream, config: line(1, 1),
        args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [5]);
    let names: Vec<String> = module.kernels().unwrap().into_iter().map(|kernel| kernel.name).collect();
    assert!(names.len() > 15 && names.iter().any(|name| name == "static_1k"), "{names:?}");
}
