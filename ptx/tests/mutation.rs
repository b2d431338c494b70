//! Damaged inputs by the ten thousand: whatever comes, an answer and no panic. The numbers are the same on every run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Random, data, fixtures};
use cuda_ptx::image::{Entry, Image, ImageErrorKind};
use cuda_ptx::{parse, parse_function};

/// Bytes that mean something to the lexer, or are the edge of something.
const BYTES: &[u8] = b"{}()[]<>;:,.\"/*\\@!%$_+-|&?~=#'\n\t 0189afxuUFDe\0\x7f\x80\xc3\xff";

/// Pieces that mean something to the parser.
const WORDS: &[&str] = &[
    ".visible",
    ".extern",
    ".entry",
    ".func",
    ".param",
    ".reg",
    ".global",
    ".shared",
    ".align",
    ".b8",
    ".v4",
    ".ptr",
    "<",
    ">",
    "[]",
    "{",
    "}",
    "(",
    ")",
    "/*",
    "*/",
    "//",
    "\"",
    ";",
    ":",
    "::",
    ".loc 1 1 1",
    ".section",
    "= {",
    "generic(",
    "0xff(",
    "WARP_SZ",
    "1?2:",
    "-",
    "+-",
    "18446744073709551615",
    "0f00000000",
    "%r<9>",
    "_",
    ".callprototype",
    ".branchtargets",
    "@p",
    "@@",
    "#",
    "\0",
    "\u{e9}",
];

/// Cuts, overwrites, inserts, removes, doubles: one to four times.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = BYTES[random.below(BYTES.len())],
            2 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            3 => bytes.insert(at, BYTES[random.below(BYTES.len())]),
            4 => drop(bytes.drain(at..(at + random.below(20)).min(bytes.len()))),
            5 => {
                let piece = bytes[at..(at + random.below(200)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            6 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            _ => {
                let word = [b" ", WORDS[random.below(WORDS.len())].as_bytes(), b" "].concat();
                bytes.splice(at..at, word.repeat(1 + random.below(30)));
            }
        }
    }
}

/// Reads everything that can be read of a text.
fn read_text(text: &str) -> bool {
    let module = match parse(text) {
        Ok(module) => module,
        Err(error) => {
            check(&error, text);
            return false;
        }
    };
    let mut good = true;
    for function in &module.functions {
        assert!(function.parameter_bytes() <= isize::MAX as usize || function.params.len() > 1);
        assert!(parse_function(&text[function.span.clone()], function.line).is_ok());
        if let Err(error) = function.statements() {
            check(&error, text);
            good = false;
        }
    }
    good
}

/// An error points into the text.
fn check(error: &cuda_ptx::ParseError, text: &str) {
    assert!(error.line >= 1 && error.column >= 1 && !error.message.is_empty());
    assert!(error.line as usize <= text.matches('\n').count() + 1, "{error}");
    assert!(format!("{error:#}").len() < 2000);
}

#[test]
fn texts() {
    let sources: Vec<Vec<u8>> =
        fixtures(".ptx").iter().map(|name| data(name)).filter(|b| b.len() < 9000).collect();
    let mut random = Random::new(2026);
    let (mut good, mut bad) = (0, 0);
    for round in 0..12_000 {
        let mut bytes = sources[round % sources.len()].clone();
        damage(&mut random, &mut bytes);
        if read_text(&String::from_utf8_lossy(&bytes)) { good += 1 } else { bad += 1 }
    }
    // Damage in comments and numbers goes unseen; most of the rest does not.
    assert!(good > 500 && bad > 5000, "{good} {bad}");
}

/// Texts that were never good: pieces of the language in any order.
#[test]
fn nonsense() {
    let mut random = Random::new(7);
    for _ in 0..12_000 {
        let mut text = String::from(".version 8.0 .target sm_90 ");
        for _ in 0..random.below(60) {
            text.push_str(WORDS[random.below(WORDS.len())]);
            if random.below(3) > 0 {
                text.push([' ', '\n', 'x', '1'][random.below(4)]);
            }
        }
        read_text(&text);
    }
}

/// Reads everything that can be read of an image.
fn read_image(bytes: &[u8]) -> bool {
    match Image::read(bytes) {
        Err(error) => {
            assert!(error.offset() <= bytes.len() && !error.message().is_empty(), "{error}");
            assert!(error.kind() != ImageErrorKind::Compressed, "{error}");
            false
        }
        Ok(image) => {
            if let Image::Fatbin(fatbin) = &image {
                assert!(
                    fatbin
                        .entries()
                        .iter()
                        .all(|e: &Entry<'_>| e.offset() + e.payload().len() <= bytes.len())
                );
            }
            for kernel in image.kernels().unwrap_or_default() {
                for p in kernel.parameters.unwrap_or_default() {
                    assert!(p.size > 0 && p.offset + p.size <= kernel.parameter_bytes);
                }
            }
            true
        }
    }
}

/// Fields of headers take the values that break things.
fn damage_image(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        let edges: [u64; 12] = [
            0,
            1,
            7,
            0x7f,
            0xff,
            0x100,
            0xffff,
            0x7fff_ffff,
            0xffff_ffff,
            u64::MAX / 2,
            u64::MAX - 7,
            u64::MAX,
        ];
        let (value, width) = (edges[random.below(12)].to_le_bytes(), [1, 2, 4, 8][random.below(4)]);
        // Half of the time where the headers are.
        let at = match random.below(4) {
            0 => random.below(64.min(bytes.len())),
            1 => at / 8 * 8,
            2 => bytes.len().saturating_sub(1 + random.below(1600)),
            _ => at,
        };
        for (i, &b) in value[..width].iter().enumerate() {
            if let Some(byte) = bytes.get_mut(at + i) {
                *byte = b;
            }
        }
        if random.below(10) == 0 {
            bytes.truncate(random.below(bytes.len()));
        }
    }
}

#[test]
fn images() {
    let names: Vec<String> = [fixtures(".cubin"), fixtures(".fatbin")].concat();
    let sources: Vec<Vec<u8>> = names.iter().map(|name| data(name)).collect();
    let mut random = Random::new(580);
    let (mut good, mut bad) = (0, 0);
    for round in 0..30_000 {
        let mut bytes = sources[round % sources.len()].clone();
        damage_image(&mut random, &mut bytes);
        if read_image(&bytes) { good += 1 } else { bad += 1 }
    }
    // Damage to machine code goes unseen.
    assert!(good > 5000 && bad > 10_000, "{good} {bad}");
}
