//! Clusters: what the checks find, and its twins.

use cuda_emulator::check::FindingKind;
use cuda_emulator::engine::FaultKind;

use super::{Check, Orders, Stops, Twin, twin};

pub(super) const TWINS: &[Twin] = &[
    twin(
        "a block that may end while its neighbour reads its shared memory",
        (2, 4, 64),
        Stops(FaultKind::IllegalAddress),
        "st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57;
         ld.shared::cluster.u32 %r2, [%r1]; // here
         st.global.u32 [%rd63], %r2; <<|barrier.cluster.arrive; barrier.cluster.wait;>>",
    ),
    twin(
        "a block that may end before its neighbour stores to its shared memory",
        (2, 2, 64),
        Stops(FaultKind::IllegalAddress),
        "barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57;
         st.shared::cluster.u32 [%r1], %t; // here
         <<|barrier.cluster.arrive; barrier.cluster.wait;>>",
    ),
    twin(
        "a block that may end before the arrival of a neighbour at its mbarrier",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER;
         mapa.shared::cluster.u32 %r2, %r60, %r57;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; // here
         bra END;
         OWNER: <<|W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>
         END:",
    ),
    twin(
        "a block that may end although it arrives at the barrier of the cluster, as it does not wait there",
        (2, 2, 32),
        Orders("fault"),
        "st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER;
         mapa.shared::cluster.u32 %r1, %r54, %r57;
         ld.shared::cluster.u32 %r3, [%r1]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive.relaxed; barrier.cluster.wait; bra END;
         OWNER: barrier.cluster.arrive; <<|barrier.cluster.wait;>>
         END:",
    ),
    twin(
        "a block that does not wait for the reader of its shared memory at an mbarrier",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         ld.shared::cluster.u32 %r3, [%r1];
         st.global.u32 [%rd63], %r3; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; // here
         bra END;
         OWNER: <<|W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>
         END:",
    ),
    twin(
        "a block that may end before its neighbour's asynchronous store",
        (2, 2, 32),
        Stops(FaultKind::IllegalAddress),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 128; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %t, [%r2]; // here
         <<|W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>",
    ),
    twin(
        "a rank that the cluster does not have",
        (2, 2, 32),
        Stops(FaultKind::IllegalAddress),
        "st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, <<2|1>>;
         ld.shared::cluster.u32 %r2, [%r1]; // here
         st.global.u32 [%rd63], %r2; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    twin(
        "an arrival at the barrier of a cluster that does not release",
        (2, 2, 32),
        Check(FindingKind::Race),
        "barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; st.shared::cluster.u32 [%r1], %t;
         <<|fence.acq_rel.cluster;>> barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;
         ld.shared.u32 %r2, [%r54]; // here
         st.global.u32 [%rd63], %r2;",
    ),
    twin(
        "a barrier of the cluster at which the lanes that stored do not release",
        (2, 2, 32),
        Check(FindingKind::Race),
        "barrier.cluster.arrive; barrier.cluster.wait; setp.lt.u32 %p2, %t, 16; @%p2 bra FIRST;
         mapa.shared::cluster.u32 %r1, %r54, %r57; st.shared::cluster.u32 [%r1], %t; barrier.cluster.arrive.<<relaxed|release>>; bra MET;
         FIRST: barrier.cluster.arrive.relaxed; MET: barrier.cluster.wait.acquire; @%p2 bra END;
         ld.shared.u32 %r2, [%r54]; // here
         st.global.u32 [%rd63], %r2; END:",
    ),
    twin(
        "shared memory that only the neighbour has written in its own",
        (2, 2, 32),
        Check(FindingKind::Uninitialised),
        "setp.eq.u32 %p2, %r58, <<1|0>>; @%p2 st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         setp.ne.u32 %p3, %r58, 0; @%p3 bra END;
         ld.shared.u32 %r2, [%r54]; // here
         st.global.u32 [%rd63], %r2; END:",
    ),
    twin(
        "a block that waits for the second of its neighbour's copies only",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; @%p31 mbarrier.init.shared::cta.b64 [%r61], 1; fence.mbarrier_init.release.cluster;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 128; @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r61], 128;
         barrier.cluster.arrive; barrier.cluster.wait; setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER; @!%p31 bra END;
         mapa.shared::cluster.u32 %r1, %r59, 0; mapa.shared::cluster.u32 %r2, %r60, 0; mapa.shared::cluster.u32 %r3, %r61, 0;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], 128, [%r2]; // here
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%out+128], 128, [%r3]; bra END;
         OWNER: <<|V: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra V;>>
         W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r61], 0; @!%p1 bra W;
         END:",
    ),
];
