//! Damaged images by the hundred: each is refused with a place in it, in bounded memory and time, and none harms the emulator
//! or goes on to a driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_launch::{CudaContext, Driver};
use cuda_ptx::image::Image;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use support::{images, root, scratch};

/// Images that must be refused, and how many are made to find so many.
const WANTED: usize = 300;
const MOST: usize = 3000;

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
            format!("{header}.const .u32 x = {}1{};", "(".repeat(100_000), ")".repeat(100_000)).into_bytes(),
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

/// Looks into the file with at most 512 MiB of addresses; whether it was refused.
fn is_refused(path: &Path, what: &str) -> bool {
    let tool = env!("CARGO_BIN_EXE_cuda-launch");
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 524288; exec timeout 20 \"$0\" inspect --json \"$1\"", tool]);
        shell
    } else {
        let mut plain = Command::new(tool);
        plain.args(["inspect", "--json"]);
        plain
    };
    let output = command.arg(path).env("RUST_BACKTRACE", "0").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let answer: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{what}: {:?} {text} {complaint}", output.status));
    match output.status.code() {
        Some(0) => false,
        Some(3) => {
            let error = &answer["error"];
            let has = |field: &str| error[field].is_u64();
            assert!(has("line") && has("column") || has("offset"), "{what}: {error}");
            true
        }
        _ => panic!("{what}: {:?} {complaint}", output.status),
    }
}

#[test]
fn damaged_images_are_refused_with_a_place() {
    let folder = scratch("malformed");
    let emulator: Arc<Driver> = cuda_emulator::driver();
    let context = CudaContext::with_driver(&emulator, 0).unwrap();
    let path = folder.join("image");
    let mut refused = 0;
    for (name, bytes) in handmade() {
        std::fs::write(&path, &bytes).unwrap();
        assert!(is_refused(&path, name), "{name}: accepted");
        assert!(context.load_module(&bytes).is_err(), "{name}: loaded");
        refused += 1;
    }
    let originals: Vec<_> = images().into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect();
    let mut random = Random(0x5eed);
    let mut made = 0;
    while refused < WANTED {
        made += 1;
        assert!(made < MOST, "{refused} of {made} damaged images refused");
        let (bytes, origin) = &originals[random.below(originals.len())];
        let mut bytes = bytes.clone();
        damage(&mut random, &mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let what = format!("number {made}, of {}", origin.strip_prefix(root()).unwrap().display());
        if is_refused(&path, &what) {
            refused += 1;
            // What only texts have wrong is found when they are compiled: of a fatbin, the one that is chosen.
            let late = Image::read(&bytes).is_ok();
            assert!(late || context.load_module(&bytes).is_err(), "{what}: loaded");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
