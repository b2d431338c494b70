//! PTX that does not assemble is refused when it is loaded, with line and reason. `mutate_ptx.rs` and `against_ptxas.rs` ask ptxas about
//! thousands more.

use cuda_emulator::engine::{LoadFailure, LoadFailureKind, Program};
use cuda_emulator::memory::Memory;
use std::sync::Arc;

pub(crate) fn load(text: &str) -> Result<(), LoadFailure> {
    let memory = Arc::new(Memory::new(1 << 24));
    Program::load(text, &memory).map(drop)
}

/// A module with declarations and a kernel; the body starts on line 12.
pub(crate) fn module(declarations: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.global .align 16 .b8 g[64]; .const .align 4 .b8 c[64]; .shared .align 16 .b8 s[64];\n\
         .func (.param .b32 r) f(.param .b32 a) {{ ret; }}\n{declarations}\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<4>; .reg .b16 %h<4>; .reg .u32 %u<4>; .reg .s32 %i<4>; .reg .b32 %b<4>;\n\
         .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b64 %l<4>; .reg .f16 %x<4>; .reg .f16x2 %y<4>;\n.param .b32 q;\n{body}\nret;\n}}\n"
    )
}

/// Each with a part of what is said about it.
const WRONG: &[(&str, &str)] = &[
    // Names.
    ("add.s32 %i1, %i2, %nobody;", "`%nobody` is not declared"),
    ("add.s32 %i1, %i2, %i9;", "`%i9` is not declared"),
    ("ld.global.u32 %u1, [nowhere];", "`nowhere` is not declared"),
    ("mov.u32 %u1, %nosuch.x;", "`%nosuch` is not declared"),
    ("bra NOWHERE;", "`NOWHERE` is not declared"),
    ("{ L: } bra L;", "`L` is not declared"),
    ("bra g;", "a label is expected"),
    ("L: add.s32 %i1, %i1, 1; L: ret;", "duplicate definition of `L`"),
    (".reg .u32 %u1;", "duplicate definition of `%u1`"),
    (".reg .f32 %u<9>;", "duplicate definition of `%u`"),
    (".reg .f32 n;", "duplicate definition of `n`"),
    ("brx.idx %u1, NOWHERE;", "`NOWHERE` is not declared"),
    ("call nobody;", "`nobody` is not declared"),
    // Types.
    ("add.s32 %i1, %i2, %f1;", "operand 3: `%f1` is .f32, and .s32 is expected"),
    ("add.f32 %f1, %f2, %i1;", "operand 3: `%i1` is .s32, and .f32 is expected"),
    ("add.f32 %d1, %f2, %f3;", "operand 1: `%d1` is .f64, and .f32 is expected"),
    ("mul.wide.s32 %i1, %i2, %i3;", "operand 1: `%i1` is .s32, and .s64 is expected"),
    ("setp.lt.s32 %i1, %i2, 1;", "operand 1: `%i1` is .s32, and a predicate is expected"),
    ("selp.b32 %b1, 1, 2, %b2;", "a predicate is expected"),
    ("and.pred %p1, %p2, %b1;", "a predicate is expected"),
    ("ld.global.u32 %h1, [g];", "`%h1` is .b16, and .u32 is expected"),
    ("ld.global.u32 %f1, [g];", "`%f1` is .f32, and .u32 is expected"),
    ("st.global.f32 [g], %u1;", "`%u1` is .u32, and .f32 is expected"),
    ("cvt.rn.f32.s32 %f1, %f2;", "operand 2: `%f2` is .f32, and .s32 is expected"),
    ("add.f16 %x1, %x2, %y1;", "`%y1` is .f16x2, and .f16 is expected"),
    ("mov.u32 %u1, %clock64x;", "is not declared"),
    ("@%i1 ret;", "guard: `%i1` is .s32, and a predicate is expected"),
    ("ld.global.u32 %u1, [%u2];", "`%u2` is .u32, and an address of 64 bits is expected"),
    ("ld.shared.u32 %u1, [%f2];", "an address of 64 bits is expected"),
    ("mov.u64 %l1, f+4;", "nothing is added to the address of the function `f`"),
    ("mov.u32 %u1, g;", "the address of `g` in .global has 64 bits"),
    ("mov.f32 %f1, s;", "the address of `s` is not .f32"),
    ("mov.u64 %l1, %f1+4;", "`%f1` is .f32, and .u64 is expected"),
    ("mov.u32 %u1, %tid.x+4;", "a value of type .u32 is expected"),
    ("mov.b64 {%b1, 1}, %l1;", "a number cannot be written to"),
    ("mov.b64 {_, _}, %l1;", "a register is expected among the elements"),
    ("mov.v4.u32 %tid, %tid;", "a special register cannot be written to"),
    ("mov.b16 %h1, %laneid;", "the special register `%laneid` is not .b16"),
    ("mov.u32 %u1, %u2.x;", "an element of `%u2` found"),
    ("mov.u32 %u1, %envreg32;", "`%envreg32` is not declared"),
    ("mov.u32 %u1, %ctaid0;", "`%ctaid0` is not declared"),
    ("mov.f16 %x1, %x2;", "there is no such combination"),
    ("mov.v2.f16 {%x1, %x2}, {%x2, %x1};", "there is no such combination"),
    ("mov.b32 {%h1, %h2}, g;", "the address of `g` in .global has 64 bits"),
    ("mov.u64 {%b1, %b2}, g;", "is not as wide as .u64"),
    ("mov.b64 {%b1, %b2}, %tid.x;", "the special register `%tid.x` is not .b64"),
    ("mov.b64 {%b1, %b2}, {%b2, %b1};", "both sides are vectors"),
    ("{ .reg .v2 .b32 %v; mov.b64 %v, %v; }", "both sides are vectors"),
    ("{ .reg .v2 .b16 %v; mov.b64 %l1, %v; }", "a vector of 2 registers is not as wide as .b64"),
    ("{ .reg .v2 .b32 %v; mov.u64 %l1, %v; }", "is not as wide as .u64"),
    ("isspacep.global %p1, g;", "operand 2: a register of 32 or 64 bits is expected"),
    ("isspacep.global %p1, p;", "operand 2: a register of 32 or 64 bits is expected"),
    ("isspacep.global %p1, %h1;", "operand 2: a register of 32 or 64 bits is expected"),
    ("isspacep.global %p1, f+4;", "operand 2: a register of 32 or 64 bits is expected"),
    ("isspacep.global %p1, 5.0;", "operand 2: a register of 32 or 64 bits is expected"),
    // What is asked for twice.
    ("mul.hi.hi.s32 %i1, %i2, %i3;", "there is no such combination"),
    ("ld.global.global.u32 %u1, [g];", "there is no such combination"),
    ("st.relaxed.gpu.gpu.global.u32 [g], %u1;", "there is no such combination"),
    ("min.ftz.ftz.f32 %f1, %f2, %f3;", "there is no such combination"),
    // Barriers in memory, products, vectors, video.
    ("mbarrier.arrive.shared.b64 %l1, [s], %u1, %u2;", "2 to 3 operands expected, 4 found"),
    ("mbarrier.arrive.release.shared.b64 %l1, [s];", "there is no such combination"),
    ("mbarrier.arrive.global.b64 %l1, [g];", "there is no such combination"),
    ("mbarrier.arrive.release.cta.expect_tx.b64 _, [%l1], 4;", "there is no such combination"),
    ("mbarrier.arrive.release.cta.shared::cluster.b64 %l1, [%u1];", "`_` is expected"),
    ("mbarrier.test_wait.parity.b64 %p1, [%l1], 2;", "2 is not between 0 and 1"),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {%f1,%f2,%f3,%f1};",
        "there is no such combination",
    ),
    ("stmatrix.aligned.m8n8.x1.shared.b16 [s], {%b1};", "there is no such combination"),
    ("fence.uni.cta;", "there is no such combination"),
    ("red.global.add.v4.f16 [g], {%h1,%h2,%h3,%h1};", "there is no such combination"),
    ("red.global.add.noftz.v4.f16 [g], {%h1,%h2,%h3};", "4 elements expected, 3 found"),
    ("vadd.u32.u32.u32.add %u1, %u2, %u3;", "4 operands expected, 3 found"),
    ("vadd.u32.u32.u32 %u1, %f2, %u3;", "`%f2` is .f32, and a register of 32 bits is expected"),
    ("bar.red.popc.u32 %u1, 1, %p1, %p2;", "`%p1` is .pred, and .u32 is expected"),
    // Parts of a name stand first.
    ("cvta.global.to.u64 %l1, %l2;", "there is no such combination"),
    ("mul.u32.lo %u1, %u2, %u3;", "there is no such combination"),
    ("mad.cc.lo.u32 %u1, %u2, %u3, %u1;", "there is no such combination"),
    ("bar.sync.cta 0;", "there is no such combination"),
    ("barrier.arrive.cluster;", "there is no such combination"),
    ("shf.clamp.l.b32 %b1, %b2, %b3, %b1;", "there is no such combination"),
    ("fence.async.proxy;", "there is no such combination"),
    ("suld.1d.b.b32.trap {%b1}, [%l1, {%b2}];", "there is no such combination"),
    // A number behind a register.
    ("add.u32 %u1+4, %u2, %u3;", "a register of type .u32 is expected"),
    ("add.u32 %u1, %u2, %f3+4;", "`%f3` is .f32, and .u32 is expected"),
    ("add.f32 %f1, %f2, %f3+4;", "nothing is added to `%f3`, which is .f32"),
    ("mov.b32 %b1, %f1+4;", "`%f1` is .f32, and .b32 is expected"),
    ("add.f32 %f1, %f2, g+4;", "the address of `g` is not .f32"),
    ("add.u64 %l1, %l2, g;", "`g` found where a value of type .u64 is expected"),
    ("add.u64 %l1, %l2, f+4;", "nothing is added to the address of the function `f`"),
    ("st.global.v2.u32 [g], {%u1+4, %u2};", "within a vector or a list"),
    ("call (q), f, (%b1+4);", "within a vector or a list"),
    // Vectors of matrices.
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {%f1,%f2,%f3};",
        "operand 4: 4 registers expected, 3 found",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, %b1, {%f1,%f2,%f3,%f1};",
        "operand 3: a vector of 2 registers is expected",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%f1,%f1}, {%f1,%f2,%f3,%f1};",
        "operand 3: registers of type .f32 are not expected",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%f1,%i1,%b3,%b1}, {%b1,%b1}, {%b1}, {%b1,%b1,%b1,%b1};",
        "operand 1: registers of different types",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {%f1,%f2,%f3,%f1}, {%b1};",
        "4 operands expected, 5 found",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {%b1,%b1};",
        "C and D of this shape have the same type",
    ),
    (
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%f1}, {%d1}, {%d1,%d2};",
        "operand 2: registers of 64 bits are expected",
    ),
    (
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1}, {%b1,%b1}, {%f1,%f2,%f3,%f1}, %b1, %b2;",
        "operand 6: one of [0, 1, 2, 3] is expected",
    ),
    (
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%b1,%b1,%b1,%b1}, [s], 16;",
        "operand 1: 8 registers expected, 4 found",
    ),
    (
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%b1,%b1,%b1,%b1}, [s], %l1;",
        "operand 3: `%l1` is .b64, and .u32 is expected",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3}, %l1, %l2, %p1, 1, 1, 0, 0;",
        "operand 1: 4 registers expected, 3 found",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f1}, %l1, %l2, %p1, 1, 1, 0;",
        "8 operands expected, 7 found",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f1}, %l1, %l2, %p1, 2, 1, 0, 0;",
        "operand 5: one of [-1, 1] is expected",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f1}, %l1, %b2, %p1, 1, 1, 0, 0;",
        "operand 3: `%b2` is .b32, and .u64 is expected",
    ),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%b1}, [s];", "operand 1: 2 registers expected, 1 found"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %b1, [s];", "operand 1: a vector of 1 register is expected"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b1};", "2 operands expected, 1 found"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%f1], {%b1};", "`%f1` is .f32, and an address"),
    ("movmatrix.sync.aligned.m8n8.trans.b16 %h1, %b1;", "operand 1: a register of 32 bits is expected"),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {0,0,0,0};",
        "operand 4: numbers without a fraction are not expected",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {0.0,0.0,0.0,0.0};",
        "operand 4: numbers of type .f64 are not expected",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {%b1,%b1}, {0,%f1,%f1,%f2};",
        "operand 4: elements of different types",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}, {0,0}, {%f1,%f1,%f1,%f2};",
        "operand 3: numbers without a fraction are not expected",
    ),
    (
        "wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%f1,%f2,%f3,%f1}, [g], 8;",
        "operand 1: registers of type .f32 are not expected",
    ),
    // Vectors of textures.
    ("tex.3d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2,%f3,0}];", "elements of different types"),
    (
        "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {0}];",
        "numbers without a fraction are no coordinates here",
    ),
    (
        "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f1}, [%l1, {0f00000000}];",
        "numbers of type .f32 are no coordinates here",
    ),
    ("tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f1}, [%l1, {%f1}];", "a coordinate is .f32"),
    ("suld.b.1d.b32.trap {%b1}, [%l1, {0.0}];", "numbers of type .f64 are no coordinates here"),
    (
        "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2}], {0,0}, {%f1,%f2};",
        "operand 3: the elements are numbers without a fraction, and .f32 is expected",
    ),
    (
        "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2}], {0,%f1}, {%f1,%f2};",
        "operand 3: elements of different types",
    ),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3}, [%l1, {%f1,%f2}];", "operand 1: 4 elements expected, 3 found"),
    ("tex.2d.v4.f32.f32 %f1, [%l1, {%f1,%f2}];", "operand 1: a vector of 4 elements is expected"),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1}];", "1 element found, and 2 expected"),
    ("tex.3d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2,%f3}];", "3 elements found, and 4 expected"),
    ("tex.a1d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2}];", "the number of a layer is .f32"),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%b1, {%f1,%f2}];", "an object is in a register of 64 bits"),
    ("tex.2d.v4.u32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2}];", "registers of type .f32 are not expected"),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}|%b1, [%l1, {%f1,%f2}];", "a predicate is expected"),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%f2}], {%b1};", "operand 3: 1 element found"),
    ("tex.grad.1d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, {%f1}], %f1, %f2;", "operand 3: a vector is expected"),
    ("suld.b.2d.v2.b32.trap {%b1,%b2}, [%l1, {%b1}];", "operand 2: 1 element found, and 2 expected"),
    ("suld.b.1d.b64.trap {%b1}, [%l1, {%b1}];", "operand 1: registers of type .b32 are not expected"),
    ("suld.b.1d.b32.trap %b1, [%l1, {%f1}];", "operand 2: a coordinate is .f32"),
    ("sust.b.1d.v2.b32.trap [%l1, {%b1}], {%b1};", "operand 2: 2 elements expected, 1 found"),
    ("cp.async.wait_group 0, 0;", "1 operand expected, 2 found"),
    ("cp.async.cg.shared.global [s], %l1, 16;", "an address in brackets is expected"),
    ("alloca.u64 %l1, %l2, 1.5;", "a number is expected"),
    ("mov.f16x2 %y1, %y2;", "there is no such combination"),
    ("{ .reg .v4 .u32 %v; mov.v4.u32 {1, 2, 3, 4}, %v; }", "the number 1 found where a register"),
    (
        "{ .reg .v2 .f64 %v; mov.v2.f64 %v, {1, 2}; }",
        "the elements are numbers without a fraction, and .f64 is expected",
    ),
    ("bfe.u32 %u1, %u2, 300, 1;", "300 is not between 0 and 255"),
    // Calls.
    ("call (q), f, (q, q);", "`f` takes 1 parameter, 2 found"),
    ("call f, (q);", "`f` returns 1 result, 0 found"),
    ("call (q), f, (%l1);", "argument 1: `%l1` is .b64, and the function has .b32"),
    ("{ .param .b64 w; call (q), f, (w); }", "argument 1: `w` is .b64, and the function has .b32"),
    (
        "{ .param .b8 w[4]; call (q), f, (w); }",
        "an array of 4 bytes of .b8, aligned to 1, and the function has .b32",
    ),
    ("{ .param .b64 w; call (w), f, (q); }", "result 1: `w` is .b64, and the function has .b32"),
    ("call (q), f, (n);", "the parameter `n` of the function itself cannot be passed on"),
    ("call (q), f, (g);", "`g` is neither a register nor a variable in .param"),
    ("call (q), f, (_);", "`_` is neither a register nor a variable in .param"),
    ("call (q), f, (%tid.x);", "`%tid.x` is neither"),
    ("call (q), f, (q), k;", "a prototype goes with a register"),
    ("call.foo (q), f, (q);", "there is no such combination"),
    ("call (q), %l1, (q);", "a prototype is expected for `%l1`"),
    ("call (q), %l1, (q), f;", "`f` is neither a prototype nor a list of functions"),
    ("P: .callprototype _ (.param .b32 _); call (q), %l1, (q), P;", "`%l1` returns 0 results, 1 found"),
    ("P: .callprototype (.param .b64 _) _ (.param .b32 _); call (q), %l1, (q), P;", "result 1"),
    ("P: .calltargets f; call (q), %l1, (q, q), P;", "`f` takes 1 parameter, 2 found"),
    ("call (q), %l1, (q), P; P: .callprototype (.param .b32 _) _ (.param .b32 _);", "`P` is not declared"),
    ("P: .branchtargets L; L: brx.idx %l1, P;", "`%l1` is .b64, and .u32 is expected"),
    ("P: .branchtargets f; brx.idx %u1, P;", "`P` is not a list of labels"),
    // Elements of arrays.
    ("mov.u32 %u1, n[1];", "`n` is not an array"),
    ("mov.u32 %u1, %u2[1];", "`%u2` is not an array"),
    ("mov.u32 %u1, s[%h1];", "`%h1` found where a register of 32 or 64 bits with an index is expected"),
    ("mov.u32 %u1, s[%f1];", "`%f1` found where a register of 32 or 64 bits with an index is expected"),
    ("mov.f32 %f1, s[1];", "the address of `s` is not .f32"),
    ("add.u32 %u1, s[1], 2;", "an element of `s` found"),
    ("atom.shared.add.u32 %u1, s[1], %u2;", "an element of `s` found"),
    ("ld.global.u32 %u1, s[1];", "`s` lies in .shared"),
    ("ld.shared.u32 %u1, s;", "found where an address in brackets is expected"),
    // Constants.
    ("bar.sync 16;", "16 is not between 0 and 15"),
    ("bar.sync -1;", "-1 is not between 0 and 15"),
    ("bar.arrive 1, 33;", "33 threads are no whole warps"),
    ("bar.red.popc.u32 %u1, 16, %p1;", "16 is not between 0 and 15"),
    ("barrier.cta.red.and.pred %p1, 1, 16, %p2;", "16 threads are no whole warps"),
    ("pmevent 16;", "16 is not between 0 and 15"),
    ("cp.async.ca.shared.global [s], [%l1], 5;", "5 is none of [4, 8, 16]"),
    ("cp.async.cg.shared.global [s], [%l1], 8;", "8 is none of [16]"),
    ("cp.async.cg.shared.global [s], [%l1], 16, 20;", "20 is not between 0 and 16"),
    ("cp.async.wait_group %u1;", "a number is expected"),
    ("discard.global.L2 [%l1], 64;", "64 is none of [128]"),
    ("setmaxnreg.dec.sync.aligned.u32 41;", "41 is not a multiple of 8"),
    ("setmaxnreg.dec.sync.aligned.u32 16;", "16 is not between 24 and 256"),
    ("lop3.b32 %b1, %b2, %b3, %b1, %b2;", "a number is expected"),
    ("createpolicy.fractional.L2::evict_last.b64 %l1, 2.0;", "2 is not above 0 and at most 1"),
    ("elect.sync %p1, -1;", "`d|p` is expected"),
    ("fence.proxy.tensormap::generic.acquire.gpu [%l1], 64;", "64 is none of [128]"),
    ("membar;", "a scope is missing"),
    ("fence.sc;", "a scope is missing"),
    // Special registers.
    ("mov.u32 %u1, %clock64;", "the special register `%clock64` is not .u32"),
    ("mov.u64 %l1, %tid.x;", "the special register `%tid.x` is not .u64"),
    ("mov.u32 %u1, %tid;", "the special register `%tid` is not .u32"),
    ("mov.u32 %u1, %is_explicit_cluster;", "is not .u32"),
    // Modifiers that do not go together.
    ("ld.shared.nc.b32 %b1, [s];", "`.nc` goes with `.global` only"),
    ("ld.nc.b32 %b1, [%l1];", "`.nc` goes with `.global` only"),
    ("ld.global.nc.cv.b32 %b1, [%l1];", "`.nc` and `.cv` do not go together"),
    ("ld.volatile.global.ca.b32 %b1, [%l1];", "`.volatile` and `.ca` do not go together"),
    ("ld.acquire.gpu.global.nc.b32 %b1, [%l1];", "`.acquire` and `.nc` do not go together"),
    ("ld.weak.global.nc.b32 %b1, [%l1];", "`.weak` and `.nc` do not go together"),
    ("ld.volatile.local.b32 %b1, [%l1];", "needs .version 9.1 or later"),
    ("ld.relaxed.gpu.const.b32 %b1, [c];", "`.relaxed` and `.const` do not go together"),
    ("ld.shared.L2::128B.b32 %b1, [s];", "`.L2::128B` and `.shared` do not go together"),
    ("st.shared.L1::no_allocate.b32 [s], %b1;", "`.L1::no_allocate` and `.shared` do not go together"),
    ("st.local.L2::cache_hint.b32 [%l1], %b1, %l2;", "`.L2::cache_hint` and `.local` do not go together"),
    ("st.global.wt.L1::evict_last.b32 [%l1], %b1;", "`.L1::evict_last` and `.wt` do not go together"),
    (
        "st.global.volatile.L1::evict_last.b32 [%l1], %b1;",
        "`.volatile` and `.L1::evict_last` do not go together",
    ),
    ("st.release.cta.global.cg.b32 [%l1], %b1;", "`.release` and `.cg` do not go together"),
    ("ld.const.L1::evict_first.b32 %b1, [c];", "`.L1::evict_first` and `.const` do not go together"),
    ("ld.shared.L2::cache_hint.b32 %b1, [s], %l2;", "`.L2::cache_hint` and `.shared` do not go together"),
    ("ld.local.L2::64B.b32 %b1, [%l1];", "`.L2::64B` and `.local` do not go together"),
    (
        "ld.volatile.global.L2::cache_hint.b32 %b1, [%l1], %l2;",
        "`.volatile` and `.L2::cache_hint` do not go together",
    ),
    ("ld.mmio.relaxed.sys.shared.b32 %b1, [s];", "there is no such combination"),
    (
        "ld.mmio.relaxed.sys.global.L1::evict_last.b32 %b1, [%l1];",
        "`.mmio` and `.L1::evict_last` do not go together",
    ),
    (
        "st.mmio.relaxed.sys.global.L2::cache_hint.b32 [%l1], %b1, %l2;",
        "`.mmio` and `.L2::cache_hint` do not go together",
    ),
    ("ld.mmio.relaxed.sys.global.L2::128B.b32 %b1, [%l1];", "`.mmio` and `.L2::128B` do not go together"),
    ("ld.mmio.sys.global.b32 %b1, [%l1];", "`.mmio` goes with `.relaxed` or `.acquire` or `.release` only"),
    ("ld.mmio.relaxed.sys.global.v2.b32 {%b1, %b2}, [%l1];", "`.mmio` and `.v2` do not go together"),
    ("ld.global.L2::evict_last.b32 %b1, [%l1];", "`.L2::evict_last` goes with vectors of 32 bytes only"),
    (
        "ld.global.L2::evict_first.v4.b32 {%b1, %b1, %b2, %b3}, [%l1];",
        "`.L2::evict_first` goes with vectors of 32 bytes only",
    ),
    ("ld.global.v2.b128 {%l1, %l1}, [%l1];", "a vector of 32 bytes is too long"),
    ("ld.global.v8.b64 {%l1, %l1, %l1, %l1, %l1, %l1, %l1, %l1}, [%l1];", "a vector of 64 bytes is too long"),
    (
        "atom.shared::cta.add.L2::cache_hint.u32 %u1, [s], %u2, %l2;",
        "`.L2::cache_hint` and `.shared::cta` do not go together",
    ),
    (
        "red.shared.add.L2::cache_hint.u32 [s], %u2, %l2;",
        "`.L2::cache_hint` and `.shared` do not go together",
    ),
    ("cvt.sat.u32.u8 %u1, %h1;", "there is no such combination"),
    ("cvt.rn.sat.relu.f16.f32 %x1, %f1;", "there is no such combination"),
    ("cvt.rni.f32.s32 %b1, %b2;", "there is no such combination"),
    ("cvt.bf16.f32 %b1, %b2;", "there is no such combination"),
    ("cvt.rn.f32.f16 %f1, %x1;", "there is no such combination"),
    ("cvt.rni.ftz.s32.f64 %i1, %d1;", "there is no such combination"),
    ("set.eq.f32.f16 %f1, %x1, %x2;", "there is no such combination"),
    ("set.eq.ftz.u32.f64 %u1, %d1, %d2;", "there is no such combination"),
    ("min.abs.f32 %f1, %f2, %f3;", "4 operands expected, 3 found"),
    ("max.xorsign.f16 %x1, %x2, %x3;", "there is no such combination"),
    ("mad.f32 %f1, %f2, %f3, %f1;", "there is no such combination"),
    ("multimem.ld_reduce.add.s64 %l1, [%l2];", "there is no such combination"),
    ("multimem.ld_reduce.max.acc::f32.f16x2 %y1, [%l2];", "there is no such combination"),
    ("multimem.ld_reduce.relaxed.global.add.u32 %u1, [%l2];", "there is no such combination"),
    ("multimem.st.global.v2.b32 [%l2], {%b1, %b2};", "there is no such combination"),
    ("multimem.red.add.f16 [%l2], %x1;", "there is no such combination"),
    ("multimem.red.max.u32 [%l2], %l1;", "`%l1` is .b64, and .u32 is expected"),
    // Numbers.
    ("add.f32 %f1, %f2, 1;", "the number 1 found where a value of type .f32 is expected"),
    ("add.s32 %i1, %i2, 0f3F800000;", "a floating-point number found where a value of type .s32 is expected"),
    ("add.s32 1, %i2, %i3;", "the number 1 found where a register of type .s32 is expected"),
    ("add.u32 %u1, %tid.x, 1;", "can only be read by `mov` and `cvt`"),
    ("mov.u32 %tid.x, 1;", "`%tid.x` found where a register of type .u32 is expected"),
    // Counts.
    ("add.s32 %i1, %i2;", "3 operands expected, 2 found"),
    ("add.s32 %i1, %i2, %i3, %i1;", "3 operands expected, 4 found"),
    ("bar.sync;", "1 to 2 operands expected, 0 found"),
    ("ld.global.u32 %u1, [g], %l1;", "2 operands expected, 3 found"),
    ("ld.global.v2.u32 %u1, [g];", "`%u1` is not a vector of 2 elements"),
    ("ld.global.v2.u32 {%u1, %u2, %u3}, [g];", "2 elements expected, 3 found"),
    ("ld.global.u32 {%u1, %u2}, [g];", "a vector found where a register of type .u32 is expected"),
    ("mov.b64 %l1, {%h1, %h2};", "is not as wide as .b64"),
    ("mov.b32 {%b1, %b2}, %l1;", "is not as wide as .b32"),
    ("call (q), f, (q, q);", "`f` takes 1 parameter, 2 found"),
    ("call f, (q);", "`f` returns 1 result, 0 found"),
    ("call g, (q);", "`g` is not a function"),
    // Forms.
    ("add.s33 %i1, %i2, %i3;", "there is no such combination of modifiers and types"),
    ("add.ftz.s32 %i1, %i2, %i3;", "there is no such combination"),
    ("and.s32 %i1, %i2, %i3;", "there is no such combination"),
    ("mul.s32 %i1, %i2, %i3;", "there is no such combination"),
    ("fma.f32 %f1, %f1, %f1, %f1;", "there is no such combination"),
    ("cvt.s32.f32 %i1, %f1;", "there is no such combination"),
    ("setp.lo.s32 %p1, %i1, 1;", "there is no such combination"),
    ("atom.global.add.b32 %b1, [g], 1;", "there is no such combination"),
    ("atom.global.cas.b32 %b1, [g], 1;", "4 operands expected, 3 found"),
    ("ld.acquire.global.u32 %u1, [g];", "there is no such combination"),
    // Spaces.
    ("ld.shared.u32 %u1, [g];", "`g` lies in .global, which the instruction does not access"),
    ("ld.global.u32 %u1, [s];", "`s` lies in .shared"),
    ("ld.u32 %u1, [c];", "`c` lies in .const"),
    ("ld.global.u32 %u1, [n];", "`n` is a parameter, which only .param accesses"),
    ("st.const.u32 [c], %u1;", "there is no such combination"),
    ("st.param.u32 [n], %u1;", "the kernel's parameter `n` is only read"),
    ("ld.global.u32 %u1, g;", "`g` found where an address in brackets is expected"),
    ("ld.global.u32 %u1, [64];", "a register or a variable is expected"),
];

