//! `cuda-launch record` and `replay` of launches that depend on more than arguments and allocations: variables, memory that is mapped in
//! parts, kernels of libraries; and what is refused by name.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use cuda_harness::record::{Contents, Region};
use recordings::{ADD, Folder};
use support::{finished, recorder, tool};

/// `use(u32 *out)`: adds `factor` to what `place` points to, and one to `count`; writes there where `count` is.
const USE: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .const .u32 factor = 3;
.visible .global .u64 place;
.global .u32 count = 7;
.visible .global .u64 here = generic(count);
.visible .entry use(.param .u64 out)
{
    .reg .u64 %p<4>;
    .reg .u32 %r<4>;
    ld.const.u32 %r0, [factor];
    ld.global.u64 %p0, [place];
    ld.global.u32 %r1, [%p0+8];
    add.u32 %r1, %r1, %r0;
    st.global.u32 [%p0+8], %r1;
    ld.global.u64 %p1, [here];
    ld.u32 %r2, [%p1];
    add.u32 %r2, %r2, 1;
    st.global.u32 [count], %r2;
    ld.param.u64 %p2, [out];
    ld.global.u64 %p3, [%p2];
    ld.u32 %r3, [%p3];
    st.global.u32 [%p2+8], %r3;
    ret;
}";

/// How the kernel and its variables are found: in a module, or in a library, by a kernel or by its function.
const WAYS: [(&str, &str, &str); 3] = [
    ("module", "OK(cuModuleLoadData, &owner, ptx); OK(cuModuleGetFunction, &function, owner, \"use\");", "cuModuleGetGlobal_v2"),
    (
        "kernel",
        "OK(cuLibraryLoadData, &owner, ptx, 0, 0, 0, 0, 0, 0); OK(cuLibraryGetKernel, &function, owner, \"use\");",
        "cuLibraryGetGlobal",
    ),
    (
        "function",
        "OK(cuLibraryLoadData, &owner, ptx, 0, 0, 0, 0, 0, 0); OK(cuLibraryGetKernel, &kernel, owner, \"use\");
    OK(cuKernelGetFunction, &function, kernel);",
        "cuLibraryGetGlobal",
    ),
];

fn variable<'list>(regions: &'list [Region], name: &str) -> &'list Region {
    regions.iter().find(|region| region.variable.as_deref() == Some(name)).unwrap()
}

