//! nvJitLink and libNVVM: what they make runs, and what they refuse is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{adds, nvjitlink, nvrtc, nvvm, on_emulator, refusal};
use cuda_launch::compile::{
    CodeKind, CompiledCode, CudaSource, LinkInputs, NvJitLinkOption, NvJitLinkOptions, Nvrtc, NvrtcOption,
    NvrtcOptions, NvvmIr, NvvmOption, NvvmOptions,
};
use cuda_launch::error::{CompileError, Severity};
use cuda_launch::module::JitTarget;
use cuda_launch::{CudaContext, ErrorKind};

const VECADD_LL: &str = include_str!("kernels/vecadd.ll");
const HEAD: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// `vecadd` in two sources that only a link brings together.
fn two_parts(nvrtc: &Nvrtc, ctx: &CudaContext) -> LinkInputs {
    let helper = "__device__ float sum(float a, float b) { return a + b; }";
    let kernel = "__device__ float sum(float a, float b);
        extern \"C\" __global__ void vecadd(const float* a, unsigned long long n, const float* b, unsigned long long,
                                          float* c, unsigned long long) {
            unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) c[i] = sum(a[i], b[i]);
        }";
    let options =
        NvrtcOptions::for_context(ctx).output(CodeKind::LtoIr).option(NvrtcOption::Relocatable(true));
    let mut inputs = LinkInputs::new();
    for (name, text) in [("helper.cu", helper), ("kernel.cu", kernel)] {
        inputs.add_code(&nvrtc.compile(&CudaSource::new(text).name(name), &options).unwrap()).unwrap();
    }
    inputs
}

fn runs(code: &CompiledCode, ctx: &CudaContext) {
    adds(&code.load(ctx).unwrap(), "vecadd");
}

#[test]
fn lto_ir_of_two_sources_is_linked_to_ptx_that_runs() {
    let (Some(nvrtc), Some(linker)) = (nvrtc(), nvjitlink()) else { return };
    let ctx = CudaContext::new(0).unwrap();
    let options = NvJitLinkOptions::for_context(&ctx).output(CodeKind::Ptx);
    let code = linker.link(&two_parts(&nvrtc, &ctx), &options).unwrap();
    let text = code.ptx().unwrap();
    assert!(text.contains(".entry vecadd") && !text.contains("call"), "optimised across both: {text}");
    runs(&code, &ctx);
}

#[test]
fn lto_ir_is_linked_to_a_cubin() {
    let (Some(nvrtc), Some(linker)) = (nvrtc(), nvjitlink()) else { return };
    let ctx = CudaContext::new(0).unwrap();
    let code = linker.link(&two_parts(&nvrtc, &ctx), &NvJitLinkOptions::for_context(&ctx)).unwrap();
    assert_eq!(code.kind(), CodeKind::Cubin);
    assert_eq!(code.origin(), "link of helper.cu, kernel.cu");
    match on_emulator(&ctx) {
        true => assert!(code.load(&ctx).unwrap_err().to_string().contains("runs PTX only")),
        false => runs(&code, &ctx),
    }
}

#[test]
fn ptx_cubins_and_fatbins_are_linked_together() {
    let Some(linker) = nvjitlink() else { return };
    let mut inputs = LinkInputs::new();
    inputs.add("helper.ptx", format!("{HEAD}.visible .func helper() {{ ret; }}")).unwrap();
    inputs
        .add(
            "kernel.ptx",
            format!("{HEAD}.extern .func helper();\n.visible .entry k() {{ call helper; ret; }}"),
        )
        .unwrap();
    inputs.add("vecadd_link.fatbin", include_bytes!("kernels/vecadd_link.fatbin")).unwrap();
    let options = NvJitLinkOptions::new(JitTarget::sm(90)).option(NvJitLinkOption::MaxRegisters(32));
    let code = linker.link(&inputs, &options).unwrap();
    let image = kernels_of(code.bytes());
    assert!(image.contains(&"k".to_string()) && image.contains(&"vecadd".to_string()), "{image:?}");
}

/// The names of a cubin's kernels, as the symbols stand in it.
fn kernels_of(cubin: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(cubin);
    let sections = text.split('\0').filter_map(|name| name.strip_prefix(".text."));
    sections.map(str::to_string).collect()
}

#[test]
fn what_nobody_defines_is_told_with_the_input() {
    let Some(linker) = nvjitlink() else { return };
    let mut inputs = LinkInputs::new();
    inputs
        .add(
            "kernel.ptx",
            format!("{HEAD}.extern .func helper();\n.visible .entry k() {{ call helper; ret; }}"),
        )
        .unwrap();
    let error = linker.link(&inputs, &NvJitLinkOptions::new(JitTarget::sm(90))).unwrap_err();
    let first = &refusal(&error).diagnostics[0];
    assert_eq!(
        (first.file.as_deref(), first.message.contains("'helper'")),
        (Some("kernel.ptx"), true),
        "{error}"
    );
}

#[test]
fn a_refused_input_fails_the_link() {
    let Some(linker) = nvjitlink() else { return };
    let mut inputs = LinkInputs::new();
    inputs.add("bad.ptx", format!("{HEAD}.visible .entry k() {{ nonsense; ret; }}")).unwrap();
    let error = linker.link(&inputs, &NvJitLinkOptions::new(JitTarget::sm(90))).unwrap_err();
    let refusal = refusal(&error);
    assert_eq!((refusal.call, refusal.diagnostics[0].line), ("nvJitLinkAddData", Some(4)), "{error}");
    // Damaged LTO IR, which is only looked at by the library.
    let mut inputs = LinkInputs::new();
    inputs.add("cut.ltoir", [0xed, 0x43, 0x4e, 0x7f, 1, 2, 3]).unwrap();
    let error = linker.link(&inputs, &NvJitLinkOptions::new(JitTarget::sm(90))).unwrap_err();
    assert!(error.is_compile_error(), "{error}");
}