#[test]
fn every_rule_has_its_line_and_its_reason() {
    load(&module("", "")).unwrap();
    for (body, reason) in WRONG {
        let failure = load(&module("", body)).expect_err(body);
        assert!(failure.message.contains(reason), "{body}: {failure}");
        assert_eq!(failure.line, 12, "{body}: {failure}");
        assert!(
            matches!(failure.kind, LoadFailureKind::Invalid | LoadFailureKind::Duplicate),
            "{body}: {failure:?}"
        );
    }
}

/// What stands close to the rules, and ptxas 13.0 takes.
#[test]
fn what_is_close_to_the_rules_is_taken() {
    let vectors = ".reg .v2 .b32 %v; .reg .v2 .f32 %w; .reg .v4 .b16 %z; .reg .v2 .b16 %i;";
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f1}, {%b1,%b1,%b1,%b1}";
    let tex = "v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1,";
    let taken = [
        "mov.b64 {%b1, %b2}, g; mov.b64 {%b1, %b2}, s; mov.b64 {%b1, %b2}, c; mov.b64 {%b1, %b2}, f;",
        "mov.b64 {%b1, %b2}, p; mov.b64 {%b1, %b2}, g+4; mov.b64 {%b1, %b2}, g[4]; mov.b64 {%b1, %b2}, g[%b1];",
        "mov.b64 {%h1, %h2, %h3, %h1}, g; mov.b32 {%h1, %h2}, s; mov.b32 {%h1, %h2}, g+4; mov.b32 {%h1, %h2}, f;",
        "mov.b64 %l1, %v; mov.b64 %l1, %w; mov.b64 %l1, %z; mov.b32 %b1, %i; mov.b64 %d1, %v;",
        "mov.b64 %v, %l1; mov.b64 %v, g; mov.b64 %v, 5; mov.b32 %i, s; mov.b64 %v, %clock64; mov.b32 %i, %tid.x;",
        "mov.b128 {%l1, %l2}, g; mov.b16 %x1, %x2; mov.s16 %h1, %h2; mov.b64 {%b1, %b2}, %gridid;",
        "isspacep.global %p1, 5; isspacep.global %p1, %b1; isspacep.global %p1, g+4; isspacep.global %p1, %v.x;",
        "isspacep.global %p1, WARP_SZ; isspacep.global %p1, %l1+4; isspacep.global %p1, p+4;",
        &format!("{mma}, {{%b1,%b1}}, {{0f00000000,%f1,%f1,%f2}}; {mma}, {{0,%b1}}, {{0.0,%f1,%f1,%f2}};"),
        &format!("{mma}, {{%b1,%b1}}, {{0f00000000,0f00000000,0f00000000,0f00000000}};"),
        &format!("{mma}, {{%b1,%b1}}, {{0,%b1,%f1,%f2}}; {mma}, {{%b1,%b1}}, {{0.0,%b1,%b1,%b2}};"),
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%b1,%b2,%b1,%b2}, {%b1,0}, {%b1}, {0,0,%i1,0};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d1}, {0.0}, {0,0};",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%b1,%f2,%b3,%b1}, [g], 16;",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%f1}, [g], 32;",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], {0,%b1};",
        &format!(
            "tex.3d.{tex} {{%f1,%f2,%f3,0.0}}]; tex.3d.{tex} {{%f1,%b2,%i3,0}}]; tex.2d.{tex} {{%i1,%i1}}];"
        ),
        &format!("tex.a1d.{tex} {{0,%f1}}]; tex.a1d.{tex} {{%b1,0}}]; tex.a2d.{tex} {{%i1,%f1,%f2,0.0}}];"),
        &format!("tex.grad.2d.{tex} {{%f1,%f2}}], {{0,%b1}}, {{0.0,%f1}}; tex.2d.{tex} {{0.0,0.0}}];"),
        "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f1}, [%l1, {0}]; tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f1}, [%l1, {%f1,%b1}];",
        "suld.b.3d.b32.trap {%b1}, [%l1, {%b1,%b2,%b3,0.0}]; suld.b.2d.b32.trap {%b1}, [%l1, {%b1,%f1}];",
    ];
    for body in taken {
        let taken = load(&module("", &format!("{{ {vectors} {body} }}")));
        assert!(taken.is_ok(), "{body}: {taken:?}");
    }
    let independent = module(".global .samplerref m;", "").replace("sm_90a", "sm_90a, texmode_independent");
    load(&independent).unwrap();
}