#[test]
fn variables_have_what_the_program_and_earlier_kernels_wrote() {
    let Some(recorder) = recorder() else { return };
    for (way, loads, get) in WAYS {
        let folder = Folder::new(&format!("record-variables-{way}"));
        let main = format!(
            "    handle context, owner, function, kernel = 0;\n    ptr at, memory, out, spare;\n    size_t bytes;\n    u32 factor = 100;
    OK(cuInit, 0);\n    OK(cuDevicePrimaryCtxRetain, &context, 0);\n    OK(cuCtxSetCurrent, context);
    OK(cuMemAlloc_v2, &memory, (size_t)64);\n    OK(cuMemAlloc_v2, &spare, (size_t)1 << 16);\n    OK(cuMemAlloc_v2, &out, (size_t)16);
    OK(cuMemsetD32_v2, memory, 5, (size_t)16);\n    OK(cuMemsetD32_v2, out, 0, (size_t)4);\n    {loads}
    OK({get}, &at, &bytes, owner, \"factor\");\n    OK(cuMemcpyHtoD_v2, at, &factor, (size_t)4);
    OK({get}, &at, &bytes, owner, \"place\");\n    OK(cuMemcpyHtoD_v2, at, &memory, (size_t)8);
    OK({get}, &at, &bytes, owner, \"count\");\n    OK(cuMemcpyHtoD_v2, out, &at, (size_t)8);
    LAUNCH(1, (handle)0, &out);\n    LAUNCH(1, (handle)0, &out);\n    OK(cuCtxSynchronize);\n    (void)kernel;\n    return 0;"
        );
        let Some(program) = folder.program("uses", USE, &main) else { return };
        let (run, answer) = folder.record(&recorder, &["--nth", "2"], &[program.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{way}: {}", run.err);
        let launch = answer["launch"].as_str().unwrap();
        assert!(
            launch.ends_with("allocations: 2 of 80 bytes in all, variables: 4 of 24 bytes in all"),
            "{launch}"
        );
        let recording = folder.recording();
        let words = |name: &str| {
            let (mut before, mut after) = ([0; 4], [0; 4]);
            variable(&recording.regions, name).before(0, &mut before);
            variable(&recording.regions, name).after(0, &mut after);
            (u32::from_le_bytes(before), u32::from_le_bytes(after))
        };
        assert_eq!((words("factor"), words("count")), ((100, 100), (8, 9)), "{way}");
        // Also with each variable elsewhere, as on another driver: pointers to it are those of now.
        for further in [0, 0x10_0000] {
            let mut moved = recording.clone();
            let inside = |region: &Region, word: u64| {
                region.variable.is_some() && word.wrapping_sub(region.address) < region.bytes
            };
            let new = |word: u64| {
                recording.regions.iter().any(|region| inside(region, word)).then_some(word + further)
            };
            for region in &mut moved.regions {
                let address = region.address + if region.variable.is_some() { further } else { 0 };
                *region = Region { address, ..region.with_words(new).0 };
            }
            folder.write(&moved);
            let (run, answer) = folder.replay();
            let same = (&answer["same_bytes"], &answer["moved"], &answer["stale_pointers"]);
            assert_eq!(
                (run.code, same),
                (0, (&104.into(), &0.into(), &0.into())),
                "{way}: {}{}",
                run.out,
                run.err
            );
        }
        // Another result is the variable's.
        let mut altered = recording.clone();
        for region in altered.regions.iter_mut().filter(|region| region.variable.as_deref() == Some("count"))
        {
            region.after = Contents::changes(&8_u32.to_le_bytes(), &10_u32.to_le_bytes());
        }
        folder.write(&altered);
        let (run, answer) = folder.replay();
        assert_eq!((run.code, &answer["differences"][0]["variable"]), (1, &"count".into()), "{way}");
        let text = finished(&tool().arg("replay").arg(folder.file()).output().unwrap()).out;
        assert!(text.contains("differs: 1 of 4 bytes") && text.contains("variable count;"), "{text}");
        // One that the image does not have so.
        for (name, bytes, says) in [("cound", 4, "no variable of that name"), ("factor", 8, "one of 4 bytes")]
        {
            let mut altered = recording.clone();
            altered.regions.push(Region {
                variable: Some(name.to_owned()),
                address: 1 << 40,
                bytes,
                ..Region::default()
            });
            folder.write(&altered);
            let run = finished(&tool().arg("replay").arg(folder.file()).output().unwrap());
            assert!(run.code == 3 && run.says(says) && run.says(name), "{} {}", run.code, run.err);
        }
    }
}

/// As memory that a pool or a framework lets grow: a pointer in memory leads into its second part.
#[test]
fn memory_that_is_mapped_in_parts_is_recorded_as_one() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-mapped");
    let follow =
        ADD.replace("ld.global.u32 %r1, [%p];", "ld.global.u64 %p, [%p];\n    ld.global.u32 %r1, [%p];");
    let main = "    BEGIN(\"add\")\n    ptr table, space, one = 1 << 21;\n    u32 value = 4;\n    handle part;
    struct { int type, handles, place, number; void *security; unsigned char rest[40]; } own = {.type = 1, .place = 1};
    struct { int place, number, flags; } access = {1, 0, 3};
    OK(cuMemAddressReserve, &space, (size_t)(4 * one), (size_t)0, 0ULL, 0ULL);
    for (int at = 0; at < 3; at++) {\n        OK(cuMemCreate, &part, (size_t)one, &own, 0ULL);
        OK(cuMemMap, space + at * one, (size_t)one, (size_t)0, part, 0ULL);\n    }
    OK(cuMemSetAccess, space, (size_t)(2 * one), &access, (size_t)1);
    OK(cuMemsetD32_v2, space, 9, (size_t)(2 * one / 4));
    OK(cuMemAlloc_v2, &table, (size_t)8);\n    ptr inside = space + one + 64;
    OK(cuMemcpyHtoD_v2, table, &inside, (size_t)8);\n    LAUNCH(1, (handle)0, &table, &value);
    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("maps", &follow, main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let recording = folder.recording();
    let sizes: Vec<u64> = recording.regions.iter().map(|region| region.bytes).collect();
    // The third part is mapped, and no device may use it.
    assert_eq!(sizes, [8, 2 << 21]);
    let mut changed = [0; 4];
    recording.regions[1].after((1 << 21) + 64, &mut changed);
    assert_eq!(changed, [13, 0, 0, 0]);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["same_bytes"]), (0, &((2 << 21) + 8).into()), "{}", run.out);
}

/// `take(u64 *out)`: takes 16 MiB from the heap, and stores whether it had them.
const HEAP: &str = ".version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.visible .entry take(.param .u64 out)
{
    .reg .u64 %p<3>;
    .reg .u32 %r;
    .reg .pred %is;
    .param .b64 bytes, result;
    ld.param.u64 %p0, [out];
    mov.u64 %p1, 16777216;
    st.param.b64 [bytes], %p1;
    call.uni (result), malloc, (bytes);
    ld.param.b64 %p2, [result];
    setp.ne.u64 %is, %p2, 0;
    selp.u32 %r, 1, 0, %is;
    st.global.u32 [%p0], %r;
    ret;
}";

/// The heap has 8 MiB unless the program asks for more.
#[test]
fn the_limits_of_the_context_are_those_of_the_recording() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-limits");
    // A limit of the heap has to be set before a module is loaded.
    let main = "    handle context, module, function;\n    ptr out;\n    OK(cuInit, 0);\n    OK(cuDevicePrimaryCtxRetain, &context, 0);\n    OK(cuCtxSetCurrent, context);
    OK(cuCtxSetLimit, 2, (size_t)64 << 20);\n    OK(cuCtxSetLimit, 0, (size_t)4096);
    OK(cuModuleLoadData, &module, ptx);\n    OK(cuModuleGetFunction, &function, module, \"take\");
    OK(cuMemAlloc_v2, &out, (size_t)4);\n    OK(cuMemsetD32_v2, out, 7, (size_t)1);\n    LAUNCH(1, (handle)0, &out);
    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("takes", HEAP, main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let mut recording = folder.recording();
    let limit = |id: u32| recording.limits.iter().find(|(known, _)| *known == id).map(|(_, value)| *value);
    assert_eq!((limit(0), limit(2)), (Some(4096), Some(64 << 20)));
    let mut after = [0; 4];
    recording.regions.last().unwrap().after(0, &mut after);
    assert_eq!(after, [1, 0, 0, 0]);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["limits_not_set"]), (0, &serde_json::json!([])), "{}{}", run.out, run.err);
    // One that nothing has.
    recording.limits.push((77, 5));
    folder.write(&recording);
    let (run, answer) = folder.replay();
    let told = serde_json::json!([{ "name": "limit 77 of the context", "recorded": 5, "now": null }]);
    assert_eq!((run.code, &answer["limits_not_set"]), (0, &told), "{}", run.err);
    let text = finished(&tool().arg("replay").arg(folder.file()).output().unwrap()).out;
    assert!(
        text.contains("note: limit 77 of the context was 5, and is unknown to this driver here"),
        "{text}"
    );
    // Without them the kernel does something else.
    recording.limits.clear();
    folder.write(&recording);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["differences"][0]["differing"]), (1, &1.into()), "{}", run.out);
}

