//! Instructions that need `sm_100`, in kernels on devices that have it: every form, with the bits of the functions of `numeric`, which have
//! tests of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../numeric_support/mod.rs"]
mod numeric_support;
mod rows;

use std::sync::Arc;

use cuda_emulator::Architecture;
use cuda_emulator::check::{Checker, Checks, Finding, FindingKind};
use cuda_emulator::engine::{Launch, LoadFailureKind, Program, run};
use cuda_emulator::memory::Memory;
use numeric_support::{F32, Random};
use rows::{Operands, Row, of_families, of_older_devices, of_ptx_9_1, of_sm_100a, plain};

const REGISTERS: &str =
    ".reg .pred %p<4>; .reg .b8 %c<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %x<10>;";

/// A module for a target, a kernel for each instruction: it reads five words of each thread and writes a result of eight bytes.
fn module(target: &str, rows: &[Row]) -> String {
    let kernel = |(at, row): (usize, &Row)| {
        let dest = row.instruction.split_whitespace().find(|part| part.starts_with('%')).unwrap();
        let store = match &dest[..2] {
            "%x" => "st.global.b64 [%x9], %x0;",
            "%f" => "st.global.f32 [%x9], %f0;",
            "%h" => "st.global.b16 [%x9], %h0;",
            "%c" => "mov.b16 %h0, {%c0, 0}; st.global.b16 [%x9], %h0;",
            _ => "st.global.b32 [%x9], %r0;",
        };
        format!(
            ".entry k{at}(.param .b64 in, .param .b64 out) {{ {REGISTERS}\n\
             ld.param.b64 %x8, [in]; ld.param.b64 %x9, [out]; mov.u32 %r7, %tid.x;\n\
             mad.wide.u32 %x8, %r7, 20, %x8; mad.wide.u32 %x9, %r7, 8, %x9;\n\
             ld.global.b32 %r1, [%x8]; ld.global.b32 %r2, [%x8+4]; ld.global.b32 %r3, [%x8+8];\n\
             ld.global.b32 %r4, [%x8+12]; ld.global.b32 %r5, [%x8+16];\n\
             mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;\n\
             cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; mov.b16 {{%c1, %c2}}, %h1;\n\
             mov.b64 %x1, {{%r1, %r2}}; mov.b64 %x2, {{%r3, %r4}}; mov.b64 %x3, {{%r5, %r1}};\n\
             setp.ne.u32 %p1, %r7, 1;\n\
             @%p1 {}\n{store} ret; }}\n",
            row.instruction
        )
    };
    let kernels: String = rows.iter().enumerate().map(kernel).collect();
    format!(".version 9.0\n.target {target}\n.address_size 64\n{kernels}")
}

fn load(text: &str, memory: Memory) -> Result<(Arc<Memory>, Program), String> {
    let memory = Arc::new(memory);
    Program::load(text, &memory)
        .map(|program| (Arc::clone(&memory), program))
        .map_err(|failure| failure.to_string())
}

fn device(architecture: Architecture) -> Memory {
    Memory::new(1 << 26).with_architecture(architecture)
}

fn launch(memory: &Arc<Memory>, program: &Program, name: &str, threads: u32, addresses: &[u64]) {
    let parameters: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    let launch =
        Launch { grid: [1; 3], block: [threads, 1, 1], parameters: parameters.into(), ..Launch::default() };
    run(&program.kernel(name).unwrap(), &launch, memory, 1).unwrap_or_else(|fault| panic!("{name}: {fault}"));
}

/// Operands where the formats have their numbers, their limits, and between.
fn operands(random: &mut Random) -> Operands {
    std::array::from_fn(|_| match random.below(4) {
        0 => F32.any(random) as u32,
        1 => random.u32(),
        _ => (random.u32() & 0x807f_ffff) | (120 + random.below(12) as u32) << 23,
    })
}

/// Compares every row on a device, in a full block and in one of few threads.
fn runs(architecture: Architecture, target: &str, rows: &[Row]) {
    runs_version("9.0", architecture, target, rows);
}

