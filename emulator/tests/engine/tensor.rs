//! Bulk copies and copies of tensors, against references written from the PTX ISA ("Tensors", "Asynchronous copy").
#![allow(unsafe_code)]
// Relies on the driver of the emulator, which gets lists as long as the rank says.

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use cuda_emulator::engine::{Fault, FaultKind};
use cuda_emulator::{Checks, DifferenceKind, Schedules};
use std::ptr::without_provenance_mut;

use crate::support::{Args, Device, launch};
use crate::wgmma::{Random, decoded, encoded};

/// Bytes of each block's shared memory.
const SHARED: usize = 16384;
/// Bytes of a tensor.
const TENSOR: usize = 1 << 18;

/// A kernel of 128 threads that fills shared memory from `in`, runs `body`, and stores shared memory to `out`. `%s` is the address of
/// its first byte, `%bar` that of a barrier for one arrival, `%map` that of a tensor map, `%c0` to `%c7` are numbers; `%first` holds in thread 0.
fn kernel(body: &str, cluster: u32) -> String {
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

const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %q2, [%bar], 0; @!%q2 bra W;";
const GROUP: &str = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes).map(|_| (random.next() >> 32) as u8).collect()
}

/// What a kernel leaves: shared memory of each block, and the bytes that it got.
struct Left {
    shared: Vec<u8>,
    input: Vec<u8>,
}

fn run_on(
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

fn run(body: &str, cluster: u32, blocks: u32, input: &[u8]) -> Result<Left, Box<Fault>> {
    run_on(&Device::new(&kernel(body, cluster)), blocks, input, [0; 128], [0; 8])
}

fn load(bytes: &str, from: &str, to: &str) -> String {
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
         st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r2+32], {{%r1, 7, %r0, 5}}, [%r3]; S: {WAIT}"
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
}