/// `sample(u64 texture, u32 *out)`
const SAMPLE: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry sample(.param .u64 texture, .param .u64 out)
{
    .reg .u64 %p<2>;
    .reg .u32 %r<5>;
    ld.param.u64 %p0, [texture];
    ld.param.u64 %p1, [out];
    mov.u32 %r0, 1;
    tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%p0, {%r0}];
    st.global.u32 [%p1], %r1;
    ret;
}";

/// With the texture `what`, and launched so.
fn sampling(what: &str, launched: &str) -> String {
    format!(
        "    BEGIN(\"sample\")\n    ptr memory, out, texture;\n    handle array = 0;\n    struct {{ size_t width, height; u32 format, channels; }} shape = {{16, 0, 3, 1}};
    struct {{ u32 type; union {{ struct {{ ptr place; u32 format, channels; size_t width, height, pitch; }}; handle array; }}; unsigned char rest[96]; }} what = {what};
    unsigned char how[128] = {{0}};\n    how[16] = 1;\n    OK(cuMemAlloc_v2, &memory, (size_t)4096);\n    OK(cuMemAlloc_v2, &out, (size_t)4);
    OK(cuMemsetD32_v2, memory, 6, (size_t)1024);\n    OK(cuMemsetD32_v2, out, 0, (size_t)1);\n    (void)shape;
    if (what.type == 0) {{ OK(cuArrayCreate_v2, &array, &shape); what.array = array; }} else what.place = memory;
    OK(cuTexObjectCreate, &texture, &what, how, (void *)0);\n    {launched}\n    OK(cuCtxSynchronize);\n    return 0;"
    )
}

