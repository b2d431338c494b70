//! Cut and damaged images: each refused, with the offset of what is wrong. Drivers crash on most of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use ImageErrorKind::{Corrupt, Truncated, Unrecognized};
use common::{data, fixtures};
use cuda_ptx::image::{Cubin, Fatbin, Image, ImageErrorKind, Kernel};

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Where things lie in a cubin, found without the code under test.
struct Map {
    bytes: Vec<u8>,
    table: usize,
}

impl Map {
    fn new(name: &str) -> Self {
        let bytes = data(name);
        Self { table: u64_at(&bytes, 40), bytes }
    }

    /// Header of the section of this name.
    fn header(&self, name: &str) -> usize {
        let strings = u64_at(&self.bytes, self.table + 64 * usize::from(self.bytes[62]) + 24);
        let wanted = [name.as_bytes(), b"\0"].concat();
        let count = usize::from(self.bytes[60]);
        let headers = (0..count).map(|i| self.table + 64 * i);
        let mut found =
            headers.filter(|&h| self.bytes[strings + u32_at(&self.bytes, h)..].starts_with(&wanted));
        found.next().unwrap_or_else(|| panic!("no section {name}"))
    }

    /// Contents of the section of this name.
    fn contents(&self, name: &str) -> usize {
        u64_at(&self.bytes, self.header(name) + 24)
    }
}

/// Writes `values` at `at` and reads the image.
#[track_caller]
fn refused(bytes: &[u8], at: usize, values: &[u8], kind: ImageErrorKind, offset: usize, message: &str) {
    let mut bytes = bytes.to_vec();
    bytes[at..at + values.len()].copy_from_slice(values);
    let error = match Image::read(&bytes) {
        Err(error) => error,
        Ok(_) => panic!("{values:x?} at {at:#x} was accepted; wanted {message}"),
    };
    assert_eq!((error.kind(), error.offset()), (kind, offset), "{values:x?} at {at:#x}: {error}");
    assert!(error.message().contains(message), "{error}\nwanted: {message}");
    assert!(error.to_string().starts_with(&format!("byte {offset} ({offset:#x}): ")), "{error}");
}

#[test]
fn nothing_like_an_image() {
    let cases: [(&[u8], &str); 17] = [
        (b"", "the image is empty"),
        (b"\0", "the bytes match none of these"),
        (b"\x7f", "the bytes match none of these"),
        (b"\x7fEL", "the bytes match none of these"),
        (b"\x7fELG", "the bytes match none of these"),
        (b"hello", "does not begin with `.version`"),
        (b".target sm_90", "does not begin with `.version`"),
        (b"// only a comment\n", "does not begin with `.version`"),
        (b"/* .version 8.0", "does not begin with `.version`"),
        (b"\xef\xbb\xbf.version 8.0", "byte order mark"),
        (b"\xb1\x43\x62\x46\x01\0\0\0", "wrapper of a fatbin"),
        (b"\x28\xb5\x2f\xfd....", "zstd"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"!<arch>\n", "archive"),
        (b"MZ\x90\0", "Windows"),
        (b"kernels/add.ptx", "a path, not the content"),
        (b"a text about add.ptx", "does not begin with `.version`"),
    ];
    for (bytes, message) in cases {
        let error = Image::read(bytes).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (Unrecognized, 0), "{bytes:?}");
        assert!(error.message().contains(message), "{error}");
        assert_eq!(Image::identify(bytes).unwrap_err(), error);
    }
    let sources: [(&[u8], &str); 5] = [
        (b"BC\xc0\xde....", "LLVM bitcode"),
        (b"extern \"C\" __global__ void k(float* x) {}", "CUDA C++, which is compiled first: by `nvcc -ptx`"),
        (b"// add.cu\n#include <cuda_fp16.h>\n", "CUDA C++"),
        (b"; ModuleID = 'k'\n", "LLVM IR"),
        (b"target triple = \"nvptx64-nvidia-cuda\"\n", "LLVM IR"),
    ];
    for (bytes, message) in sources {
        let error = Image::read(bytes).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ImageErrorKind::Source, 0), "{bytes:?}");
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn ptx_that_is_no_text() {
    let good = b".version 8.0\n.target sm_90\n";
    let cut = [&good[..], b"\xff\xfe"].concat();
    let error = Image::read(&cut).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (Corrupt, 27), "{error}");
    let nul = [&good[..], b"\0.entry k() { }"].concat();
    let error = Image::read(&nul).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (Corrupt, 27), "{error}");
}