/// Each modifier of a group, beside those of the groups that it excludes.
#[test]
fn every_modifier_of_a_group_excludes_the_others() {
    let mut bodies = Vec::new();
    for cache in ["ca", "cg", "cs", "cv", "lu"] {
        let orders = ["volatile", "relaxed.gpu", "acquire.gpu", "mmio.relaxed.sys"];
        bodies.extend(orders.map(|order| format!("ld.{order}.global.{cache}.b32 %b1, [%l1];")));
    }
    for cache in ["cg", "cs", "wb", "wt"] {
        let orders = ["volatile", "relaxed.gpu", "release.gpu", "mmio.relaxed.sys"];
        bodies.extend(orders.map(|order| format!("st.{order}.global.{cache}.b32 [%l1], %b1;")));
    }
    let l1 = ["evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"];
    for prefetch in l1.map(|name| format!("L1::{name}")).iter() {
        let others = ["volatile.global", "shared", "shared::cta", "shared::cluster", "const", "local"];
        bodies.extend(others.map(|other| format!("ld.{other}.{prefetch}.b32 %b1, [%l1];")));
        bodies.push(format!("ld.param.{prefetch}.b32 %b1, [n];"));
        bodies.push(format!("ld.global.ca.{prefetch}.b32 %b1, [%l1];"));
    }
    for prefetch in ["L2::64B", "L2::128B", "L2::256B"] {
        bodies.extend(["shared", "const"].map(|space| format!("ld.{space}.{prefetch}.b32 %b1, [%l1];")));
    }
    for space in ["const", "local", "param", "param::entry"] {
        let orders = ["volatile", "relaxed.gpu", "acquire.gpu"];
        let orders = orders.into_iter().filter(|order| (*order, space) != ("volatile", "local"));
        bodies.extend(orders.map(|order| format!("ld.{order}.{space}.b32 %b1, [n];")));
    }
    bodies.extend(["cv", "lu"].map(|cache| format!("ld.global.nc.{cache}.b32 %b1, [%l1];")));
    for body in bodies {
        let failure = load(&module("", &body)).expect_err(&body);
        assert!(failure.message.contains("do not go together"), "{body}: {failure}");
    }
}