#[test]
fn inputs_options_and_outputs_that_make_no_sense_are_told() {
    let Some(linker) = nvjitlink() else { return };
    let options = NvJitLinkOptions::new(JitTarget::sm(90));
    let text = linker.link(&LinkInputs::new(), &options).unwrap_err().to_string();
    assert!(text.contains("nothing to link"), "{text}");
    let mut inputs = LinkInputs::new();
    let error = inputs.add("k.bin", *b"no image").unwrap_err();
    assert!(error.is_invalid_image() && error.to_string().starts_with("k.bin: "), "{error}");
    inputs.add("k.ptx", format!("{HEAD}.visible .entry k() {{ ret; }}")).unwrap();
    let text = linker.link(&inputs, &options.clone().output(CodeKind::Ptx)).unwrap_err().to_string();
    assert!(text.contains("produces PTX only from LTO IR, and k.ptx is PTX"), "{text}");
    let unknown = options.option(NvJitLinkOption::Raw("-foo".into()));
    let text = linker.link(&inputs, &unknown).unwrap_err().to_string();
    assert!(text.contains("NVJITLINK_ERROR_UNRECOGNIZED_OPTION") && text.contains("-foo"), "{text}");
    let text = linker.link(&inputs, &NvJitLinkOptions::new(JitTarget::sm(20))).unwrap_err().to_string();
    assert!(text.contains("does not know the architecture"), "{text}");
}

#[test]
fn nvvm_ir_becomes_ptx_that_runs() {
    let Some(nvvm) = nvvm() else { return };
    let ctx = CudaContext::new(0).unwrap();
    let code = nvvm.compile(&NvvmIr::new("vecadd.ll", VECADD_LL), &NvvmOptions::for_context(&ctx)).unwrap();
    runs(&code, &ctx);
}

#[test]
fn nvvm_ir_becomes_lto_ir_that_is_linked_and_runs() {
    let (Some(nvvm), Some(linker)) = (nvvm(), nvjitlink()) else { return };
    let ctx = CudaContext::new(0).unwrap();
    let options = NvvmOptions::for_context(&ctx).output(CodeKind::LtoIr);
    let code = nvvm.compile(&NvvmIr::new("vecadd.ll", VECADD_LL), &options).unwrap();
    let mut inputs = LinkInputs::new();
    inputs.add_code(&code).unwrap();
    runs(&linker.link(&inputs, &NvJitLinkOptions::for_context(&ctx).output(CodeKind::Ptx)).unwrap(), &ctx);
}

#[test]
fn libdevice_is_linked_in_where_it_is_used() {
    let Some(nvvm) = nvvm() else { return };
    let text = VECADD_LL
        .replace("%sum = fadd float %x, %y", "%sum = call float @__nv_fmaf(float %x, float 1.0, float %y)")
        + "\ndeclare float @__nv_fmaf(float, float, float)\n";
    let ctx = CudaContext::new(0).unwrap();
    let ir = NvvmIr::new("vecadd.ll", text).library("libdevice", nvvm.libdevice().unwrap());
    let code = nvvm.compile(&ir, &NvvmOptions::for_context(&ctx)).unwrap();
    assert!(!code.ptx().unwrap().contains("__nv_fmaf"), "{:?}", code.ptx());
    runs(&code, &ctx);
}

#[test]
fn an_error_of_the_ir_has_file_line_and_excerpt() {
    let Some(nvvm) = nvvm() else { return };
    let text = VECADD_LL.replace("fadd float %x, %y", "fadd flaot %x, %y");
    let line = text.lines().position(|line| line.contains("flaot")).unwrap() as u32 + 1;
    let error = nvvm.compile(&NvvmIr::new("k.ll", text), &NvvmOptions::new(JitTarget::sm(80))).unwrap_err();
    let first = &refusal(&error).diagnostics[0];
    assert_eq!(
        (first.severity, first.file.as_deref(), first.line),
        (Severity::Error, Some("k.ll"), Some(line))
    );
    assert!(first.excerpt.as_deref().unwrap().contains("fadd flaot"), "{error}");
}

#[test]
fn options_of_nvvm_reach_it_and_unknown_ones_are_told() {
    let Some(nvvm) = nvvm() else { return };
    let (ir, options) = (NvvmIr::new("k.ll", VECADD_LL), NvvmOptions::new(JitTarget::sm(80)));
    let code = nvvm.compile(&ir, &options.clone().option(NvvmOption::FlushDenormals(true))).unwrap();
    assert!(code.ptx().unwrap().contains("add.ftz.f32"), "{:?}", code.ptx());
    let text =
        nvvm.compile(&ir, &options.clone().option(NvvmOption::Raw("-foo".into()))).unwrap_err().to_string();
    assert!(text.contains("-foo is an unsupported option"), "{text}");
    let text = nvvm.compile(&ir, &NvvmOptions::new(JitTarget::sm(12))).unwrap_err().to_string();
    assert!(text.contains("does not know the architecture"), "{text}");
    let error = nvvm.compile(&ir, &options.output(CodeKind::Cubin)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Compile(CompileError::Argument { .. })), "{error}");
    assert_eq!(nvvm.ir_version().unwrap().0, 2);
}