/// No part of a cubin or fatbin passes for the whole; what is missing is at the end of the bytes.
#[test]
fn every_cut() {
    let mut cuts = 0;
    for name in fixtures(".cubin").iter().chain(&fixtures(".fatbin")) {
        let bytes = data(name);
        let step = 1 + bytes.len() / 6000;
        for length in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            let error = Image::read(&bytes[..length]).expect_err(name);
            let (kind, offset) = if length < 4 { (Unrecognized, 0) } else { (Truncated, length) };
            // What is inside a fatbin's entry cannot be cut without cutting the fatbin.
            assert_eq!((error.kind(), error.offset()), (kind, offset), "{name} cut to {length}: {error}");
            cuts += 1;
        }
    }
    assert!(cuts > 40_000);
}

/// What a driver made of these bytes of another cubin is in the comment.
#[test]
fn flips_that_were_given_to_a_driver() {
    let m = &Map::new("basic.sm_90.cubin");
    let end = m.bytes.len();
    let flip = |at, value: u8, kind, offset, message| refused(&m.bytes, at, &[value], kind, offset, message);
    flip(0x00, 0x00, Unrecognized, 0, "match none"); // INVALID_IMAGE
    flip(0x04, 0x01, Corrupt, 4, "64-bit little-endian"); // UNKNOWN
    flip(0x10, 0xff, Corrupt, 16, "ELF type 255"); // loaded
    flip(0x12, 0x3e, Corrupt, 18, "machine 62; a cubin has 190"); // INVALID_IMAGE
    flip(0x28, 0xff, Corrupt, 0x10ff, "does not begin with the empty section"); // crash
    flip(0x2b, 0xff, Truncated, end, "section table"); // crash
    flip(0x34, 0xff, Corrupt, 52, "size of an ELF header is 255"); // loaded
    flip(0x3c, 0xff, Truncated, end, "section table"); // crash
    flip(0x3e, 0xff, Corrupt, 62, "section 255 of 18 is not a table of section names"); // crash
}

#[test]
fn elf_header() {
    let m = &Map::new("basic.sm_90.cubin");
    let refuse = |at, values: &[u8], offset, message| refused(&m.bytes, at, values, Corrupt, offset, message);
    refuse(5, &[2], 4, "little-endian");
    refuse(6, &[0], 4, "version 1");
    refuse(0x10, &[3], 16, "ELF type 3");
    refuse(0x30, &[5], 48, "flags 0x06005a05, of which 0x1 is never set");
    refuse(0x33, &[0x80], 48, "of which 0x80000000 is never set");
    refused(&data("legacy.sm_90a.cubin"), 0x33, &[0xff], Corrupt, 48, "0x80000000 is never set");
    refuse(0x31, &[0], 48, "sm_0");
    refuse(0x31, &[0xff], 48, "sm_255");
    refuse(0x3a, &[63], 58, "section header is 63");
    refuse(0x36, &[55], 54, "program header is 55");
    refuse(0x28, &[0; 8], 0, "does not begin with the empty section");
}

