//! What came after PTX 9.0: where it may stand, as ptxas 13.5.37 has it, and what it does, by the PTX ISA's words.

use std::sync::Arc;

use cuda_emulator::Architecture;
use cuda_emulator::engine::{FaultKind, Program};
use cuda_emulator::memory::Memory;

use crate::bulk::{self, SHARED, WAIT, random, run_on};
use crate::since::since_support::{self, Header, module};
use crate::support::{Args, Device, outputs, snippet};

const VERSIONS: &[(u32, u32)] = &[(9, 0), (9, 1), (9, 2), (9, 3), (9, 4), (9, 5)];
const TARGETS: &[&str] = &["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a"];

fn program(text: &str, device: Architecture) -> Result<Program, String> {
    let memory = Arc::new(Memory::new(1 << 20).with_architecture(device));
    Program::load(text, &memory).map_err(|failure| failure.to_string())
}

#[test]
fn forms_load_from_the_version_and_on_the_targets_that_ptxas_says() {
    let facts = since_support::newer();
    assert!(facts.len() > 100);
    let mut different = Vec::new();
    for &version in VERSIONS {
        for &target in TARGETS {
            let header = Header { version, target };
            for fact in &facts {
                let loads = program(&module(&[fact.instruction], header), header.device()).is_ok();
                if loads != fact.holds_under(header) {
                    different.push(format!("{header:?}: {} loads: {loads}", fact.instruction));
                }
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

#[test]
fn what_is_not_executed_is_refused_with_its_version() {
    for (target, device, instruction, wanted) in [
        (
            "sm_90",
            Architecture::Sm90,
            "multimem.cp.async.bulk.global.shared::cta.bulk_group [%x1], [%r1], %r2;",
            "came with PTX 9.1; the emulated devices have no multicast objects",
        ),
        ("sm_120a", Architecture::Sm120, "add.sat.u16x2 %r0, %r1, %r2;", "came with PTX 9.2"),
        ("sm_120a", Architecture::Sm120, "min.s8x4 %r0, %r1, %r2;", "came with PTX 9.2"),
        (
            "sm_100",
            Architecture::Sm100,
            "fabric.wait.sync_restrict::reads;",
            "came with PTX 9.3; the emulated devices have no fabric",
        ),
        (
            "sm_100",
            Architecture::Sm100,
            "fence.proxy.generic::fabric.alias.acquire.sys;",
            "came with PTX 9.3",
        ),
        (
            "sm_90a",
            Architecture::Sm90,
            "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r0}, [%r1];",
            "came with PTX 9.4",
        ),
        (
            "sm_90a",
            Architecture::Sm90,
            "tensormap.query.alloc_class_large.global.b1024 %p0, [%x1];",
            "came with PTX 9.5",
        ),
    ] {
        let header = Header { version: (9, 5), target };
        let program = program(&module(&[instruction], header), device).unwrap();
        let kernel = program.kernel("k").unwrap();
        let refused: Vec<&str> = kernel.unsupported().map(|(_, why)| why).collect();
        assert!(refused.len() == 1 && refused[0].contains(wanted), "{instruction}: {refused:?}");
    }
}

/// A [`snippet`] of PTX 9.5.
fn newer(body: &str) -> String {
    snippet(body).replace(".version 9.0", ".version 9.5")
}

/// The product of two polynomials over GF(2), bit by bit.
fn carryless(a: u64, b: u64) -> u128 {
    let mut product = 0;
    for at in 0..127 {
        let pairs = (0..64).filter(|i| at >= *i && at - i < 64);
        let odd = pairs.filter(|i| a >> i & 1 == 1 && b >> (at - i) & 1 == 1).count() % 2;
        product |= (odd as u128) << at;
    }
    product
}

#[test]
fn clmad() {
    let numbers = random(71, 32 * 24);
    let numbers: Vec<u64> =
        numbers.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let text = newer(
        "mul.wide.u32 %rd1, %t, 24; add.u64 %rd1, %rd1, %out; ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd1+8]; ld.global.u64 %rd4, [%rd1+16];\n\
         clmad.lo.u64 %rd5, %rd2, %rd3, %rd4; clmad.hi.s64 %rd6, %rd2, %rd3, %rd4; clmad.hi.u64 %rd7, %rd2, 0x8000000000000000, 0;\n\
         st.global.u64 [%rd1], %rd5; st.global.u64 [%rd1+8], %rd6; st.global.u64 [%rd1+16], %rd7;",
    );
    let device = Device::new(&text);
    let out = device.upload(&numbers);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let found = device.download::<u64>(out, numbers.len());
    for (found, given) in found.chunks(3).zip(numbers.chunks(3)) {
        let product = carryless(given[0], given[1]);
        let wanted = [product as u64 ^ given[2], (product >> 64) as u64 ^ given[2], given[0] >> 1];
        assert_eq!(found, wanted, "{given:x?}");
    }
}

/// `sin` and `cos` multiply by a rounded 1/(2 pi), towards zero, and then do what `.2pi` does (the machine code of ptxas 13.5).
#[test]
fn sines_of_turns() {
    let body = |function: &str| {
        format!(
            "mov.b32 %r1, 0; L: mad.lo.u32 %r2, %r1, 256, %t; mul.lo.u32 %r2, %r2, 65521; mov.b32 %f1, %r2;\n\
             {function}.approx.f32 %f2, %f1; mul.rz.f32 %f3, %f1, 0f3E22F983; {function}.approx.ftz.2pi.f32 %f4, %f3;\n\
             mov.b32 %r3, %f2; mov.b32 %r4, %f4; setp.ne.u32 %p1, %r3, %r4; @%p1 red.global.add.u32 [%out], 1;\n\
             add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 256; @%p2 bra L;\n\
             mov.f32 %f5, 0f3E000000; {function}.approx.ftz.2pi.f32 %f6, %f5; st.global.f32 [%out+4], %f6;\n\
             mov.f32 %f5, 0fC2CA8000; {function}.approx.ftz.2pi.f32 %f6, %f5; st.global.f32 [%out+8], %f6;\n\
             mov.f32 %f5, 0f7F800000; {function}.approx.ftz.2pi.f32 %f6, %f5; st.global.f32 [%out+12], %f6;"
        )
    };
    for (function, of_eighth, of_minus_101_and_a_quarter) in
        [("sin", std::f64::consts::FRAC_1_SQRT_2, -1.0), ("cos", std::f64::consts::FRAC_1_SQRT_2, 0.0)]
    {
        let found = outputs::<u32>(&newer(&body(function)), 256, 4);
        assert_eq!(found[0], 0, "{function}: operands that differ");
        let value = |at: usize| f64::from(f32::from_bits(found[at]));
        assert!((value(1) - of_eighth).abs() < 1e-6, "{function} {}", value(1));
        assert!((value(2) - of_minus_101_and_a_quarter).abs() < 1e-6, "{function} {}", value(2));
        assert_eq!(found[3], 0x7fff_ffff, "{function} of infinity");
    }
}

/// Sums of `.f32` flush subnormal numbers in global memory, but for `.noftz`.
#[test]
fn sums_that_do_not_flush() {
    let (subnormal, twice) = (3_u32, 6_u32);
    let body = "mov.b32 %f1, 3; mov.b32 %f7, 0;\n\
        st.global.f32 [%out], %f1; st.global.f32 [%out+4], %f1; st.global.f32 [%out+8], %f1; st.global.v2.f32 [%out+16], {%f1, %f7}; st.global.v2.f32 [%out+24], {%f1, %f7};\n\
        atom.global.add.f32 %f2, [%out], %f1; atom.global.add.noftz.f32 %f3, [%out+4], %f1; red.add.noftz.f32 [%out+8], %f1;\n\
        atom.global.add.noftz.v2.f32 {%f4, %f5}, [%out+16], {%f1, %f1}; red.relaxed.gpu.global.add.noftz.v2.f32 [%out+24], {%f7, %f1};\n\
        st.global.f32 [%out+12], %f3; st.global.f32 [%out+32], %f4;";
    let found = outputs::<u32>(&newer(body), 1, 9);
    assert_eq!(found, [0, twice, twice, subnormal, twice, subnormal, subnormal, subnormal, subnormal]);
}

#[test]
fn accesses_and_fences() {
    let body = ".local .align 8 .b8 own[16];\n\
        mov.b32 %r1, 7; st.volatile.local.v2.b32 [own], {%r1, %t}; ld.volatile.local.b64 %rd1, [own];\n\
        st.mmio.release.sys.global.b64 [%out+8], %rd1; fence.proxy.alias.release.sys; fence.proxy.alias.acquire.sys;\n\
        prefetch.global.L1::32B.valid_addr [%out]; fence.alias.sync_restrict::read.release.sys;\n\
        ld.mmio.acquire.sys.b32 %r2, [%out+8]; ld.proxy::readonly.global.v2.b32 {%r3, %r4}, [%out+8];\n\
        fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster; cp.async.bulk.wait_group.sync_restrict::proxy::async 0;\n\
        add.u32 %r2, %r2, %r3; st.global.b32 [%out], %r2; st.global.b32 [%out+4], %r4;";
    assert_eq!(outputs::<u32>(&newer(body), 1, 4), [14, 0, 7, 0]);
}

/// 128 bits at once, with `.relaxed` and without.
#[test]
fn quads_by_mmio() {
    let body = ".reg .b128 %q0, %q1; mov.b64 %rd1, 0x1122334455667788; mov.b64 %rd2, 99; mov.b128 %q0, {%rd1, %rd2};\n\
        st.mmio.release.sys.b128 [%out], %q0; ld.mmio.acquire.sys.global.b128 %q1, [%out]; mov.b128 {%rd3, %rd4}, %q1;\n\
        st.global.v2.b64 [%out+16], {%rd4, %rd3};";
    let found = outputs::<u64>(&newer(body), 1, 4);
    assert_eq!(found, [0x1122_3344_5566_7788, 99, 99, 0x1122_3344_5566_7788]);
}

/// A kernel of the tests of bulk copies, of PTX 9.5, on some bytes.
fn bulk_run(body: &str, cluster: u32, blocks: u32, input: &[u8]) -> Result<bulk::Left, FaultKind> {
    let text = bulk::kernel(body, cluster).replace(".version 8.6", ".version 9.5");
    run_on(&Device::new(&text), blocks, input, [0; 128], [0; 8]).map_err(|fault| fault.kind)
}

#[test]
fn bulk_copies_with_an_order() {
    let input = random(72, 2 * SHARED);
    let body = format!(
        "@!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 96;\n\
         cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128 [%s], [%in+4096], 64, [%bar];\n\
         cp.async.bulk.weak.shared::cluster.global.mbarrier::complete_tx::bytes [%s+64], [%in+8192], 32, [%bar]; S: {WAIT}\n\
         @!%first bra T; cp.async.bulk.relaxed.sys.global.shared::cta.bulk_group.b128 [%in+16384], [%s+1024], 48;\n\
         cp.reduce.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.add.u32 [%in+16432], [%s+1024], 16;\n\
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; T:"
    );
    let left = bulk_run(&body, 1, 1, &input).unwrap();
    let (mut shared, mut global) = (input[..SHARED].to_vec(), input.clone());
    shared[..64].copy_from_slice(&input[4096..4160]);
    shared[64..96].copy_from_slice(&input[8192..8224]);
    global.copy_within(1024..1072, 16384);
    for at in (0..16).step_by(4) {
        let number = |at: usize| u32::from_le_bytes(input[at..at + 4].try_into().unwrap());
        let sum = number(16432 + at).wrapping_add(number(1024 + at));
        global[16432 + at..][..4].copy_from_slice(&sum.to_le_bytes());
    }
    assert!(left.shared == shared && left.input == global);
}

#[test]
fn sums_of_bulk_reductions_that_do_not_flush() {
    let mut input = vec![0; 2 * SHARED];
    // Subnormal numbers in shared memory, and where they go to.
    input[..16].copy_from_slice(&[1, 0, 0, 0].repeat(4));
    input[SHARED..SHARED + 16].copy_from_slice(&[2, 0, 0, 0].repeat(4));
    let body = "@!%first bra S; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32 [%in+16384], [%s], 16;\n\
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; S:";
    let left = bulk_run(body, 1, 1, &input).unwrap();
    assert_eq!(left.input[SHARED..SHARED + 16], [3, 0, 0, 0].repeat(4));
}

#[test]
fn bytes_that_may_not_be_there() {
    let input = random(73, SHARED);
    let copy = |left: &str, right: &str, from: &str| {
        format!(
            "@!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 64;\n\
             cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%s+32], [%in+{from}], 64, {left}, {right}, [%bar]; S: {WAIT}"
        )
    };
    // The target keeps the bytes at the ends.
    let left = bulk_run(&copy("3", "15", "4096"), 1, 1, &input).unwrap();
    let mut wanted = input.clone();
    wanted.copy_within(4096 + 3..4096 + 49, 32 + 3);
    assert!(left.shared == wanted);
    let kind = |copy: String| bulk_run(&copy, 1, 1, &input).map(drop).unwrap_err();
    assert_eq!(kind(copy("0", "8", &(SHARED - 56).to_string())), FaultKind::MisalignedAddress);
    assert_eq!(kind(copy("0", "15", &(SHARED - 48).to_string())), FaultKind::IllegalAddress);
    assert_eq!(kind(copy("16", "0", "0")), FaultKind::InvalidSync);
    assert_eq!(kind(copy("0", "16", "0")), FaultKind::InvalidSync);
}

/// An allocation that ends inside 16 bytes.
#[test]
fn an_end_inside_sixteen_bytes() {
    let body = ".shared .align 16 .b8 s[64]; .shared .align 8 .b64 bar; mov.u32 %r1, s; mov.u32 %r2, bar;\n\
        mbarrier.init.shared::cta.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32;\n\
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%out], 32, 0, 12, [%r2];\n\
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra W; ld.shared.u32 %r3, [%r1+16]; st.global.u32 [%out], %r3;";
    let device = Device::new(&newer(body));
    let out = device.upload(&[1_u32, 2, 3, 4, 5]);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 5), [5, 2, 3, 4, 5]);
    let fewer = Device::new(&newer(&body.replace("0, 12", "0, 11")));
    let out = fewer.upload(&[1_u32, 2, 3, 4, 5]);
    let fault = fewer.fault("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}

#[test]
fn stores_and_multicasts_with_newer_names() {
    let input = random(74, 2 * SHARED);
    let body = format!(
        "mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1; mapa.shared::cluster.u32 %r2, %s, %r1; mapa.shared::cluster.u32 %r3, %bar, %r1;\n\
         .reg .b128 %w; mov.b64 %x0, 0x1122334455667788; cvt.u64.u32 %x1, %r0; mov.b128 %w, {{%x0, %x1}}; mov.b16 %h0, 3;\n\
         @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 48;\n\
         st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r2+16], %w, [%r3]; setp.eq.u32 %q1, %r0, 0;\n\
         @%q1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::16b [%s+64], [%in+4096], 32, [%bar], %h0; S: {WAIT}"
    );
    let left = bulk_run(&body, 2, 2, &input).unwrap();
    let mut wanted = input.clone();
    for block in 0..2 {
        let place = block * SHARED;
        wanted[place + 16..][..8].copy_from_slice(&0x1122_3344_5566_7788_u64.to_le_bytes());
        wanted[place + 24..][..8].copy_from_slice(&(1 - block as u64).to_le_bytes());
        wanted[place + 64..][..32].copy_from_slice(&input[4096..4128]);
    }
    assert!(left.shared == wanted);
}

#[test]
fn layouts_of_barriers() {
    let body = ".shared .align 8 .b64 a; .shared .align 8 .b64 b; .reg .b8 %c1;\n\
        mbarrier.init.layout::v0.shared::cta.b64 [a], 1; mbarrier.init.layout::v1.shared::cta.b64 [b], 2;\n\
        mbarrier.check_layout.layout::v0.shared::cta.b64 %p1, [a]; mbarrier.check_layout.layout::v1.shared::cta.b64 %p2, [a];\n\
        mbarrier.arrive.shared::cta.b64 %rd1, [b];\n\
        mbarrier.check_layout.layout::v0.shared::cta.b64 %p3, [b]; mbarrier.check_layout.layout::v1.shared::cta.b64 %p4, [b];\n\
        setp.eq.u32 %p6, %t, 0; setp.eq.u32 %p10, %t, 0; mov.b32 %r9, 77; cvt.u8.u32 %c1, %r9;\n\
        mbarrier.test_wait.parity.phase_type::primary.shared::cta.b64 %p5|%p6, [b], 0;\n\
        mbarrier.arrive.shared::cta.b64 %rd2, [b];\n\
        mbarrier.test_wait.phase_type::primary.acquire.cta.shared::cta.b64 %p7|%p10, %c1, [b], %rd1;\n\
        mbarrier.try_wait.parity.phase_type::conditional.shared::cta.b64 %p8, [b], 0; mbarrier.test_wait.parity.phase_type::conditional.shared::cta.b64 %p9, [b], 1;\n\
        mbarrier.arrive.noComplete.shared::cta.b64 %rd3, [b], 1; mbarrier.pending_count.layout::v0.b64 %r8, %rd3; cvt.u32.u8 %r9, %c1;\n\
        selp.b32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 2; @%p3 add.u32 %r1, %r1, 4; @%p4 add.u32 %r1, %r1, 8; @%p5 add.u32 %r1, %r1, 16;\n\
        @%p6 add.u32 %r1, %r1, 32; @%p7 add.u32 %r1, %r1, 64; @%p8 add.u32 %r1, %r1, 128; @%p9 add.u32 %r1, %r1, 256; @%p10 add.u32 %r1, %r1, 512;\n\
        st.global.v4.u32 [%out], {%r1, %r8, %r9, 0};";
    // Of the two layouts a barrier has the one it began with; a phase is over with its arrivals, and nothing is reported.
    let wanted = [1 + 8 + 64 + 128, 2, 0, 0];
    for device in [Device::new(&newer(body)), Device::checked(&newer(body))] {
        let out = device.zeroed::<u32>(4);
        device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
        assert_eq!(device.download::<u32>(out, 4), wanted);
        assert!(device.findings().is_empty(), "{:?}", device.findings());
    }
}
