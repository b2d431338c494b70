//! Copies, and rows of matrices: what the checks find, and its twins.

use cuda_emulator::check::FindingKind;
use cuda_emulator::engine::FaultKind;

use super::{Check, Nothing, Stops, Twin, twin};

pub(super) const TWINS: &[Twin] = &[
    // Copies.
    twin(
        "cp.async into the next variable",
        (1, 1, 64),
        Check(FindingKind::OutOfBounds),
        "mad.lo.u32 %r1, %t, 16, %r59; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out;
         cp.async.cg.shared.global [%r1+<<7680|7168>>], [%rd1], 16; // here
         cp.async.wait_all; ld.shared.u32 %r2, [%r1+7168]; st.global.u32 [%rd63+4096], %r2;",
    ),
    twin(
        "a bulk copy of more bytes than the variable has",
        (1, 1, 32),
        Check(FindingKind::OutOfBounds),
        "mov.u32 %r1, s; @%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], <<8704|8192>>;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], <<8704|8192>>, [%r60]; // here
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r2, [%r54]; st.global.u32 [%rd63+12288], %r2;",
    ),
    twin(
        "a bulk store of more bytes than the variable has",
        (1, 1, 32),
        Check(FindingKind::OutOfBounds),
        "mov.u32 %r1, next; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t; st.shared.u32 [%r54+8064], %t; fence.proxy.async; bar.sync 0;
         @%p31 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1+<<-128|0>>], 128; // here
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ),
    twin(
        "a bulk copy of what threads have stored to global memory, without a fence",
        (1, 1, 32),
        Check(FindingKind::MissingFence),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster;
         st.global.u32 [%rd63], %t; // here
         <<|fence.proxy.async;>> bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 128;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 128, [%r60];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r2, [%r54]; st.global.u32 [%rd63+4096], %r2;",
    ),
    twin(
        "a bulk copy of what another block has stored to global memory, without a fence",
        (1, 2, 32),
        Nothing,
        "// cooperative
         setp.eq.u32 %p2, %r56, 1; @%p2 bra SECOND; st.global.u32 [%at], %t; <<|fence.proxy.async;>> bar.sync 0;
         @%p31 st.release.gpu.global.u32 [%out+8192], 1; bra END;
         SECOND: @!%p31 bra WAIT; mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster;
         S: ld.acquire.gpu.global.u32 %r1, [%out+8192]; setp.eq.u32 %p3, %r1, 0; @%p3 bra S; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 128, [%r60];
         WAIT: bar.sync 0;
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r2, [%r54]; st.global.u32 [%rd63+4096], %r2; END:",
    ),
    twin(
        "cp.async of another allocation",
        (1, 1, 1),
        Check(FindingKind::OutOfBounds),
        "mov.u64 %rd1, numbers; cvta.global.u64 %rd1, %rd1; sub.u64 %rd2, %out, %rd1; <<|mov.u64 %rd2, 0;>>
         st.global.u64 [%out+2048], %rd2; ld.global.u64 %rd5, [%out+2048]; add.u64 %rd3, %rd1, %rd5;
         cp.async.cg.shared.global [%r59], [%rd3], 16; // here
         cp.async.wait_all; ld.shared.u32 %r2, [%r59]; st.global.u32 [%out+64], %r2;",
    ),
    // Rows of matrices.
    twin(
        "a row that is not aligned",
        (1, 1, 32),
        Stops(FaultKind::MisalignedAddress),
        "st.shared.u32 [%r54], %t; bar.sync 0; and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, <<8|16>>, %r59;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // here
         st.global.u32 [%rd63], %r2;",
    ),
    twin(
        "rows that are stored to one place",
        (1, 1, 32),
        Check(FindingKind::Race),
        "and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, <<0|16>>, %r59; add.u32 %r2, %t, 1;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2}; // here",
    ),
    twin(
        "rows that another warp has stored, without a barrier",
        (1, 1, 64),
        Check(FindingKind::Race),
        "and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, 16, %r59; setp.ge.u32 %p1, %t, 32; @%p1 bra READ;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%t}; <<|bar.sync 1, 64;>> bra END;
         READ: <<|bar.sync 1, 64;>>
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // here
         st.global.u32 [%rd63], %r2; END:",
    ),
    twin(
        "rows of the next variable",
        (1, 1, 32),
        Check(FindingKind::OutOfBounds),
        "mov.u32 %r9, next; mad.lo.u32 %r2, %t, 4, %r9; st.shared.u32 [%r2], %t; st.shared.u32 [%r54+8064], %t; bar.sync 0;
         and.b32 %r8, %t, 7; mad.lo.u32 %r1, %r8, 16, %r9;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1+<<-128|0>>]; // here
         st.global.u32 [%rd63], %r2;",
    ),
    twin(
        "rows that a bulk copy stores, without a fence",
        (1, 1, 32),
        Check(FindingKind::MissingFence),
        "and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, 16, %r59;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%t}; // here
         <<|fence.proxy.async;>> bar.sync 0;
         @%p31 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r59], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ),
];