#[test]
fn section_headers() {
    let m = &Map::new("basic.sm_90.cubin");
    let end = m.bytes.len();
    let refuse =
        |at, values: &[u8], kind, offset, message: &str| refused(&m.bytes, at, values, kind, offset, message);
    let text = m.header(".text.scale");
    refuse(text, &[0xff, 0xff, 0xff, 0x7f], Corrupt, text, "name at 2147483647 of a string table");
    refuse(text + 24, &[0xff; 8], Truncated, end, "section 13 reaches to byte 18446744073709551615");
    refuse(text + 24, &[0, 0, 1], Truncated, end, "section 13");
    refuse(text + 32, &[0xff; 7], Truncated, end, "section 13");
    refuse(text + 44, &[0xff], Corrupt, text + 44, "`.text.scale` belongs to symbol 255, but there are 13");
    refuse(text + 48, &[3], Corrupt, text + 48, "alignment of section 13");
    let constant = m.header(".nv.constant0.scale");
    refuse(constant + 44, &[18], Corrupt, constant + 44, "belongs to section 18, but there are 18");
    let symbols = m.header(".symtab");
    refuse(symbols + 40, &[3], Corrupt, symbols + 40, "links section 3, which is not a string table");
    refuse(symbols + 40, &[99], Corrupt, symbols + 40, "links section 99");
    refuse(symbols + 44, &[14], Corrupt, symbols + 44, "first global symbol is 14, but the table has 13");
    refuse(symbols + 56, &[23], Corrupt, symbols + 56, "have 23 bytes instead of 24");
    refuse(symbols + 32, &[0x37], Corrupt, symbols + 32, "not a multiple of 24");
    let relocations = m.header(".rela.debug_frame");
    refuse(relocations + 40, &[2], Corrupt, relocations + 40, "not a symbol table");
    refuse(relocations + 44, &[18], Corrupt, relocations + 44, "belongs to section 18");
    refuse(relocations + 44, &[0], Corrupt, relocations + 44, "relocates section 0");
    refuse(m.table + 24, &[1], Corrupt, m.table, "does not begin with the empty section");
    refuse(m.table + 4, &[1], Corrupt, m.table, "does not begin with the empty section");
    refuse(m.table + 32, &[1], Corrupt, m.table, "does not begin with the empty section");
    // A second constant bank of the same name.
    let other = m.bytes[m.header(".nv.constant0.vecadd")..][..4].to_vec();
    let last = m.header(".nv.constant0.vecadd");
    refuse(constant, &other, Corrupt, last, "a second section `.nv.constant0.vecadd`");
}

/// Linkers keep the functions of one name that two inputs have to themselves.
#[test]
fn code_of_one_name() {
    let m = Map::new("basic.sm_90.cubin");
    let (scale, vecadd) = (m.header(".text.scale"), m.header(".text.vecadd"));
    let mut twice = m.bytes.clone();
    twice.copy_within(vecadd..vecadd + 4, scale);
    let second = scale.max(vecadd);
    // Of two kernels, one would not be found.
    refused(&m.bytes, scale, &m.bytes[vecadd..][..4], Corrupt, second, "a second section `.text.vecadd`");
    // Without the mark of kernels they are functions.
    let symbols = m.contents(".symtab");
    let count = u64_at(&m.bytes, m.header(".symtab") + 32) / 24;
    for other in (0..count).map(|index| symbols + 24 * index).filter(|at| m.bytes[at + 4] & 0xf == 2) {
        twice[other + 5] &= !0x10;
    }
    let image = Image::read(&twice).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(image, Image::Cubin(cubin) if cubin.kernels().is_empty()));
}

#[test]
fn parts_that_overlap() {
    let m = &Map::new("basic.sm_90.cubin");
    let refuse =
        |at, values: &[u8], offset, message: &str| refused(&m.bytes, at, values, Corrupt, offset, message);
    let place = |name: &str| m.contents(name).to_le_bytes();
    let text = m.header(".text.scale");
    refuse(text + 24, &[0; 8], text + 24, ".text.scale at 0x0 overlaps ELF header at 0x0");
    refuse(text + 24, &place(".symtab"), text + 24, ".text.scale at 0x350 overlaps .symtab at 0x350");
    refuse(text + 24, &(m.table + 8).to_le_bytes(), text + 24, "overlaps section table");
    let symbols = m.header(".symtab");
    refuse(symbols + 24, &place(".nv.info"), symbols + 24, ".symtab at 0x61c overlaps .nv.info at 0x61c");
    // A good program header table in a section of code.
    let (table, inside) = (u64_at(&m.bytes, 32), m.contents(".text.vecadd") + 8);
    let mut moved = m.bytes.clone();
    moved.copy_within(table..table + 5 * 56, inside);
    let message = format!("program header table at {inside:#x} overlaps .text.vecadd");
    refused(&moved, 0x20, &inside.to_le_bytes(), Corrupt, 0x20, &message);
}

#[test]
fn program_headers() {
    let m = &Map::new("basic.sm_90.cubin");
    let end = m.bytes.len();
    let table = u64_at(&m.bytes, 32);
    let refuse =
        |at, values: &[u8], kind, offset, message: &str| refused(&m.bytes, at, values, kind, offset, message);
    refuse(0x20, &[0xff; 8], Truncated, end, "program header table");
    refuse(0x38, &[0xff, 0xff], Truncated, end, "program header table");
    refuse(table + 2 * 56 + 8, &[0xff; 4], Truncated, end, "segment 2");
    refuse(table + 2 * 56 + 32, &[0xff; 4], Truncated, end, "segment 2");
    refuse(table + 2 * 56 + 40, &[0; 8], Corrupt, table + 2 * 56 + 40, "in the file but 0 in memory");
}

