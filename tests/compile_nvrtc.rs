//! NVRTC: sources that compile, run and compare with the host; sources and options that do not, and what is said of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{adds, folder, nvrtc, on_emulator, refusal};
use cuda_launch::CudaContext;
use cuda_launch::compile::{CodeKind, CudaSource, NvrtcOption, NvrtcOptions};
use cuda_launch::error::Severity;
use cuda_launch::module::JitTarget;

const VECADD: &str = include_str!("../examples/kernels/vecadd.cu");

#[test]
fn a_source_becomes_ptx_that_runs() {
    let Some(nvrtc) = nvrtc() else { return };
    let ctx = CudaContext::new(0).unwrap();
    let source = CudaSource::new(VECADD).name("vecadd.cu");
    let code = nvrtc.compile(&source, &NvrtcOptions::for_context(&ctx)).unwrap();
    assert_eq!((code.kind(), code.origin()), (CodeKind::Ptx, "vecadd.cu"));
    assert!(code.ptx().unwrap().contains(".entry vecadd("), "{:?}", code.ptx());
    let module = code.load(&ctx).unwrap();
    assert_eq!(module.origin(), "vecadd.cu");
    adds(&module, "vecadd");
}

#[test]
fn a_cubin_runs_on_a_gpu_and_is_told_on_the_emulator() {
    let Some(nvrtc) = nvrtc() else { return };
    let ctx = CudaContext::new(0).unwrap();
    let options = NvrtcOptions::for_context(&ctx).output(CodeKind::Cubin);
    let code = nvrtc.compile(&CudaSource::new(VECADD).name("vecadd.cu"), &options).unwrap();
    assert!(code.bytes().starts_with(b"\x7fELF") && code.ptx().is_none());
    if on_emulator(&ctx) {
        let text = code.load(&ctx).unwrap_err().to_string();
        assert_eq!(
            text,
            "vecadd.cu was compiled to a cubin; cuda-launch emulator (CPU) runs PTX only\n  help: compile or link to PTX for it"
        );
    } else {
        adds(&code.load(&ctx).unwrap(), "vecadd");
    }
}

#[test]
fn lto_ir_is_made_and_no_driver_is_asked_to_load_it() {
    let Some(nvrtc) = nvrtc() else { return };
    let ctx = CudaContext::new(0).unwrap();
    let options = NvrtcOptions::for_context(&ctx).output(CodeKind::LtoIr);
    let code = nvrtc.compile(&CudaSource::new(VECADD).name("vecadd.cu"), &options).unwrap();
    assert!(!code.bytes().is_empty());
    let error = code.load(&ctx).unwrap_err();
    assert!(error.is_compile_error() && error.to_string().contains("link it with NvJitLink"), "{error}");
}

#[test]
fn templates_are_found_by_their_lowered_names() {
    let Some(nvrtc) = nvrtc() else { return };
    let ctx = CudaContext::new(0).unwrap();
    let text = "template<class T> __global__ void add(const T* a, unsigned long long n, const T* b, unsigned long long, T* c, \
                unsigned long long) { auto i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }";
    let source = CudaSource::new(text).expression("add<float>").expression("add<double>");
    let code = nvrtc.compile(&source, &NvrtcOptions::for_context(&ctx)).unwrap();
    let name = code.lowered_name("add<float>").unwrap();
    assert!(name.starts_with("_Z3addIf"), "{name}");
    assert_ne!(name, code.lowered_name("add<double>").unwrap());
    adds(&code.load(&ctx).unwrap(), name);
    let error = code.lowered_name("add<int>").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("add<float>"), "{error}");
    let source = CudaSource::new(text).expression("add<nothing>");
    let error = nvrtc.compile(&source, &NvrtcOptions::for_context(&ctx)).unwrap_err();
    assert!(error.to_string().contains("identifier \"nothing\" is undefined"), "{error}");
}

