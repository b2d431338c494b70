//! Lanes, wide accesses, barriers of a grid: what the checks find, and its twins.

use cuda_emulator::check::FindingKind;
use cuda_emulator::engine::FaultKind;

use super::{Check, Stops, Twin, twin};

pub(super) const TWINS: &[Twin] = &[
    // Lanes.
    twin(
        "a vote that names lanes which are at a barrier",
        (1, 1, 64),
        Stops(FaultKind::Deadlock),
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra REST;
         vote.sync.ballot.b32 %r1, %p1, <<-1|0xffff>>; st.global.u32 [%rd63], %r1;
         REST: bar.warp.sync -1; bar.sync 0;",
    ),
    twin(
        "a match that names lanes which are at a barrier",
        (1, 1, 64),
        Stops(FaultKind::Deadlock),
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra REST;
         match.any.sync.b32 %r1, %t, <<-1|0xffff>>; st.global.u32 [%rd63], %r1;
         REST: bar.warp.sync -1; bar.sync 0;",
    ),
    twin(
        "a reduction that names lanes which are at a barrier",
        (1, 1, 64),
        Stops(FaultKind::Deadlock),
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra REST;
         redux.sync.add.s32 %r1, %t, <<-1|0xffff>>; st.global.u32 [%rd63], %r1;
         REST: bar.warp.sync -1; bar.sync 0;",
    ),
    // Wide accesses.
    twin(
        "16 bytes that are not aligned",
        (1, 1, 1),
        Stops(FaultKind::MisalignedAddress),
        "{ .reg .b128 %q; ld.global.b128 %q, [%out+<<8|16>>]; mov.b128 {%rd1, %rd2}, %q; st.global.u64 [%out+64], %rd1; }",
    ),
    twin(
        "16 bytes of which 8 were written",
        (1, 1, 1),
        Check(FindingKind::Uninitialised),
        "mov.b64 %rd1, 5; st.shared.b64 [%r59], %rd1; <<|st.shared.b64 [%r59+8], %rd1;>>
         { .reg .b128 %q; ld.shared.b128 %q, [%r59]; // here
         mov.b128 {%rd1, %rd2}, %q; st.global.u64 [%out+64], %rd1; }",
    ),
    twin(
        "16 bytes that another warp has stored, without a barrier",
        (1, 1, 64),
        Check(FindingKind::Race),
        "mad.lo.u32 %r1, %t, 16, %r59; setp.ge.u32 %p1, %t, 32; @%p1 bra READ;
         { .reg .b128 %q; cvt.u64.u32 %rd1, %t; mov.b128 %q, {%rd1, %rd1};
         st.shared.b128 [%r1], %q; // here
         } <<|bar.sync 1, 64;>> bra END;
         READ: <<|bar.sync 1, 64;>> ld.shared.u32 %r2, [%r1+-500]; st.global.u32 [%rd63], %r2; END:",
    ),
    twin(
        "an exchange of 16 bytes beside an ordinary load",
        (1, 2, 1),
        Check(FindingKind::Race),
        "{ .reg .b128 %q, %o; mov.b64 %rd1, 5; mov.b128 %q, {%rd1, %rd1};
         atom.global.exch.b128 %o, [%out+1024], %q;
         <<ld.global.b128 %o, [%out+1024];|>> // here
         mov.b128 {%rd1, %rd2}, %o; }",
    ),
    // Grids.
    twin(
        "no barrier of the grid",
        (1, 4, 64),
        Check(FindingKind::Race),
        "// cooperative
         st.global.u32 [%rd63+1024], %r55; <<bra GO;|>>
         bar.sync 0; @!%p31 bra MET; membar.gl; atom.global.add.u32 %r1, [%out], 1;
         S: ld.acquire.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 4; @%p1 bra S;
         MET: bar.sync 0;
         GO: xor.b32 %r2, %r55, 65; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+1024]; // here
         st.global.u32 [%rd63+4096], %r3;",
    ),
    twin(
        "a barrier of the grid at which one thread waits",
        (1, 4, 64),
        Check(FindingKind::Race),
        "// cooperative
         st.global.u32 [%rd63+1024], %r55;
         bar.sync 0; @!%p31 bra MET; membar.gl; atom.global.add.u32 %r1, [%out], 1;
         S: ld.acquire.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 4; @%p1 bra S;
         MET: <<|bar.sync 0;>>
         xor.b32 %r2, %r55, 65; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+1024]; // here
         st.global.u32 [%rd63+4096], %r3;",
    ),
    twin(
        "a barrier of the grid that does not release",
        (1, 4, 64),
        Check(FindingKind::Race),
        "// cooperative
         st.global.u32 [%rd63+1024], %r55;
         bar.sync 0; @!%p31 bra MET; atom.<<relaxed|acq_rel>>.gpu.global.add.u32 %r1, [%out], 1;
         S: ld.acquire.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 4; @%p1 bra S;
         MET: bar.sync 0;
         xor.b32 %r2, %r55, 65; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+1024]; // here
         st.global.u32 [%rd63+4096], %r3;",
    ),
];
