//! `cuda-launch record` and `replay`: a launch becomes a file, which is launched again and compared.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use cuda_harness::record::Recording;
use recordings::{ADD, Folder, answered, saxpy};
use serde_json::Value;
use support::{TOOL, emulator_library, finished, recorder, root, tool};

#[test]
fn a_launch_is_recorded_and_does_the_same_again() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record");
    let (run, answer) = folder.record(&recorder, &["--kernel", "sax*"], &saxpy("u32:100"));
    assert_eq!((run.code, &answer["schema"]), (0, &"cuda-launch.record.1".into()), "{}", run.err);
    let recording = folder.recording();
    assert_eq!(
        (recording.kernel.as_str(), recording.block, recording.parameters.len()),
        ("saxpy", [256, 1, 1], 4)
    );
    assert_eq!(recording.image, std::fs::read(root().join("examples/kernels/saxpy.ptx")).unwrap());
    // x and y, of 100 floats each, of which the launch changed the second.
    let changed: Vec<bool> = recording.regions.iter().map(|region| !region.after.list().is_empty()).collect();
    assert_eq!((changed.as_slice(), recording.regions[1].bytes), (&[false, true][..], 400));
    let (run, answer) = folder.replay();
    assert_eq!(
        (run.code, &answer["same_bytes"], &answer["moved"]),
        (0, &800.into(), &0.into()),
        "{}",
        run.out
    );

    // Another answer than the recorded one, in the third element of y.
    let mut altered = recording.clone();
    let mut after = vec![0; 400];
    recording.regions[1].after(0, &mut after);
    after[9] ^= 0x10;
    let mut before = vec![0; 400];
    recording.regions[1].before(0, &mut before);
    altered.regions[1].after = cuda_harness::record::Contents::changes(&before, &after);
    folder.write(&altered);
    let (run, answer) = folder.replay();
    let difference = &answer["differences"][0];
    assert_eq!((run.code, &difference["argument"], &difference["differing"]), (1, &3.into(), &1.into()));
    assert_eq!((&difference["first"], &answer["same_bytes"]), (&9.into(), &799.into()));
    let text = finished(&tool().arg("replay").arg(folder.file()).output().unwrap()).out;
    assert!(
        text.contains("differs: 1 of 400 bytes at ") && text.contains("argument 3; the first at offset 9"),
        "{text}"
    );
}

#[test]
fn attributes_and_much_shared_memory_are_replayed() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-attributes");
    let program = [saxpy("u32:100"), vec!["--cooperative", "--shared", "60000"]].concat();
    let (run, _) = folder.record(&recorder, &[], &program);
    assert_eq!(run.code, 0, "{}", run.err);
    let mut recording = folder.recording();
    let mut cooperative = (2, [0; 64]);
    cooperative.1[0] = 1;
    assert_eq!((recording.shared, recording.attributes.as_slice()), (60_000, &[cooperative][..]));
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["attributes_left_out"]), (0, &serde_json::json!([])), "{}", run.out);
    // One that is about what is around a launch.
    recording.attributes.push((8, [0; 64]));
    folder.write(&recording);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["attributes_left_out"]), (0, &serde_json::json!([8])), "{}", run.out);
}

/// Static shared memory counts, too: of 48 KiB what is left for dynamic memory without asking is less.
#[test]
fn dynamic_shared_memory_beside_static_is_replayed() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-shared");
    let add =
        ADD.replace("{\n    .reg .u64 %p;", "{\n    .shared .align 4 .b8 own[20480];\n    .reg .u64 %p;");
    let add = add.replace("    ret;", "    st.shared.u32 [own], %r2;\n    ret;");
    let main = "    BEGIN(\"add\")\n    ptr number;\n    u32 value = 1;\n    void *arguments[] = {&number, &value};
    OK(cuMemAlloc_v2, &number, (size_t)4);\n    OK(cuMemsetD32_v2, number, 0, (size_t)1);
    OK(cuFuncSetAttribute, function, 8, 40960);
    OK(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 40960, (handle)0, arguments, (void *)0);\n    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("shared", &add, main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!((run.code, folder.recording().shared), (0, 40_960), "{}", run.err);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["same_bytes"]), (0, &4.into()), "{}", run.out);
}