#[test]
fn headers_come_from_memory_from_folders_and_from_beside_the_source() {
    let Some(nvrtc) = nvrtc() else { return };
    let options = NvrtcOptions::new(JitTarget::sm(80));
    let text = "#include \"factor.h\"\nextern \"C\" __global__ void k(int* x) { *x = FACTOR; }";
    let header = |n: u32| format!("#define FACTOR {n}\n");
    let made = |code: cuda_launch::compile::CompiledCode| code.ptx().unwrap().to_string();
    let in_memory = CudaSource::new(text).header("factor.h", header(4711));
    assert!(made(nvrtc.compile(&in_memory, &options).unwrap()).contains("4711"));
    let folder = folder("headers");
    std::fs::create_dir(folder.join("include")).unwrap();
    std::fs::write(folder.join("include/factor.h"), header(4712)).unwrap();
    let with_folder = options.clone().include(folder.join("include"));
    assert!(made(nvrtc.compile(&CudaSource::new(text), &with_folder).unwrap()).contains("4712"));
    std::fs::write(folder.join("k.cu"), text).unwrap();
    std::fs::write(folder.join("factor.h"), header(4713)).unwrap();
    let on_disk = CudaSource::from_file(folder.join("k.cu")).unwrap();
    assert!(made(nvrtc.compile(&on_disk, &options).unwrap()).contains("4713"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn typed_options_reach_the_compiler() {
    let Some(nvrtc) = nvrtc() else { return };
    let text = "extern \"C\" __global__ void k(float* x, float y) { x[0] = x[1] / y + x[2] * x[3] + N; }";
    let options =
        NvrtcOptions::new(JitTarget::sm(80)).option(NvrtcOption::Define("N".into(), Some("17".into())));
    let ptx = |options: &NvrtcOptions| {
        nvrtc.compile(&CudaSource::new(text), options).unwrap().ptx().unwrap().to_string()
    };
    let plain = ptx(&options);
    assert!(plain.contains("div.rn.f32") && plain.contains("fma.rn.f32"), "{plain}");
    // The peer's `use_fast_math` asks for contraction instead.
    let fast = ptx(&options.clone().option(NvrtcOption::FastMath));
    assert!(fast.contains("div.approx.ftz.f32"), "{fast}");
    let apart = ptx(&options.clone().option(NvrtcOption::FusedMultiplyAdd(false)));
    assert!(!apart.contains("fma.rn.f32"), "{apart}");
    let lines = ptx(&options.clone().option(NvrtcOption::LineInfo));
    assert!(lines.contains(".loc"), "{lines}");
    let debug = ptx(&options.clone().option(NvrtcOption::DebugInfo));
    assert!(debug.contains(".section\t.debug_info") || debug.contains(".debug_info"), "{debug}");
    let raw = ptx(&options.option(NvrtcOption::Raw("--fmad=false".into())));
    assert!(!raw.contains("fma.rn.f32"), "{raw}");
}

#[test]
fn an_error_of_the_source_has_file_line_and_excerpt() {
    let Some(nvrtc) = nvrtc() else { return };
    let text = "extern \"C\" __global__ void k(float* a) {\n  int unused;\n  a[0] = x;\n}\n";
    let options = NvrtcOptions::new(JitTarget::sm(90));
    let error = nvrtc.compile(&CudaSource::new(text).name("dir/k.cu"), &options).unwrap_err();
    assert!(error.is_compile_error() && !error.is_no_compiler());
    let refusal = refusal(&error);
    let first = refusal.diagnostics.iter().find(|d| d.severity == Severity::Error).unwrap();
    assert_eq!((first.file.as_deref(), first.line), (Some("dir/k.cu"), Some(3)));
    assert_eq!(first.message, "identifier \"x\" is undefined");
    assert!(first.excerpt.as_deref().unwrap().contains("a[0] = x;"), "{first:?}");
    assert!(refusal.diagnostics.iter().any(|d| d.severity == Severity::Warning));
    let text = error.to_string();
    for part in
        ["rejected dir/k.cu", "NVRTC_ERROR_COMPILATION", "dir/k.cu:3: error: identifier", "compute_90"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn warnings_are_kept_with_code_that_compiled() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = CudaSource::new("extern \"C\" __global__ void k() { int unused; }");
    let code = nvrtc.compile(&source, &NvrtcOptions::new(JitTarget::sm(80))).unwrap();
    assert_eq!(code.diagnostics()[0].severity, Severity::Warning, "{}", code.log());
}

#[test]
fn a_missing_header_is_told_with_where_it_looked() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = CudaSource::new("#include \"helper.h\"\n").name("k.cu");
    let options = NvrtcOptions::new(JitTarget::sm(80));
    let text = nvrtc.compile(&source, &options).unwrap_err().to_string();
    for part in [
        "k.cu:1: error: cannot open source file \"helper.h\"",
        "NVRTC looked in no folder",
        "CudaSource::header",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = nvrtc.compile(&source, &options.include("no/such/folder")).unwrap_err().to_string();
    assert!(text.contains("NVRTC looked in no/such/folder"), "{text}");
}

#[test]
fn an_option_nobody_knows_is_told_with_what_it_may_have_been() {
    let Some(nvrtc) = nvrtc() else { return };
    let options = NvrtcOptions::new(JitTarget::sm(80)).option(NvrtcOption::Raw("--fmda=false".into()));
    let error = nvrtc.compile(&CudaSource::new(VECADD), &options).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("NVRTC_ERROR_INVALID_OPTION") && text.contains("did you mean --fmad"), "{text}");
}

#[test]
fn an_architecture_nobody_knows_is_told_with_those_there_are() {
    let Some(nvrtc) = nvrtc() else { return };
    let error = nvrtc.compile(&CudaSource::new(VECADD), &NvrtcOptions::new(JitTarget::sm(12))).unwrap_err();
    assert!(error.to_string().contains("it supports"), "{error}");
    assert!(nvrtc.architectures().contains(&90), "{:?}", nvrtc.architectures());
}

#[test]
fn a_nul_in_a_source_is_told_with_its_place() {
    let Some(nvrtc) = nvrtc() else { return };
    let error =
        nvrtc.compile(&CudaSource::new("int x;\0int y;"), &NvrtcOptions::new(JitTarget::sm(80))).unwrap_err();
    assert!(error.is_compile_error() && error.to_string().contains("NUL at byte 6"), "{error}");
}
