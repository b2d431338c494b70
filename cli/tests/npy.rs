//! Files of numpy: what is not read as numpy means it is refused, with the next step.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::{Path, PathBuf};
use support::{Run, finished, json, scratch, tool};

/// A file with this header in this version of the format, and these data.
fn file(version: [u8; 2], header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = [b"\x93NUMPY", &version[..]].concat();
    let header = format!("{header}\n");
    match version[0] {
        1 => bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes()),
        _ => bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes()),
    }
    [bytes, header.into_bytes(), data.to_vec()].concat()
}

fn header(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

fn floats(count: u16) -> Vec<u8> {
    (0..count).flat_map(|number| f32::from(number).to_le_bytes()).collect()
}

fn saxpy(file: &Path, ty: &str) -> Vec<String> {
    let from = format!("in:{ty}:@{}", file.display());
    let words = ["run", "examples/kernels/saxpy.ptx", "saxpy", "--arg", "u32:6", "--arg", "f32:1", "--arg"];
    let mut words: Vec<String> = words.map(str::to_owned).into();
    words.extend([from, "--arg".into(), "inout:f32:6*0".into()]);
    words
}

fn refused(path: &Path, ty: &str) -> Run {
    finished(&tool().args(saxpy(path, ty)).output().unwrap())
}

fn written(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("array.npy");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn arrays_are_read_as_numpy_means_them() {
    let folder = scratch("npy-read");
    let plain = |shape: &str| header("'<f4'", "False", shape);
    let cases = [
        file([1, 0], &plain("(6,)"), &floats(6)),
        file([1, 0], &plain("(2, 3)"), &floats(6)),
        file([2, 0], &plain("(3, 1, 2)"), &floats(6)),
        file([3, 0], &plain("(6,)"), &floats(6)),
        // Keys in another order, other quotes, no comma at the end, and `=` for the machine's own order.
        file([1, 0], r#"{"shape": (6,), "fortran_order": False, "descr": "=f4"}"#, &floats(6)),
        // In one dimension both orders are one.
        file([1, 0], &header("'<f4'", "True", "(6,)"), &floats(6)),
        file([1, 0], &header("'<f4'", "True", "(1, 6, 1)"), &floats(6)),
    ];
    for (number, bytes) in cases.iter().enumerate() {
        let words = saxpy(&written(&folder, bytes), "f32");
        let (code, answer) = json(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 0, "case {number}: {answer}");
        let values = &answer["outputs"][0]["values"];
        let numbers: Vec<f64> = values.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
        assert_eq!(numbers, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "case {number}");
    }
    // No elements, whatever the other extent.
    let none = refused(&written(&folder, &file([1, 0], &plain("(18446744073709551615, 0)"), &[])), "f32");
    assert!(!none.says("larger than any memory"), "{}", none.err);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn fortran_order_is_refused() {
    let folder = scratch("npy-fortran");
    for shape in ["(2, 3)", "(3, 2)", "(1, 2, 3)", "(6, 1, 1, 1, 1)"] {
        let found =
            refused(&written(&folder, &file([1, 0], &header("'<f4'", "True", shape), &floats(6))), "f32");
        let is_flat = shape.starts_with("(6");
        assert_eq!(found.code, if is_flat { 0 } else { 3 }, "{shape}: {}", found.err);
        assert!(
            is_flat || found.says("Fortran order") && found.says("numpy.ascontiguousarray"),
            "{}",
            found.err
        );
        assert!(is_flat || found.says("array.npy") && found.out.is_empty(), "{}", found.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_plain_array_says_what_to_save() {
    let folder = scratch("npy-refused");
    let of = |descr: &str| file([1, 0], &header(descr, "False", "(6,)"), &floats(6));
    let shaped = |shape: &str| file([1, 0], &header("'<f4'", "False", shape), &floats(6));
    let words = |words: &str| file([1, 0], words, &floats(6));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (of("'>f4'"), "big-endian, not f32 (`<f4`): save x.astype('<f4')"),
        (of("'<i4'"), "elements of type `<i4`, not f32"),
        (of("'|O'"), "elements of type `|O`"),
        (of("[('a', '<f4'), ('b', '<f4')]"), "elements with fields"),
        (of("[(\"'shape': (6,)\", '<f4')]"), "elements with fields"),
        (of("('<f4', (2,))"), "which is not a string"),
        (shaped("(9223372036854775808, 9223372036854775808)"), "larger than any memory"),
        (shaped("(18446744073709551616,)"), "not a tuple of extents"),
        (shaped("(4611686018427387904,)"), "larger than any memory"),
        (shaped("(-6,)"), "not a tuple of extents"),
        (shaped("(6.0,)"), "not a tuple of extents"),
        (shaped("6"), "not a tuple of extents"),
        (shaped("(7,)"), "needs 28 bytes of data, 4 more"),
        (shaped("(5,)"), "4 bytes follow the data of its shape (5,)"),
        (shaped("()"), "20 bytes follow"),
        (words("{'descr': '<f4', 'shape': (6,)}"), "has no `fortran_order`"),
        (words("{'fortran_order': False, 'shape': (6,)}"), "has no `descr`"),
        (words("{'descr': '<f4', 'fortran_order': False}"), "has no `shape`"),
        (words("{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3)}"), "neither True nor False"),
        (words("{'descr': '<f4', 'fortran_order': True, 'fortran_order': False, 'shape': (2, 3)}"), "twice"),
        (
            words("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}"),
            "the unknown key `more`",
        ),
        (words("{'descr': '<f4', 'fortran_order': False, 'shape': (6,"), "damaged after `shape`"),
        (words("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} {"), "does not end"),
        (words(""), "does not begin"),
        (file([1, 1], &header("'<f4'", "False", "(6,)"), &floats(6)), "version 1.1"),
        (file([4, 0], &header("'<f4'", "False", "(6,)"), &floats(6)), "version 4.0"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "over the limit of 65536"),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "the header is truncated"),
        (b"\x93NUMPY\x01\x00\x01\x00\xff".to_vec(), "the header is not text"),
        (b"\x93NUMPY".to_vec(), "the header is truncated"),
        (Vec::new(), "not a .npy file"),
    ];
    for (bytes, message) in cases {
        let found = refused(&written(&folder, &bytes), "f32");
        assert!(
            found.code == 3 && found.says(message) && found.says("array.npy"),
            "{message}: {}",
            found.err
        );
    }
    let bf16 = refused(&written(&folder, &of("'<f4'")), "bf16");
    assert!(bf16.code == 3 && bf16.says("numpy has no bf16"), "{}", bf16.err);
    std::fs::remove_dir_all(folder).unwrap();
}
