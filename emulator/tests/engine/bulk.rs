//! Bulk copies and reductions, against references written from the PTX ISA ("Asynchronous copy").

use cuda_emulator::engine::{Fault, FaultKind, Program};
use cuda_emulator::memory::Memory;
use std::sync::Arc;

use crate::support::{Args, Device, launch};
use crate::wgmma::{Random, decoded, encoded};

/// Bytes of each block's shared memory.
pub(crate) const SHARED: usize = 16384;
/// Bytes of a tensor.
pub(crate) const TENSOR: usize = 1 << 18;

/// A kernel of 128 threads that fills shared memory from `in`, runs `body`, and stores shared memory to `out`. `%s` is the address of
/// its first byte, `%bar` that of a barrier for one arrival, `%map` that of a tensor map, `%c0` to `%c7` are numbers; `%first` holds in thread 0.
pub(crate) fn kernel(body: &str, cluster: u32) -> String {
    let (clustered, meet) = match cluster {
        1 => (String::new(), ""),
        _ => (
            format!(".explicitcluster .reqnctapercluster {cluster}"),
            "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        ),
    };
    let numbers: String = (0..8).map(|at| format!("ld.param.b32 %c{at}, [co+{}]; ", 4 * at)).collect();
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128], .param .align 4 .b8 co[32]) {clustered}\n\
         {{ .reg .b32 %t<10>, %c<8>, %s, %bar, %r<8>; .reg .b64 %p<8>, %map, %in, %x<4>; .reg .pred %q<4>, %first; .reg .b16 %h<4>;\n\
         .shared .align 1024 .b8 s[{SHARED}]; .shared .align 8 .b64 bar;\n\
         mov.u32 %t0, %tid.x; ld.param.u64 %in, [in]; ld.param.u64 %p1, [out]; mov.u32 %s, s; mov.u32 %bar, bar; mov.b64 %map, map; cvta.param.u64 %map, %map;\n\
         mov.u32 %t6, %ctaid.x; {numbers} mul.wide.u32 %p3, %t6, {SHARED}; add.u64 %p1, %p1, %p3; add.u64 %p3, %in, %p3; shl.b32 %t3, %t0, 4; mov.u32 %t2, %t3;\n\
         L0: cvt.u64.u32 %p2, %t2; add.u64 %p2, %p3, %p2; ld.global.v2.b64 {{%x0, %x1}}, [%p2]; add.u32 %t4, %t2, %s; st.shared.v2.b64 [%t4], {{%x0, %x1}};\n\
         add.u32 %t2, %t2, 2048; setp.lt.u32 %q0, %t2, {SHARED}; @%q0 bra L0;\n\
         setp.eq.u32 %first, %t0, 0; @%first mbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0; {meet}\n\
         {body}\n\
         {meet} bar.sync 0; mov.u32 %t2, %t3;\n\
         L1: cvt.u64.u32 %p2, %t2; add.u64 %p2, %p1, %p2; add.u32 %t4, %t2, %s; ld.shared.v2.b64 {{%x0, %x1}}, [%t4]; st.global.v2.b64 [%p2], {{%x0, %x1}};\n\
         add.u32 %t2, %t2, 2048; setp.lt.u32 %q0, %t2, {SHARED}; @%q0 bra L1;\n\
         ret; }}\n"
    )
}

pub(crate) const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %q2, [%bar], 0; @!%q2 bra W;";
pub(crate) const GROUP: &str = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

pub(crate) fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes).map(|_| (random.next() >> 32) as u8).collect()
}

/// What a kernel leaves: shared memory of each block, and the bytes that it got.
pub(crate) struct Left {
    pub(crate) shared: Vec<u8>,
    pub(crate) input: Vec<u8>,
}

pub(crate) fn run_on(
    device: &Device,
    blocks: u32,
    input: &[u8],
    map: [u8; 128],
    numbers: [i32; 8],
) -> Result<Left, Box<Fault>> {
    let (place, out) = (device.upload(input), device.zeroed::<u8>(SHARED * blocks as usize));
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let args = Args::new().add(place).add(out).bytes(&map).bytes(&numbers);
    device.try_launch("k", launch(device, "k", [blocks, 1, 1], [128, 1, 1], &args))?;
    let shared = device.download(out, SHARED * blocks as usize);
    Ok(Left { shared, input: device.download(place, input.len()) })
}