#[test]
fn symbols_relocations_and_notes() {
    let m = &Map::new("features.sm_90.cubin");
    let refuse =
        |at, values: &[u8], offset, message: &str| refused(&m.bytes, at, values, Corrupt, offset, message);
    let symbols = m.contents(".symtab");
    // Symbol 7 is the constant `table`, symbol 39 the kernel `indirect`.
    let (table, kernel) = (symbols + 7 * 24, symbols + 39 * 24);
    refuse(table, &[0xff; 4], table, "name at 4294967295 of a string table");
    refuse(table + 6, &[59, 0], table + 6, "symbol `table` lies in section 59, which does not exist");
    refuse(table + 6, &[0x00, 0xff], table + 6, "lies in section 65280");
    refuse(table + 6, &[0xff, 0xff], table + 6, "lies in section 65535");
    refuse(table + 8, &[0xff; 8], table + 8, "symbol `table` has 32 bytes at 0xffffffffffffffff");
    refuse(
        kernel + 16,
        &[0, 0, 1],
        kernel + 8,
        "symbol `indirect` has 65536 bytes at 0x0 of `.text.indirect`",
    );
    let relocations = m.contents(".rela.nv.global.init");
    refuse(relocations, &[0x65], relocations, "place 0x65 in `.nv.global.init`, which has 0x65 bytes");
    refuse(relocations + 12, &[57], relocations + 12, "relocation by symbol 57, but there are 57");
    let note = m.contents(".note.nv.tkinfo");
    refuse(note, &[0xff; 4], note, "a note of `.note.nv.tkinfo` reaches beyond its section");
    refuse(note + 4, &[0x99], note, "reaches beyond its section");
    refuse(note + 4, &[0x84], note + 44, "has no string at 96");
    let other = m.contents(".note.nv.cuinfo");
    refuse(other + 4, &[0], other + 24, "a note of `.note.nv.cuinfo` is truncated");
    refuse(note + 24 + 8, &[0xff, 0xff], note + 24 + 8, "has no string at 65535");
    // A name that is no UTF-8.
    let name = m.contents(".strtab") + u32_at(&m.bytes, table);
    refuse(name + 2, &[0xff], name, "not UTF-8");
}

#[test]
fn attribute_records() {
    let m = &Map::new("attributes.sm_90.cubin");
    let refuse =
        |at, values: &[u8], offset, message: &str| refused(&m.bytes, at, values, Corrupt, offset, message);
    let aligned = m.contents(".nv.info.aligned");
    // Its records: 0x37 with 4 bytes, then the parameters 3, 2, 1, 0 with 12 bytes each.
    let parameter = |n: usize| aligned + 8 + 16 * (3 - n);
    assert_eq!(m.bytes[parameter(1)..][..10], [4, 0x17, 12, 0, 0, 0, 0, 0, 1, 0]);
    refuse(aligned, &[5], aligned, "attribute 0x37 has the unknown format 5");
    refuse(aligned, &[0], aligned, "the unknown format 0");
    refuse(
        aligned + 2,
        &[0xff, 0xff],
        aligned + 2,
        "attribute 0x37 of 65535 bytes reaches beyond its section",
    );
    refuse(parameter(1) + 2, &[8], parameter(1) + 2, "attribute 0x17 has 8 bytes instead of 12");
    // Two of one number: the second of them is told.
    refuse(parameter(1) + 8, &[2], parameter(1), "parameter 2 of `aligned`");
    refuse(parameter(3) + 8, &[7], parameter(3), "parameter 7 of `aligned`");
    refuse(
        parameter(3) + 10,
        &[0x79],
        parameter(3),
        "parameter 3 of `aligned` with 8 bytes at 121 does not fit",
    );
    refuse(parameter(0) + 14, &[0, 0], parameter(0), "parameter 0 of `aligned` with 0 bytes at 0");
    refuse(parameter(0) + 12, &[0xff; 4], parameter(0), "with 16383 bytes");
    let info = m.contents(".nv.info");
    assert_eq!(m.bytes[info..][..4], [4, 0x2f, 8, 0]);
    refuse(info + 2, &[4], info + 2, "attribute 0x2f has 4 bytes instead of 8");
}

