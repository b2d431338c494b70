//! The file of a recorded launch: what is written is read, and what anybody may write harms nobody.
#![cfg(feature = "record")]
#![allow(clippy::unwrap_used)]

use cuda_harness::record::{ATTRIBUTE, Contents, FormatError, Recording, Region};

fn recording() -> Recording {
    let before: Vec<u8> = (0..10_000_u32).map(|at| if at / 4096 == 1 { 0 } else { at as u8 }).collect();
    let mut after = before.clone();
    (after[5], after[70], after[9_999]) = (0xff, 0xfe, 0xfd);
    let region = Region {
        address: 0x7f00_0000_0000,
        bytes: before.len() as u64,
        after: Contents::changes(&before, &after),
        before: Contents::of(&before),
    };
    Recording {
        kernel: "kernel".to_owned(),
        grid: [1, 2, 3],
        block: [4, 5, 6],
        shared: 7,
        code: 0,
        driver: 13_000,
        attributes: vec![(4, [9; ATTRIBUTE])],
        parameters: vec![(0, 8), (8, 4)],
        arguments: vec![1; 12],
        image: b".version 8.0".to_vec(),
        regions: vec![region],
    }
}

#[test]
fn what_is_written_is_read() {
    let recording = recording();
    assert_eq!(Recording::read(&recording.to_bytes()), Ok(recording));
}

#[test]
fn memory_is_kept_without_zeros_and_changes_without_the_rest() {
    let recording = recording();
    let region = &recording.regions[0];
    let pieces = |contents: &Contents| {
        contents.list().iter().map(|(at, piece)| (*at, piece.len())).collect::<Vec<_>>()
    };
    assert_eq!(pieces(&region.before), [(0, 4096), (8192, 1808)]);
    assert_eq!(pieces(&region.after), [(0, 128), (9984, 16)]);
    for start in [0, 1, 69, 4090, 8191, 9_990] {
        let mut bytes = vec![0xaa; 10];
        region.after(start, &mut bytes);
        let expected = |at: u64| match at {
            5 => 0xff,
            70 => 0xfe,
            9_999 => 0xfd,
            _ if at / 4096 == 1 => 0,
            _ => at as u8,
        };
        assert_eq!(bytes, (start..start + 10).map(expected).collect::<Vec<_>>(), "{start}");
    }
}

#[test]
fn sections_of_later_programs_are_passed_over() {
    let file = recording().to_bytes();
    let end = file.len() - 12;
    let with = [&file[..end], b"what\x03\0\0\0\0\0\0\0abc", &file[end..]].concat();
    assert_eq!(Recording::read(&with), Ok(recording()));
}

#[test]
fn a_damaged_file_is_an_error_or_another_recording() {
    let file = recording().to_bytes();
    for end in 0..file.len() {
        assert!(Recording::read(&file[..end]).is_err(), "cut at {end}");
    }
    // Each byte in turn, but for those of long pieces. What is read can be written again.
    for place in (0..400).chain(file.len() - 400..file.len()) {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[place] = value;
            if let Ok(recording) = Recording::read(&damaged) {
                assert_eq!(
                    Recording::read(&recording.to_bytes()).as_ref(),
                    Ok(&recording),
                    "{place}: {value}"
                );
            }
        }
    }
    let mut later = file.clone();
    later[8] = 2;
    assert_eq!(Recording::read(&later), Err(FormatError::Version(2)));
}

/// Pieces that overlap, or lie outside of their memory.
#[test]
fn pieces_are_in_their_memory_and_in_order() {
    let file = |pieces: &[(u64, u64)]| {
        let mut content = [0x1000_u64, 64, pieces.len() as u64].map(u64::to_le_bytes).concat();
        for (at, length) in pieces {
            content.extend([*at, *length].map(u64::to_le_bytes).concat());
            content.extend(vec![1; *length as usize]);
        }
        content.extend(0_u64.to_le_bytes());
        let mut whole = recording();
        whole.regions.clear();
        let file = whole.to_bytes();
        let (start, end) = file.split_at(file.len() - 12);
        [start, b"memo", &(content.len() as u64).to_le_bytes(), &content, end].concat()
    };
    assert!(Recording::read(&file(&[(0, 8), (8, 56)])).is_ok());
    for pieces in
        [&[(0, 65)][..], &[(60, 8)], &[(8, 8), (0, 8)], &[(0, 8), (4, 8)], &[(u64::MAX, 8)], &[(0, 0)]]
    {
        let error = Recording::read(&file(pieces));
        assert!(matches!(error, Err(FormatError::Damaged { .. })), "{pieces:?}: {error:?}");
    }
}