pub(crate) fn run(body: &str, cluster: u32, blocks: u32, input: &[u8]) -> Result<Left, Box<Fault>> {
    run_on(&Device::new(&kernel(body, cluster)), blocks, input, [0; 128], [0; 8])
}

pub(crate) fn load(bytes: &str, from: &str, to: &str) -> String {
    format!(
        "@!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {bytes};\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+{to}], [%in+{from}], {bytes}, [%bar]; S: {WAIT}"
    )
}

#[test]
fn bulk_loads_and_stores() {
    let input = random(1, 2 * SHARED);
    for (bytes, from, to) in
        [(16, 0, 0), (4144, 4096, 256), (SHARED, 16, 0), (16, 2 * SHARED - 16, SHARED - 16), (0, 3, 5)]
    {
        let left = run(&load(&bytes.to_string(), &from.to_string(), &to.to_string()), 1, 1, &input).unwrap();
        let mut wanted = input[..SHARED].to_vec();
        if bytes > 0 {
            wanted[to..to + bytes].copy_from_slice(&input[from..from + bytes]);
        }
        assert!(left.shared == wanted && left.input == input, "{bytes} bytes");
    }
    let body = format!(
        "@!%first bra S; cp.async.bulk.global.shared::cta.bulk_group [%in+16432], [%s+512], 1040; {GROUP} S:"
    );
    let left = run(&body, 1, 1, &input).unwrap();
    let mut wanted = input.clone();
    wanted.copy_within(512..1552, 16432);
    assert!(left.input == wanted);
}

#[test]
fn bulk_copies_that_fault() {
    let input = random(1, SHARED);
    let device = Device::new(&kernel(&load("%c0", "64", "16"), 1));
    let of = |bytes: i32| {
        let fault = run_on(&device, 1, &input, [0; 128], [bytes, 0, 0, 0, 0, 0, 0, 0]).err().unwrap();
        (fault.kind, fault.address.is_some())
    };
    assert_eq!(of(8), (FaultKind::MisalignedAddress, true));
    assert_eq!(of(SHARED as i32), (FaultKind::IllegalAddress, true));
    // 2^32 - 16, of which nothing is set aside.
    for copy in [
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], %c0, [%bar];",
        "cp.async.bulk.global.shared::cta.bulk_group [%in], [%s], %c0;",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s], [%s], %c0, [%bar];",
    ] {
        let device = Device::new(&kernel(&format!("@%first {copy}"), 1));
        let fault = run_on(&device, 1, &input, [0; 128], [-16, 0, 0, 0, 0, 0, 0, 0]).err().unwrap();
        assert_eq!((fault.kind, fault.address.is_some()), (FaultKind::IllegalAddress, true), "{fault}");
    }
    for (bytes, from, to, kind) in [
        ("16", "8", "0", FaultKind::MisalignedAddress),
        ("16", "0", "8", FaultKind::MisalignedAddress),
        ("32", "16368", "0", FaultKind::IllegalAddress),
        ("32", "0", "16480", FaultKind::IllegalAddress),
        ("16", "-16", "0", FaultKind::IllegalAddress),
    ] {
        let fault = run(&load(bytes, from, to), 1, 1, &input).err().unwrap();
        assert_eq!((fault.kind, fault.address.is_some(), fault.thread), (kind, true, [0; 3]), "{fault}");
    }
    let fault = run(&load("32", "16368", "0"), 1, 1, &input).err().unwrap();
    assert_eq!(fault.address.unwrap() % 16, 0);
    assert!(fault.message.contains("illegal read of 16 bytes"), "{fault}");
    // One that no block of the cluster is there for.
    let body = "mov.b16 %h0, 8; @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%in], 16, [%bar], %h0;";
    assert_eq!(run(body, 2, 2, &random(1, 2 * SHARED)).err().unwrap().kind, FaultKind::InvalidSync);
    // And none at all: nothing is copied.
    let body = body.replace("%h0, 8", "%h0, 0");
    let input = random(1, 2 * SHARED);
    assert!(run(&body, 2, 2, &input).unwrap().shared == input);
}