/// Of linear memory, and of rows; also where the memory and the object are others.
#[test]
fn a_texture_of_memory_is_recorded() {
    let Some(recorder) = recorder() else { return };
    let rows = SAMPLE.replace(
        "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%p0, {%r0}]",
        "tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%p0, {%r0, %r0}]",
    );
    for (kind, ptx, what) in [
        ("linear", SAMPLE, "{.type = 2, .format = 3, .channels = 1, .width = 64}"),
        (
            "rows",
            rows.as_str(),
            "{.type = 3, .format = 3, .channels = 1, .width = 16, .height = 4, .pitch = 512}",
        ),
    ] {
        let folder = Folder::new(&format!("record-texture-{kind}"));
        // Another object before, so that the handle is not the first one.
        let launched = "ptr second; OK(cuTexObjectCreate, &second, &what, how, (void *)0); LAUNCH(1, (handle)0, &second, &out);";
        let Some(program) = folder.program("samples", ptx, &sampling(what, launched)) else { return };
        let (run, answer) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{kind}: {answer:#}{}", run.err);
        let mut recording = folder.recording();
        let sizes: Vec<u64> = recording.regions.iter().map(|region| region.bytes).collect();
        assert_eq!(
            (recording.textures.len(), recording.textures[0].offset, sizes),
            (1, 0, vec![4, 4096]),
            "{kind}"
        );
        let (run, answer) = folder.replay();
        assert_eq!((run.code, &answer["same_bytes"]), (0, &4100.into()), "{kind}: {}{}", run.out, run.err);
        let run = finished(&tool().args(["replay", "--apart"]).arg(folder.file()).output().unwrap());
        assert_eq!(run.code, 0, "{kind}: {}{}", run.out, run.err);
        // With other values in it the result is another.
        recording.regions[1].before = Contents::of(&[7; 4096]);
        folder.write(&recording);
        let (run, answer) = folder.replay();
        assert_eq!(
            (run.code, &answer["differences"][0]["now"]),
            (1, &"07070707".into()),
            "{kind}: {}",
            run.out
        );
        // One that cannot be.
        recording.textures[0].channels = 3;
        folder.write(&recording);
        let run = finished(&tool().arg("replay").arg(folder.file()).output().unwrap());
        assert!(run.code == 4 && run.says("cuTexObjectCreate returned"), "{kind}: {} {}", run.code, run.err);
        recording.textures[0].offset = 12;
        folder.write(&recording);
        let run = finished(&tool().arg("replay").arg(folder.file()).output().unwrap());
        assert!(
            run.code == 3 && run.says("a texture at 12, but 16 bytes of arguments"),
            "{kind}: {}",
            run.err
        );
    }
}

#[test]
fn a_texture_of_an_array_is_refused_by_name_and_a_number_that_looks_like_one_is_not() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-texture");
    let launch = "LAUNCH(1, (handle)0, &texture, &out);";
    let main = sampling("{.type = 0}", launch);
    let Some(program) = folder.program("samples", SAMPLE, &main) else { return };
    let (run, answer) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    let why = answer["why_not"].as_str().unwrap_or_default();
    assert_eq!((run.code, &answer["program_code"]), (1, &0.into()), "{answer:#}{}", run.err);
    assert!(
        why.starts_with("argument 0 is texture#1, of an array, and a recording has no surfaces"),
        "{why}"
    );
    assert!(!folder.file().exists());
    // A kernel that uses no texture has a number there.
    let other =
        SAMPLE.replace("tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%p0, {%r0}];", "cvt.u32.u64 %r1, %p0;");
    let Some(program) = folder.program("numbers", &other, &main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!((run.code, folder.replay().0.code), (0, 0), "{}", run.err);
}

#[test]
fn launches_that_were_captured_are_counted_apart() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-captured");
    let main = "    BEGIN(\"add\")\n    ptr number;\n    u32 value = 1;\n    handle stream, graph, exec;\n    OK(cuStreamCreate, &stream, 1);
    OK(cuMemAlloc_v2, &number, (size_t)4);\n    OK(cuMemsetD32_v2, number, 0, (size_t)1);\n    OK(cuCtxSynchronize);
    OK(cuStreamBeginCapture_v2, stream, 2);\n    LAUNCH(1, stream, &number, &value);\n    OK(cuStreamEndCapture, stream, &graph);
    OK(cuGraphInstantiateWithFlags, &exec, graph, 0ULL);\n    OK(cuGraphLaunch, exec, stream);\n    OK(cuStreamSynchronize, stream);\n    return 0;";
    let Some(program) = folder.program("captures", ADD, main) else { return };
    let (run, answer) = folder.record(&recorder, &["--kernel", "add"], &[program.to_str().unwrap()]);
    assert_eq!((run.code, &answer["captured"]), (1, &1.into()), "{}", run.err);
    let mut command = tool();
    command
        .args(["record", "--driver", "emulator", "--recorder"])
        .arg(&recorder)
        .arg("-o")
        .arg(folder.file());
    let run = finished(&command.arg("--").arg(program).output().unwrap());
    assert!(run.says("there was no such launch, but one was captured into a graph"), "{}", run.err);
}