/// Host memory that the program registers begins anywhere; what is aligned there stays so where it cannot have its address.
#[test]
fn memory_that_begins_anywhere_is_followed_and_moved() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-unaligned");
    let main = "    BEGIN(\"follow\")\n    static char page[8192] __attribute__((aligned(4096)));\n    ptr number, table;
    OK(cuMemAlloc_v2, &number, (size_t)8);\n    memcpy(page + 16, &number, sizeof number);
    OK(cuMemHostRegister_v2, page + 4, (size_t)4096, 2);\n    OK(cuMemHostGetDevicePointer_v2, &table, page + 4, 0);
    struct { u32 value; ptr table; } by_value = {7, table + 4};\n    LAUNCH(1, (handle)0, &by_value);
    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("unaligned", FOLLOW, main) else { return };
    let (run, _) = folder.record(&recorder, &["--kernel", "follow"], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let regions: Vec<_> = folder.recording().regions.iter().map(|one| (one.address % 8, one.bytes)).collect();
    assert_eq!(regions, [(4, 4096), (0, 8)], "what the pointer behind the start leads to");
    let mut command = tool();
    command.args(["replay", "--json", "--relocate", "--apart"]).arg(folder.file());
    let (run, answer) = answered(finished(&command.output().unwrap()));
    assert_eq!((run.code, &answer["changed_pointers"]), (0, &1.into()), "{}", run.out);
}

#[test]
fn processes_that_record_the_same_file_do_not_damage_it() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-processes");
    let several = ["sh", "-c", "for i in 1 2 3 4; do \"$0\" \"$@\" & done; wait"];
    let (run, answer) = folder.record(&recorder, &[], &[&several, saxpy("u32:100").as_slice()].concat());
    assert_eq!((run.code, &answer["launches"]["saxpy"]), (0, &4.into()), "{}", run.err);
    assert_eq!(folder.replay().0.code, 0);
    let files: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["launch.record"]);
}

/// A command that is started by another one is not that one again.
/// Such as `/dev/stdout`.
#[test]
fn a_link_stays_where_a_recording_is_written_through_it() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-link");
    let target = folder.0.join("target");
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, folder.file()).unwrap();
    let (run, _) = folder.record(&recorder, &["--kernel", "saxpy"], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(std::fs::symlink_metadata(folder.file()).unwrap().is_symlink());
    assert_eq!(Recording::read(&std::fs::read(target).unwrap()).unwrap().kernel, "saxpy");
}

#[test]
fn a_trace_of_a_program_that_is_recorded_is_a_trace() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-trace");
    let trace = folder.0.join("trace.json");
    let inner = [
        TOOL,
        "trace",
        "--driver",
        "emulator",
        "-o",
        trace.to_str().unwrap(),
        "--recorder",
        recorder.to_str().unwrap(),
        "--",
    ];
    let (run, _) = folder.record(&recorder, &[], &[&inner, saxpy("u32:100").as_slice()].concat());
    assert!(std::fs::read_to_string(trace).unwrap().contains("saxpy"), "{}", run.err);
}

#[test]
fn memory_that_cannot_be_where_it_was_is_elsewhere() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-moved");
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    let mut recording = folder.recording();
    // No allocation of the emulator begins there, or lies there.
    let further = (1 << 36) + 16;
    for region in &mut recording.regions {
        region.address += further;
    }
    for offset in [8, 16] {
        let word = recording.arguments[offset..offset + 8].try_into().unwrap();
        let moved = u64::from_le_bytes(word) + further;
        recording.arguments[offset..offset + 8].copy_from_slice(&moved.to_le_bytes());
    }
    folder.write(&recording);
    let (run, answer) = folder.replay();
    assert_eq!(
        (run.code, &answer["moved"], &answer["stale_pointers"]),
        (0, &2.into(), &0.into()),
        "{}",
        run.out
    );
}

/// A program may allocate before it loads the module, whose variables then lie behind.
#[test]
fn the_variables_of_the_module_do_not_take_the_addresses_of_memory() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("variables");
    let ptx = ADD.replace(".visible", ".global .u32 variable = 7;\n.visible");
    let main = r#"    handle context, module, function;
    ptr number;
    u32 seven = 7;
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuMemAlloc_v2, &number, (size_t)4);
    OK(cuMemsetD32_v2, number, 1, (size_t)1);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &function, module, "add");
    LAUNCH(1, 0, &number, &seven);
    OK(cuMemFree_v2, number);
    return 0;"#;
    let Some(program) = folder.program("program", &ptx, main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let (run, answer) = folder.replay();
    // Of the memory, and of the variable.
    assert_eq!((run.code, &answer["same_bytes"], &answer["moved"]), (0, &8.into(), &0.into()), "{}", run.err);
}