/// Outside functions, on line 6.
#[test]
fn so_have_the_limits_and_the_declarations_of_a_module() {
    for (declaration, reason) in [
        (".const .b8 more[65500];", "the module has 65564 bytes of constant data, and 65536 are possible"),
        (".shared .u32 first = 1;", "`first` in .shared cannot have an initial value"),
        (".global .u32 open[];", "`open` has no length"),
        (".entry large(.param .b8 a[32765]) { ret; }", "32765 bytes of parameters, and 32764 are possible"),
        (".global .samplerref m;", "the sampler `m` goes with `.target texmode_independent` only"),
        (".entry m(.param .samplerref m) { ret; }", "the sampler `m` goes with"),
        (".entry twice(.param .u32 a, .param .u32 a) { ret; }", "duplicate definition of `a`"),
        (".entry none() .reqntid 0 { ret; }", "blocks of no threads"),
    ] {
        let failure = load(&module(declaration, "")).expect_err(declaration);
        assert!(failure.message.contains(reason), "{declaration}: {failure}");
        assert_eq!(failure.line, 6, "{declaration}: {failure}");
    }
}

/// What ptxas 13.0 says of the same lists: which fits, and how many bytes too many there are.
#[test]
fn constant_data_is_laid_out_as_ptxas_does() {
    let load = |module: &str| load(&format!(".version 8.0\n.target sm_90\n.address_size 64\n{module}"));
    for fits in [
        ".const .b8 a[65536];",
        ".const .b8 a[1]; .const .align 128 .b8 b[65408];",
        ".const .align 128 .b8 a[65409]; .const .b8 b[127];",
        // Those that other modules see stand first.
        ".const .align 128 .b8 a[64]; .visible .const .b8 b[65408];",
        ".const .b8 a[1]; .visible .const .align 128 .b8 b[65409];",
        ".extern .const .b8 a[40000]; .visible .const .b8 a[40000];",
        ".extern .const .b8 a[]; .visible .const .b8 a[65536];",
        ".visible .const .b8 a[40000]; .extern .const .b8 a[40000];",
        ".func f() { .const .b8 a[65536]; ret; }",
    ] {
        assert_eq!(load(fits), Ok(()), "{fits}");
    }
    for (module, bytes) in [
        (".const .b8 a[65537];", 65_537_u64),
        (".extern .const .b8 a[65537];", 65_537),
        (".extern .const .b8 a[]; .visible .const .b8 a[65537];", 65_537),
        (".const .b8 a[1]; .const .align 128 .b8 b[65409];", 65_537),
        (".const .b8 a[1]; .const .align 8 .v2 .b64 b[4096];", 65_552),
        (".const .align 1 .b8 a[1]; .const .align 128 .b8 b[65280]; .const .b8 c[255];", 65_663),
        (".const .align 128 .b8 a[65]; .visible .const .b8 b[65409];", 65_601),
        (".const .align 128 .b8 a[129]; .weak .const .b8 b[65408];", 65_537),
        (".func f() { .const .b8 a[65537]; ret; }", 65_537),
        (".const .b8 a[65536]; .func f() { { .const .b8 b[1]; } ret; }", 65_537),
        (".entry k() { .const .b8 a[40000]; ret; } .entry l() { .const .b8 b[40000]; ret; }", 80_000),
        (".const .b8 a[4294967304];", 4_294_967_304),
    ] {
        let failure = load(module).expect_err(module);
        let said = format!("the module has {bytes} bytes of constant data, and 65536 are possible");
        assert_eq!((failure.kind, failure.line), (LoadFailureKind::Invalid, 4), "{module}");
        assert_eq!(failure.message, said, "{module}");
    }
}