/// A reduction, by the ISA's words for it.
fn reduced(operation: &str, ty: &str, old: u64, new: u64) -> u64 {
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

fn size(ty: &str) -> usize {
    ty[ty.len() - 2..].parse::<usize>().unwrap() / 8
}

/// Numbers for a reduction: of floats small whole ones, so that sums are exact.
fn numbers(seed: u64, ty: &str, bytes: usize) -> Vec<u8> {
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

fn reduce_into(operation: &str, ty: &str, target: &mut [u8], source: &[u8]) {
    let each = size(ty);
    for (old, new) in target.chunks_mut(each).zip(source.chunks(each)) {
        let [a, b] =
            [&*old, new].map(|bytes| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        old.copy_from_slice(&reduced(operation, ty, a, b).to_le_bytes()[..each]);
    }
}

const INTEGERS: [(&str, &str); 18] = [
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
const FLOATS: [(&str, &str); 8] = [
    ("add", "f16"),
    ("add", "bf16"),
    ("min", "f16"),
    ("max", "f16"),
    ("min", "bf16"),
    ("max", "bf16"),
    ("add", "f32"),
    ("add", "f64"),
];

#[test]
fn bulk_reductions() {
    let body = format!(
        "@!%first bra S; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%in], [%s], 16; {GROUP} S:"
    );
    assert_eq!(
        Device::new(&kernel(&body, 1)).kernel("k").unsupported().count(),
        1,
        "PTX has no sum of `.s64`"
    );
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
            let reasons: Vec<_> = Device::new(&kernel(&body, 2))
                .kernel("k")
                .unsupported()
                .map(|(_, reason)| reason.to_owned())
                .collect();
            assert_eq!(reasons.len(), 1, "{operation} {ty}");
        }
    }
}

/// A tensor map as the driver encodes it, and what the ISA says of it.
#[derive(Clone)]
struct Map {
    ty: u32,
    sizes: Vec<u64>,
    tile: Vec<u32>,
    steps: Vec<u32>,
    swizzle: u32,
    fill: u32,
    interleave: u32,
    /// The corners, channels and pixels of im2col.
    im2col: Option<([Vec<i32>; 2], u32, u32)>,
}

fn tiled(ty: u32, sizes: &[u64], tile: &[u32]) -> Map {
    let steps = vec![1; sizes.len()];
    Map {
        ty,
        sizes: sizes.to_vec(),
        tile: tile.to_vec(),
        steps,
        swizzle: 0,
        fill: 0,
        interleave: 0,
        im2col: None,
    }
}

fn im2col(sizes: &[u64], lower: &[i32], upper: &[i32], channels: u32, pixels: u32) -> Map {
    let im2col = Some(([lower.to_vec(), upper.to_vec()], channels, pixels));
    Map { im2col, ..tiled(6, sizes, &[]) }
}

impl Map {
    fn element(&self) -> usize {
        [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4][self.ty as usize]
    }

    /// Bytes from one element to the next in each dimension.
    fn strides(&self) -> Vec<u64> {
        let mut strides = vec![self.element() as u64];
        for (at, size) in self.sizes.iter().enumerate() {
            strides.push((strides[at] * size).next_multiple_of(16) + if at == 1 { 32 } else { 0 });
        }
        strides
    }

    fn encode(&self, address: u64) -> [u8; 128] {
        let instance = Instance::new().unwrap();
        let cuda = instance.driver();
        let (mut map, rank, strides) = (CUtensorMap::default(), self.sizes.len() as u32, self.strides());
        let (ty, place) = (CUtensorMapDataType(self.ty as _), without_provenance_mut(address as usize));
        let (interleave, swizzle) =
            (CUtensorMapInterleave(self.interleave as _), CUtensorMapSwizzle(self.swizzle as _));
        let (promotion, fill) = (CUtensorMapL2promotion(0), CUtensorMapFloatOOBfill(self.fill as _));
        let (sizes, strides, steps) = (self.sizes.as_ptr(), strides[1..].as_ptr(), self.steps.as_ptr());
        // SAFETY: C1: all lists have `rank` elements, or one or two less where the function takes so many.
        let code = unsafe {
            assert_eq!(cuda.cuInit(0), CUresult::SUCCESS);
            match &self.im2col {
                None => cuda.cuTensorMapEncodeTiled(
                    &mut map,
                    ty,
                    rank,
                    place,
                    sizes,
                    strides,
                    self.tile.as_ptr(),
                    steps,
                    interleave,
                    swizzle,
                    promotion,
                    fill,
                ),
                Some(([lower, upper], channels, pixels)) => cuda.cuTensorMapEncodeIm2col(
                    &mut map,
                    ty,
                    rank,
                    place,
                    sizes,
                    strides,
                    lower.as_ptr(),
                    upper.as_ptr(),
                    *channels,
                    *pixels,
                    steps,
                    interleave,
                    swizzle,
                    promotion,
                    fill,
                ),
            }
        };
        assert_eq!(code, CUresult::SUCCESS);
        let bytes: Vec<u8> = map.opaque.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.try_into().unwrap()
    }

    /// Elements of a row of the box, and the coordinates of each of its rows.
    fn rows(&self, corner: &[i32], offsets: &[i64]) -> (usize, Vec<Vec<i64>>) {
        let rank = self.sizes.len();
        let corner: Vec<i64> = corner[..rank].iter().map(|at| i64::from(*at)).collect();
        let mut rows = Vec::new();
        let Some(([lower, upper], channels, pixels)) = &self.im2col else {
            let counts: Vec<usize> =
                (1..rank).map(|dim| self.tile[dim].div_ceil(self.steps[dim]) as usize).collect();
            for row in 0..counts.iter().product::<usize>() {
                let (mut rest, mut place) = (row, corner.clone());
                for (dim, count) in counts.iter().enumerate() {
                    place[dim + 1] += (rest % count) as i64 * i64::from(self.steps[dim + 1]);
                    rest /= count;
                }
                rows.push(place);
            }
            return (self.tile[0] as usize, rows);
        };
        let mut at = corner;
        for _ in 0..*pixels {
            let mut place = at.clone();
            place
                .iter_mut()
                .skip(1)
                .zip(offsets.iter().take(rank - 2))
                .for_each(|(at, offset)| *at += offset);
            rows.push(place);
            let mut dim = 1;
            while dim < rank - 1 {
                at[dim] += i64::from(self.steps[dim]);
                if at[dim] < self.sizes[dim] as i64 + i64::from(upper[dim - 1]) {
                    break;
                }
                at[dim] = i64::from(lower[dim - 1]);
                dim += 1;
            }
            at[dim] += i64::from(dim == rank - 1);
        }
        (*channels as usize, rows)
    }

    /// For each element of the box: where it is in shared memory, and where in the tensor, if it is.
    fn elements(&self, corner: &[i32], offsets: &[i64]) -> Vec<(usize, Option<usize>)> {
        let (count, rows) = self.rows(corner, offsets);
        let (element, strides) = (self.element(), self.strides());
        let pitch = (count * element).max([0, 32, 64, 128][self.swizzle as usize]);
        let mut elements = Vec::new();
        for (row, place) in rows.iter().enumerate() {
            for column in 0..count {
                let mut place = place.clone();
                place[0] += column as i64;
                let inside = place.iter().zip(&self.sizes).all(|(at, size)| (0..*size as i64).contains(at));
                let bytes = place.iter().zip(&strides).map(|(at, stride)| at * *stride as i64).sum::<i64>();
                let dense = row * pitch + column * element;
                let moved = (dense / 128) % [1, 2, 4, 8][self.swizzle as usize];
                elements.push((dense ^ (moved * 16), inside.then_some(bytes as usize)));
            }
        }
        elements
    }

    fn bytes(&self, corner: &[i32]) -> usize {
        let (count, rows) = self.rows(corner, &[0; 3]);
        count * rows.len() * self.element()
    }

    fn instruction(&self, kind: &str) -> String {
        let rank = self.sizes.len();
        let list = |name: &str, from: usize, count: usize| {
            (from..from + count).map(|at| format!("%{name}{at}")).collect::<Vec<_>>().join(",")
        };
        let co = list("c", 0, rank);
        if kind != "load" {
            let mode = if self.im2col.is_some() { "im2col_no_offs" } else { "tile" };
            let start = if kind == "store" { "cp.async.bulk.tensor" } else { "cp.reduce.async.bulk.tensor" };
            let operation = if kind == "store" { String::new() } else { format!(".{kind}") };
            return format!(
                "@!%first bra S; {start}.{rank}d.global.shared::cta{operation}.{mode}.bulk_group [%map, {{{co}}}], [%s+1024]; {GROUP} S:"
            );
        }
        let (mode, prepare, offsets) = match self.im2col {
            None => ("tile", String::new(), String::new()),
            Some(_) => (
                "im2col",
                (0..rank - 2).map(|at| format!("cvt.u16.u32 %h{at}, %c{}; ", 5 + at)).collect(),
                format!(", {{{}}}", list("h", 0, rank - 2)),
            ),
        };
        format!(
            "{prepare} @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};\n\
             cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes [%s+1024], [%map, {{{co}}}], [%bar]{offsets}; S: {WAIT}",
            self.bytes(&[0; 5])
        )
    }

    /// Runs an instruction on these bytes, which are the tensor and what shared memory begins with.
    fn run(&self, kind: &str, corner: &[i32], input: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Box<Fault>> {
        let device = Device::new(&kernel(&self.instruction(kind), 1));
        let tensor = device.upload(input);
        let mut numbers = [0; 8];
        numbers[..corner.len()].copy_from_slice(corner);
        let left = run_on(&device, 1, &input[..SHARED], self.encode(tensor), numbers)?;
        Ok((left.shared, device.download(tensor, input.len())))
    }

    /// Compares a load.
    fn check_load(&self, corner: &[i32], convert: impl Fn(&mut [u8])) {
        let input = random(5, TENSOR);
        let offsets: Vec<i64> = (5..8).map(|at| corner.get(at).copied().unwrap_or(0).into()).collect();
        let mut wanted = input[..SHARED].to_vec();
        let element = self.element();
        for (place, from) in self.elements(corner, &offsets) {
            let target = &mut wanted[1024 + place..][..element];
            match from {
                Some(from) => {
                    target.copy_from_slice(&input[from..from + element]);
                    convert(target);
                }
                None if self.fill == 0 => target.fill(0),
                None => target
                    .iter_mut()
                    .zip([0xf7, 0x7f].into_iter().cycle())
                    .for_each(|(byte, fill)| *byte = fill),
            }
        }
        let (shared, tensor) = self.run("load", corner, &input).unwrap_or_else(|fault| panic!("{fault}"));
        let wrong = shared.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        assert_eq!(wrong, None, "{:?} {corner:?}", self.sizes);
        assert!(tensor == input);
    }

    /// Compares a store or a reduction.
    fn check_store(&self, kind: &str, ty: &str, corner: &[i32]) {
        let input = if kind == "store" { random(6, TENSOR) } else { numbers(7, ty, TENSOR) };
        let (mut wanted, element) = (input.clone(), self.element());
        for (place, to) in self.elements(corner, &[0; 3]) {
            let Some(to) = to else { continue };
            let source = &input[1024 + place..][..element];
            match kind {
                "store" => wanted[to..to + element].copy_from_slice(source),
                operation => reduce_into(operation, ty, &mut wanted[to..to + element], source),
            }
        }
        let (shared, tensor) = self.run(kind, corner, &input).unwrap_or_else(|fault| panic!("{fault}"));
        let wrong = tensor.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        assert_eq!(wrong, None, "{kind} {ty} {:?} {corner:?}", self.sizes);
        assert!(shared == input[..SHARED] && wanted != input);
    }
}

#[test]
fn boxes_of_one_to_five_dimensions() {
    for corner in [0, 4, -4, 980, 996, 1000, 5000, -64, i32::MAX - 3, i32::MIN] {
        tiled(2, &[1000], &[64]).check_load(&[corner], |_| {});
    }
    for corner in [
        [8, 5],
        [184, 90],
        [-8, -3],
        [-64, 0],
        [0, 100],
        [200, 99],
        [i32::MIN, i32::MIN],
        [i32::MAX - 7, i32::MAX],
    ] {
        tiled(6, &[200, 100], &[32, 24]).check_load(&corner, |_| {});
    }
    for corner in [[4, 28, 17], [-4, -2, -3], [36, 0, 19], [0, 0, -6]] {
        tiled(2, &[40, 30, 20], &[8, 5, 6]).check_load(&corner, |_| {});
    }
    tiled(2, &[16, 12, 10, 8], &[4, 5, 3, 4]).check_load(&[12, -1, 8, 6], |_| {});
    tiled(2, &[16, 9, 7, 6, 5], &[4, 3, 2, 3, 2]).check_load(&[-4, 7, 6, -2, 4], |_| {});
    tiled(2, &[16, 9, 7, 6, 5], &[8, 3, 2, 3, 2]).check_load(&[4, 1, 6, 2, -1], |_| {});
    for (ty, sizes, tile, corner) in [
        (2, vec![40, 30, 20], vec![8, 5, 6], vec![4, 28, 17]),
        (6, vec![200, 100], vec![32, 24], vec![184, 90]),
        (2, vec![1000], vec![64], vec![980]),
        (2, vec![16, 9, 7, 6], vec![4, 3, 2, 3], vec![12, 7, 6, 4]),
        (2, vec![16, 9, 7, 6, 5], vec![4, 3, 2, 3, 2], vec![8, 7, 6, 2, 4]),
    ] {
        tiled(ty, &sizes, &tile).check_store("store", "", &corner);
    }
}

#[test]
fn boxes_are_thinned_out() {
    for (steps, corner) in [([1, 2, 3], [4, 20, 9]), ([2, 1, 1], [0, 3, 4]), ([1, 8, 5], [-4, -3, 16])] {
        let map = Map { steps: steps.to_vec(), ..tiled(2, &[40, 30, 20], &[8, 5, 6]) };
        map.check_load(&corner, |_| {});
        map.check_store("store", "", &corner.map(|at| at.max(0)));
    }
}

#[test]
fn boxes_are_swizzled() {
    for swizzle in 0..4 {
        let span = 16 << swizzle;
        for width in [16, 32, 48, 64, 96, 128].into_iter().filter(|width| swizzle == 0 || *width <= span) {
            let map = Map { swizzle, ..tiled(0, &[208, 100], &[width, 24]) };
            map.check_load(&[16, 5], |_| {});
            map.check_load(&[-16, 90], |_| {});
            map.check_store("store", "", &[16, 5]);
        }
    }
    // Three rows of 16 bytes are no whole lines.
    tiled(0, &[208, 100], &[16, 3]).check_load(&[0, 5], |_| {});
}

#[test]
fn what_is_outside_is_zero_or_nan() {
    for ty in 0..13 {
        for fill in [0, u32::from(ty >= 6)] {
            // Nothing of it is inside but a corner, whose numbers are converted in another test.
            let map = Map { fill, ..tiled(ty, &[64, 50], &[16, 8]) };
            map.check_load(&[64, 46], |_| {});
            if ty < 11 {
                map.check_load(&[if map.element() == 1 { 48 } else { 56 }, 46], |_| {});
                map.check_store("store", "", &[48, 46]);
            }
        }
    }
}

#[test]
fn tensor_floats_are_rounded() {
    let rounded = |number: &mut [u8]| {
        let bits = u32::from_le_bytes(number.try_into().unwrap());
        let result = match bits & 0x7fff_ffff {
            0x7f80_0001.. => 0x7fff_e000,
            0x7f80_0000 => bits,
            // To the nearest, ties to even, of ten bits of the fraction.
            _ => {
                let (kept, rest) = (bits >> 13, bits & 0x1fff);
                (kept + u32::from(rest > 0x1000 || rest == 0x1000 && kept & 1 == 1)) << 13
            }
        };
        number.copy_from_slice(&result.to_le_bytes());
    };
    for ty in [11, 12] {
        let map = tiled(ty, &[64, 50], &[64, 8]);
        map.check_load(&[0, 3], rounded);
        // Ties, infinities, NaN and subnormal numbers.
        let numbers = [
            0x3f80_1000,
            0x3f80_3000,
            0x7f80_0000,
            0xff80_0001,
            0x7fff_ffff,
            0x1000,
            0x8000_3000,
            0x1001,
            0x7f7f_ffff,
            0xffc0_0000u32,
        ];
        let input: Vec<u8> =
            numbers.iter().cycle().take(TENSOR / 4).flat_map(|number| number.to_le_bytes()).collect();
        let (shared, _) = map.run("load", &[0, 0], &input).unwrap();
        let mut wanted = input[..64 * 4].to_vec();
        wanted.chunks_mut(4).for_each(rounded);
        assert_eq!(shared[1024..1280], wanted, "type {ty}");
    }
}

#[test]
fn tensor_reductions() {
    for (operation, ty) in INTEGERS.into_iter().chain(FLOATS) {
        let data_type = match ty {
            "u32" | "b32" => 2,
            "s32" => 3,
            "u64" | "b64" => 4,
            "s64" => 5,
            "f16" => 6,
            "f32" => 7,
            "f64" => 8,
            _ => 9,
        };
        tiled(data_type, &[64, 50], &[16, 8]).check_store(operation, ty, &[8, 46]);
    }
    // Type 10 flushes subnormal numbers, 7 does not.
    for (ty, wanted) in [(7, 3_u32), (10, 0)] {
        let input: Vec<u8> = (0..TENSOR / 4).flat_map(|at| (1 + at as u32 % 2).to_le_bytes()).collect();
        let (_, tensor) = tiled(ty, &[64, 50], &[16, 8]).run("add", &[1 << 2, 0], &input).unwrap();
        let found: Vec<u32> =
            tensor[16..80].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        // 1 + 1 and 2 + 2.
        let wanted: Vec<u32> = (0..16).map(|at| if wanted == 0 { 0 } else { 2 + 2 * (at % 2) }).collect();
        assert_eq!(found, wanted, "type {ty}");
    }
    for (ty, operation) in [
        (0, "add"),
        (5, "add"),
        (5, "and"),
        (6, "and"),
        (7, "min"),
        (8, "max"),
        (3, "inc"),
        (10, "min"),
        (11, "add"),
    ] {
        let result = tiled(ty, &[64, 50], &[16, 8]).run(operation, &[0, 0], &random(1, TENSOR)).map(|_| ());
        let fault = result.expect_err(operation);
        assert_eq!(fault.kind, FaultKind::InvalidSync);
        assert!(fault.message.contains("no such reduction"), "{fault}");
    }
}

#[test]
fn pixels_become_columns() {
    let image: &[u64] = &[16, 9, 7, 3];
    for (lower, upper) in
        [([0, 0], [0, 0]), ([-1, -1], [1, 1]), ([-1, -1], [-1, -1]), ([0, -2], [-2, 1]), ([1, 0], [-1, 0])]
    {
        let map = im2col(image, &lower, &upper, 8, 40);
        map.check_load(&[0, lower[0].max(0), lower[1].max(0), 0, 0, 0, 0, 0], |_| {});
        map.check_load(&[8, lower[0] + 3, lower[1] + 2, 1, 0, 1, 2, 0], |_| {});
        map.check_load(&[-8, lower[0] + 1, lower[1], 2, 0, 3, 0, 0], |_| {});
    }
    Map { steps: vec![1, 2, 2, 1], ..im2col(image, &[-1, -1], &[0, 0], 8, 24) }
        .check_load(&[0, -1, -1, 0, 0, 1, 1, 0], |_| {});
    Map { steps: vec![1, 3, 1, 1], ..im2col(image, &[-1, -1], &[1, 0], 8, 24) }
        .check_load(&[0, 1, -1, 0, 0, 2, 1, 0], |_| {});
    im2col(&[16, 9, 7], &[-1], &[0], 16, 24).check_load(&[0, -1, 0, 0, 0, 1, 0, 0], |_| {});
    im2col(&[16, 5, 4, 3, 2], &[-1, 0, -1], &[0, 1, 0], 8, 60)
        .check_load(&[0, -1, 0, -1, 0, 1, 0, 1], |_| {});
    Map { swizzle: 3, ..im2col(&[64, 9, 7, 3], &[-1, -1], &[-1, -1], 64, 40) }
        .check_load(&[0, -1, -1, 0, 0, 1, 2, 0], |_| {});
    im2col(image, &[0, 0], &[0, 0], 8, 40).check_store("store", "", &[8, 2, 3, 1]);
    im2col(image, &[1, 0], &[-1, 0], 8, 40).check_store("store", "", &[0, 1, 0, 1]);
    im2col(&[16, 9, 7], &[0], &[0], 16, 24).check_store("store", "", &[0, 3, 1]);
}

#[test]
fn boxes_that_cannot_begin_there() {
    let plain = tiled(6, &[200, 100], &[32, 24]);
    let pixels = |lower, upper| im2col(&[16, 9, 7, 3], lower, upper, 8, 40);
    for (map, kind, corner, wanted) in [
        (tiled(2, &[1000], &[64]), "load", vec![3], "no multiple of 16 bytes"),
        (tiled(0, &[208, 100], &[32, 4]), "load", vec![8, 1], "no multiple of 16 bytes"),
        (tiled(2, &[100, 100], &[32, 4]), "store", vec![2, 1], "no multiple of 16 bytes"),
        (plain.clone(), "store", vec![-8, 5], "a store to coordinate -8 in dimension 0"),
        (plain.clone(), "store", vec![8, -3], "a store to coordinate -3 in dimension 1"),
        (pixels(&[0, 0], &[0, 0]), "load", vec![0, -1, 0, 0], "coordinate -1 in dimension 1, outside 0 to 8"),
        (pixels(&[0, 0], &[0, 0]), "load", vec![0, 9, 0, 0], "outside 0 to 8"),
        (pixels(&[1, 0], &[-1, 0]), "load", vec![0, 0, 0, 0], "outside 1 to 7"),
        (pixels(&[-1, -1], &[1, 1]), "load", vec![0, 0, 8, 0], "outside -1 to 7"),
        (pixels(&[-1, 0], &[0, 0]), "store", vec![0, 0, 0, 0], "reaches beyond the tensor in dimension 1"),
        (pixels(&[0, 0], &[0, 1]), "store", vec![0, 0, 0, 0], "reaches beyond the tensor in dimension 2"),
    ] {
        let fault = map.run(kind, &corner, &random(1, TENSOR)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidSync, "{fault}");
        assert!(fault.message.contains(wanted), "{fault}");
    }
}

/// The fault of an instruction for `map` with other bytes at its address.
fn other(map: &Map, kind: &str, with: impl Fn(u64) -> [u8; 128]) -> Result<(), Box<Fault>> {
    let device = Device::new(&kernel(&map.instruction(kind), 1));
    let tensor = device.upload(&random(1, TENSOR));
    run_on(&device, 1, &random(1, SHARED), with(tensor), [0; 8]).map(|_| ())
}

#[test]
fn maps_that_do_not_fit_the_instruction() {
    let plain = tiled(6, &[200, 100], &[32, 24]);
    let pixels = im2col(&[16, 9, 7, 3], &[0, 0], &[0, 0], 8, 40);
    for (map, kind, with, expected, wanted) in [
        (&plain, "load", tiled(6, &[200, 100, 2], &[32, 24, 1]), FaultKind::InvalidSync, "3 dimensions"),
        (&plain, "store", tiled(6, &[200], &[32]), FaultKind::InvalidSync, "1 dimensions"),
        (&pixels, "load", tiled(6, &[16, 9, 7, 3], &[8, 5, 4, 2]), FaultKind::InvalidSync, "is for `.tile`"),
        (
            &tiled(6, &[16, 9, 7, 3], &[8, 5, 4, 2]),
            "load",
            pixels.clone(),
            FaultKind::InvalidSync,
            "is for `.im2col`",
        ),
        (
            &tiled(6, &[16, 9, 7], &[8, 5, 4]),
            "load",
            Map { interleave: 1, ..tiled(6, &[16, 9, 7], &[8, 5, 4]) },
            FaultKind::UnsupportedInstruction,
            "that are interleaved",
        ),
    ] {
        let fault = other(map, kind, |tensor| with.encode(tensor)).unwrap_err();
        assert_eq!(fault.kind, expected, "{fault}");
        assert!(fault.message.contains(wanted), "{fault}");
    }
    let fault = other(&plain, "load", |_| [0; 128]).unwrap_err();
    assert!(
        fault.kind == FaultKind::InvalidSync && fault.message.contains("there is no tensor map"),
        "{fault}"
    );
    // A map of memory that is not there.
    let fault = other(&plain, "load", |tensor| plain.encode(tensor + (1 << 40))).unwrap_err();
    assert!(fault.kind == FaultKind::IllegalAddress && fault.address.is_some(), "{fault}");
    let fault = other(&plain, "store", |tensor| plain.encode(tensor + TENSOR as u64 - 4096)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    // Addresses of the map and of the box.
    for (from, to, kind) in [
        ("[%map,", "[%x0,", FaultKind::MisalignedAddress),
        ("[%s+1024]", "[%s+1040]", FaultKind::MisalignedAddress),
        ("[%s+1024]", "[%s+15360]", FaultKind::IllegalAddress),
        ("[%map,", "[%x1,", FaultKind::IllegalAddress),
    ] {
        for name in ["load", "store"] {
            let moved = "add.u64 %x0, %map, 32; mov.u64 %x1, 64;";
            let body = format!("{moved} {}", plain.instruction(name).replace(from, to));
            let device = Device::new(&kernel(&body, 1));
            let tensor = device.upload(&random(1, TENSOR));
            let input = random(1, SHARED);
            let fault = run_on(&device, 1, &input, plain.encode(tensor), [0; 8]).err().unwrap();
            // The 32 bytes behind the map are the coordinates.
            assert_eq!(fault.kind, kind, "{fault}");
        }
    }
}

#[test]
fn a_box_of_terabytes_is_refused() {
    for kind in ["load", "store", "add"] {
        let huge = tiled(2, &[256; 5], &[256; 5]);
        let small = tiled(2, &[256; 5], &[4; 5]);
        let fault =
            other(&small, kind, |tensor| Map { sizes: vec![4, 4, 4, 4, 4], ..huge.clone() }.encode(tensor))
                .unwrap_err();
        assert!(fault.kind == FaultKind::IllegalAddress && fault.address.is_some(), "{fault}");
    }
}

#[test]
fn random_maps_are_faults_or_results() {
    let mut random = Random(17);
    let (plain, pixels) = (tiled(6, &[200, 100], &[32, 24]), im2col(&[16, 9, 7, 3], &[0, 0], &[0, 0], 8, 40));
    let mut ends = std::collections::BTreeMap::<String, usize>::new();
    let cases = [(&plain, "load"), (&plain, "store"), (&plain, "add"), (&pixels, "load"), (&pixels, "store")];
    let devices: Vec<_> =
        cases.iter().map(|(map, kind)| Device::new(&kernel(&map.instruction(kind), 1))).collect();
    let input = self::random(1, SHARED);
    for at in 0..1500 {
        let (map, device) = (cases[at % 5].0, &devices[at % 5]);
        let tensor = device.upload(&[7; 4096]);
        let mut bytes = map.encode(tensor);
        // Some bytes, some bits, or all behind the mark.
        for _ in 0..=random.below(3) {
            let place = 8 + random.below(120) as usize;
            match at / 5 % 3 {
                0 => bytes[place] = random.next() as u8,
                1 => bytes[place] ^= 1 << random.below(8),
                _ => bytes[8..].iter_mut().for_each(|byte| *byte = random.next() as u8),
            }
        }
        let corner = std::array::from_fn(|_| match random.below(4) {
            0 => i32::MIN,
            1 => i32::MAX,
            2 => random.next() as i32,
            _ => 0,
        });
        let end = run_on(device, 1, &input, bytes, corner).err().map(|fault| format!("{:?}", fault.kind));
        *ends.entry(end.unwrap_or_default()).or_default() += 1;
    }
    assert!(
        ends.contains_key("IllegalAddress")
            && ends.contains_key("InvalidSync")
            && !ends.contains_key("OutOfResources"),
        "{ends:?}"
    );
}

#[test]
fn a_tensor_is_multicast() {
    let map = Map { swizzle: 3, ..tiled(6, &[200, 100], &[64, 24]) };
    let body = format!(
        "mov.u32 %r0, %cluster_ctarank; setp.eq.and.u32 %q3, %r0, 0, %first; mov.b16 %h0, 3; @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 3072;\n\
         @%q3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%s+1024], [%map, {{%c0, %c1}}], [%bar], %h0; {WAIT}"
    );
    let device = Device::new(&kernel(&body, 2));
    let (bytes, input) = (random(8, TENSOR), random(9, 2 * SHARED));
    let tensor = device.upload(&bytes);
    let left = run_on(&device, 2, &input, map.encode(tensor), [8, 5, 0, 0, 0, 0, 0, 0]).unwrap();
    let mut wanted = input.clone();
    for (place, from) in map.elements(&[8, 5], &[0; 3]) {
        for block in [0, SHARED] {
            wanted[block + 1024 + place..][..2].copy_from_slice(&bytes[from.unwrap()..][..2]);
        }
    }
    assert!(left.shared == wanted);
}

/// A kernel without an image: shared memory is only written by the copy, and stored to `out`, as is what `out` has from the second copy on.
fn alone(load: &str, store: &str, words: u32) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) {{\n\
         .reg .b32 %t<4>, %s, %bar; .reg .b64 %in, %out, %map, %p; .reg .pred %q2, %first; .shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 bar;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %s, s; mov.u32 %bar, bar; mov.b64 %map, map; cvta.param.u64 %map, %map; mov.u32 %t0, %tid.x;\n\
         setp.eq.u32 %first, %t0, 0; @%first mbarrier.init.shared::cta.b64 [%bar], 1; bar.sync 0;\n\
         @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;\n\
         @%first {load}\n\
         {WAIT}\n\
         @%first {store}\n\
         bar.sync 0; setp.ge.u32 %q2, %t0, {words}; @%q2 ret; mad.lo.u32 %t1, %t0, 4, %s; ld.shared.u32 %t2, [%t1]; mad.wide.u32 %p, %t0, 4, %out;\n\
         ld.global.u32 %t3, [%p]; add.u32 %t2, %t2, %t3; st.global.u32 [%p+4096], %t2; ret; }}"
    )
}

const LOAD: &str =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 512, [%bar];";
const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
const LOAD_TENSOR: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {0, 0}], [%bar];";
const STORE_TENSOR: &str = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {0, 4}], [%s]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