#[test]
fn the_fault_of_a_recorded_launch_is_found_again() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-fault");
    // One element more than there are.
    let (run, answer) = folder.record(&recorder, &[], &saxpy("u32:101"));
    assert_eq!((run.code, answer["file"].is_string()), (1, true), "{}", run.err);
    assert_eq!(folder.recording().code, 700);
    let (run, answer) = folder.replay();
    let fault = answer["fault"].as_str().unwrap();
    assert!(run.code == 1 && fault.contains("past the end of the allocation"), "{fault}");
    assert_eq!((&answer["code"], &answer["is_compared"]), (&700.into(), &false.into()));
    let text = finished(&tool().arg("replay").arg(folder.file()).output().unwrap()).out;
    assert!(text.contains("the launch failed: CUDA_ERROR_ILLEGAL_ADDRESS"), "{text}");
}

/// `take(u32 *from, u32 *to, u32 offset)`
const TAKE: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry take(.param .u64 from, .param .u64 to, .param .u32 offset)
{
    .reg .u64 %p<4>;
    .reg .u32 %r<2>;
    ld.param.u64 %p0, [from];
    ld.param.u64 %p1, [to];
    ld.param.u32 %r0, [offset];
    cvt.u64.u32 %p2, %r0;
    add.u64 %p3, %p0, %p2;
    ld.global.u32 %r1, [%p3];
    st.global.u32 [%p1+8], %r1;
    ret;
}";

/// On a GPU an allocation often begins where another ends, as it would not on the emulator: an access there is a fault only where they are apart.
#[test]
fn an_access_to_the_allocation_behind_is_found_where_they_are_apart() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-apart");
    let main = "    BEGIN(\"take\")\n    ptr from, to;\n    u32 offset = 0;\n    OK(cuMemAlloc_v2, &from, (size_t)512);
    OK(cuMemAlloc_v2, &to, (size_t)512);\n    OK(cuMemsetD32_v2, from, 5, (size_t)128);
    OK(cuMemsetD32_v2, to, 5, (size_t)128);\n    LAUNCH(1, (handle)0, &from, &to, &offset);\n    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("takes", TAKE, main) else { return };
    let (run, _) = folder.record(&recorder, &[], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["adjacent"]), (0, &0.into()), "{}", run.out);
    let mut recording = folder.recording();
    let behind = recording.regions[0].address + 512;
    recording.regions[1].address = behind;
    recording.arguments[8..16].copy_from_slice(&behind.to_le_bytes());
    recording.arguments[16..20].copy_from_slice(&512_u32.to_le_bytes());
    folder.write(&recording);
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["adjacent"]), (1, &1.into()), "{}", run.out);
    // The address is computed from that of one parameter.
    assert_eq!((&answer["findings"][0]["kind"], &answer["fault"]), (&"out-of-bounds".into(), &Value::Null));
    let replay =
        |option: &[&str]| finished(&tool().arg("replay").arg(folder.file()).args(option).output().unwrap());
    let told = replay(&[]).out;
    assert!(told.contains("note: 1 allocation directly after another"), "{told}");
    let (run, answer) = answered(replay(&["--apart", "--json"]));
    let fault = answer["fault"].as_str().unwrap();
    assert!(run.code == 1 && fault.contains("0 bytes past the end of the allocation"), "{fault}");
    assert_eq!(answer["adjacent"], 0);
    // What does not go past an end does the same there.
    recording.arguments[16..20].copy_from_slice(&508_u32.to_le_bytes());
    folder.write(&recording);
    let (run, answer) = answered(replay(&["--apart", "--json"]));
    assert_eq!((run.code, &answer["same_bytes"]), (0, &1024.into()), "{}", run.out);
    let refused = replay(&["--apart", "--driver", "system"]);
    assert!(refused.code == 2 && refused.says("--apart is for the emulator"), "{}", refused.err);
}

