//! Barriers in shared memory: what the checks find, and its twins.

use cuda_emulator::check::FindingKind;

use super::{Check, Orders, Twin, twin};

pub(super) const TWINS: &[Twin] = &[
    twin(
        "no wait at an mbarrier",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; bar.sync 0;
         setp.ge.u32 %p2, %t, 32; @%p2 bra READ;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: <<|W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>
         ld.shared.u32 %r1, [%r54+-128]; // here
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "the wrong parity",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; bar.sync 0;
         setp.lt.u32 %p2, %t, 32; @%p2 bra READ;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], <<1|0>>; @!%p1 bra W;
         ld.shared.u32 %r1, [%r54+128]; // here
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "a count of arrivals that is too small",
        (1, 1, 128),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], <<2|3>>; bar.sync 0;
         setp.ge.u32 %p2, %t, 96; @%p2 bra READ;
         st.shared.u32 [%r54], %t; bar.warp.sync -1; and.b32 %r1, %t, 31; setp.eq.u32 %p3, %r1, 0;
         @%p3 mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r1, [%r54+-128]; // here
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "a phase of another round",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; @%p31 mbarrier.init.shared::cta.b64 [%r61], 32; bar.sync 0;
         mov.u32 %r10, 0; setp.ge.u32 %p2, %t, 32; @%p2 bra C;
         P: setp.eq.u32 %p3, %r10, 0; @%p3 bra FILL;
         R: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r61], 0; @!%p1 bra R;
         FILL: add.u32 %r1, %t, %r10; st.shared.u32 [%r54], %r1; bar.warp.sync -1;
         @%p31 mbarrier.arrive.shared::cta.b64 _, [%r60];
         add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra P; bra END;
         C: mov.u32 %r9, 0;
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], <<0|%r10>>; add.u32 %r9, %r9, 1; setp.lt.and.u32 %p5, %r9, <<50|-1>>, !%p1; @%p5 bra W;
         ld.shared.u32 %r1, [%r54+-128]; // here
         st.global.u32 [%rd63], %r1; setp.eq.u32 %p6, %r10, 0; @%p6 mbarrier.arrive.shared::cta.b64 _, [%r61];
         add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra C; END:",
    ),
    twin(
        "try_wait once, not in a loop",
        (1, 1, 64),
        Orders("memory"),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; bar.sync 0;
         setp.ge.u32 %p2, %t, 32; @%p2 bra READ;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; <<|@!%p1 bra W;>>
         ld.shared.u32 %r1, [%r54+-128];
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "a state of another phase",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 64; bar.sync 0;
         mbarrier.arrive.shared::cta.b64 %rd1, [%r60];
         W: mbarrier.test_wait.shared::cta.b64 %p1, [%r60], %rd1; @!%p1 bra W;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 %rd2, [%r60];
         mov.u32 %r9, 0;
         V: mbarrier.test_wait.shared::cta.b64 %p1, [%r60], <<%rd1|%rd2>>; add.u32 %r9, %r9, 1; setp.lt.and.u32 %p5, %r9, <<50|-1>>, !%p1; @%p5 bra V;
         xor.b32 %r2, %t, 33; mad.lo.u32 %r2, %r2, 4, %r59;
         ld.shared.u32 %r1, [%r2]; // here
         st.global.u32 [%rd63], %r1;",
    ),
    twin(
        "fewer bytes expected than are copied",
        (1, 1, 128),
        Check(FindingKind::MissingWait),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], <<256|512>>;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 256, [%r60];
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59+256], [%out+256], 256, [%r60];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r1, [%r54]; // here
         st.global.u32 [%rd63+4096], %r1;",
    ),
    twin(
        "more bytes expected than are copied",
        (1, 1, 128),
        Check(FindingKind::MissingWait),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], <<1024|512>>;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 512, [%r60];
         mov.u32 %r9, 0;
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; add.u32 %r9, %r9, 1; setp.lt.and.u32 %p2, %r9, 1000, !%p1; @%p2 bra W;
         ld.shared.u32 %r1, [%r54]; // here
         st.global.u32 [%rd63+4096], %r1;",
    ),
    twin(
        "an arrival from another block that does not release",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         st.shared::cluster.u32 [%r1], %t;
         <<|fence.acq_rel.cluster;>> mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r2];
         W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r3, [%r54]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    twin(
        "a wait that does not acquire",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         st.shared::cluster.u32 [%r1], %t;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
         W: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W; <<|fence.acq_rel.cluster;>>
         ld.shared.u32 %r3, [%r54]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    twin(
        "an arrival at the own mbarrier, not the neighbour's",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, <<%r58|%r57>>;
         st.shared::cluster.u32 [%r1], %t;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
         W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r3, [%r54]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
];
