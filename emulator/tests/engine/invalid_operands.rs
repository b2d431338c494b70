//! Operands and modifiers of instructions that compilers seldom write: what ptxas 13.0 refuses is refused at load, and what it takes is not, even
//! where the engine does not execute it. `cargo xtask mutate-ptx` asks about thousands more.

use cuda_emulator::engine::Program;
use cuda_emulator::memory::Memory;
use std::sync::Arc;

use crate::invalid::{load, module};

/// A texture and a surface.
const OBJECTS: &str = ".global .texref t; .global .surfref e;";

/// Each with a part of what is said about it.
const REFUSED: &[(&str, &str)] = &[
    // Copies of single values, and their groups.
    ("cp.async.ca.shared.global;", "a number is missing"),
    ("cp.async.ca.shared.global [s], [%l1], 16, %l2;", "operand 4"),
    ("cp.async.ca.shared.global [g], [%l1], 16;", "`g` lies in .global"),
    ("cp.async.ca.shared.global [s], [%f1], 16;", "`%f1` is .f32"),
    ("cp.async.ca.shared::cluster.global [s], [%l1], 16;", "no such combination"),
    ("cp.async.ca.shared.global.L2::cache_hint [s], [%l1], 16, %b1;", "operand 4"),
    ("cp.async.wait_all.read;", "no such combination"),
    ("cp.async.wait_all 1;", "0 operands expected, 1 found"),
    ("cp.async.wait_group %b1;", "a number is expected"),
    ("cp.async.bulk.commit;", "no such combination"),
    ("cp.async.bulk.commit_group 1;", "0 operands expected, 1 found"),
    ("cp.async.mbarrier.arrive.shared.b64 [g];", "`g` lies in .global"),
    // Copies of many bytes.
    ("cp.async.bulk.global.shared::cta.bulk_group [%l1], [s], 8;", "8 is not a multiple of 16"),
    ("cp.async.bulk.global.shared::cta.bulk_group [%l1], [s], 1048576;", "1048576 is not between"),
    ("cp.async.bulk.global.shared::cta.bulk_group [%l1], [s], %l2;", "`%l2` is .b64"),
    ("cp.async.bulk.global.shared::cta.bulk_group [%l1], [s];", "3 operands expected, 2 found"),
    ("cp.async.bulk.prefetch.L2.global [%l1], -16;", "-16 is not between"),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%l1], 16, [%h1];",
        "`%h1` is .b16",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%l1], 16;",
        "4 operands expected",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [s], 16, [s];",
        "`s` lies in .shared",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%l1], 16, [s], %b1;",
        "`%b1` is .b32",
    ),
    (
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%l1], 16, [s], %h1;",
        "no such combination",
    ),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%l1], [s], 16;", "no such combination"),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%l1], [s], 16;", "no such combination"),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%l1], [s], 24;", "24 is not a multiple"),
    // Copies of tensors.
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%l1, {%b1}], [s];",
        "2 coordinates expected, 1 found",
    ),
    ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%l1, {%b1, %h1}], [s];", "different sizes"),
    ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%l1, {%b1, _}], [s];", "`_` found"),
    ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%l1], [s];", "a tensor map and coordinates"),
    ("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [s, {%b1}], [s];", "`s` lies in .shared"),
    (
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [%l1, {%b1, %b2, %b3}], [s], {%b1};",
        "registers of bits, and .u16 is expected",
    ),
    (
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [%l1, {%b1, %b2, %b3}], [s], {%h1, %h2};",
        "1 offset expected, 2 found",
    ),
    // Tensor maps.
    ("tensormap.replace.tile.box_dim.global.b1024.b32 [%l1], 5, %b1;", "5 is not between 0 and 4"),
    ("tensormap.replace.tile.box_dim.global.b1024.b32 [%l1], %b2, %b1;", "a number is expected"),
    ("tensormap.replace.tile.fill_mode.global.b1024.b32 [%l1], 2;", "2 is not between 0 and 1"),
    ("tensormap.replace.tile.global_address.global.b1024.b64 [%l1], %b1;", "`%b1` is .b32"),
    ("tensormap.replace.tile.global_address.global.b1024.b32 [%l1], %b1;", "no such combination"),
    ("tensormap.replace.tile.rank.global.b1024.b32 [%h1], %b1;", "`%h1` is .b16"),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%l1], [s], 64;",
        "64 is none of",
    ),
    // Clusters.
    ("mapa.u64 %b1, %l1, %b2;", "operand 1: `%b1` is .b32"),
    ("mapa.u64 %l1, g, %b2;", "`g` lies in .global"),
    ("mapa.shared::cluster.u32 %b1, %b2, %h1;", "operand 3: `%h1` is .b16"),
    ("getctarank.u32 %b1, %l1;", "operand 2: `%l1` is .b64"),
    ("getctarank.u64 %l1, %l2;", "operand 1: `%l1` is .b64"),
    ("elect.sync %h1|%p1, -1;", "operand 1: `%h1` is .b16"),
    ("elect.sync %b1|%u1, -1;", "`%u1` is .u32, and a predicate is expected"),
    ("elect.sync %b1|%p1, %l1;", "operand 2: `%l1` is .b64"),
    ("griddepcontrol.wait 1;", "0 operands expected, 1 found"),
    ("setmaxnreg.inc.sync.aligned.u32 %u1;", "a number is expected"),
    ("pmevent 1, %b1;", "1 operand expected, 2 found"),
    // Caches and fences.
    ("createpolicy.fractional.L2::evict_last.b64 %b1, 0.5;", "operand 1: `%b1` is .b32"),
    ("createpolicy.range.L2::evict_last.b64 %l1, [%l2], 256, 128;", "256 bytes are more than the 128"),
    ("createpolicy.range.L2::evict_last.b64 %l1, [%l2], 128, %l3;", "operand 4: `%l3` is .b64"),
    ("prefetch.global.L2 [%b1];", "`%b1` is .b32"),
    ("prefetch.shared.L1 [s];", "no such combination"),
    ("prefetch.local.L2::evict_last [%l1];", "no such combination"),
    ("prefetch.tensormap [%h1];", "`%h1` is .b16"),
    ("prefetchu.L1 [s];", "`s` lies in .shared"),
    ("fence.proxy.async.global %b1;", "0 operands expected, 1 found"),
    ("fence.proxy.alias.global;", "no such combination"),
    // Matrices.
    ("wgmma.wait_group.sync.aligned %b1;", "a number is expected"),
    ("wgmma.wait_group.sync.aligned -1;", "-1 is not between"),
    ("wgmma.fence.sync.aligned 1;", "0 operands expected, 1 found"),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {_,%f1,%f2,%f3}, %l1, %l2, 1, 1, 1, 0, 0;",
        "`_` found",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f1,%f2,%f3}, %l1, %l2, 3, 1, 1, 0, 0;",
        "operand 4",
    ),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b1}, [c];", "`c` lies in .const"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {1}, [s];", "the number 1 found"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%x1], {%b1};", "`%x1` is .f16"),
    ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%b1,%b2}, {%b1,g}, {%b1}, {%b1,%b2};", "`g` found"),
    (
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%b1,1}, {%b1,%b1}, {%b1}, {%b1,%b2};",
        "the number 1 found",
    ),
    ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%b1,%b2}, {%b1,_}, {%b1}, {%b1,%b2};", "`_` found"),
    // Conversions.
    ("cvt.pack.sat.u16.s32 %h1, %b1, %b2;", "operand 1: `%h1` is .b16"),
    ("cvt.pack.sat.u16.s32 %b1, %b2, %b3, 1;", "3 operands expected, 4 found"),
    ("cvt.pack.sat.u8.s32 %b1, %b2, %b3;", "no such combination"),
    ("cvt.rn.tf32.f32 %l1, %b1;", "operand 1: `%l1` is .b64"),
    ("cvt.rn.bf16.f32 %b1, %f1;", "operand 1: `%b1` is .b32"),
    ("cvt.rni.s32.bf16 %l1, %h1;", "operand 1: `%l1` is .b64"),
    ("cvt.rn.bf16.u16 %h1, %b1;", "operand 2: `%b1` is .b32"),
    ("cvta.const.u64 %l1, %h1;", "operand 2: `%h1` is .b16"),
    ("cvta.global.u64 %l1, %b1;", "operand 2: `%b1` is .b32"),
    ("cvta.shared.u64 %l1, g;", "`g` lies in .global"),
    // Vectors: registers of one size, and of one type apart from bits.
    ("ld.const.v2.u32 {%b1, %l1}, [c];", "registers of different sizes"),
    ("st.shared.v4.b32 [s], {%b1, %b2, %d1, %b3};", "registers of different sizes"),
    ("st.shared.v2.u32 [s], {%b1, s};", "`s` found"),
    ("st.shared.v2.u32 [s], {%u1, 1.5};", "elements of different types"),
    ("ld.shared.v2.u32 {_, _}, [s];", "a register is expected among the elements"),
    ("mov.b64 %l1, {_, %b1};", "`_` found"),
    ("mov.b64 %l1, {%f1, %u1};", "registers of different types"),
    // Registers that are written, and numbers.
    ("ld.global.u32 _, [g];", "`_` found"),
    ("shfl.sync.up.b32 _|%p1, %b1, %b2, 31, -1;", "`_` found"),
    ("min.u16x2 %b1, %u1, %b2;", "operand 2: `%u1` is .u32"),
    ("add.s16x2 %b1, 1, %b2;", "operand 2: the number 1"),
    ("popc.b32 %y1, %b1;", "`%y1` is .f16x2"),
    ("redux.sync.xor.b32 %f1, %b1, -1;", "`%f1` is .f32"),
    ("mbarrier.arrive.shared.b64 %l1, [s], 0;", "0 is not between"),
    ("alloca.u64 %l1, %l2, 3;", "3 is not a power of two"),
    ("bar.arrive 1, 0;", "0 threads are not enough"),
    ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%b1], %l1, [%b2];", "`%l1` is .b64"),
    ("istypep.texref %p1, %b1;", "`%b1` is .b32"),
    ("vadd.u32.u32.u32.add %u1, %u2, %u3, %u1.b1;", "operand 4"),
    // Parts of a name that stand in another order.
    ("cp.async.global.shared.ca [s], [%l1], 8;", "no such combination"),
    (
        "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32 {%b1,%b2,%b3,%b1}, {%b1,%b2}, {%b3}, {%b1,%b2,%b3,%b1};",
        "no such combination",
    ),
    ("setmaxnreg.sync.inc.aligned.u32 232;", "no such combination"),
    ("div.ftz.full.f32 %f1, %f2, %f3;", "no such combination"),
    ("mul.lo.pred.u32 %u1, %u2, %u3;", "no such combination"),
    ("multimem.red.relaxed.gpu.global.and.b32 [%h1], %b1;", "`%h1` is .b16"),
    ("selp.b32 %b1, %b2, %b3, %y1;", "`%y1` is .f16x2"),
    ("wmma.load.c.sync.aligned.row.m8n8k4.f64 {%d1, %d2}, [%l1], %y1;", "`%y1` is .f16x2"),
    (
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s], [s], 64, [%h1];",
        "`%h1` is .b16",
    ),
    ("bar.red.and.pred %p1, 0, %y1;", "`%y1` is .f16x2"),
    // Textures and surfaces.
    ("txq.width.b32 %b1, [e];", "a texture or a sampler is expected"),
    ("txq.width.b32 %b1, [t+4];", "an object in brackets is expected"),
    ("suq.width.b32 %b1, [g];", "a surface is expected"),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [t, {%f1,g}];", "`g` found"),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [t, {%f1,%l1}];", "registers of different sizes"),
    (
        "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [t, {%f1,%f2}], {%f1,%h1}, {%f1,%f2};",
        "registers of different sizes",
    ),
    ("sust.b.2d.v2.b32.zero [e, {%b1,_}], {%b1,%b2};", "`_` found"),
    ("suld.b.2d.v2.b32.zero {%b1,%l1}, [e, {%b1,%b2}];", "registers of different sizes"),
    ("sured.b.add.1d.s32.trap [e, {s}], %b1;", "`s` found"),
];

