//! Instructions that need `sm_100`, in kernels on devices that have it: every form, with the bits of the functions of `numeric`, which have
//! tests of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use std::sync::Arc;

use cuda_emulator::Architecture;
use cuda_emulator::check::{Checker, Checks, Finding, FindingKind};
use cuda_emulator::engine::{Launch, LoadFailureKind, Program, run};
use cuda_emulator::memory::Memory;
use cuda_emulator::numeric::half::{Bf16, F16};
use cuda_emulator::numeric::minifloat::{self, E2m1, E2m3, E3m2, E4m3, E5m2};
use cuda_emulator::numeric::{fp32, fp32x2, mixed, narrow, stochastic};
use numeric_support::{F32, Random};

/// Operands of a thread: `%r1` to `%r5`, of which the other registers are parts.
type Operands = [u32; 5];

/// An instruction that writes `%r0`, `%h0`, `%c0` or `%x0`, and its result.
struct Row {
    instruction: String,
    ours: fn(Operands) -> u64,
}

#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, instruction: String, ours: fn(Operands) -> u64) {
        self.0.push(Row { instruction, ours });
    }
}

/// The body with a constant that is false, then true, and the modifier that stands for it.
macro_rules! with {
    ($modifier:literal, $flag:ident, $text:ident => $body:block) => {{
        {
            const $flag: bool = false;
            let $text = "";
            $body
        }
        {
            const $flag: bool = true;
            let $text = $modifier;
            $body
        }
    }};
}

macro_rules! modes {
    ($mode:ident, $text:ident => $body:block) => {{
        use cuda_emulator::numeric::rounding::{Down, Nearest, Up, Zero};
        {
            type $mode = Nearest;
            let $text = ".rn";
            $body
        }
        {
            type $mode = Zero;
            let $text = ".rz";
            $body
        }
        {
            type $mode = Down;
            let $text = ".rm";
            $body
        }
        {
            type $mode = Up;
            let $text = ".rp";
            $body
        }
    }};
}