fn runs_version(version: &str, architecture: Architecture, target: &str, rows: &[Row]) {
    const THREADS: usize = 256;
    let (memory, program) =
        load(&module(target, rows).replacen("9.0", version, 1), device(architecture)).unwrap();
    let mut random = Random::new(7);
    let given: Vec<Operands> = (0..THREADS).map(|_| operands(&mut random)).collect();
    let bytes: Vec<u8> = given.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let (input, output) =
        (memory.allocate(bytes.len() as u64).unwrap(), memory.allocate(8 * THREADS as u64).unwrap());
    memory.write(input, &bytes).unwrap();
    for threads in [THREADS, 3] {
        for (at, row) in rows.iter().enumerate() {
            memory.write(output, &[0; 8 * THREADS]).unwrap();
            launch(&memory, &program, &format!("k{at}"), threads as u32, &[input, output]);
            let mut results = [0; 8 * THREADS];
            memory.read(output, &mut results).unwrap();
            for (thread, (result, operands)) in results.chunks(8).zip(&given).enumerate().take(threads) {
                let result = u64::from_le_bytes(result.try_into().unwrap());
                // Thread 1 does not pass the guard, and registers begin as zeros here.
                let expected = if thread == 1 { 0 } else { (row.ours)(*operands) };
                assert_eq!(result, expected, "{} of {operands:x?}", row.instruction);
            }
        }
    }
}

#[test]
fn every_form_has_the_bits_of_its_function() {
    for (architecture, target) in
        [(Architecture::Sm100, "sm_100"), (Architecture::Sm120, "sm_100"), (Architecture::Sm120, "sm_120f")]
    {
        runs(architecture, target, &plain());
    }
    for (architecture, target) in
        [(Architecture::Sm100, "sm_100a"), (Architecture::Sm100, "sm_100f"), (Architecture::Sm120, "sm_120a")]
    {
        runs(architecture, target, &of_families());
    }
    runs(Architecture::Sm100, "sm_100a", &of_sm_100a());
}

#[test]
fn forms_of_ptx_9_1_have_the_bits_of_their_functions() {
    use Architecture::{Sm100, Sm120};
    let (families, single) = of_ptx_9_1();
    for (architecture, target) in [(Sm100, "sm_100f"), (Sm100, "sm_100a"), (Sm120, "sm_120f")] {
        runs_version("9.1", architecture, target, &families);
    }
    for (architecture, target) in [(Sm100, "sm_100a"), (Sm120, "sm_120a")] {
        runs_version("9.1", architecture, target, &single);
    }
    for row in of_ptx_9_1().1 {
        assert!(
            refusal(Sm100, "sm_100f", "9.1", row)
                .contains("needs .target sm_100a, sm_103a, sm_110a, sm_120a or sm_121a")
        );
    }
}

/// Forms of e4m3 and e5m2 that older devices have, too, whose functions are the same.
#[test]
fn floats_of_eight_bits_run_on_older_devices() {
    runs(Architecture::Sm90, "sm_90", &of_older_devices());
    runs(Architecture::Sm89, "sm_89", &of_older_devices());
}

fn refusal(architecture: Architecture, target: &str, version: &str, row: Row) -> String {
    let text = module(target, &[row]).replacen("9.0", version, 1);
    let memory = Arc::new(device(architecture));
    let failure = Program::load(&text, &memory).map(drop).expect_err(target);
    assert_eq!(failure.kind, LoadFailureKind::Invalid, "{failure}");
    failure.to_string()
}

#[test]
fn targets_without_a_form_are_refused_by_name() {
    use Architecture::{Sm90, Sm100, Sm120};
    let refused = |architecture, target, rows: Vec<Row>, needs: &str| {
        for row in rows {
            let message = refusal(architecture, target, "9.0", row);
            let wanted = format!("needs .target {needs}; the module says {target}");
            assert!(message.contains(&wanted), "{message}");
        }
    };
    refused(Sm90, "sm_90a", plain(), "sm_100 or higher");
    let families = "sm_100f, sm_110f or sm_120f";
    refused(Sm100, "sm_100", of_families(), families);
    refused(Sm120, "sm_120", of_families(), families);
    refused(Sm120, "sm_103", of_families(), families);
    refused(Sm100, "sm_100f", of_sm_100a(), "sm_100a or sm_103a");
    refused(Sm120, "sm_120a", of_sm_100a(), "sm_100a or sm_103a");
}

