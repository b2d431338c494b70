//! What compressed entries hold, and what cubins say of resources.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::data;
use cuda_ptx::image::{Cubin, DebugInfo, Entry, Fatbin, ImageErrorKind, MAX_CONTENT, MAX_CONTENTS};

#[cfg(feature = "zstd")]
const COMPRESSED: &[&str] = &["basic.lz4.fatbin", "basic.zstd.fatbin"];
#[cfg(not(feature = "zstd"))]
const COMPRESSED: &[&str] = &["basic.lz4.fatbin"];

#[test]
fn compressed_entries_hold_what_plain_ones_hold() {
    let plain = data("basic.plain.fatbin");
    let plain = Fatbin::read(&plain).unwrap();
    for name in COMPRESSED {
        let packed = data(name);
        let packed = Fatbin::read(&packed).unwrap();
        assert_eq!(packed.entries().len(), plain.entries().len());
        assert!(packed.entries().iter().any(|entry| entry.compression().is_some()), "{name}");
        for (packed, plain) in packed.entries().iter().zip(plain.entries()) {
            let trimmed = |entry: &Entry<'_>| {
                let content = entry.content().unwrap().into_owned();
                let length = content.iter().rposition(|b| *b != 0).unwrap() + 1;
                content[..length].to_vec()
            };
            assert_eq!(packed.kind(), plain.kind());
            assert!(trimmed(packed) == trimmed(plain), "{name}: {:?}", packed.kind());
        }
    }
}

/// Place of the header of the first compressed entry: what is compressed says how long it is at 16.
fn compressed_entry(bytes: &[u8]) -> usize {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 16;
    while number(at + 16) == 0 {
        at += number(at + 4) + number(at + 8);
    }
    at
}

/// The size that an entry claims lies at 56 of its header.
#[test]
fn an_entry_that_claims_too_much_is_refused_before_it_is_read() {
    for name in COMPRESSED {
        let mut bytes = data(name);
        let claim = compressed_entry(&bytes) + 56;
        bytes[claim..][..8].copy_from_slice(&(MAX_CONTENT + 1).to_le_bytes());
        let error = Fatbin::read(&bytes).unwrap_err();
        assert_eq!(error.kind(), ImageErrorKind::TooLarge, "{name}: {error}");
        // Less than it holds is damage, and so is a block that is cut.
        bytes[claim..][..8].copy_from_slice(&10u64.to_le_bytes());
        assert_eq!(Fatbin::read(&bytes).unwrap_err().kind(), ImageErrorKind::Corrupt, "{name}");
    }
}

/// The flags of entries that are compressed.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;

/// A fatbin of entries of a few bytes, compressed in these ways in turn, that claim to hold `claim` bytes each.
fn claims(entries: usize, claim: u64, ways: &[u64]) -> Vec<u8> {
    let mut body = Vec::new();
    for way in ways.iter().cycle().take(entries) {
        // A block of eight bytes that says PTX, version, header, size, length without padding, the compression, and the claim.
        let mut entry = [0u8; 72];
        entry[0] = 1;
        entry[2..4].copy_from_slice(&0x0101u16.to_le_bytes());
        entry[4] = 64;
        entry[8] = 8;
        entry[16] = 8;
        entry[28] = 90;
        entry[40..48].copy_from_slice(&way.to_le_bytes());
        entry[56..64].copy_from_slice(&claim.to_le_bytes());
        body.extend(entry);
    }
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Each entry may hold that much; together they may not, and nothing is unpacked to find that out: the blocks are damaged,
/// which would be told of the first.
#[test]
fn what_all_entries_claim_together_is_limited_before_any_is_read() {
    let most = MAX_CONTENTS / MAX_CONTENT;
    for ways in [&[LZ4][..], &[ZSTD], &[LZ4, ZSTD], &[ZSTD, LZ4]] {
        let most_claim = claims(most as usize, MAX_CONTENT, ways);
        match Fatbin::read(&most_claim) {
            // Nobody looks into those.
            Ok(_) => assert!(ways == [ZSTD] && !cfg!(feature = "zstd"), "{ways:x?}"),
            Err(damaged) => assert_eq!(damaged.kind(), ImageErrorKind::Corrupt, "{ways:x?}: {damaged}"),
        }
        for (entries, claim) in
            [(most + 1, MAX_CONTENT), (3000, MAX_CONTENT), (most * 1024 + 1, MAX_CONTENT / 1024)]
        {
            let error = Fatbin::read(&claims(entries as usize, claim, ways)).unwrap_err();
            assert_eq!(error.kind(), ImageErrorKind::TooLarge, "{ways:x?}: {error}");
            assert!(error.message().contains(&MAX_CONTENTS.to_string()), "{ways:x?}: {error}");
            // The first that is too much.
            assert_eq!(error.offset() as u64, 16 + MAX_CONTENTS / claim * 72 + 64, "{ways:x?}");
        }
    }
}

#[cfg(not(feature = "zstd"))]
#[test]
fn zstd_without_the_feature_says_so() {
    let bytes = data("basic.zstd.fatbin");
    let error = Fatbin::read(&bytes).unwrap().entries()[0].content().unwrap_err();
    assert_eq!(error.kind(), ImageErrorKind::Compressed);
    assert!(error.message().contains("feature `zstd`"), "{error}");
}

/// attributes.cu: `bounds` has 100 ints of shared memory, `aligned` a copy of its argument on the stack.
#[test]
fn cubins_tell_memory() {
    let bytes = data("attributes.sm_90.cubin");
    let cubin = Cubin::read(&bytes).unwrap();
    let of = |name: &str| cubin.kernels().iter().find(|kernel| kernel.name == name).unwrap();
    assert_eq!((of("bounds").shared_memory, of("bounds").local_memory), (Some(400), Some(0)));
    assert_eq!((of("aligned").shared_memory, of("aligned").local_memory), (Some(0), Some(112)));
    assert_eq!((cubin.constant_memory(), cubin.debug_info(), cubin.ptx()), (0, DebugInfo::None, None));
    let bytes = data("features.sm_90.cubin");
    let features = Cubin::read(&bytes).unwrap();
    // Eight ints and six floats; the dynamic shared memory of `reduce` is none of its own.
    assert_eq!(features.constant_memory(), 56);
    let reduce = features.kernels().iter().find(|kernel| kernel.name == "reduce").unwrap();
    assert_eq!(reduce.shared_memory, Some(0));
}

#[test]
fn sections_of_debug_information_are_found_by_name() {
    let file = data("named.debug.sm_90.cubin");
    let cubin = Cubin::read(&file).unwrap();
    assert_eq!(cubin.debug_info(), DebugInfo::Full);
    let info = cubin.debug_section(".debug_info").unwrap();
    assert_eq!(u32::from_le_bytes(info[..4].try_into().unwrap()) as usize, info.len() - 4);
    assert!(cubin.debug_section(".debug_abbrev").is_some_and(|section| section.starts_with(&[1, 17])));
    for name in [".debug_none", ".text.scale", ""] {
        assert_eq!(cubin.debug_section(name), None, "{name}");
    }
}
