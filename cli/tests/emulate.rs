//! `cuda-launch emulate`: programs in C with compilers of their own, which are stand-ins themselves and say what they were asked for.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{Run, TOOL, compiled, emulator_library, finished, recorder, scratch, tool};

/// A kernel that writes 7. The version is one that the emulator does not know.
const PTX: &str = ".version 9.7\\n.target sm_90\\n.address_size 64\\n.visible .entry seven(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 7; ret; }\\n";

/// The same in two pieces.
const CALLS: &str = ".version 8.0\\n.target sm_90\\n.address_size 64\\n.extern .func (.reg .b32 r) number;\\n.visible .entry seven(.param .u64 p) { .reg .b64 %a; .reg .b32 %n; ld.param.u64 %a, [p]; call (%n), number; st.global.u32 [%a], %n; ret; }\\n";
const CALLED: &str = ".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .func (.reg .b32 r) number { mov.u32 r, 7; ret; }\\n";
/// The same with what the device runtime has for grids that wait for themselves.
const ASKS: &str = ".version 8.0\\n.target sm_90\\n.address_size 64\\n.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\\n.visible .entry seven(.param .u64 p) { .reg .b64 %a; { .param .b32 s; .param .b64 h; st.param.b32 [s], 1; call.uni (h), cudaCGGetIntrinsicHandle, (s); } ld.param.u64 %a, [p]; st.global.u32 [%a], 7; ret; }\\n";
/// The same with what it has for kernels that launch kernels.
const LAUNCHES: &str = ".version 8.0\\n.target sm_90\\n.address_size 64\\n.extern .func (.param .b64 o) __cudaCDP2GetParameterBufferV2(.param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\\n.extern .func (.param .b32 o) __cudaCDP2LaunchDeviceV2(.param .b64 b, .param .b64 s);\\n.visible .entry child(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 7; ret; }\\n.visible .entry seven(.param .u64 p) { .reg .b64 %a, %b; ld.param.u64 %a, [p]; mov.u64 %b, child; { .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 o; st.param.b64 [k], %b; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1; st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [s], 0; call (o), __cudaCDP2GetParameterBufferV2, (k, g, b, s); ld.param.b64 %b, [o]; } st.u64 [%b], %a; { .param .b64 b; .param .b64 s; .param .b32 o; st.param.b64 [b], %b; st.param.b64 [s], 0; call (o), __cudaCDP2LaunchDeviceV2, (b, s); } ret; }\\n";

/// NVRTC as far as a program here calls it: a cubin (which no emulator runs) for a real architecture, PTX for a virtual one.
fn nvrtc() -> String {
    format!(
        r#"
#include <stdio.h>
#include <string.h>
static const char ptx[] = "{PTX}";
static int is_real;
int nvrtcVersion(int *major, int *minor) {{ *major = 99; *minor = 1; return 0; }}
int nvrtcCreateProgram(void **p, const char *s, const char *n, int c, void *h, void *i) {{ *p = (void *)(s + c); return 0; }}
int nvrtcDestroyProgram(void **p) {{ *p = 0; return 0; }}
int nvrtcCompileProgram(void *p, int count, const char *const *options)
{{
    is_real = 0;
    for (int i = 0; i < count; i++) {{
        printf("option %s\n", options[i]);
        is_real |= strstr(options[i], "sm_") != 0;
    }}
    return 0;
}}
int nvrtcGetPTXSize(void *p, size_t *size) {{ *size = sizeof ptx; return is_real ? 6 : 0; }}
int nvrtcGetPTX(void *p, char *to) {{ memcpy(to, ptx, sizeof ptx); return 0; }}
int nvrtcGetCUBINSize(void *p, size_t *size) {{ *size = is_real ? 64 : 0; return 0; }}
int nvrtcGetCUBIN(void *p, char *to)
{{
    memset(to, 0, 64);
    memcpy(to, "\x7f" "ELF\2\1\1", 7);
    to[18] = (char)190;
    return 0;
}}
"#
    )
}