fn launched(device: &Device, swizzle: u32, width: u32) -> (Vec<u32>, u64) {
    let input: Vec<u32> = (0..1024).collect();
    let (place, out) = (device.upload(&input), device.memory.allocate(8192).unwrap());
    let map = Map { swizzle, ..tiled(2, &[32, 16], &[width, 128 / width]) }.encode(place);
    let args = Args::new().add(place).add(out).bytes(&map);
    device.launch("k", [1; 3], [128, 1, 1], &args);
    (device.download(out + 4096, 128), place)
}

#[test]
fn what_copies_write_is_initialised() {
    let findings = |load: &str, store: &str, words: u32, swizzle: u32, width: u32| {
        let device = Device::checked(&alone(load, store, words));
        launched(&device, swizzle, width);
        device.findings()
    };
    for (load, swizzle, width) in
        [(LOAD, 0, 32), (LOAD_TENSOR, 0, 32), (LOAD_TENSOR, 3, 32), (LOAD_TENSOR, 0, 4)]
    {
        assert_eq!(findings(load, STORE, 128, swizzle, width), [], "{load}");
    }
    // What no copy has written is still found.
    let found = findings(LOAD, "bra N; N:", 128, 0, 32);
    assert!(found.len() == 1 && found[0].to_string().contains("line 13"), "{found:?}");
    // As are the gaps between rows of 16 bytes that are swizzled in lines of 128, which 128 threads read.
    let found = findings(LOAD_TENSOR, STORE, 128, 3, 4);
    assert!(!found.is_empty(), "a gap was never written");
}