#[test]
fn old_modules_have_fewer_bytes_of_parameters() {
    let load = |version: &str, target: &str, bytes: u32| {
        load(&format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k(.param .b8 a[{bytes}]) {{ ret; }}"
        ))
    };
    for (version, target) in [("8.0", "sm_90"), ("8.0", "sm_52"), ("8.1", "sm_52")] {
        assert_eq!(load(version, target, 4352), Ok(()), "{version} {target}");
        let failure = load(version, target, 4353).expect_err(target);
        assert!(failure.message.contains("more than 4352 bytes of parameters"), "{failure}");
    }
    assert_eq!(load("8.1", "sm_70", 32_764), Ok(()));
    assert!(load("8.1", "sm_70", 32_765).is_err());
}

/// What looks odd and assembles.
#[test]
fn nothing_else_is_refused() {
    for body in [
        "add.s32 %u1, %b1, %y1;",
        "and.b32 %f1, %i1, %u1;",
        "mov.u16 %h1, %tid.x; mov.b32 %f1, %tid.x; mov.u64 %l1, %clock64;",
        "mov.b32 %b1, g+4; mov.u64 %l1, n; mov.u64 %l1, f; mov.b64 {%b1, _}, %d1;",
        "ld.global.u8 %l1, [g]; ld.global.b16 %f1, [g]; st.global.b32 [g], %d1; ld.global.v2.u32 {%u1, _}, [g];",
        "ld.shared.u32 %u1, [%u2]; ld.local.u32 %u1, [%u2]; ld.param.u32 %u1, [n]; ld.u32 %u1, [s];",
        "{ .reg .f32 %u1; add.f32 %u1, %u1, %f1; } add.u32 %u1, %u1, 1;",
        "bra L; L: @!%p1 bra L; setp.lt.and.s32 %p1|%p2, %i1, 5, !%p3; atom.global.add.u32 _, [g], 1;",
        "cvt.u64.u32 %l1, %tid.x; cvt.f32.f16 %f1, %b1; selp.f32 %f1, 0f00000000, 1.5, %p1; shl.b32 %f1, %f2, 3;",
        "call (q), f, (q); bar.sync 0; barrier.sync 1, 64; mov.pred %p1, 1; add.f64 %d1, %d2, 0f3F800000;",
        "ld.global.nc.L1::no_allocate.L2::128B.b32 %b1, [g]; ld.global.nc.cs.b32 %b1, [g]; ld.volatile.shared.b32 %b1, [s];",
        "ld.mmio.relaxed.sys.global.b32 %b1, [g]; ld.volatile.global.L2::64B.b32 %b1, [g]; ld.local.cg.b32 %b1, [%l1];",
        "st.weak.shared.wt.b32 [s], %b1; st.release.cta.shared.b32 [s], %b1; ld.const.ca.b32 %b1, [c]; ld.param.lu.b32 %b1, [n];",
        "ld.relaxed.gpu.global.L1::no_allocate.L2::cache_hint.b32 %b1, [g], %l1; ld.weak.param.b32 %b1, [n];",
        "atom.add.L2::cache_hint.u32 %u1, [g], %u2, %l1; red.global.relaxed.gpu.add.L2::cache_hint.u32 [g], %u2, %l1;",
        "cvt.rn.f32.bf16 %f1, %h1; cvt.rp.f64.bf16 %d1, %h1; cvt.sat.u32.s8 %u1, %h1; cvt.rz.relu.satfinite.f16.f32 %x1, %f1;",
        "set.eq.ftz.f16.f32 %x1, %f1, %f2; set.ltu.and.bf16.f64 %h1, %d1, %d2, %p1; min.NaN.xorsign.abs.f32 %f1, %f2, %f3;",
        "setp.lt.f16x2 %p1, %y1, %y2; setp.lt.f16x2 _|%p1, %y1, %y2; rcp.rn.ftz.f64 %d1, %d2;",
        "st.async.mbarrier::complete_tx::bytes.b32 [%b1], %b2, [%l1]; vadd.u32.u32.u32 %u1, %u1.b1, %u2.h1, %u3;",
        "multimem.ld_reduce.acquire.sys.global.add.acc::f32.v4.f16x2 {%y1, %y2, %y3, %y1}, [%l1]; multimem.st.release.gpu.f64 [%l1], %d1;",
        "multimem.ld_reduce.weak.xor.b64 %l1, [%l2]; multimem.red.relaxed.cluster.min.s64 [%l1], %l2; multimem.red.add.v2.f32 [%l1], {%f1, %f2};",
        "ld.weak.global.L1::evict_last.L2::cache_hint.L2::128B.u32 %u1, [g], %l1; add.u32 %u1, %u1, WARP_SZ;",
        "add.u32 %u1, %u2+4, %u3; and.b32 %b1, %b2, %b3+-4; add.u64 %l1, %l2, g+8; setp.eq.u32 %p1, %u1, %u2+4; add.u32 %u1, %u2, %l1+4;",
        "st.global.u32 [g], %u1+4; selp.b32 %b1, %b2+4, %b3, %p1; shl.b32 %b1, %b2, %u3+4; mad.lo.u32 %u1, %u2, c+4, %u3;",
        "mul.ftz.rn.f32 %f1, %f2, %f3; cvta.to.u64.global %l1, %l2; barrier.aligned.sync 0; setp.u32.eq %p1, %u1, %u2; bar.cta.sync 0;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%b2,%f3,_}, {%y1,%y1,%b1,1}, {%b1,%b1}, {0f00000000,%f2,%f3,%f1};",
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%u1,%i1,%b3,%b1}, {%f1,%f1}, {%i1}, {%b1,%b1,%u1,%i1};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%l1,%d2}, {%l1}, {%d1}, {%d1,%d2};",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16 {%f1,%f2,%f3,%f1,%f1,%f1,%f1,%f1}, {%b1,%b1}, {%b1,%b1}, {%b1,%b1,%b1,%b1};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%f1,%b1,%b1,%b1,%b1,%b1,%b1,%b1}, [s], %u1;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%b1,%f2,%f3,%f1}, {%u1,%b1,%b1,%b1}, %l2, !%p1, 1, -1, 0;",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%b1, _}, [s]; stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {%f1};",
        "tex.2d.v4.f32.f32 {%f1,%b2,_,%f1}|%p1, [%l1, {%f1,%f2,%f3,%f1}]; tex.1d.v4.u32.s32 {%u1,%u2,%u3,%u1}, [%l1, %b1];",
        "tex.a2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%l1, %l2, {%b1,%f2,%f3,0f00000000}], {%b1,%b2}; suld.b.1d.b8.trap {%h1}, [%l1, {%b1}];",
    ] {
        load(&module("", body)).unwrap_or_else(|failure| panic!("{body}: {failure}"));
    }
}