/// No compiler writes such files, and no rule forbids them.
#[test]
fn kernels_that_share_a_section() {
    let m = Map::new("attributes.sm_90.cubin");
    let kernels = |bytes: &[u8]| -> Vec<String> {
        let of_one = |k: &Kernel<'_>| {
            format!("{} {:?} {:?} {}", k.name, k.required_threads, k.cluster, k.parameters.is_some())
        };
        Cubin::read(bytes).unwrap().kernels().iter().map(of_one).collect()
    };
    let with = |name: &str| kernels(&m.bytes).iter().position(|kernel| kernel.starts_with(name)).unwrap();
    let (shaped, clusters) = (with("shaped"), with("clusters"));
    // The records of one are about the other, too.
    let mut bytes = m.bytes.clone();
    let (from, to) = (m.header(".nv.info.clusters") + 44, m.header(".nv.info.shaped") + 44);
    bytes.copy_within(from..from + 4, to);
    let both = kernels(&bytes);
    assert_eq!(both[shaped], "shaped None None false");
    assert!(both[clusters].starts_with("clusters Some([32, 2, 1]) Some("), "{}", both[clusters]);
    // Both begin in one section, whose records are those of the first.
    let symbols = m.contents(".symtab");
    let count = u64_at(&m.bytes, m.header(".symtab") + 32) / 24;
    let of_kernels = |at: &usize| m.bytes[at + 4] & 0xf == 2 && m.bytes[at + 5] & 0x10 != 0;
    let of_kernels: Vec<usize> = (0..count).map(|index| symbols + 24 * index).filter(of_kernels).collect();
    let (first, second) = (of_kernels[shaped.min(clusters)], of_kernels[shaped.max(clusters)]);
    let mut bytes = m.bytes.clone();
    bytes.copy_within(first + 6..first + 24, second + 6);
    let twice = kernels(&bytes);
    assert!(twice[shaped.min(clusters)].ends_with("true") && twice[shaped.max(clusters)].ends_with("false"));
}

#[test]
fn fatbin_headers() {
    let good = data("basic.plain.fatbin");
    let refuse =
        |at, values: &[u8], kind, offset, message: &str| refused(&good, at, values, kind, offset, message);
    let end = good.len();
    refuse(0, &[0x51], Unrecognized, 0, "the bytes match none of these");
    refuse(4, &[2], Corrupt, 4, "fatbin of version 2");
    refuse(6, &[8], Corrupt, 6, "fatbin header of 8 bytes");
    refuse(8, &[0xff; 8], Truncated, end, "fatbin reaches to byte 18446744073709551615");
    refuse(8, &[1, 0x1e], Truncated, end, "fatbin reaches");
    // A body that ends inside an entry.
    refuse(8, &[0xf8, 0x1d], Truncated, 0x1e08, "fatbin entry");
    refuse(8, &[0x08], Truncated, end, "fatbin reaches to byte 7704");
    let second = 16 + 64 + 5744;
    for (entry, length) in [(16, 64), (second, 80)] {
        refuse(entry + 2, &[2], Corrupt, entry + 2, "fatbin entry of version 0x0102");
        refuse(entry + 4, &[63], Corrupt, entry + 4, "header of a fatbin entry has 63 bytes, less than 64");
        refuse(entry + 4, &[0xff; 4], Truncated, end, "header of a fatbin entry");
        refuse(entry + 8, &[0xff; 8], Truncated, end, "fatbin entry");
        refuse(entry + 16, &[0xff; 4], Corrupt, entry + 16, "compressed bytes in a payload of");
        refuse(
            entry + 36,
            &[8],
            Corrupt,
            entry + 32,
            &format!("name of 8 bytes at 0 of an entry's header of {length}"),
        );
        refuse(entry + 32, &[64, 0, 0, 0, 99], Corrupt, entry + 32, "name of 99 bytes at 64");
        refuse(entry + 40, &[0x11, 0xa0], Corrupt, entry + 40, "compressed in two ways");
        refuse(entry + 40, &[0x11, 0x80], Corrupt, entry + 56, "a compressed entry of size 0");
    }
    // The second entry has a record of options, at 64 and empty.
    refuse(second + 20, &[0x3f], Corrupt, second + 20, "record of the options at 63");
    refuse(
        second + 20,
        &[0x49],
        Corrupt,
        second + 20,
        "record of the options at 73 of an entry's header of 80",
    );
    refuse(second + 64, &[0xff], Corrupt, second + 64, "options of 0 bytes at 255");
    refuse(second + 68, &[9], Corrupt, second + 64, "options of 9 bytes at 72 of an entry's header of 80");
    // Both kinds of entry are what they say.
    refuse(16, &[1], Corrupt, 80, "is marked as PTX but holds something else");
    refuse(second, &[2], Corrupt, second + 80, "no ELF");
    refuse(second + 80 + 8, b"x", Unrecognized, second + 80, "does not begin with `.version`");
    refuse(second + 80 + 100, &[0xff], Corrupt, second + 80 + 100, "not UTF-8");
}

