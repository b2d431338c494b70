//! Loads and stores of some lanes of a warp: in rows, at one address, in rows of eight, in several allocations, and in no order. What dead
//! lanes have in their registers stays, and the first live lane that is out of bounds is the one that faults.

use crate::support::{Args, Device, snippet};

/// Where the mask is, the bytes that lie between the start and what each lane accesses, the results, and the data.
const OFFSETS: usize = 64;
const RESULTS: usize = OFFSETS + 32 * 8;
const DATA: usize = RESULTS + 32 * 8;
const NUMBERS: usize = 64;

const MASKS: [u32; 14] = [
    !0,
    1,
    1 << 31,
    0x8000_0001,
    0x0000_0180,
    0x00ff_ff00,
    0x0f0f_0f0f,
    0x5555_5555,
    0xffff_fffe,
    0x7fff_ffff,
    0xffff_0000,
    0x3c00_a6f1,
    0x00f0_0810,
    0x8421_9f00,
];

/// Two rounds of a load, and of a store of one thousand more, by the lanes of a mask.
fn text(bytes: u32, space: &str) -> String {
    let (kind, value) = if bytes == 4 { ("u32", "%r") } else { ("u64", "%rd") };
    let (enter, leave, address) = if space == "shared" {
        let copy = |from: &str, to: &str| -> String {
            let each = |at| format!("ld.{from}.u32 %r20, [{from}+{at}]; st.{to}.u32 [{to}+{at}], %r20;\n");
            let all: String = (0..NUMBERS as u32 * bytes / 128).map(|row| each(row * 128)).collect();
            all.replace("[global", &format!("[%at+{DATA}")).replace("[shared", "[%r21")
        };
        let place = "mov.u32 %r21, tile; mad.lo.u32 %r21, %t, 4, %r21;";
        let here = format!(
            "cvt.u32.u64 %r22, %rd1; sub.u32 %r22, %r22, {DATA}; mov.u32 %r23, tile; add.u32 %r22, %r22, %r23;"
        );
        (
            format!("{place}\n{}bar.sync 0; {here}", copy("global", "shared")),
            format!("bar.sync 0;\n{}", copy("shared", "global")),
            "%r22",
        )
    } else {
        (String::new(), String::new(), "%rd2")
    };
    snippet(&format!(
        ".shared .align 16 .b8 tile[{size}]; ld.global.u32 %r1, [%out]; shr.u32 %r1, %r1, %t; and.b32 %r1, %r1, 1;\n\
         setp.ne.u32 %p1, %r1, 0; mad.wide.u32 %rd3, %t, 8, %out; ld.global.u64 %rd1, [%rd3+{OFFSETS}]; add.u64 %rd2, %rd1, %out;\n\
         mov.{kind} {value}10, 7; mov.u32 %r9, 0;\n{enter}\n\
         round: @!%p1 bra rest;\n\
         ld.{space}.{kind} {value}10, [{address}];\n\
         add.{kind} {value}11, {value}10, 1000;\n\
         st.{space}.{kind} [{address}], {value}11;\n\
         rest: add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 2; @%p2 bra round;\n{leave}\n\
         st.global.{kind} [%rd3+{RESULTS}], {value}10;",
        size = NUMBERS as u32 * bytes,
    ))
}

/// A warp's memory: numbers of `bytes` bytes that hold their own number.
fn memory(bytes: usize, mask: u32, offsets: &[i64; 32]) -> Vec<u8> {
    let mut memory = vec![0; DATA];
    memory[..4].copy_from_slice(&mask.to_le_bytes());
    for (lane, offset) in offsets.iter().enumerate() {
        memory[OFFSETS + lane * 8..][..8].copy_from_slice(&offset.to_le_bytes());
    }
    memory.extend((0..NUMBERS as u64).flat_map(|number| number.to_le_bytes()[..bytes].to_vec()));
    memory
}

fn number(memory: &[u8], at: usize, bytes: usize) -> u64 {
    let mut number = [0; 8];
    number[..bytes].copy_from_slice(&memory[at..][..bytes]);
    u64::from_le_bytes(number)
}

/// What the kernel makes of the memory.
fn expected(mut memory: Vec<u8>, bytes: usize, mask: u32, offsets: &[i64; 32]) -> Vec<u8> {
    let mut loaded = [7; 32];
    let live = || (0..32).filter(|lane| mask >> lane & 1 != 0);
    for _ in 0..2 {
        live().for_each(|lane| loaded[lane] = number(&memory, offsets[lane] as usize, bytes));
        for lane in live() {
            let stored = (loaded[lane] + 1000).to_le_bytes();
            memory[offsets[lane] as usize..][..bytes].copy_from_slice(&stored[..bytes]);
        }
    }
    for (lane, loaded) in loaded.into_iter().enumerate() {
        memory[RESULTS + lane * 8..][..bytes].copy_from_slice(&loaded.to_le_bytes()[..bytes]);
    }
    memory
}