/// nvJitLink, the same way: a cubin of whatever it gets, and with `-lto -ptx` PTX of what is compiled when it is linked (here that PTX
/// itself), and an error for anything else.
const NVJITLINK: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct link { int is_ptx; size_t size; const char *ptx; };
int nvJitLinkCreate(void **link, unsigned count, const char **options)
{
    struct link *made = calloc(1, sizeof *made);
    *link = made;
    for (unsigned i = 0; i < count; i++) {
        printf("option %s\n", options[i]);
        made->is_ptx |= !strcmp(options[i], "-ptx");
    }
    return 0;
}
int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name)
{
    struct link *to = link;
    if (to->is_ptx && type != 3)
        return 12;
    to->ptx = data;
    to->size = size;
    return 0;
}
int nvJitLinkComplete(void *link) { puts("linked"); return 0; }
int nvJitLinkDestroy(void **link) { free(*link); return 0; }
int nvJitLinkGetLinkedPtxSize(void *link, size_t *size) { *size = ((struct link *)link)->size; return 0; }
int nvJitLinkGetLinkedPtx(void *link, char *to)
{
    memcpy(to, ((struct link *)link)->ptx, ((struct link *)link)->size);
    return 0;
}
int nvJitLinkGetLinkedCubinSize(void *link, size_t *size) { *size = 64; return 0; }
int nvJitLinkGetLinkedCubin(void *link, char *to)
{
    memset(to, 0, 64);
    memcpy(to, "\x7f" "ELF\2\1\1", 7);
    to[18] = (char)190;
    return 0;
}
"#;

/// What programs here have in common: they run an image, and their exit code is the driver's, or 0 if the kernel wrote 7.
const RUN: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long long address;
static void *cuda;
static void start(void)
{
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = dlsym(cuda, "cuInit");
    int (*retain)(void **, int) = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    int (*current)(void *) = dlsym(cuda, "cuCtxSetCurrent");
    void *context;
    init(0);
    retain(&context, 0);
    current(context);
}
static int run(const void *image)
{
    int (*load)(void **, const void *) = dlsym(cuda, "cuModuleLoadData");
    int (*find)(void **, void *, const char *) = dlsym(cuda, "cuModuleGetFunction");
    int (*allocate)(address *, size_t) = dlsym(cuda, "cuMemAlloc_v2");
    int (*launch)(void *, int, int, int, int, int, int, int, void *, void **, void **) = dlsym(cuda, "cuLaunchKernel");
    int (*read)(void *, address, size_t) = dlsym(cuda, "cuMemcpyDtoH_v2");
    void *module, *function;
    address memory;
    unsigned number = 0;
    int code;
    void *parameters[] = {&memory};
    if ((code = load(&module, image)) || (code = find(&function, module, "seven")) || (code = allocate(&memory, 4)))
        return code;
    if ((code = launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL)) || (code = read(&number, memory, 4)))
        return code;
    return number == 7 ? 0 : 98;
}
"#;

/// Compiles by the NVRTC that its first argument names; asks for it once more by its bare name, as others do then.
const COMPILES: &str = r#"
int main(int count, char **arguments)
{
    void *nvrtc = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
    if (!nvrtc)
        return printf("%s\n", dlerror()), 97;
    int (*version)(int *, int *) = dlsym(nvrtc, "nvrtcVersion");
    int (*create)(void **, const char *, const char *, int, void *, void *) = dlsym(nvrtc, "nvrtcCreateProgram");
    int major, minor;
    void *program;
    char *image;
    size_t size;
    const char *options[] = {"-DSEVEN=7", arguments[2], arguments[3]};
    start();
    version(&major, &minor);
    printf("NVRTC %d.%d\n", major, minor);
    nvrtc = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
    int (*compile)(void *, int, const char **) = dlsym(nvrtc, "nvrtcCompileProgram");
    int (*cubin_size)(void *, size_t *) = dlsym(nvrtc, "nvrtcGetCUBINSize");
    int (*cubin)(void *, char *) = dlsym(nvrtc, "nvrtcGetCUBIN");
    create(&program, "extern \"C\" __global__ void seven(unsigned *p) { *p = 7; }", "seven.cu", 0, NULL, NULL);
    compile(program, count - 1, options);
    cubin_size(program, &size);
    image = malloc(size + 1);
    image[size] = 0;
    cubin(program, image);
    if (count > 3 && (!strstr(image, ".maxnreg 38") || strlen(image) + 1 != size))
        return 95;
    return dlsym(RTLD_DEFAULT, "nvJitLinkCreate") ? 96 : run(image);
}
"#;