/// The offset of an error inside an entry counts from the start of the fatbin.
#[test]
fn damaged_cubins_in_fatbins() {
    let good = data("basic.plain.fatbin");
    refused(&good, 80 + 0x12, &[0x3e], Corrupt, 80 + 18, "machine 62");
    refused(&good, 80 + 0x2b, &[0xff], Truncated, 80 + 5744, "section table");
}

/// Names may share bytes, but not without bound: reading them must not take the square of the file's length.
#[test]
fn names_that_all_share_one_string() {
    let m = Map::new("features.sm_90.cubin");
    let mut bytes = m.bytes.clone();
    let (symbols, count) = (m.contents(".symtab"), u64_at(&bytes, m.header(".symtab") + 32) / 24);
    let (strings, size) = (m.contents(".strtab"), u64_at(&bytes, m.header(".strtab") + 32));
    // One long string, which every symbol has as its name: 57 times 2 kB are no attack.
    bytes[strings..strings + size - 1].fill(b'a');
    for symbol in 0..count {
        bytes[symbols + symbol * 24..][..4].fill(0);
    }
    assert!(Image::read(&bytes).is_ok());
    assert!(Image::read(&with_many_symbols(50, 1000)).is_ok());
    let many = with_many_symbols(200_000, 100_000);
    let error = Image::read(&many).unwrap_err();
    assert!(error.message().contains("of a string table of 100001 bytes"), "{error}");
}

/// A cubin of nothing but symbols that are all named by one long string.
fn with_many_symbols(symbols: usize, length: usize) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.shstrtab\0.strtab\0.symtab\0";
    let (names, strings) = (64, 64 + NAMES.len());
    let table = strings + length + 1;
    let headers = table + 24 * symbols;
    let mut bytes = data("basic.sm_90.cubin")[..64].to_vec();
    bytes.extend_from_slice(NAMES);
    bytes.resize(strings + length, b'a');
    bytes.resize(headers, 0);
    let header = |name: u32, kind: u32, place: usize, size: usize, link: u32, entry: u64| {
        let mut h = [name.to_le_bytes(), kind.to_le_bytes()].concat();
        h.resize(24, 0);
        h.extend([place as u64, size as u64].map(u64::to_le_bytes).concat());
        h.extend([link, 0].map(u32::to_le_bytes).concat());
        h.extend([1, entry].map(u64::to_le_bytes).concat());
        h
    };
    bytes.extend([0; 64]);
    bytes.extend(header(1, 3, names, NAMES.len(), 0, 0));
    bytes.extend(header(11, 3, strings, length + 1, 0, 0));
    bytes.extend(header(19, 2, table, 24 * symbols, 2, 24));
    bytes[40..48].copy_from_slice(&(headers as u64).to_le_bytes());
    bytes[56..58].fill(0);
    bytes[60..64].copy_from_slice(&[4, 0, 1, 0]);
    bytes
}

/// A damaged LZ4 block would be decompressed to nonsense, or past its end.
#[test]
fn blocks_of_lz4_are_looked_at() {
    let whole = data("basic.lz4.fatbin");
    let (start, size) = {
        let fatbin = Fatbin::read(&whole).unwrap();
        let entry = fatbin.entries()[1];
        (entry.offset(), entry.payload().len())
    };
    let mut refused = 0;
    for at in start..start + size {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        match Fatbin::read(&bytes) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!((error.kind(), error.offset()), (Corrupt, start), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > size / 4, "{refused} of {size}");
    let mut bytes = whole.clone();
    bytes[start] = 0xff;
    assert!(Image::read(&bytes).is_err());
}