#[test]
fn a_race_that_a_gpu_does_not_show_is_found_in_the_recording() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-race");
    let main = "    BEGIN(\"add\")\n    ptr number;\n    u32 one = 1;\n    OK(cuMemAlloc_v2, &number, (size_t)4);
    OK(cuMemsetD32_v2, number, 5, (size_t)1);\n    LAUNCH(2, (handle)0, &number, &one);\n    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("races", ADD, main) else { return };
    let (run, _) = folder.record(&recorder, &["--kernel", "add"], &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let (run, answer) = folder.replay();
    let kinds: Vec<&str> =
        answer["findings"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(run.code == 1 && kinds.contains(&"race"), "{}", run.out);
}

/// `follow(struct { u32 index; u32 *table[2]; } by_value)`: the address of an address, in a structure.
const FOLLOW: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry follow(.param .align 8 .b8 by_value[16])
{
    .reg .u64 %p<3>;
    .reg .u32 %r<2>;
    ld.param.u64 %p0, [by_value+8];
    ld.global.u64 %p1, [%p0+8];
    ld.param.u32 %r0, [by_value];
    st.global.u32 [%p1+4], %r0;
    ret;
}";

#[test]
fn pointers_in_structures_and_in_memory_are_followed() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-pointers");
    let main = "    BEGIN(\"follow\")\n    ptr table, number, other;\n    OK(cuMemAlloc_v2, &table, (size_t)16);
    OK(cuMemAlloc_v2, &other, (size_t)64);\n    OK(cuMemAlloc_v2, &number, (size_t)8);
    ptr entries[2] = {0, number};\n    OK(cuMemcpyHtoD_v2, table, entries, sizeof entries);
    struct { u32 value; ptr table; } by_value = {7, table};\n    LAUNCH(1, (handle)0, &by_value);
    u32 result[2];\n    OK(cuMemcpyDtoH_v2, result, number, sizeof result);\n    printf(\"%u\\n\", result[1]);\n    return 0;";
    let Some(program) = folder.program("follows", FOLLOW, main) else { return };
    let (run, _) = folder.record(&recorder, &["--kernel", "follow"], &[program.to_str().unwrap()]);
    assert!(run.code == 0 && run.err.contains('7'), "{}", run.err);
    let recording = folder.recording();
    let sizes: Vec<u64> = recording.regions.iter().map(|region| region.bytes).collect();
    assert_eq!(sizes, [16, 8], "the table, and what it points to");
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["moved"]), (0, &0.into()), "{}", run.out);
    let mut changed = [0; 8];
    recording.regions[1].after(0, &mut changed);
    assert_eq!(changed[4..], [7, 0, 0, 0]);

    // The same launch with its memory where the emulator has none, as are all pointers.
    let mut moved = recording.clone();
    let distance = (1 << 36) + 16;
    let further = |word: u64| {
        let inside =
            |region: &&cuda_harness::record::Region| word.wrapping_sub(region.address) < region.bytes;
        recording.regions.iter().find(inside).map(|_| word + distance)
    };
    for (region, old) in moved.regions.iter_mut().zip(&recording.regions) {
        *region = old.with_words(further).0;
        region.address += distance;
    }
    let table = u64::from_le_bytes(recording.arguments[8..].try_into().unwrap());
    moved.arguments[8..].copy_from_slice(&further(table).unwrap().to_le_bytes());
    folder.write(&moved);
    let (run, answer) = folder.replay();
    assert_eq!(
        (run.code, &answer["moved"], &answer["stale_pointers"]),
        (1, &2.into(), &1.into()),
        "{}",
        run.out
    );
    let mut command = tool();
    command.args(["replay", "--json", "--relocate"]).arg(folder.file());
    let (run, answer) = answered(finished(&command.output().unwrap()));
    assert_eq!(
        (run.code, &answer["stale_pointers"], &answer["changed_pointers"]),
        (0, &0.into(), &1.into()),
        "{}",
        run.out
    );
    assert_eq!(answer["same_bytes"], 24);

    // As on a GPU: a driver that reserves addresses, of which the emulator has these.
    let Some(library) = emulator_library() else { return };
    let there = |word: u64| {
        let inside =
            |region: &&cuda_harness::record::Region| word.wrapping_sub(region.address) < region.bytes;
        recording.regions.iter().find(inside).map(|_| word - 0x400_0000_0000)
    };
    for (region, old) in moved.regions.iter_mut().zip(&recording.regions) {
        *region = old.with_words(there).0;
        region.address = old.address - 0x400_0000_0000;
    }
    moved.arguments[8..].copy_from_slice(&there(table).unwrap().to_le_bytes());
    folder.write(&moved);
    let mut command = tool();
    command.args(["replay", "--json", "--driver"]).arg(library).arg(folder.file());
    let (run, answer) = answered(finished(&command.output().unwrap()));
    assert_eq!(
        (run.code, &answer["moved"], &answer["same_bytes"]),
        (0, &0.into(), &24.into()),
        "{}",
        run.out
    );
}