/// Links PTX, or with `-lto` something else, by the nvJitLink that its first argument names.
const LINKS: &str = r#"
int main(int count, char **arguments)
{
    void *library = dlopen(arguments[1], RTLD_NOW);
    int (*create)(void **, unsigned, const char **) = dlsym(library, "nvJitLinkCreate");
    int (*add)(void *, int, const void *, size_t, const char *) = dlsym(library, "nvJitLinkAddData");
    int (*complete)(void *) = dlsym(library, "nvJitLinkComplete");
    int (*cubin_size)(void *, size_t *) = dlsym(library, "nvJitLinkGetLinkedCubinSize");
    int (*cubin)(void *, char *) = dlsym(library, "nvJitLinkGetLinkedCubin");
    const char *options[3] = {"-arch=sm_90"};
    const char *pieces[] = {"WHOLE", "CALLS", "CALLED", "ASKS", "LAUNCHES"};
    int is_launching = !strcmp(arguments[2], "launches"), is_asking = is_launching || !strcmp(arguments[2], "runtime");
    int is_half = !strcmp(arguments[2], "lto-of-half"), is_limited = strstr(arguments[2], "limited") != NULL;
    int is_mixed = !strcmp(arguments[2], "lto-and-ptx"), is_kept = !strncmp(arguments[2], "lto-of-", 7);
    int is_lto = !strcmp(arguments[2], "lto") || !strcmp(arguments[2], "lto-limited") || is_mixed || is_kept, is_two = !strcmp(arguments[2], "two") || is_mixed;
    int first = 3 * is_asking + is_launching + is_half;
    void *link;
    char *image;
    size_t size;
    start();
    if (is_lto)
        options[1] = "-lto";
    if (is_limited)
        options[1 + is_lto] = "-maxrregcount=38";
    create(&link, 1 + is_lto + is_limited, options);
    for (int i = is_two; i <= 2 * is_two; i++)
        if (add(link, is_lto && !is_kept && i < 2 ? 3 : 2, pieces[first + i], strlen(pieces[first + i]) + 1, "piece"))
            return 94;
    if (is_mixed && add(link, 6, "!<arch>", 8, "/toolkit/libcudadevrt.a"))
        return 93;
    if (is_asking && add(link, 6, "!<arch>\ncuda_device_runtime.o", 30, "/toolkit/libcudadevrt.a"))
        return 92;
    /* Half of it, and what it calls in a third piece that does not have it. */
    if (is_half && add(link, 2, pieces[3], strlen(pieces[3]) + 1, "piece"))
        return 91;
    if (complete(link) || cubin_size(link, &size)) {
        int (*log_size)(void *, size_t *) = dlsym(library, "nvJitLinkGetErrorLogSize");
        int (*log)(void *, char *) = dlsym(library, "nvJitLinkGetErrorLog");
        char text[8192];
        if (!log_size(link, &size) && size <= sizeof text && !log(link, text) && strlen(text) + 1 == size)
            puts(text);
        return 95;
    }
    image = malloc(size + 1);
    image[size] = 0;
    cubin(link, image);
    int code = run(image);
    return !code && is_limited && !strstr(image, ".maxnreg 38") ? 90 : code;
}
"#;

fn start(command: &str, options: &[&str], program: &[&str]) -> Run {
    let mut line = tool();
    line.env_remove("CUDA_LAUNCH_EMULATOR_LIBRARY").arg(command);
    finished(&line.args(options).arg("--").args(program).output().unwrap())
}

/// A compiler of one's own in a folder of its own, whose symbols have its name as their version, as NVIDIA's have.
fn library(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    emulator_library()?;
    let folder = folder.join("compilers");
    std::fs::create_dir_all(&folder).unwrap();
    let soname = format!("-Wl,-soname,{name}");
    compiled(&folder, name, source, &["-shared", "-fPIC", &soname, "-Wl,--default-symver"])
}