#[test]
fn copies_are_the_same_in_each_order() {
    let checks = Some(Checks::ALL);
    for (load, store) in [(LOAD, STORE), (LOAD_TENSOR, STORE), (LOAD_TENSOR, STORE_TENSOR)] {
        let device = Device::scheduled(&alone(load, store, 128), Schedules::new(10), checks);
        let input: Vec<u32> = (0..1024).collect();
        let (place, out) = (device.upload(&input), device.zeroed::<u32>(2048));
        let map = tiled(2, &[32, 16], &[32, 4]).encode(place);
        device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(place).add(out).bytes(&map));
        let differences = device.differences();
        assert!(differences.is_empty(), "{load} {store} {differences:?}");
    }
    // Each order begins with the memory that the launch found: a reduction is undone.
    let add = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%s], 512;";
    let device = Device::scheduled(&alone(LOAD, add, 128), Schedules::new(10), None);
    let (place, out) = (device.upload(&(0..1024).collect::<Vec<u32>>()), device.zeroed::<u32>(2048));
    device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(place).add(out).bytes(&[0; 128]));
    assert_eq!(device.download::<u32>(out, 128), (0..128).collect::<Vec<u32>>());
    assert!(
        device.differences().iter().all(|difference| !matches!(difference.kind, DifferenceKind::Memory(_)))
    );
}