#[test]
fn barriers_count_bytes() {
    // Expected before or after the copy, in parts; too few of them never complete.
    let copy =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in+4096], 64, [%bar];";
    let input = random(2, SHARED);
    let mut wanted = input.clone();
    wanted.copy_within(4096..4160, 0);
    for body in [
        format!("@!%first bra S; {copy} mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 64; S: {WAIT}"),
        format!(
            "@!%first bra S; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 128; {copy} {copy} mbarrier.arrive.shared::cta.b64 _, [%bar]; S: {WAIT}"
        ),
    ] {
        assert!(run(&body, 1, 1, &input).unwrap().shared == wanted, "{body}");
    }
    for bytes in [48, 80] {
        let body = format!(
            "@!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {bytes}; {copy} S:\n mbarrier.test_wait.parity.shared::cta.b64 %q2, [%bar], 0; @%q2 trap;"
        );
        assert!(run(&body, 1, 1, &input).is_ok(), "{bytes} are not what is copied");
    }
}

#[test]
fn clusters_exchange_and_multicast() {
    let input = random(3, 4 * SHARED);
    let other = "mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1; mapa.shared::cluster.u32 %r2, %s, %r1; mapa.shared::cluster.u32 %r3, %bar, %r1;";
    let body = format!(
        "{other} @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 2048;\n\
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2+8192], [%s], 2048, [%r3]; S: {WAIT}"
    );
    let left = run(&body, 2, 4, &input).unwrap();
    let mut wanted = input.clone();
    for block in 0..4 {
        let from = (block ^ 1) * SHARED;
        wanted[block * SHARED + 8192..][..2048].copy_from_slice(&input[from..from + 2048]);
    }
    assert!(left.shared == wanted);
    // Blocks 0 and 2 of three get what block 1 copies.
    let body = format!(
        "mov.u32 %r0, %cluster_ctarank; setp.eq.u32 %q1, %r0, 1; and.pred %q3, %q1, %first; setp.ne.and.u32 %q0, %r0, 1, %first; mov.b16 %h0, 5;\n\
         @%q0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;\n\
         @%q3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s+2048], [%in], 1024, [%bar], %h0;\n\
         @%q1 bra E; {WAIT} E:"
    );
    let left = run(&body, 3, 3, &input).unwrap();
    let mut wanted = input[..3 * SHARED].to_vec();
    for block in [0, 2] {
        wanted.copy_within(0..1024, block * SHARED + 2048);
    }
    assert!(left.shared == wanted);
    let body = format!(
        "{other} mov.b64 %x0, 0x1122334455667788; @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 28;\n\
         st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r2+4], %r0, [%r3]; st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r2+16], %x0, [%r3];\n\
         cvt.u64.u32 %x1, %r2; cvta.shared::cluster.u64 %x1, %x1; cvt.u64.u32 %x2, %r3; cvta.shared::cluster.u64 %x2, %x2;\n\
         st.async.mbarrier::complete_tx::bytes.v4.b32 [%x1+32], {{%r1, 7, %r0, 5}}, [%x2]; S: {WAIT}"
    );
    let left = run(&body, 2, 2, &input).unwrap();
    let mut wanted = input[..2 * SHARED].to_vec();
    for block in 0..2_u32 {
        let (place, from) = (block as usize * SHARED, 1 - block);
        wanted[place + 4..][..4].copy_from_slice(&from.to_le_bytes());
        wanted[place + 16..][..8].copy_from_slice(&0x1122_3344_5566_7788_u64.to_le_bytes());
        for (at, number) in [block, 7, from, 5].into_iter().enumerate() {
            wanted[place + 32 + 4 * at..][..4].copy_from_slice(&number.to_le_bytes());
        }
    }
    assert!(left.shared == wanted);
    // Addresses without a space may have 32 bits, as a generic one ends with them.
    let body = format!(
        "{other} @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 12;\n\
         st.async.mbarrier::complete_tx::bytes.b32 [%r2+4], %r0, [%r3]; cvt.u64.u32 %x2, %r3; cvta.shared::cluster.u64 %x2, %x2;\n\
         st.async.weak.mbarrier::complete_tx::bytes.b32 [%r2+8], 77, [%x2];\n\
         red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32 [%r2+12], 5, [%r3]; S: {WAIT}"
    );
    let left = run(&body, 2, 2, &input).unwrap();
    let mut wanted = input[..2 * SHARED].to_vec();
    for block in 0..2_u32 {
        let place = block as usize * SHARED;
        let sum = u32::from_le_bytes(wanted[place + 12..][..4].try_into().unwrap()).wrapping_add(5);
        for (at, number) in [1 - block, 77, sum].into_iter().enumerate() {
            wanted[place + 4 + 4 * at..][..4].copy_from_slice(&number.to_le_bytes());
        }
    }
    assert!(left.shared == wanted);
}