/// Memory that is made in other ways than `cuMemAlloc`, and is reached by a pointer in memory alone: all of it is in the file.
#[test]
fn managed_and_pitched_memory_is_followed() {
    let Some(recorder) = recorder() else { return };
    let ways = [
        ("managed", "OK(cuMemAllocManaged, &number, (size_t)8, 1);", 1),
        (
            "pitched",
            "OK(cuMemAllocPitch_v2, &number, &pitch, (size_t)8, (size_t)4, 8); number += 3 * pitch;",
            4,
        ),
    ];
    for (way, allocates, rows) in ways {
        let folder = Folder::new(&format!("record-{way}"));
        let main = format!(
            "    BEGIN(\"follow\")\n    ptr table, number;\n    size_t pitch = 8;\n    {allocates}
    OK(cuMemAllocManaged, &table, (size_t)16, 1);\n    ptr entries[2] = {{0, number}};
    OK(cuMemcpyHtoD_v2, table, entries, sizeof entries);\n    OK(cuMemsetD8_v2, number, 3, (size_t)8);
    struct {{ u32 value; ptr table; }} by_value = {{7, table}};\n    LAUNCH(1, (handle)0, &by_value);
    OK(cuCtxSynchronize);\n    printf(\"%zu\\n\", pitch);\n    return 0;"
        );
        let Some(program) = folder.program("follows", FOLLOW, &main) else { return };
        let (run, _) = folder.record(&recorder, &["--kernel", "follow"], &[program.to_str().unwrap()]);
        let pitch: u64 = run.err.lines().find_map(|line| line.trim().parse().ok()).unwrap();
        let recording = folder.recording();
        let sizes: Vec<u64> = recording.regions.iter().map(|region| region.bytes).collect();
        assert_eq!((run.code, sizes), (0, vec![16, rows * pitch]), "{way}: {}", run.err);
        let mut last = [0; 8];
        recording.regions[1].after((rows - 1) * pitch, &mut last);
        assert_eq!(last, [3, 3, 3, 3, 7, 0, 0, 0], "{way}");
        let (run, answer) = folder.replay();
        let same = serde_json::json!(16 + rows * pitch);
        assert_eq!((run.code, &answer["moved"], &answer["same_bytes"]), (0, &0.into(), &same), "{}", run.out);
    }
}

#[test]
fn the_launch_that_is_asked_for_is_recorded() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-nth");
    let main = "    BEGIN(\"add\")\n    ptr number;\n    u32 value;\n    handle stream, graph;\n    OK(cuStreamCreate, &stream, 1);
    OK(cuMemAlloc_v2, &number, (size_t)4);\n    OK(cuMemsetD32_v2, number, 0, (size_t)1);
    OK(cuCtxSynchronize);\n    OK(cuStreamBeginCapture_v2, stream, 2);\n    value = 100;\n    LAUNCH(1, stream, &number, &value);
    OK(cuStreamEndCapture, stream, &graph);\n    for (value = 1; value <= 3; value++)\n        LAUNCH(1, stream, &number, &value);
    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("adds", ADD, main) else { return };
    let program = [program.to_str().unwrap()];
    // What is captured is no launch.
    let (run, _) = folder.record(&recorder, &["--kernel", "add", "--nth", "2"], &program);
    assert_eq!(run.code, 0, "{}", run.err);
    let recording = folder.recording();
    let (mut before, mut after) = ([0; 4], [0; 4]);
    recording.regions[0].before(0, &mut before);
    recording.regions[0].after(0, &mut after);
    assert_eq!((recording.arguments[8], before[0], after[0]), (2, 1, 3));

    std::fs::remove_file(folder.file()).unwrap();
    for (options, why) in [
        (&["--kernel", "add", "--nth", "4"][..], None),
        (&["--kernel", "sub"], None),
        (&["--kernel", "add", "--limit", "3"], Some("more than the limit of 3")),
    ] {
        let (run, answer) = folder.record(&recorder, options, &program);
        assert_eq!((run.code, &answer["file"]), (1, &Value::Null), "{options:?}: {}", run.out);
        assert_eq!(answer["launches"]["add"], 4);
        let said = answer["why_not"].as_str();
        assert_eq!(
            said.is_some_and(|said| said.contains(why.unwrap_or("?"))),
            why.is_some(),
            "{options:?}: {said:?}"
        );
        assert!(!folder.file().exists());
    }
}