#[test]
fn copies_are_counted() {
    for (load, store) in [(LOAD, STORE), (LOAD_TENSOR, STORE_TENSOR)] {
        let device = Device::profiled(&alone(load, store, 128));
        launched(&device, 0, 32);
        let counts = device.counts();
        let of = |line: u32| (counts[&line].warps, counts[&line].threads_on);
        // In line 11 all threads commit and wait.
        assert_eq!((of(9), of(11)), ((4, 1), (12, 257)), "{load}");
    }
}

/// What thread 0 executes to make this map of a tensor at `%p7` in the 128 bytes at `%s`.
fn made_of(map: &Map) -> String {
    let zeros: String = (0..8).map(|at| format!("st.shared.v2.b64 [%s+{}], {{0, 0}}; ", 16 * at)).collect();
    let mut text = format!("cvt.u64.u32 %x0, %s; {zeros}\n");
    let mut replace = |field: &str, at: Option<usize>, ty: &str, value: &str| {
        let at = at.map_or(String::new(), |at| format!("{at}, "));
        text += &format!("tensormap.replace.tile.{field}.shared::cta.b1024.{ty} [%x0], {at}{value};\n");
    };
    replace("global_address", None, "b64", "%p7");
    replace("rank", None, "b32", &(map.sizes.len() - 1).to_string());
    for at in 0..map.sizes.len() {
        replace("box_dim", Some(at), "b32", &map.tile[at].to_string());
        replace("global_dim", Some(at), "b32", &map.sizes[at].to_string());
        replace("element_stride", Some(at), "b32", &map.steps[at].to_string());
    }
    for (at, bytes) in map.strides()[1..map.sizes.len()].iter().enumerate() {
        text += &format!(
            "mov.b64 %x1, {bytes}; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%x0], {at}, %x1;\n"
        );
    }
    // The ISA numbers types otherwise than the driver's API: `.f32.ftz`, `.f64`, `.bf16`.
    let ty = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12][map.ty as usize];
    for (field, value) in [
        ("elemtype", ty),
        ("interleave_layout", map.interleave),
        ("swizzle_mode", map.swizzle),
        ("fill_mode", map.fill),
    ] {
        text += &format!("tensormap.replace.tile.{field}.shared::cta.b1024.b32 [%x0], {value};\n");
    }
    text
}