#[test]
fn versions_without_a_form_are_refused_by_name() {
    let refused = |version, instruction: &str, needs: &str| {
        let row = Row { instruction: instruction.to_owned(), ours: |_| 0 };
        let message = refusal(Architecture::Sm100, "sm_100a", version, row);
        assert!(message.contains(&format!("needs .version {needs} or later")), "{message}");
    };
    refused("8.7", "min.f32 %f0, %f1, %f2, %f3;", "8.8");
    refused("8.6", "cvt.rs.f16x2.f32 %r0, %f1, %f2, %r3;", "8.7");
    refused("9.0", "cvt.rn.satfinite.e2m3x2.f16x2 %h0, %r1;", "9.1");
    refused("9.0", "cvt.rn.satfinite.e4m3x2.bf16x2 %h0, %r1;", "9.1");
    refused("9.0", "cvt.rn.satfinite.s2f6x2.f32 %h0, %f1, %f2;", "9.1");
    refused("9.0", "cvt.rn.scaled::n2::ue8m0.bf16x2.s2f6x2 %r0, %h1, %h2;", "9.1");
}

/// The kernel of `module` with this instruction, and what the checks find.
fn found(instruction: &str) -> Vec<Finding> {
    let row = Row { instruction: instruction.to_owned(), ours: |_| 0 };
    let text = module("sm_100a", &[row]).replace("@%p1 ", "");
    let checker = Arc::new(Checker::new(Checks::KERNELS));
    let memory = Memory::checked(1 << 26, Some(checker)).with_architecture(Architecture::Sm100);
    let (memory, program) = load(&text, memory).unwrap();
    let (input, output) = (memory.allocate(640).unwrap(), memory.allocate(256).unwrap());
    memory.write(input, &[1; 640]).unwrap();
    launch(&memory, &program, "k0", 32, &[input, output]);
    memory.checker().unwrap().take().list
}

#[test]
fn undefined_operands_are_found_as_those_of_other_arithmetic() {
    for undefined in [
        "add.rn.f32x2 %x0, %x1, %x5;",
        "fma.rn.f32x2 %x0, %x1, %x2, %x5;",
        "mul.f32x2 %x0, %x5, %x1;",
        "sub.f32.f16 %f0, %h3, %f1;",
        "fma.rn.f32.bf16 %f0, %h1, %h3, %f2;",
        "cvt.rn.f16x2.e2m3x2 %r0, %h3;",
        "cvt.rp.ue8m0x2.bf16x2 %h0, %r6;",
    ] {
        let kinds: Vec<FindingKind> = found(undefined).iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [FindingKind::UndefinedValue], "{undefined}");
    }
    for row in plain().iter().chain(&of_families()).chain(&of_sm_100a()) {
        assert_eq!(found(&row.instruction), [], "{}", row.instruction);
    }
}

#[test]
fn instructions_are_counted_once() {
    let rows: Vec<Row> = [plain(), of_families(), of_sm_100a()].into_iter().flatten().collect();
    let text = module("sm_100a", &rows);
    let memory = device(Architecture::Sm100).with_profiler(Arc::default());
    let (memory, program) = load(&text, memory).unwrap();
    let (input, output) = (memory.allocate(640).unwrap(), memory.allocate(256).unwrap());
    memory.write(input, &[1; 640]).unwrap();
    for (at, row) in rows.iter().enumerate() {
        launch(&memory, &program, &format!("k{at}"), 32, &[input, output]);
        let profile = memory.profiler().unwrap().take().remove(0);
        let line =
            text.lines().position(|line| line == format!("@%p1 {}", row.instruction)).unwrap() as u32 + 1;
        let counted = profile.instructions.iter().filter(|instruction| instruction.ptx_line == line);
        let (warps, threads, passing) = counted.fold((0, 0, 0), |(warps, threads, passing), instruction| {
            let counts = instruction.counts;
            (warps + counts.warps, threads + counts.threads, passing + counts.threads_on)
        });
        assert_eq!((warps, threads, passing), (1, 32, 31), "{}", row.instruction);
    }
}