/// What is said of a launch that had not ended is true, and a time limit has it recorded.
#[test]
#[cfg(unix)]
fn a_launch_that_does_not_end_is_named() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-unended");
    let spin = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry spin() { more: bra more; }";
    let main = "    BEGIN(\"spin\")\n    extern unsigned alarm(unsigned);\n    alarm(1);\n    LAUNCH(1, (void *)0);\n    OK(cuCtxSynchronize);\n    return 0;";
    let Some(program) = folder.program("spins", spin, main) else { return };
    let program = [program.to_str().unwrap()];
    let record = |kernel: &str, limit: &str| {
        let mut command = tool();
        command.env("CUDA_LAUNCH_EMULATOR_TIMEOUT", limit);
        command.args(["record", "--driver", "emulator", "--kernel", kernel, "--recorder"]).arg(&recorder);
        finished(&command.arg("-o").arg(folder.file()).arg("--").args(program).output().unwrap())
    };
    let run = record("*", "100");
    assert_eq!(run.code, 142, "{}", run.err);
    assert!(
        run.says(
            "the file has the inputs of the launch, and no outputs: the process was ended during the launch"
        ),
        "{}",
        run.err
    );
    assert!(!run.says("no such launch") && !run.says("launched nothing"), "{}", run.err);
    std::fs::remove_file(folder.file()).unwrap();
    let run = record("other", "100");
    assert!(run.says("the process was ended before the launch"), "{}", run.err);
    assert!(!run.says("no such launch") && !run.says("launched nothing"), "{}", run.err);
    assert!(!folder.file().exists());
    let run = record("*", "0.2");
    assert!(run.says("the launch failed with CUDA_ERROR_LAUNCH_TIMEOUT"), "{}", run.err);
    assert!(folder.file().exists());
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let folder = Folder::new("record-refused");
    for (bytes, words) in [
        (&b""[..], "not a recording of a launch"),
        (b"cu-rec\n\n\x01\0\0\0", "not a recording of a launch"),
        (b"cu-rec\r\n\x02\0\0\0", "it has version 2"),
        (
            b"cu-rec\r\n\x01\0\0\0kern\xff\xff\xff\xff\xff\xff\xff\xff",
            "it is damaged at byte 24: a length of 18446744073709551615 bytes, and 0 are left",
        ),
        (
            b"cu-rec\r\n\x01\0\0\0done\0\0\0\0\0\0\0\0",
            "it is damaged at byte 12: the end, but no section `kern`",
        ),
    ] {
        std::fs::write(folder.file(), bytes).unwrap();
        let run = finished(&tool().arg("replay").arg(folder.file()).output().unwrap());
        assert!(run.code == 3 && run.says(words), "{words}: {}{}", run.code, run.err);
    }
    let Some(recorder) = recorder() else { return };
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    let whole = folder.recording();
    let altered = |alter: &dyn Fn(&mut Recording)| {
        let mut altered = whole.clone();
        alter(&mut altered);
        folder.write(&altered);
        finished(&tool().arg("replay").arg(folder.file()).output().unwrap())
    };
    let run = altered(&|recording| recording.parameters.truncate(2));
    assert!(
        run.code == 3
            && run.says("parameter 2 of `saxpy` has 8 bytes in the image, but nothing in the recording"),
        "{}",
        run.err
    );
    // Where the driver cannot say which parameters there are, that is what is said, and not that the file is damaged.
    folder.write(&whole);
    let fault = [
        "harness",
        "--fail",
        "cuFuncGetParamInfo:3:INVALID_CONTEXT",
        "--",
        TOOL,
        "replay",
        "--driver",
        "system",
    ];
    let run = finished(&tool().args(fault).arg(folder.file()).output().unwrap());
    assert!(
        run.code == 4 && run.says("cuFuncGetParamInfo returned CUDA_ERROR_INVALID_CONTEXT"),
        "{} {}",
        run.code,
        run.err
    );
    let run = altered(&|recording| recording.image = b"nothing".to_vec());
    assert!(run.code == 4 && run.says("the image cannot be loaded"), "{}", run.err);
    let newer = b".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry saxpy() { ret; }\n";
    let run = altered(&|recording| recording.image = newer.to_vec());
    assert!(run.code == 4 && run.says("CUDA_LAUNCH_EMULATOR_ARCH chooses another device"), "{}", run.err);
    let run = altered(&|recording| recording.regions[0].bytes = 1 << 60);
    assert!(run.code == 4 && run.says("cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY"), "{}", run.err);
    let run = altered(&|recording| recording.grid = [u32::MAX; 3]);
    assert!(
        run.code == 1 && run.out.contains("the launch failed: CUDA_ERROR_INVALID_VALUE"),
        "{}{}",
        run.out,
        run.err
    );
}
