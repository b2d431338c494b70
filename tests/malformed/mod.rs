//! Damaged kernel images, the same list on every run: some made by hand, the others from the images of this repository by
//! random damage. A few of the latter are still whole, such as those with a comment damaged.

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

/// How many are made by random damage.
const MADE: usize = 500;

/// An image that is most likely damaged.
pub struct Malformed {
    /// What it was made of.
    pub name: String,
    pub bytes: Vec<u8>,
    /// Made by hand: no reader may take it.
    pub by_hand: bool,
}

/// The list: what is made by hand, then damaged copies of `originals`, which lie below `root`.
pub fn list(originals: &[PathBuf], root: &Path) -> Vec<Malformed> {
    let by_hand = |(name, bytes): (&str, _)| Malformed { name: name.to_string(), bytes, by_hand: true };
    let mut list: Vec<_> = handmade().into_iter().map(by_hand).collect();
    let originals: Vec<_> = originals.iter().map(|path| (path, std::fs::read(path).unwrap())).collect();
    let mut random = Random(0x5eed);
    for number in 1..=MADE {
        let (path, bytes) = &originals[random.below(originals.len())];
        let mut bytes = bytes.clone();
        damage(&mut random, &mut bytes);
        // Half of the texts stay text, so that more than their encoding is looked at.
        if path.extension().is_some_and(|kind| kind == "ptx") && random.below(2) == 0 {
            bytes.retain(|byte| byte.is_ascii() && *byte != 0);
        }
        let name = format!("number {number}, of {}", path.strip_prefix(root).unwrap().display());
        list.push(Malformed { name, bytes, by_hand: false });
    }
    list
}

/// Made by hand: name, bytes.
fn handmade() -> Vec<(&'static str, Vec<u8>)> {
    let elf = |bytes: &[u8]| [b"\x7fELF\x02\x01\x01\x41\x08".as_slice(), &[0; 7], bytes].concat();
    let fatbin = |body: &[u8]| {
        [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], (body.len() as u64).to_le_bytes().as_slice(), body].concat()
    };
    let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let entry = |body: &str| format!("{header}.visible .entry k() {{\n{body}\n}}\n").into_bytes();
    let mut bomb = vec![0; 64];
    bomb[..8].copy_from_slice(&[2, 0, 1, 1, 64, 0, 0, 0]);
    bomb[8..16].copy_from_slice(&16u64.to_le_bytes());
    bomb[16..20].copy_from_slice(&16u32.to_le_bytes());
    bomb[40..48].copy_from_slice(&0x2000u64.to_le_bytes());
    bomb[56..64].copy_from_slice(&u64::MAX.to_le_bytes());
    bomb.extend([0xff; 16]);
    vec![
        ("empty.ptx", Vec::new()),
        ("nul.ptx", vec![0; 100]),
        ("text.ptx", b"extern \"C\" __global__ void k() {}".to_vec()),
        ("bom.ptx", format!("\u{feff}{header}").into_bytes()),
        ("latin1.ptx", [header.as_bytes(), b"// \xe9\n"].concat()),
        ("version.ptx", b".version eight\n.target sm_90\n".to_vec()),
        ("open.ptx", format!("{header}.visible .entry k(").into_bytes()),
        ("brace.ptx", format!("{header}.visible .entry k() {{").into_bytes()),
        ("comment.ptx", format!("{header}/* no end").into_bytes()),
        ("string.ptx", format!("{header}.file 1 \"no end").into_bytes()),
        ("type.ptx", format!("{header}.global .u33 x;").into_bytes()),
        ("huge.ptx", format!("{header}.global .b8 x[18446744073709551615][9];").into_bytes()),
        ("operand.ptx", entry("mov.u32 %r1, ;")),
        ("bracket.ptx", entry("ld.u32 %r1, [%rd1;")),
        ("deep.ptx", entry(&"{".repeat(100_000))),
        (
            "nested.ptx",
            format!("{header}.const .u32 x = {}1{};", "(".repeat(100_000), ")".repeat(99_999)).into_bytes(),
        ),
        ("lists.ptx", format!("{header}.const .u32 x[1] = {};", "{".repeat(100_000)).into_bytes()),
        ("elf.cubin", elf(&[])),
        ("machine.cubin", elf(&[0xff; 48])),
        ("zero.cubin", elf(&[0; 48])),
        ("magic.fatbin", vec![0x50, 0xed, 0x55, 0xba]),
        ("length.fatbin", [[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], [0xff; 8]].concat()),
        ("short.fatbin", fatbin(&[1, 2, 3])),
        ("entry.fatbin", fatbin(&[0xff; 64])),
        ("bomb.fatbin", fatbin(&bomb)),
        ("bitcode.ptx", b"BC\xc0\xde....".to_vec()),
        ("gzip.ptx", b"\x1f\x8b....".to_vec()),
    ]
}

/// xorshift64*: the same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as usize % limit.max(1)
    }
}

/// Cuts, flips, overwrites, moves, inserts: one to four times.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        // Headers are a small part of most images: look for them.
        let early = random.below(bytes.len().min(1024));
        match random.below(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[early] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = [0, 0xff, 0x7f, b'{', b'"', b'*'][random.below(6)],
            3 => bytes.splice(early..early, [0xff; 4]).for_each(drop),
            4 => drop(bytes.drain(at..(at + 1 + random.below(16)).min(bytes.len()))),
            5 => {
                let piece = bytes[at..(at + random.below(64)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ if bytes.len() > 8 => {
                let at = early.min(bytes.len() - 8);
                bytes[at..at + 8].copy_from_slice(&(1u64 << random.below(64)).to_le_bytes());
            }
            _ => {}
        }
    }
}