/// Taken, and executed.
const TAKEN: &[&str] = &[
    "wgmma.fence.sync; wgmma.commit_group.sync; wgmma.wait_group.sync 0;",
    "wgmma.mma_async.sync.m64n8k32.s32.u8.u8 {%b1,%b2,%b3,%b1}, %l1, %l2, %p1;",
    "st.shared.v2.b64 [s], {%l1, %d1}; ld.shared.v2.f64 {%l1, %d1}, [s]; st.shared.v2.f32 [s], {%b1, 1.5};",
    "mapa.u64 %l1, s, 1; mapa.shared::cluster.u32 %b1, s, %b2; getctarank.shared::cluster.u32 %b1, s; elect.sync _|%p1, -1;",
    "cp.async.bulk.global.shared::cta.bulk_group [%b1], [%l1], 0; cp.async.bulk.wait_group.read 0;",
    "cp.async.ca.shared.global.L2::cache_hint [s], [%l1], 16, %p1, %l2; cp.async.cg.shared.global [s], [%l1], 16, 8;",
    "createpolicy.range.L2::evict_last.L2::evict_first.b64 %l1, [%b1], 128, -1; prefetch.tensormap [%b1]; prefetch.const.tensormap [c];",
    "fence.proxy.tensormap::generic.acquire.gpu [%f1], 128; cvta.shared.u64 %l1, s+4; cvta.param.u64 %l1, p;",
    "cp.async.bulk.global.shared::cta.sys.bulk_group [%l1], [s], 16; mbarrier.arrive.shared.noComplete.b64 %l1, [s], 1;",
    "mma.sync.sp.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%b1,%b2,%b3,%b1}, {%b1,%b2}, {%b1,%b2}, {%b1,%b2,%b3,%b1}, %b1, 0;",
    "add.pred.s32 %i1, %i2, %i3; setp.eq.texref.s32 %p1, %i1, %i2; mov.b8x16.b32 %b1, %b2; stmatrix.sync.aligned.m8n8.x1.row.b16 [s], {%b1};",
    "fence.proxy.tensormap::generic.global.release.gpu; fence.proxy.tensormap::generic.release.sys.shared::cta;",
    "lop3.b32 _, %b1, %b2, %b3, 0x96; setp.eq.s32 _, %i1, %i2; match.all.sync.b32 _|%p1, %b1, -1;",
];

