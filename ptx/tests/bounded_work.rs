//! Hostile cubins, whose reading would take time or memory out of proportion to their length.
#![allow(clippy::unwrap_used)]

mod common;

use common::data;
use cuda_ptx::image::Image;
use std::ops::Range;

const CODE: u32 = 1;
const STRINGS: u32 = 3;
const NOTES: u32 = 7;
const ATTRIBUTES: u32 = 0x7000_0000;

/// A cubin with these contents, which begin with the names of sections, and a section of each of these types and ranges. All have the first
/// name.
fn cubin(contents: &[u8], sections: impl IntoIterator<Item = (u32, Range<usize>)>) -> Vec<u8> {
    const HEADER: usize = 64;
    let mut bytes = data("basic.sm_90.cubin")[..HEADER].to_vec();
    bytes.extend(contents);
    let table = bytes.len();
    bytes.extend([0; 64]);
    for (kind, range) in sections {
        bytes.extend([0, kind].map(u32::to_le_bytes).concat());
        bytes.extend([0; 16]);
        bytes.extend([HEADER + range.start, range.len()].map(usize::to_le_bytes).concat());
        bytes.extend([0; 24]);
    }
    let count = u16::try_from((bytes.len() - table) / 64).unwrap();
    bytes[40..48].copy_from_slice(&table.to_le_bytes());
    bytes[56..58].fill(0);
    bytes[60..64].copy_from_slice(&[count, 1].map(u16::to_le_bytes).concat());
    bytes
}

/// Ten minutes if each note asks for the name.
#[test]
fn many_notes_of_a_section_with_a_long_name() {
    let name = [&[b'a'; 4_000_000][..], &[0]].concat();
    let notes = vec![0; 12 * 400_000];
    let (names, all) = (name.len(), name.len() + notes.len());
    let bytes = cubin(&[name, notes].concat(), [(STRINGS, 0..names), (NOTES, names..all)]);
    assert!(Image::read(&bytes).is_ok());
}

/// Each section would be read, and a kernel's parameters be listed, once for each header.
#[test]
fn sections_that_are_read_share_no_bytes() {
    let read = |sections: &[(u32, Range<usize>)]| {
        let names = [(STRINGS, 0..1)];
        Image::read(&cubin(&[0; 25], names.into_iter().chain(sections.iter().cloned()))).map(drop)
    };
    for kind in [NOTES, STRINGS] {
        let section = |kind| (kind, 1..25);
        read(&[section(kind)]).unwrap();
        read(&[section(CODE), section(kind), section(CODE)]).unwrap();
        for first in [None, Some(CODE)] {
            let sections: Vec<_> = first.into_iter().chain([kind, kind]).map(section).collect();
            let error = read(&sections).unwrap_err();
            assert!(error.message().contains("overlaps"), "{kind}: {error}");
        }
        let error = read(&[(kind, 1..25), (CODE, 13..25)]).unwrap_err();
        assert!(error.message().contains("overlaps"), "{kind}: {error}");
    }
    let error = read(&[(CODE, 1..5), (ATTRIBUTES, 1..5), (ATTRIBUTES, 1..5)]).unwrap_err();
    assert!(error.message().contains("overlaps"), "{error}");
}