/// A map that the kernel makes is that which the driver encodes, and serves as such.
#[test]
fn kernels_make_maps() {
    for map in [
        Map { swizzle: 2, fill: 1, steps: vec![1, 2], ..tiled(6, &[200, 100], &[32, 24]) },
        tiled(8, &[40, 30, 20], &[8, 5, 6]),
        tiled(9, &[64, 50], &[16, 8]),
        tiled(10, &[64, 50], &[16, 8]),
        tiled(0, &[1000], &[64]),
        tiled(12, &[16, 9, 7, 6, 5], &[4, 3, 2, 3, 2]),
    ] {
        let made = made_of(&map);
        let at = TENSOR - 128;
        // The copy is the warp's; the load is from the map in global memory.
        let body = format!(
            "add.u64 %p7, %in, {SHARED}; add.u64 %p6, %in, {at}; cvt.u64.u32 %x0, %s; @!%first bra M; {made} M: setp.lt.u32 %q3, %t0, 32;\n\
             bar.sync 0;\n\
             @%q3 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%p6], [%x0], 128;\n\
             bar.sync 0; fence.proxy.tensormap::generic.acquire.gpu [%p6], 128; mov.b64 %map, %p6;\n{}",
            map.instruction("load")
        );
        let device = Device::new(&kernel(&body, 1));
        let input = random(31, TENSOR);
        let mut corner = [0; 8];
        corner[0] = 16;
        corner[1] = 3;
        let (place, out) = (device.upload(&input), device.zeroed::<u8>(SHARED));
        let numbers: Vec<u8> = corner.iter().flat_map(|number: &i32| number.to_le_bytes()).collect();
        let args = Args::new().add(place).add(out).bytes(&[0; 128]).bytes(&numbers);
        let launched = device.try_launch("k", launch(&device, "k", [1, 1, 1], [128, 1, 1], &args));
        launched.unwrap_or_else(|fault| panic!("{fault}"));
        let shared: Vec<u8> = device.download(out, SHARED);
        let encoded = map.encode(place + SHARED as u64);
        assert_eq!(shared[..128], encoded, "{} {:?}", map.ty, map.sizes);
        assert_eq!(device.download::<u8>(place, TENSOR)[at..], encoded);
        let device = Device::new(&kernel(&map.instruction("load"), 1));
        let place = device.upload(&input);
        let left = run_on(&device, 1, &input[..SHARED], map.encode(place + SHARED as u64), corner).unwrap();
        assert!(shared[1024..] == left.shared[1024..] && left.shared[1024..] != input[1024..SHARED]);
    }
}