/// `add`, to the word that `mapa` finds in the next block's shared memory of a cluster of two: 7 and its own number.
const CLUSTER: &str = ".version 7.8
.target sm_90
.address_size 64
.visible .entry add(.param .u64 number, .param .u32 value) .explicitcluster
{
    .shared .align 4 .u32 own;
    .reg .u64 %p<2>;
    .reg .u32 %r<7>;
    ld.param.u64 %p0, [number];
    ld.param.u32 %r0, [value];
    mov.u32 %r1, %cluster_ctarank;
    add.u32 %r2, %r1, %r0;
    st.shared.u32 [own], %r2;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    xor.b32 %r3, %r1, 1;
    mov.u32 %r4, own;
    mapa.shared::cluster.u32 %r5, %r4, %r3;
    ld.shared::cluster.u32 %r6, [%r5];
    mul.wide.u32 %p1, %r1, 4;
    add.u64 %p0, %p0, %p1;
    st.global.u32 [%p0], %r6;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}";

#[test]
fn a_cluster_is_one_again() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-cluster");
    let main = "    BEGIN(\"add\")\n    ptr number;\n    u32 value = 7;\n    OK(cuMemAlloc_v2, &number, (size_t)8);
    OK(cuMemsetD32_v2, number, 0, (size_t)2);\n    OK(cuCtxSynchronize);
    struct { u32 id, pad, x, y, z, rest[13]; } attributes[2] = {{.id = 4, .x = 2, .y = 1, .z = 1}, {.id = 8, .x = 0}};
    struct { u32 grid[3], block[3], shared; handle stream; void *attributes; u32 count; } config = {{2, 1, 1}, {1, 1, 1}, 0, 0, attributes, 2};
    void *arguments[] = {&number, &value};\n    OK(cuLaunchKernelEx, &config, function, arguments, (void *)0);
    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("clusters", CLUSTER, main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let recording = folder.recording();
    let mut after = [0; 8];
    recording.regions[0].after(0, &mut after);
    assert_eq!(after, [8, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(recording.attributes[0].1[..12], [2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let (run, answer) = folder.replay();
    let told = (&answer["same_bytes"], &answer["attributes_left_out"]);
    assert_eq!((run.code, told), (0, (&8.into(), &serde_json::json!([8]))), "{}{}", run.out, run.err);
}

/// Memory of every kind, as an argument and reached by a pointer in memory; of another device, too, and in an image of several parts from a
/// file.
#[test]
fn memory_of_every_kind_is_recorded() {
    let Some(recorder) = recorder() else { return };
    let ways = [
        ("pool", "OK(cuMemAllocAsync, &number, (size_t)64, (handle)0);"),
        (
            "freed-and-back",
            "OK(cuMemAllocAsync, &number, (size_t)64, (handle)0); OK(cuMemFreeAsync, number, (handle)0); OK(cuMemAllocAsync, &number, (size_t)64, (handle)0);",
        ),
        ("managed", "OK(cuMemAllocManaged, &number, (size_t)64, 1);"),
        (
            "pinned",
            "void *own; OK(cuMemHostAlloc, &own, (size_t)64, 2); OK(cuMemHostGetDevicePointer_v2, &number, own, 0);",
        ),
        (
            "registered",
            "static char own[8192] __attribute__((aligned(4096))); OK(cuMemHostRegister_v2, own, sizeof own, 2); OK(cuMemHostGetDevicePointer_v2, &number, own, 0);",
        ),
        (
            "peer",
            "handle other; OK(cuDevicePrimaryCtxRetain, &other, 1); OK(cuCtxSetCurrent, other); OK(cuMemAlloc_v2, &number, (size_t)64); OK(cuCtxSetCurrent, context); OK(cuCtxEnablePeerAccess, other, 0);",
        ),
    ];
    for (way, allocates) in ways {
        let folder = Folder::new(&format!("record-kind-{way}"));
        let main = format!(
            "    BEGIN(\"add\")\n    ptr number, table;\n    u32 value = 4;\n    {allocates}\n    OK(cuMemAlloc_v2, &table, (size_t)8);
    OK(cuMemsetD32_v2, number, 9, (size_t)16);\n    OK(cuMemcpyHtoD_v2, table, &number, (size_t)8);
    OK(cuCtxSynchronize);\n    LAUNCH(1, (handle)0, DIRECT ? &number : &table, &value);\n    OK(cuCtxSynchronize);\n    return 0;"
        );
        let follow =
            ADD.replace("ld.global.u32 %r1, [%p];", "ld.global.u64 %p, [%p];\n    ld.global.u32 %r1, [%p];");
        for (direct, ptx) in [("1", ADD), ("0", follow.as_str())] {
            let main = main.replace("DIRECT", direct);
            let Some(program) = folder.program("adds", ptx, &main) else { return };
            let (run, answer) = folder.record_on(&recorder, "2", &[program.to_str().unwrap()]);
            assert_eq!(run.code, 0, "{way} {direct}: {answer:#} {}", run.err);
            let recording = folder.recording();
            let reached = recording.regions.last().unwrap();
            let mut after = [0; 8];
            reached.after(0, &mut after);
            assert_eq!(
                (after, recording.regions.len()),
                ([13, 0, 0, 0, 9, 0, 0, 0], if direct == "1" { 1 } else { 2 }),
                "{way} {direct}"
            );
            let (run, answer) = folder.replay();
            assert_eq!(
                (run.code, &answer["moved"]),
                (0, &0.into()),
                "{way} {direct}: {}{}",
                run.out,
                run.err
            );
        }
    }
}

/// A file of a fatbin whose parts are compressed.
#[test]
fn an_image_from_a_file_is_in_the_recording() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-file");
    let image = support::root().join("ptx/tests/data/basic.zstd.fatbin");
    let text = format!("\"{}\"", image.display());
    for (loads, gets) in [
        ("OK(cuModuleLoad, &module, FROM);", "cuModuleGetFunction"),
        ("OK(cuLibraryLoadFromFile, &module, FROM, 0, 0, 0, 0, 0, 0);", "cuLibraryGetKernel"),
    ] {
        let loads = loads.replace("FROM", &text);
        let main = format!(
            "    handle context, module, function;\n    ptr number, count = 4;\n    (void)ptx;\n    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);\n    OK(cuCtxSetCurrent, context);\n    {loads}\n    OK({gets}, &function, module, \"vecadd\");
    OK(cuMemAlloc_v2, &number, (size_t)16);\n    OK(cuMemsetD32_v2, number, 0x40000000, (size_t)4);
    LAUNCH(4, (handle)0, &number, &number, &number, &count);\n    OK(cuCtxSynchronize);\n    return 0;"
        );
        let Some(program) = folder.program("files", ADD, &main) else { return };
        let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(folder.recording().image, std::fs::read(&image).unwrap());
        let (run, answer) = folder.replay();
        assert_eq!((run.code, &answer["same_bytes"]), (0, &16.into()), "{}", run.out);
    }
}