/// Taken, and not executed.
const NOT_EXECUTED: &[&str] = &[
    "ld.shared.u32 %b1, [%h1];",
    "atom.global.add.u32 %b1, [%h1], %b2;",
    ".reg .s8 %z; ld.shared.u32 %b1, [%z];",
    ".reg .b8 %z; st.global.u32 [%z], %b1;",
    "mov.pred %p1, %y1;",
    "xor.pred %y1, %p1, %p2;",
    "ld.shared.v2.u32 {%p1, %b1}, [s];",
    "st.shared.v2.b32 [s], {%b1, %p1};",
    "cp.async.cg.shared.global [s], [%l1], 16, !%p1;",
    "mov.b64 {%b1, %p1}, %l1;",
    "mov.b64 %l1, {%b1, 1.5};",
    "st.shared.v2.b32 [s], {%b1, 1.5};",
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%l1, {%b1}], %b2;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%p1,%b1,%b2,%b3}, %l1, %l2, 1, 1, 1, 0, 0;",
    "testp.f32 %p1, %f1;",
    "atom.global.and.b32 %b1, [g], %b2, %b3;",
    "cvt.pack.sat.u16.s32 %l1, %b1, %b2;",
    "wgmma.fence.sync.sync;",
];

#[test]
fn what_ptxas_refuses_is_refused_with_a_reason() {
    load(&module(OBJECTS, "")).unwrap();
    for (body, reason) in REFUSED {
        let failure = load(&module(OBJECTS, body)).expect_err(body);
        assert!(failure.message.contains(reason), "{body}: {failure}");
    }
}

fn unsupported(body: &str) -> Vec<String> {
    let program = Program::load(&module(OBJECTS, body), &Arc::new(Memory::new(1 << 24)))
        .unwrap_or_else(|failure| panic!("{body}: {failure}"));
    let kernel = program.kernel("k").unwrap();
    kernel.unsupported().map(|(_, reason)| reason.to_owned()).collect()
}

#[test]
fn what_ptxas_takes_is_taken() {
    for body in TAKEN {
        assert!(unsupported(body).is_empty(), "{body}: {:?}", unsupported(body));
    }
}

#[test]
fn what_is_not_executed_is_known_before_the_launch() {
    for body in NOT_EXECUTED {
        assert_eq!(unsupported(body).len(), 1, "{body}: {:?}", unsupported(body));
    }
}