/// What no map can have is refused, and so is a map of other code's.
#[test]
fn fields_that_no_map_has() {
    for (before, replaced) in [
        ("0", "box_dim.shared::cta.b1024.b32 [%x0], 5, 1"),
        ("0", "box_dim.shared::cta.b1024.b32 [%x0], 0, 257"),
        ("0", "rank.shared::cta.b1024.b32 [%x0], 5"),
        ("0", "elemtype.shared::cta.b1024.b32 [%x0], 16"),
        ("0", "fill_mode.shared::cta.b1024.b32 [%x0], 2"),
        ("7", "rank.shared::cta.b1024.b32 [%x0], 1"),
    ] {
        let zeros: String =
            (0..8).map(|at| format!("st.shared.v2.b64 [%s+{}], {{{before}, 0}}; ", 16 * at)).collect();
        let body =
            format!("cvt.u64.u32 %x0, %s; @!%first bra S; {zeros} tensormap.replace.tile.{replaced}; S:");
        let fault = run(&body, 1, 1, &random(3, SHARED)).err().unwrap();
        assert_eq!(fault.kind, FaultKind::InvalidSync, "{replaced}: {fault}");
    }
}

/// Numbers are in registers of up to 64 bits: a predicate has no place among rows.
#[test]
fn numbers_are_in_no_predicates() {
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let tensor = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    for body in [
        format!("{copy} [%s], [%in], %q0, [%bar];"),
        format!("{copy}.multicast::cluster [%s], [%in], 16, [%bar], %q0;"),
        format!("{tensor} [%s], [%map, {{%c0, %q0}}], [%bar];"),
        format!(".reg .b128 %wide; {tensor} [%s], [%map, {{%c0, %wide}}], [%bar];"),
        "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%s], %q0;".to_owned(),
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%s], %q0, %c0;".to_owned(),
    ] {
        assert_eq!(Device::new(&kernel(&body, 1)).kernel("k").unsupported().count(), 1, "{body}");
    }
}