#[test]
fn nvrtc_is_asked_for_ptx_where_a_cubin_is_wanted() {
    let folder = scratch("emulate-nvrtc");
    let Some(nvrtc) = library(&folder, "libnvrtc.so.13", &nvrtc()) else { return };
    let program = compiled(&folder, "compiles", &format!("{RUN}{COMPILES}"), &[]).unwrap();
    let (program, nvrtc) = (program.to_str().unwrap(), nvrtc.to_str().unwrap());
    let plain = start("harness", &[], &[program, nvrtc, "-arch=sm_90"]);
    assert_eq!(plain.code, 209, "a cubin is refused: {}{}", plain.out, plain.err);
    for (asked, real) in [("-arch=sm_90", "compute_90"), ("--gpu-architecture=sm_90a", "compute_90a")] {
        let run = start("emulate", &[], &[program, nvrtc, asked]);
        let asked_for = run.out.lines().last().and_then(|line| line.split_once('=')).map(|(_, value)| value);
        assert_eq!((run.code, asked_for), (0, Some(real)), "{}{}", run.out, run.err);
    }
    // The PTX itself has no limit, unlike a cubin.
    let run = start("emulate", &[], &[program, nvrtc, "-arch=sm_90", "--maxrregcount=38"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// By a search path of the program's own, too, which is not `LD_LIBRARY_PATH`.
#[test]
fn a_program_that_is_linked_with_its_compiler_is_served() {
    let folder = scratch("emulate-linked");
    let Some(nvrtc) = library(&folder, "libnvrtc.so.13", &nvrtc()) else { return };
    let source = format!("{RUN}{COMPILES}")
        .replace("dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL)", "dlopen(NULL, RTLD_NOW)")
        .replace(
            "int main(",
            "int nvrtcVersion(int *, int *);\nint (*linked)(int *, int *) = nvrtcVersion;\nint main(",
        );
    let options = ["-Wl,--disable-new-dtags,-rpath,$ORIGIN/compilers", nvrtc.to_str().unwrap()];
    let program = compiled(&folder, "linked", &source, &options).unwrap();
    let run = start("emulate", &[], &[program.to_str().unwrap(), "", "-arch=sm_90"]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "NVRTC 99.1\noption -DSEVEN=7\noption -arch=compute_90\n"),
        "{}",
        run.err
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// It knows the compiler by the name in it alone, and has no path to its folder.
#[test]
fn a_library_that_needs_a_loaded_compiler_is_served() {
    let folder = scratch("emulate-needs");
    let Some(nvrtc) = library(&folder, "libnvrtc.so.13", &nvrtc()) else { return };
    let nvrtc = nvrtc.to_str().unwrap();
    let source =
        "int nvrtcVersion(int *, int *);\nint version(int *a, int *b) { return nvrtcVersion(a, b); }\n";
    let needs = compiled(&folder, "libneeds.so", source, &["-shared", "-fPIC", nvrtc]).unwrap();
    let opens = format!(
        "void *needs = dlopen(\"{}\", RTLD_NOW); if (!needs) return printf(\"%s\\n\", dlerror()), 94;\n",
        needs.display()
    );
    let source = COMPILES.replace("int (*version)", &format!("{opens}int (*version)"));
    let source = source.replace("dlsym(nvrtc, \"nvrtcVersion\")", "dlsym(needs, \"version\")");
    let program = compiled(&folder, "compiles", &format!("{RUN}{source}"), &[]).unwrap();
    let program = program.to_str().unwrap();
    let served = |nvrtc: &str| {
        let run = start("emulate", &[], &[program, nvrtc, "-arch=sm_90"]);
        assert!(run.code != 0 || run.out.starts_with("NVRTC 99.1\n"), "{}", run.out);
        (run.code, run.err + &run.out)
    };
    assert_eq!(start("harness", &[], &[program, nvrtc, "-arch=sm_90"]).code, 209, "a cubin is refused");
    let run = served(nvrtc);
    assert_eq!(run.0, 0, "{}", run.1);
    // By a link, too, but not by a library of another name.
    let link = folder.join("libnvrtc.so");
    std::os::unix::fs::symlink(nvrtc, &link).unwrap();
    let run = served(link.to_str().unwrap());
    assert_eq!(run.0, 0, "{}", run.1);
    let other = library(&folder, "libnvrtc.so.12", &self::nvrtc()).unwrap();
    let run = served(other.to_str().unwrap());
    assert_eq!(run.0, 94, "{}", run.1);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A program that links `whole`, or the pieces.
fn linker(folder: &Path, whole: &str) -> PathBuf {
    let source =
        LINKS.replace("WHOLE", whole).replace("CALLS", CALLS).replace("CALLED", CALLED).replace("ASKS", ASKS);
    let source = source.replace("LAUNCHES", LAUNCHES);
    compiled(folder, "links", &format!("{RUN}{source}"), &[]).unwrap()
}

#[test]
fn nvjitlink_gives_the_ptx_that_it_links() {
    let folder = scratch("emulate-nvjitlink");
    let Some(nvjitlink) = library(&folder, "libnvJitLink.so.13", NVJITLINK) else { return };
    let (program, nvjitlink) = (linker(&folder, PTX), nvjitlink.to_str().unwrap());
    let program = program.to_str().unwrap();
    for (what, printed) in [
        ("ptx", "option -arch=sm_90\nlinked\n"),
        ("two", "option -arch=sm_90\nlinked\n"),
        ("limited", "option -arch=sm_90\noption -maxrregcount=38\nlinked\n"),
        ("lto-limited", "option -arch=sm_90\noption -lto\noption -maxrregcount=38\noption -ptx\nlinked\n"),
        ("runtime", "option -arch=sm_90\nlinked\n"),
        ("launches", "option -arch=sm_90\nlinked\n"),
        ("lto", "option -arch=sm_90\noption -lto\noption -ptx\nlinked\n"),
        // nvJitLink makes no PTX of a program that PTX and the device runtime are parts of: it does not get them.
        ("lto-and-ptx", "option -arch=sm_90\noption -lto\noption -ptx\nlinked\n"),
        ("lto-of-ptx", "option -arch=sm_90\noption -lto\noption -ptx\n"),
    ] {
        assert_eq!(start("harness", &[], &[program, nvjitlink, what]).code, 209, "a cubin is refused");
        let run = start("emulate", &[], &[program, nvjitlink, what]);
        assert_eq!((run.code, run.out.as_str()), (0, printed), "{what}: {}", run.err);
    }
    // What the emulator's linker says is the log.
    let run = start("emulate", &[], &[program, nvjitlink, "lto-of-half"]);
    assert!(run.code == 95 && run.out.contains("error   : "), "{}{}", run.out, run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// As NVIDIA's header has the names in a program that is linked with it.
#[test]
fn names_with_versions_are_the_same_functions() {
    let folder = scratch("emulate-versions");
    let Some(nvjitlink) = library(&folder, "libnvJitLink.so.12", NVJITLINK) else { return };
    let with_version = |text: &str| {
        let mut parts = text.split("dlsym(library, \"nvJitLink");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |made, part| {
            made + "dlsym(library, \"__nvJitLink" + &part.replacen("\")", "_12_4\")", 1)
        })
    };
    let source = with_version(&LINKS.replace("WHOLE", PTX));
    assert!(source.contains("\"__nvJitLinkGetLinkedCubin_12_4\""), "{source}");
    let program = compiled(&folder, "links", &format!("{RUN}{source}"), &[]).unwrap();
    let run = start("emulate", &[], &[program.to_str().unwrap(), nvjitlink.to_str().unwrap(), "ptx"]);
    assert_eq!((run.code, run.out.as_str()), (0, "option -arch=sm_90\nlinked\n"), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A compiler that `cargo xtask gate compilers` names.
fn nvidias(name: &str) -> Option<String> {
    let file = std::env::var(name).ok();
    let is_needed = std::env::var_os("CUDA_LAUNCH_REQUIRE_COMPILERS").is_some();
    assert!(file.is_some() || !is_needed, "{name} is not set");
    cuda_harness::or_skip(file, format!("{name} names no library"))
}

/// NVIDIA's own, with which the stand-ins above are to agree.
#[test]
fn nvidias_compilers_are_served_as_the_others() {
    if emulator_library().is_none() {
        return;
    }
    let (Some(nvrtc), Some(nvjitlink)) = (nvidias("CUDA_LAUNCH_NVRTC"), nvidias("CUDA_LAUNCH_NVJITLINK"))
    else {
        return;
    };
    // Where NVRTC of CUDA 13.0 finds its own libraries.
    let beside = Path::new(&nvrtc).parent().unwrap();
    let start = |command: &str, program: &[&str]| {
        let mut line = tool();
        line.env("LD_LIBRARY_PATH", beside).args([command, "--"]);
        finished(&line.args(program).output().unwrap())
    };
    let folder = scratch("emulate-nvidia");
    let Some(compiles) = compiled(&folder, "compiles", &format!("{RUN}{COMPILES}"), &[]) else { return };
    let (compiles, links) = (compiles.to_str().unwrap(), linker(&folder, &PTX.replace("9.7", "8.0")));
    let links = links.to_str().unwrap();
    for program in [
        [compiles, &nvrtc, "-arch=sm_90"],
        [compiles, &nvrtc, "--gpu-architecture=sm_90a"],
        [links, &nvjitlink, "ptx"],
        [links, &nvjitlink, "two"],
    ] {
        let plain = start("harness", &program);
        assert_eq!(plain.code, 209, "a cubin is refused: {program:?}: {}{}", plain.out, plain.err);
        let run = start("emulate", &program);
        assert_eq!(run.code, 0, "{program:?}: {}{}", run.out, run.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("emulate-absent");
    let source =
        "#include <dlfcn.h>\nint main(void) { return dlopen(\"libnvrtc.so.999\", RTLD_NOW) ? 0 : 3; }";
    let Some(program) = compiled(&folder, "asks", source, &[]) else { return };
    let run = start("emulate", &[], &[program.to_str().unwrap()]);
    assert!(run.code == 3 && run.says("NVRTC: the program looked for libnvrtc.so.999"), "{}", run.err);
    assert!(run.says("pip install nvidia-cuda-nvrtc") && !run.says("nvJitLink"), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn ptxas_leaves_ptx() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("emulate-ptxas");
    let ptx = PTX.replace("\\n", "\n");
    std::fs::write(folder.join("k.ptx"), &ptx).unwrap();
    let expected = ptx.replace("9.7", "9.0") + "\0";
    let assembled = |with: &Path, line: &str| {
        let mut command = tool();
        let path = format!("{}:/usr/bin:/bin", with.display());
        command.current_dir(&folder).env("PATH", path);
        command.env_remove("TRITON_PTXAS_PATH").env_remove("TRITON_PTXAS_BLACKWELL_PATH");
        let run = finished(&command.args(["emulate", "--", "sh", "-c", line]).output().unwrap());
        (run, std::fs::read_to_string(folder.join("k.cubin")).unwrap_or_default())
    };
    let line = "rm -f k.cubin; ptxas -v --gpu-name=sm_90 k.ptx -o k.cubin";
    let (run, made) = assembled(Path::new("/no/such"), line);
    assert_eq!((run.code, made.as_str()), (0, expected.as_str()), "{}", run.err);
    // The limit of registers that a cubin would have.
    let (run, made) = assembled(Path::new("/no/such"), &line.replace("-v", "--maxrregcount 38"));
    assert!(run.code == 0 && made.contains(".maxnreg 38") && made.ends_with('\0'), "{made}{}", run.err);
    for triton in ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"] {
        let (run, _) = assembled(Path::new("/no/such"), &format!("\"${triton}\" --version"));
        assert!(run.code == 0 && run.out.contains("release 13.0"), "{}{}", run.out, run.err);
        let (run, made) = assembled(Path::new("/no/such"), &line.replace("ptxas", &format!("\"${triton}\"")));
        assert_eq!((run.code, made.as_str()), (0, expected.as_str()), "{}", run.err);
    }

    // Under another `emulate` it has that one's behind it, and comes to an end.
    for line in [line.to_owned(), line.replace("ptxas", "\"$TRITON_PTXAS_BLACKWELL_PATH\"")] {
        let (run, made) = assembled(Path::new("/no/such"), &format!("{TOOL} emulate -- sh -c '{line}'"));
        assert_eq!((run.code, made.as_str()), (0, expected.as_str()), "{}", run.err);
    }

    // The user's checks it first, and says what it has to say.
    let own = folder.join("own");
    std::fs::create_dir_all(&own).unwrap();
    for (code, result) in [(0, expected.as_str()), (5, "")] {
        let script = format!(
            "#!/bin/sh\necho \"registers: $*\"\n[ {code} = 0 ] && echo machine code > k.cubin\nexit {code}\n"
        );
        for name in ["ptxas", "ptxas-blackwell"] {
            std::fs::write(own.join(name), &script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(own.join(name), mode).unwrap();
            let (run, made) = assembled(&own, &line.replace("ptxas", name));
            assert_eq!((run.code, made.as_str()), (code, result), "{name}: {}", run.err);
            assert!(run.out.contains("registers: -v --gpu-name=sm_90 k.ptx -o k.cubin"), "{}", run.out);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// An nvcc that looks for ptxas beside itself, as NVIDIA's does, finds the stand-in, and in other modes its own.
#[test]
fn nvcc_leaves_ptx() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("emulate-nvcc");
    let ptx = PTX.replace("\\n", "\n");
    std::fs::write(folder.join("k.ptx"), &ptx).unwrap();
    let bin = folder.join("toolkit/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("nvcc.profile"), "").unwrap();
    let nvcc = "#!/bin/sh\nPATH=\"$(dirname \"$0\"):$PATH\" ptxas k.ptx -o k.cubin\n";
    for (name, script) in [("nvcc", nvcc), ("ptxas", "#!/bin/sh\necho own\necho machine code > k.cubin\n")] {
        std::fs::write(bin.join(name), script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), mode).unwrap();
    }
    for (option, expected) in
        [("--cubin", ptx.replace("9.7", "9.0") + "\0"), ("--fatbin", "machine code\n".to_owned())]
    {
        let mut command = tool();
        command.current_dir(&folder).env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        let run = finished(&command.args(["emulate", "--", "nvcc", option, "k.cu"]).output().unwrap());
        let made = std::fs::read_to_string(folder.join("k.cubin")).unwrap();
        assert_eq!((run.code, made, run.out.as_str()), (0, expected, "own\n"), "{option}: {}", run.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The driver that a program names by a path of its own is the emulator, too.
#[test]
fn another_driver_is_not_found() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("emulate-driver");
    let other = folder.join("libcuda.so.1");
    let stub = "int cuInit(unsigned flags) { return 77; }";
    if compiled(&folder, "libcuda.so.1", stub, &["-shared", "-fPIC"]).is_none() {
        return;
    }
    let source = "#include <dlfcn.h>\nint main(int count, char **names) { int (*init)(unsigned) = dlsym(dlopen(names[1], RTLD_NOW), \"cuInit\"); return init(0); }";
    let program = compiled(&folder, "opens", source, &[]).unwrap();
    let program = [program.to_str().unwrap(), other.to_str().unwrap()];
    assert_eq!(start("harness", &[], &program).code, 77);
    assert_eq!(start("emulate", &[], &program).code, 0);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn memory_and_exit_codes_are_as_asked() {
    if emulator_library().is_none() {
        return;
    }
    let asks = ["sh", "-c", "echo $CUDA_LAUNCH_EMULATOR_MEMORY $CUDA_LAUNCH_EMULATOR_DEVICES; exit 7"];
    let run = start("emulate", &["--memory", "3G", "--devices", "2"], &asks);
    assert_eq!((run.code, run.out.as_str()), (7, "3221225472 2\n"), "{}", run.err);
    let asks = ["sh", "-c", "echo $CUDA_LAUNCH_EMULATOR_ARCH $CUDA_LAUNCH_EMULATOR_DEVICES"];
    for (options, said) in [
        (&["--arch", "75,sm_120"][..], "sm_75,sm_120 2\n"),
        (&["--arch", "sm_86", "--devices", "3"], "sm_86 3\n"),
    ] {
        assert_eq!(start("emulate", options, &asks).out, said);
    }
    for (options, said) in [
        (&["--arch", "75,120", "--devices", "3"][..], "--arch names 2 devices"),
        (&["--arch", "sm_90a"], "no device can be of the architecture `sm_90a`"),
    ] {
        let run = start("emulate", options, &asks);
        assert!(run.code == 2 && run.says(said), "{}", run.err);
    }
    let run = start("emulate", &["--json"], &["sh", "-c", "exit 7"]);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&answer["schema"], &answer["program_code"]), (&"cuda-launch.emulate.1".into(), &7.into()));
}

/// The driver behind the recorder is the emulator of `emulate`, whose log it is.
#[test]
fn a_program_is_recorded_with_its_compiler() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("emulate-record");
    let Some(nvrtc) = library(&folder, "libnvrtc.so.13", &nvrtc()) else { return };
    let program = compiled(&folder, "compiles", &format!("{RUN}{COMPILES}"), &[]).unwrap();
    let program = [program.to_str().unwrap(), nvrtc.to_str().unwrap(), "-arch=sm_90"];
    let (log, file) = (folder.join("log"), folder.join("seven.record"));
    let (recorder, file) = (recorder.to_str().unwrap(), file.to_str().unwrap());
    let record = [TOOL, "record", "--recorder", recorder, "-o", file, "--"];
    let run = start("emulate", &["--log", log.to_str().unwrap()], &[&record[..], &program].concat());
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(std::fs::read_to_string(&log).unwrap().contains("cuLaunchKernel"));
    let replayed = finished(&tool().args(["replay", "--json", file]).output().unwrap());
    let answer: Value = serde_json::from_str(&replayed.out).unwrap();
    assert_eq!((replayed.code, &answer["same_bytes"]), (0, &4.into()), "{}{}", replayed.out, replayed.err);

    // The other way round the program's driver is the emulator, and nothing comes between.
    std::fs::remove_file(&log).unwrap();
    let record = ["--driver", "emulator", "--recorder", recorder, "-o", file];
    let emulate = [TOOL, "emulate", "--log", log.to_str().unwrap(), "--"];
    let run = start("record", &record, &[&emulate[..], &program].concat());
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(std::fs::read_to_string(&log).unwrap().contains("cuLaunchKernel"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// However it names its driver.
#[test]
fn a_program_is_checked() {
    let (Some(recorder), Some(_)) = (recorder(), emulator_library()) else { return };
    let folder = scratch("emulate-check");
    let ptx = PTX.replace("9.7", "8.0");
    for driver in ["libcuda.so.1", "libcuda.so", "/no/such/folder/libcuda.so.1"] {
        let copies = format!(
            r#"
int main(void)
{{
    int (*allocate)(address *, size_t), (*read)(void *, address, size_t), (*release)(address);
    address memory;
    char bytes[80];
    start();
    allocate = dlsym(cuda, "cuMemAlloc_v2"), read = dlsym(cuda, "cuMemcpyDtoH_v2"), release = dlsym(cuda, "cuMemFree_v2");
    allocate(&memory, 64);
    read(bytes, memory, 80);
    release(memory);
    return run("{ptx}");
}}
"#
        );
        let source =
            format!("{RUN}{copies}").replace("dlopen(\"libcuda.so.1\"", &format!("dlopen(\"{driver}\""));
        let Some(program) = compiled(&folder, "copies", &source, &[]) else { return };
        let check = [TOOL, "check", "--json", "--allow", "leak", "--allow", "failed-call", "--recorder"];
        let program = [recorder.to_str().unwrap(), "--", program.to_str().unwrap()];
        let run = start("emulate", &[], &[&check[..], &program].concat());
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((run.code, &answer["program_code"]), (1, &0.into()), "{driver}: {}{}", run.out, run.err);
        assert!(run.says("error[out-of-range]: call"), "{driver}: {}", run.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
