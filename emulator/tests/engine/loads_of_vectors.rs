//! `ld.v2` and `ld.v4` of a full warp: at one address, at one in each half, in rows and in no order, out of bounds and not aligned.

use crate::support::{Args, Device, snippet};

/// Bytes before the data: an offset of eight bytes for each lane.
const DATA: usize = 256;
/// Words of the data.
const WORDS: usize = 256;

/// A load three times, so that it knows its memory, which the last round adds up.
fn text(load: &str, shared: bool) -> String {
    let (fill, address) = match shared {
        false => ("", "%rd3"),
        true => (
            "mov.u32 %r20, tile; mad.lo.u32 %r21, %t, 32, %r20; mad.wide.u32 %rd4, %t, 32, %out;\n\
             ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4+256]; st.shared.v4.u32 [%r21], {%r1, %r2, %r3, %r4};\n\
             ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4+272]; st.shared.v4.u32 [%r21+16], {%r1, %r2, %r3, %r4}; bar.sync 0;\n\
             cvt.u32.u64 %r22, %rd2; add.u32 %r22, %r22, %r20;",
            "%r22",
        ),
    };
    let sum = if load.contains("u64") {
        "mad.lo.u64 %rd5, %rd6, 3, %rd5; cvt.u32.u64 %r5, %rd5; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r6, %rd5; add.u32 %r5, %r5, %r6;"
    } else if load.contains("v2") {
        "mad.lo.u32 %r5, %r2, 3, %r1;"
    } else {
        "mad.lo.u32 %r5, %r2, 3, %r1; mad.lo.u32 %r5, %r3, 5, %r5; mad.lo.u32 %r5, %r4, 7, %r5;"
    };
    snippet(&format!(
        ".shared .align 16 .b8 tile[1024]; mad.wide.u32 %rd1, %t, 8, %out; ld.global.u64 %rd2, [%rd1]; add.u64 %rd3, %rd2, %out;\n\
         add.u64 %rd3, %rd3, {DATA};\n{fill}\nmov.u32 %r9, 0;\n\
         round: {load}, [{address}]; {sum}\n\
         add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round; st.global.u32 [%at+{}], %r5;",
        DATA + 4 * WORDS
    ))
}

/// Which of the vectors a lane loads.
const WAYS: [fn(usize) -> usize; 8] = [
    |_| 3,
    |lane| lane,
    |lane| lane / 16,
    |lane| lane / 16 * (lane % 16),
    |lane| if lane < 16 { lane } else { 5 },
    |lane| usize::from(lane == 17),
    |lane| usize::from(lane == 1),
    |lane| lane ^ 1,
];

fn memory(offsets: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut memory: Vec<u8> = offsets.flat_map(u64::to_le_bytes).collect();
    memory.extend((0..WORDS as u32).flat_map(|word| (word * word + 1).to_le_bytes()));
    memory.resize(memory.len() + 4 * 32, 0);
    memory
}

#[test]
fn vectors_at_addresses_of_all_kinds() {
    for (bytes, registers) in
        [(8, "v2.u32 {%r1, %r2}"), (16, "v4.u32 {%r1, %r2, %r3, %r4}"), (16, "v2.u64 {%rd5, %rd6}")]
    {
        for shared in [false, true] {
            let space = if shared { "shared" } else { "global" };
            let device = Device::new(&text(&format!("ld.{space}.{registers}"), shared));
            for (way, choose) in WAYS.into_iter().enumerate() {
                let out = device.upload(&memory((0..32).map(|lane| (choose(lane) * bytes) as u64)));
                device.launch("k", [1; 3], [32, 1, 1], &Args::new().add(out));
                let got = device.download::<u32>(out + (DATA + 4 * WORDS) as u64, 32);
                let wanted = (0..32).map(|lane| {
                    let first = choose(lane) * bytes / 4;
                    let word = |at: usize| ((first + at) * (first + at) + 1) as u32;
                    match registers.split(' ').next() {
                        Some("v2.u32") => word(0) + 3 * word(1),
                        // Twice the lower halves and the upper halves, which do not overflow.
                        Some("v2.u64") => word(0) + 3 * word(2) + word(1) + 3 * word(3),
                        _ => word(0) + 3 * word(1) + 5 * word(2) + 7 * word(3),
                    }
                });
                assert_eq!(got, wanted.collect::<Vec<u32>>(), "{registers} of {space}, way {way}");
            }
        }
    }
}

#[test]
fn one_address_that_is_wrong() {
    // From the second round on, when the memory is known: behind it, and between two vectors.
    for (more, address) in [(1 << 20, 1 << 20), (8, 8)] {
        let device = Device::new(&snippet(&format!(
            "mov.u64 %rd1, %out; mov.u32 %r9, 0;\nround: ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1];\n\
             add.u64 %rd1, %rd1, {more}; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 2; @%p1 bra round; st.global.u32 [%out], %r4;"
        )));
        let out = device.zeroed::<u32>(WORDS);
        let fault = device.fault("k", [1; 3], [32, 1, 1], &Args::new().add(out));
        assert_eq!((fault.thread[0], fault.address), (0, Some(out + address)), "{fault}");
    }
}