/// A reduction, by the ISA's words for it.
pub(crate) fn reduced(operation: &str, ty: &str, old: u64, new: u64) -> u64 {
    match (operation, ty) {
        ("and", _) => old & new,
        ("or", _) => old | new,
        ("xor", _) => old ^ new,
        ("inc", _) => {
            if old >= new {
                0
            } else {
                old + 1
            }
        }
        ("dec", _) => {
            if old == 0 || old > new {
                new
            } else {
                old - 1
            }
        }
        ("add", "u32" | "s32") => u64::from((old as u32).wrapping_add(new as u32)),
        ("add", "u64") => old.wrapping_add(new),
        ("min", "u32" | "u64") => old.min(new),
        ("max", "u32" | "u64") => old.max(new),
        ("min", "s32") => u64::from((old as i32).min(new as i32) as u32),
        ("max", "s32") => u64::from((old as i32).max(new as i32) as u32),
        ("min", "s64") => (old as i64).min(new as i64) as u64,
        ("max", "s64") => (old as i64).max(new as i64) as u64,
        ("add", "f32") => u64::from((f32::from_bits(old as u32) + f32::from_bits(new as u32)).to_bits()),
        ("add", "f64") => (f64::from_bits(old) + f64::from_bits(new)).to_bits(),
        (_, ty) => {
            let [old, new] = [old, new].map(|bits| decoded(ty, bits as u32).0);
            let value = match operation {
                "add" => old + new,
                "min" => old.min(new),
                _ => old.max(new),
            };
            u64::from(encoded(ty, value))
        }
    }
}

pub(crate) fn size(ty: &str) -> usize {
    ty[ty.len() - 2..].parse::<usize>().unwrap() / 8
}

/// Numbers for a reduction: of floats small whole ones, so that sums are exact.
pub(crate) fn numbers(seed: u64, ty: &str, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let number = |random: &mut Random| match ty {
        "f16" | "bf16" | "f32" => u64::from(encoded(ty, random.below(60) as f64 - 30.5)),
        "f64" => (random.below(60) as f64 - 30.5).to_bits(),
        // Close ones, for inc and dec, and any.
        _ if random.below(2) == 0 => random.below(4),
        _ => random.next(),
    };
    let each = size(ty);
    (0..bytes / each).flat_map(|_| number(&mut random).to_le_bytes().into_iter().take(each)).collect()
}