/// Ways in which lanes choose numbers.
const WAYS: [fn(usize) -> usize; 8] = [
    |lane| lane + 32,
    |_| 63,
    |lane| lane / 8,
    |lane| lane ^ 8,
    |lane| lane ^ 16,
    |lane| lane ^ 1,
    |lane| if lane < 12 { lane + 3 } else { lane * 2 },
    |lane| lane / 16 * (lane % 16) + 5,
];

#[test]
fn numbers_of_the_live_lanes() {
    for (bytes, space) in [(4, "global"), (8, "global"), (4, "shared"), (8, "shared")] {
        let device = Device::new(&text(bytes, space));
        let bytes = bytes as usize;
        for (way, choose) in WAYS.into_iter().enumerate() {
            let offsets = std::array::from_fn(|lane| (DATA + choose(lane) * bytes) as i64);
            for mask in MASKS {
                let memory = memory(bytes, mask, &offsets);
                let out = device.upload(&memory);
                device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
                let got = device.download::<u8>(out, memory.len());
                let wanted = expected(memory, bytes, mask, &offsets);
                assert!(got == wanted, "way {way}, {bytes} bytes, {space}, lanes {mask:#x}");
            }
        }
    }
}

#[test]
fn numbers_in_several_allocations() {
    let device = Device::new(&text(4, "global"));
    let other = device.zeroed::<u32>(NUMBERS);
    for mask in MASKS {
        let out = device.upload(&memory(4, mask, &[0; 32]));
        // The second group of eight is elsewhere.
        let apart = |lane: usize| if lane / 8 == 1 { other.wrapping_sub(out) as i64 } else { DATA as i64 };
        let offsets = std::array::from_fn(|lane| apart(lane) + 4 * lane as i64);
        device.memory.write(out, &memory(4, mask, &offsets)).unwrap();
        device.memory.write(other, &[0; 4 * NUMBERS]).unwrap();
        device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
        let live = |lane: usize| mask >> lane & 1 != 0;
        let elsewhere = |lane: usize| lane / 8 == 1;
        let got = [(out + DATA as u64, false), (other, true)].map(|(place, there)| {
            let words = device.download::<u32>(place, 32);
            (0..32).all(|lane| {
                let before = if there { 0 } else { lane as u32 };
                words[lane] == before + if live(lane) && elsewhere(lane) == there { 2000 } else { 0 }
            })
        });
        assert_eq!(got, [true, true], "lanes {mask:#x}");
    }
}

#[test]
fn the_first_live_lane_out_of_bounds() {
    for bytes in [4usize, 8] {
        let device = Device::new(&text(bytes as u32, "global"));
        let end = (DATA + NUMBERS * bytes) as i64;
        let size = bytes as i64;
        for mask in MASKS {
            let (first, last) = (mask.trailing_zeros(), 31 - mask.leading_zeros());
            let check = |what: &str, offsets: [i64; 32], fault: Option<(u32, i64)>| {
                let memory = memory(bytes, mask, &offsets);
                let out = device.upload(&memory);
                let Some((lane, offset)) = fault else {
                    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
                    let got = device.download::<u8>(out, memory.len());
                    return assert!(
                        got == expected(memory, bytes, mask, &offsets),
                        "{what}, lanes {mask:#x}"
                    );
                };
                let fault = device.fault("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
                let wanted = ([lane, 0, 0], Some(out.wrapping_add_signed(offset)));
                assert_eq!((fault.thread, fault.address), wanted, "{what}, lanes {mask:#x}: {fault}");
            };
            let row = |start: i64| std::array::from_fn(|lane| start + lane as i64 * size);
            let up_to_the_end = end - size * (i64::from(last) + 1);
            check("a row up to the end", row(up_to_the_end), None);
            check("a row past the end", row(up_to_the_end + size), Some((last, end)));
            check(
                "a row that is not aligned",
                row(DATA as i64 + 2),
                Some((first, DATA as i64 + 2 + size * i64::from(first))),
            );
            check("one past the end", [end; 32], Some((first, end)));
            check("one across the end", [end - size / 2; 32], Some((first, end - size / 2)));
            let before = -size * (i64::from(first) + 1);
            check("a row from before the start", row(before), Some((first, -size)));
            // Eight lanes and eight lanes change places, so that those of a group are checked by themselves.
            let swapped = |start: i64| std::array::from_fn(|lane| start + (lane as i64 ^ 8) * size);
            let live = || (0..32u32).filter(|lane| mask >> lane & 1 != 0);
            let furthest = live().map(|lane| lane ^ 8).max().unwrap_or(0);
            let start = end - size * (i64::from(furthest) + 1);
            check("groups up to the end", swapped(start), None);
            check("groups past the end", swapped(start + size), Some((furthest ^ 8, end)));
            let odd = DATA as i64 + 2;
            check(
                "groups that are not aligned",
                swapped(odd),
                Some((first, odd + size * i64::from(first ^ 8))),
            );
        }
    }
}
