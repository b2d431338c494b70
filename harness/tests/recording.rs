//! The file of a recorded launch: what is written is read, and what anybody may write harms nobody.
#![cfg(feature = "record")]
#![allow(clippy::unwrap_used)]

use cuda_harness::record::{ATTRIBUTE, Contents, FormatError, Recording, Region, SAMPLING, Texture};

fn recording() -> Recording {
    let before: Vec<u8> = (0..10_000_u32).map(|at| if at / 4096 == 1 { 0 } else { at as u8 }).collect();
    let mut after = before.clone();
    (after[5], after[70], after[9_999]) = (0xff, 0xfe, 0xfd);
    let region = Region {
        variable: None,
        address: 0x7f00_0000_0000,
        bytes: before.len() as u64,
        after: Contents::changes(&before, &after),
        before: Contents::of(&before),
    };
    let variable = Region {
        variable: Some("_ZN1a1bE".to_owned()),
        address: 0x7f00_0010_0000,
        bytes: 4,
        before: Contents::of(&[1, 2, 3, 4]),
        after: Contents::default(),
    };
    Recording {
        kernel: "kernel".to_owned(),
        grid: [1, 2, 3],
        block: [4, 5, 6],
        shared: 7,
        code: 0,
        driver: 13_000,
        limits: vec![(0, 1024), (2, 1 << 40)],
        attributes: vec![(4, [9; ATTRIBUTE])],
        parameters: vec![(0, 8), (8, 4)],
        arguments: vec![1; 12],
        textures: vec![Texture {
            offset: 4,
            address: 5,
            format: 6,
            channels: 7,
            width: 8,
            height: 9,
            pitch: 10,
            sampling: [11; SAMPLING],
        }],
        image: b".version 8.0".to_vec(),
        regions: vec![region, variable],
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

#[test]
fn a_variable_has_a_name() {
    let file = without_hash(&recording().to_bytes());
    let start = file.windows(8).position(|part| part == b"_ZN1a1bE").unwrap();
    for (byte, says) in [(0, "not the name of a variable"), (0xff, "not the name of a variable")] {
        let mut damaged = file.clone();
        damaged[start] = byte;
        let error = Recording::read(&damaged).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let mut damaged = file.clone();
    damaged[start - 8] = 200;
    let error = Recording::read(&damaged).unwrap_err().to_string();
    assert!(error.contains("a length of 200 bytes, and "), "{error}");
    let text = recording().to_string();
    assert!(text.ends_with("allocations: 1 of 10000 bytes in all, variables: 1 of 4 bytes in all"), "{text}");
}

#[test]
fn bytes_without_a_zero_page_are_kept_as_they_are() {
    let bytes = vec![1; 10_000];
    assert_eq!(Contents::of_vec(bytes.clone()), Contents::of(&bytes));
    let mut bytes = bytes;
    bytes[4096..8192].fill(0);
    assert_eq!(Contents::of_vec(bytes.clone()), Contents::of(&bytes));
    assert_eq!(Contents::of_vec(Vec::new()), Contents::default());
}

/// A file that was damaged on its way: whatever it was, it is seen.
#[test]
fn damage_is_found_by_the_hash() {
    let file = recording().to_bytes();
    let tag = file.len() - 12 - 20;
    assert_eq!(&file[tag..tag + 4], b"hash");
    // Its own tag may be damaged to one that is not known: then nothing else is.
    for place in (0..file.len()).filter(|place| !(tag..tag + 4).contains(place)) {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Recording::read(&damaged).is_err(), "byte {place}");
    }
    // Two sections that changed places are what they were, but for the hash.
    let conf = 12 + 12 + recording().kernel.len();
    let end = conf + 12 + 36;
    let swapped = [&file[..12], &file[conf..end], &file[12..conf], &file[end..]].concat();
    let error = Recording::read(&swapped).unwrap_err().to_string();
    assert!(error.contains(&format!("at byte {tag}: what is before has the hash")), "{error}");
    assert_eq!(Recording::read(&without_hash(&swapped)), Ok(recording()));
}

/// As a program writes it that knows no hash, or somebody who means no good.
fn without_hash(file: &[u8]) -> Vec<u8> {
    let end = file.len() - 12;
    [&file[..end - 20], &file[end..]].concat()
}

#[test]
fn what_a_launch_needs_is_there_once() {
    let file = without_hash(&recording().to_bytes());
    let mut at = 12;
    while &file[at..at + 4] != b"done" {
        let length = u64::from_le_bytes(file[at + 4..at + 12].try_into().unwrap()) as usize;
        let (tag, next) = (file[at..at + 4].to_vec(), at + 12 + length);
        let tag = String::from_utf8(tag).unwrap();
        let error = |file: Vec<u8>| Recording::read(&file).err().map(|error| error.to_string());
        let lacks = error([&file[..at], &file[next..]].concat()).unwrap_or_default();
        let is_needed =
            lacks.contains(&format!("no section `{tag}`")) || lacks.contains("0 bytes of arguments");
        assert_eq!(is_needed, ["kern", "conf", "imag", "args"].contains(&tag.as_str()), "{tag}: {lacks}");
        let twice = error([&file[..next], &file[at..]].concat()).unwrap_or_default();
        let is_once = twice == format!("it is damaged at byte {next}: a second section `{tag}`");
        assert_eq!(
            is_once,
            !["attr", "limi", "memo", "text", "vari"].contains(&tag.as_str()),
            "{tag}: {twice}"
        );
        at = next;
    }
}

/// Of a binary image the driver reads what its headers say: that has to be there.
#[test]
fn an_image_is_as_long_as_it_says() {
    let fatbin: Vec<u8> =
        [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &8_u64.to_le_bytes(), &[7; 8]].concat();
    let mut elf = vec![0; 64 + 64 + 100];
    elf[..5].copy_from_slice(b"\x7fELF\x02");
    // One section in the list behind the header, whose 100 bytes are at 128.
    (elf[40], elf[58], elf[60]) = (64, 64, 1);
    (elf[64 + 4], elf[64 + 24], elf[64 + 32]) = (1, 128, 100);
    let read = |image: &[u8]| {
        let recording = Recording { image: image.to_vec(), ..recording() };
        Recording::read(&recording.to_bytes()).map(drop).map_err(|error| error.to_string())
    };
    for image in [&fatbin, &elf] {
        assert_eq!(read(image), Ok(()));
        for length in 4..image.len() {
            let error = read(&image[..length]).unwrap_err();
            assert!(error.contains(&format!("an image of {length} bytes, whose headers say")), "{error}");
        }
    }
    // 32 bits, and an address in the process that was recorded.
    elf[4] = 1;
    let wrapper = [&0x4662_43b1_u32.to_le_bytes()[..], &[0; 20]].concat();
    for image in [elf, wrapper] {
        assert!(read(&image).unwrap_err().contains("whose headers say no length"));
    }
}

/// Files that nobody wrote: each of these seeds changes a few places of one, in ways that are likely to be taken for something.
#[test]
fn whatever_a_file_has_is_an_error_with_its_place_or_a_recording() {
    const ODD: [u64; 10] = [0, 1, 8, 64, 4096, u32::MAX as u64, 1 << 32, 1 << 47, 1 << 63, u64::MAX];
    let file = without_hash(&recording().to_bytes());
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut read = 0;
    for seed in 0..4000 {
        let mut damaged = file.clone();
        for _ in 0..1 + random(3) {
            // The first bytes say the most.
            let near = if random(2) == 0 { 300 } else { damaged.len() };
            let at = random(near.min(damaged.len()).max(9) - 8);
            match random(4) {
                0 => damaged[at] ^= 1 << random(8),
                1 => damaged[at..at + 8].copy_from_slice(&ODD[random(ODD.len())].to_le_bytes()),
                2 => drop(damaged.drain(at..at + 1 + random(8))),
                _ => damaged.truncate(at + 8),
            }
        }
        match Recording::read(&damaged) {
            Ok(recording) => {
                read += 1;
                assert_eq!(Recording::read(&recording.to_bytes()).as_ref(), Ok(&recording), "{seed}");
            }
            Err(FormatError::Damaged { offset, .. }) => assert!(offset <= damaged.len(), "{seed}"),
            Err(error) => assert!(!damaged.starts_with(&file[..12]), "{seed}: {error}"),
        }
    }
    assert!((100..2000).contains(&read), "{read} of them were read");
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

#[test]
fn words_are_at_multiples_of_eight_of_the_address() {
    let pointer = 0x0123_4567_89ab_cdef_u64;
    for at in 0..16 {
        let mut bytes = vec![0x55; 40];
        bytes[at..at + 8].copy_from_slice(&pointer.to_le_bytes());
        for address in 0x1000..0x1008 {
            let region = Region {
                variable: None,
                address,
                bytes: 40,
                before: Contents::of(&bytes),
                after: Contents::default(),
            };
            let (_, changed) = region.with_words(|word| (word == pointer).then_some(0));
            let is_word = (address + at as u64).is_multiple_of(8);
            assert_eq!(changed, usize::from(is_word), "{at} bytes behind {address:#x}");
        }
    }
}