pub(crate) fn reduce_into(operation: &str, ty: &str, target: &mut [u8], source: &[u8]) {
    let each = size(ty);
    for (old, new) in target.chunks_mut(each).zip(source.chunks(each)) {
        let [a, b] =
            [&*old, new].map(|bytes| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        old.copy_from_slice(&reduced(operation, ty, a, b).to_le_bytes()[..each]);
    }
}

pub(crate) const INTEGERS: [(&str, &str); 18] = [
    ("add", "u32"),
    ("add", "s32"),
    ("add", "u64"),
    ("inc", "u32"),
    ("dec", "u32"),
    ("min", "u32"),
    ("max", "u32"),
    ("min", "s32"),
    ("max", "s32"),
    ("min", "u64"),
    ("max", "u64"),
    ("min", "s64"),
    ("max", "s64"),
    ("and", "b32"),
    ("or", "b32"),
    ("xor", "b32"),
    ("and", "b64"),
    ("xor", "b64"),
];
pub(crate) const FLOATS: [(&str, &str); 8] = [
    ("add", "f16"),
    ("add", "bf16"),
    ("min", "f16"),
    ("max", "f16"),
    ("min", "bf16"),
    ("max", "bf16"),
    ("add", "f32"),
    ("add", "f64"),
];

/// Whether a module is refused for a form that PTX does not have.
fn is_refused(text: &str) -> bool {
    let failure = Program::load(text, &Arc::new(Memory::new(1 << 24))).map(drop).err();
    failure.is_some_and(|failure| failure.message.contains("there is no such combination"))
}

#[test]
fn bulk_reductions() {
    // PTX has no sum of `.s64`, and `.noftz` in sums of `.f16` and `.bf16`, where it has to be, and since 9.4 of `.f32`.
    for how in ["add.s64", "add.f16", "add.bf16", "min.noftz.f16", "max.noftz.bf16", "add.noftz.u32"] {
        let body = format!(
            "@!%first bra S; cp.reduce.async.bulk.global.shared::cta.bulk_group.{how} [%in], [%s], 16; {GROUP} S:"
        );
        assert!(is_refused(&kernel(&body, 1)), "{how}");
    }
    for (operation, ty) in INTEGERS.into_iter().chain(FLOATS).chain([("or", "b64")]) {
        let input = numbers(4, ty, 2 * SHARED);
        let how = if operation == "add" && ty.ends_with("f16") { "add.noftz" } else { operation };
        let body = format!(
            "@!%first bra S; cp.reduce.async.bulk.global.shared::cta.bulk_group.{how}.{ty} [%in+16432], [%s+512], 2064; {GROUP} S:"
        );
        let left = run(&body, 1, 1, &input).unwrap();
        let mut wanted = input.clone();
        reduce_into(operation, ty, &mut wanted[16432..16432 + 2064], &input[512..512 + 2064]);
        assert!(left.input == wanted && wanted != input, "{operation} {ty}");
        let body = format!(
            "mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1; mapa.shared::cluster.u32 %r2, %s, %r1; mapa.shared::cluster.u32 %r3, %bar, %r1;\n\
             @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;\n\
             cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{ty} [%r2+8192], [%s], 512, [%r3]; S: {WAIT}"
        );
        if (size(ty) == 4 && ty != "f32") || (operation, ty) == ("add", "u64") {
            let left = run(&body, 2, 2, &input).unwrap();
            let mut wanted = input.clone();
            for (block, from) in [(0, SHARED), (SHARED, 0)] {
                reduce_into(operation, ty, &mut wanted[block + 8192..][..512], &input[from..from + 512]);
            }
            assert!(left.shared == wanted, "{operation} {ty}");
        } else {
            assert!(is_refused(&kernel(&body, 2)), "{operation} {ty}");
        }
    }
}

#[test]
fn asynchronous_reductions() {
    // 32 threads of each block reduce numbers of their own into the other block's.
    for (operation, ty) in INTEGERS.into_iter().chain([("add", "s64")]) {
        if size(ty) == 8 && operation != "add" {
            continue;
        }
        let (bytes, bits, register) = (size(ty), 8 * size(ty), if size(ty) == 8 { "%x2" } else { "%r5" });
        let input = numbers(6, ty, 2 * SHARED);
        for (space, number, kind) in [(".shared::cluster", "%r2", "u32"), ("", "%x0", "u64")] {
            let body = format!(
                "mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1; setp.lt.u32 %q1, %t0, 32; mul.lo.u32 %r4, %t0, {bytes}; cvt.u64.u32 %x2, %r4;\n\
                 add.u64 %x2, %p3, %x2; ld.global.b{bits} {register}, [%x2+256]; mapa.shared::cluster.u32 %r2, %s, %r1; mapa.shared::cluster.u32 %r3, %bar, %r1;\n\
                 cvt.u64.u32 %x0, %r2; cvta.shared::cluster.u64 %x0, %x0; cvt.u64.u32 %x1, %r3; cvta.shared::cluster.u64 %x1, %x1; cvt.u64.u32 %x3, %r4;\n\
                 add.u32 %r2, %r2, %r4; add.u64 %x0, %x0, %x3; @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {all};\n\
                 @%q1 red.async.relaxed.cluster{space}.mbarrier::complete_tx::bytes.{operation}.{ty} [{number}+1024], {register}, [{barrier}]; {WAIT}",
                barrier = if kind == "u32" { "%r3" } else { "%x1" },
                all = 32 * bytes,
            );
            let left = run(&body, 2, 2, &input).unwrap();
            let mut wanted = input.clone();
            for (block, from) in [(0, SHARED), (SHARED, 0)] {
                let source = &input[from + 256..][..32 * bytes];
                reduce_into(
                    operation,
                    if ty == "s64" { "u64" } else { ty },
                    &mut wanted[block + 1024..][..32 * bytes],
                    source,
                );
            }
            assert!(left.shared == wanted && wanted != input, "{operation} {ty} {space}");
        }
    }
    // What ptxas refuses.
    for how in ["min.u64", "and.b64", "inc.s32", "dec.u64", "add.b32", "xor.u32", "add.f32"] {
        let register = if how.contains("64") { "%x2" } else { "%r5" };
        let body = format!(
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{how} [%r2], {register}, [%r3];"
        );
        let failure = Program::load(&kernel(&body, 2), &Arc::new(Memory::new(1 << 20))).unwrap_err();
        assert!(failure.message.contains("no such combination"), "{how}: {failure}");
    }
}