/// A box may be smaller than what its place is aligned to, and shared memory end behind it.
#[test]
fn a_small_box_lies_at_the_end_of_shared_memory() {
    let text = ".version 8.6\n.target sm_90a\n.address_size 64\n\
        .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128]) {\n\
        .reg .b32 %t, %bar; .reg .b64 %out, %map, %x; .reg .pred %q; .shared .align 8 .b64 bar; .shared .align 128 .b8 t[64];\n\
        mov.u32 %t, t; mov.u32 %bar, bar; ld.param.u64 %out, [out]; mov.b64 %map, map; cvta.param.u64 %map, %map;\n\
        mbarrier.init.shared::cta.b64 [%bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 64;\n\
        cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%t], [%map, {16}], [%bar];\n\
        W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0; @!%q bra W;\n\
        ld.shared.u64 %x, [%t+56]; st.global.u64 [%out], %x; ret; }\n";
    let device = Device::new(text);
    let (input, out) = (random(8, 4096), device.zeroed::<u8>(8));
    let map = tiled(0, &[4096], &[64]).encode(device.upload(&input));
    let args = Args::new().add(out).bytes(&map);
    let end = device.try_launch("k", launch(&device, "k", [1, 1, 1], [1, 1, 1], &args));
    end.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(device.download::<u8>(out, 8), input[16 + 56..][..8]);
}