fn wide(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// What every target from `sm_100` on has.
fn plain() -> Vec<Row> {
    let mut rows = Rows::default();
    modes!(R, rnd => {
        with!(".ftz", FTZ, ftz => {
            let m = format!("{rnd}{ftz}.f32x2");
            rows.add(format!("add{m} %x0, %x1, %x2;"), |[a, b, c, d, _]| {
                fp32x2::add::<R, FTZ>(wide(a, b), wide(c, d))
            });
            rows.add(format!("sub{m} %x0, %x1, %x2;"), |[a, b, c, d, _]| {
                fp32x2::sub::<R, FTZ>(wide(a, b), wide(c, d))
            });
            rows.add(format!("mul{m} %x0, %x1, %x2;"), |[a, b, c, d, _]| {
                fp32x2::mul::<R, FTZ>(wide(a, b), wide(c, d))
            });
            rows.add(format!("fma{m} %x0, %x1, %x2, %x3;"), |[a, b, c, d, e]| {
                fp32x2::fma::<R, FTZ>(wide(a, b), wide(c, d), wide(e, a))
            });
        });
        with!(".sat", SAT, sat => {
            macro_rules! mixed {
                ($half:ident, $name:literal) => {
                    let m = format!("{rnd}{sat}.f32.{}", $name);
                    rows.add(format!("add{m} %f0, %h1, %f2;"), |[a, b, ..]| {
                        mixed::add::<$half, R, SAT>(a as u16, b).into()
                    });
                    rows.add(format!("sub{m} %f0, %h1, %f2;"), |[a, b, ..]| {
                        mixed::sub::<$half, R, SAT>(a as u16, b).into()
                    });
                    rows.add(format!("fma{m} %f0, %h1, %h2, %f3;"), |[a, b, c, ..]| {
                        mixed::fma::<$half, R, SAT>(a as u16, b as u16, c).into()
                    });
                };
            }
            mixed!(F16, "f16");
            mixed!(Bf16, "bf16");
        });
    });
    // To nearest without saying so.
    rows.add("mul.f32x2 %x0, %x1, %x1;".into(), |[a, b, ..]| {
        use cuda_emulator::numeric::rounding::Nearest;
        fp32x2::mul::<Nearest, false>(wide(a, b), wide(a, b))
    });
    rows.add("sub.f32.bf16 %f0, 16256, %f2;".into(), |[_, b, ..]| {
        use cuda_emulator::numeric::rounding::Nearest;
        mixed::sub::<Bf16, Nearest, false>(16256, b).into()
    });
    with!(".ftz", FTZ, ftz => {
        with!(".NaN", NAN, nan => {
            with!(".abs", ABS, abs => {
                let m = format!("{ftz}{nan}{abs}.f32 %f0, %f1, %f2, %f3;");
                rows.add(format!("min{m}"), |[a, b, c, ..]| fp32::min3::<FTZ, NAN, ABS>(a, b, c).into());
                rows.add(format!("max{m}"), |[a, b, c, ..]| fp32::max3::<FTZ, NAN, ABS>(a, b, c).into());
            });
        });
    });
    with!(".relu", RELU, relu => {
        use cuda_emulator::numeric::rounding::{Nearest, Zero};
        rows.add(format!("cvt.rn.satfinite{relu}.tf32.f32 %r0, %f1;"), |[a, ..]| {
            narrow::tf32::<Nearest, RELU, true>(a).into()
        });
        rows.add(format!("cvt.rz.satfinite{relu}.tf32.f32 %r0, %f1;"), |[a, ..]| {
            narrow::tf32::<Zero, RELU, true>(a).into()
        });
    });
    rows.0
}

/// What the families of `sm_100`, `sm_110` and `sm_120` have.
fn of_families() -> Vec<Row> {
    let mut rows = Rows::default();
    with!(".relu", RELU, relu => {
        macro_rules! pairs {
            ($($format:ident, $name:literal, $register:literal;)*) => {$(
                let (name, register) = ($name, $register);
                rows.add(format!("cvt.rn.satfinite{relu}.{name}x2.f32 {register}0, %f1, %f2;"), |[a, b, ..]| {
                    minifloat::pair_from_f32::<$format, RELU>(a, b).into()
                });
                rows.add(format!("cvt.rn{relu}.f16x2.{name}x2 %r0, {register}1;"), |[a, ..]| {
                    minifloat::f16x2_from_pair::<$format, RELU>(a as u16).into()
                });
            )*};
        }
        pairs! {
            E2m1, "e2m1", "%c";
            E2m3, "e2m3", "%h";
            E3m2, "e3m2", "%h";
        }
        rows.add(format!("cvt.rn.satfinite{relu}.e2m1x2.f16x2 %c0, %r1;"), |[a, ..]| {
            minifloat::pair_from_f16x2::<E2m1, RELU>(a).into()
        });
    });
    with!(".satfinite", SAT, satfinite => {
        rows.add(format!("cvt.rz{satfinite}.ue8m0x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            minifloat::scales_from_f32::<false, SAT>(a, b).into()
        });
        rows.add(format!("cvt.rp{satfinite}.ue8m0x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            minifloat::scales_from_f32::<true, SAT>(a, b).into()
        });
        rows.add(format!("cvt.rz{satfinite}.ue8m0x2.bf16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::scales_from_bf16x2::<false, SAT>(a).into()
        });
        rows.add(format!("cvt.rp{satfinite}.ue8m0x2.bf16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::scales_from_bf16x2::<true, SAT>(a).into()
        });
    });
    rows.add("cvt.rn.bf16x2.ue8m0x2 %r0, %h1;".into(), |[a, ..]| {
        minifloat::bf16x2_from_scales(a as u16).into()
    });
    rows.0
}

/// What `sm_100a` has and `sm_120a` has not.
fn of_sm_100a() -> Vec<Row> {
    let mut rows = Rows::default();
    with!(".relu", RELU, relu => {
        macro_rules! fours {
            ($($format:ident, $name:literal, $register:literal;)*) => {$(
                rows.add(
                    format!("cvt.rs.satfinite{relu}.{}x4.f32 {}0, {{%f1, %f2, %f3, %f4}}, %r5;", $name, $register),
                    |[a, b, c, d, random]| stochastic::minifloat_x4::<$format, RELU>(a, b, c, d, random).into(),
                );
            )*};
        }
        fours! {
            E4m3, "e4m3", "%r";
            E5m2, "e5m2", "%r";
            E2m3, "e2m3", "%r";
            E3m2, "e3m2", "%r";
            E2m1, "e2m1", "%h";
        }
        with!(".satfinite", SAT, satfinite => {
            rows.add(format!("cvt.rs{relu}{satfinite}.f16x2.f32 %r0, %f1, %f2, %r3;"), |[a, b, random, ..]| {
                stochastic::half_x2::<F16, RELU, SAT>(a, b, random).into()
            });
            rows.add(format!("cvt.rs{relu}{satfinite}.bf16x2.f32 %r0, %f1, %f2, %r3;"), |[a, b, random, ..]| {
                stochastic::half_x2::<Bf16, RELU, SAT>(a, b, random).into()
            });
        });
    });
    rows.add(
        "cvt.rs.satfinite.e4m3x4.f32 %r0, {%f1, 0f3f900000, %r3, 2.5}, %r5;".into(),
        |[a, _, c, _, random]| {
            let (b, d) = (1.125f32.to_bits(), 2.5f32.to_bits());
            stochastic::minifloat_x4::<E4m3, false>(a, b, c, d, random).into()
        },
    );
    rows.0
}

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
    const THREADS: usize = 256;
    let (memory, program) = load(&module(target, rows), device(architecture)).unwrap();
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

/// Forms of e4m3 and e5m2 that older devices have, too, whose functions are the same.
#[test]
fn floats_of_eight_bits_run_on_older_devices() {
    let mut rows = Rows::default();
    with!(".relu", RELU, relu => {
        rows.add(format!("cvt.rn.satfinite{relu}.e4m3x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            minifloat::pair_from_f32::<E4m3, RELU>(a, b).into()
        });
        rows.add(format!("cvt.rn.satfinite{relu}.e5m2x2.f16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::pair_from_f16x2::<E5m2, RELU>(a).into()
        });
        rows.add(format!("cvt.rn{relu}.f16x2.e5m2x2 %r0, %h1;"), |[a, ..]| {
            minifloat::f16x2_from_pair::<E5m2, RELU>(a as u16).into()
        });
    });
    runs(Architecture::Sm90, "sm_90", &rows.0);
    runs(Architecture::Sm89, "sm_89", &rows.0);
}

fn refusal(architecture: Architecture, target: &str, version: &str, row: Row) -> String {
    let text = module(target, &[row]).replace("9.0", version);
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
