#![allow(clippy::unwrap_used)]

use cuda_ptx::image::Cubin;
use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::Sections;
use crate::model::{Kernel, Meaning, Signature};
use crate::scalar::Scalar;

const CUBIN: &[u8] = include_bytes!("../../../ptx/tests/data/named.debug.sm_90.cubin");

/// One of the sections.
type Part = for<'s> fn(&'s mut Sections<'static>) -> &'s mut Cow<'static, [u8]>;

/// The kernels of the cubin as far as they follow from sizes, and its debug information.
fn cubin() -> (Vec<Kernel>, Sections<'static>) {
    let cubin = Cubin::read(CUBIN).unwrap();
    let places = |kernel: &cuda_ptx::image::Kernel<'_>| {
        let places = kernel.parameters.iter().flatten().map(|it| (it.offset, it.size));
        places.collect::<Vec<_>>().into_iter()
    };
    let kernel = |kernel: &cuda_ptx::image::Kernel<'_>| Kernel {
        name: kernel.name.into(),
        signature: Some(Signature::of_sizes(kernel.name, places(kernel))),
        ..Kernel::default()
    };
    (cubin.kernels().iter().map(kernel).collect(), Sections::of_cubin(&cubin))
}

fn names(kernels: &[Kernel]) -> Vec<&str> {
    let parameters = kernels.iter().flat_map(|kernel| &kernel.signature.as_ref().unwrap().0);
    parameters.filter_map(|parameter| parameter.name.as_deref()).collect()
}

#[test]
fn a_changed_byte_or_an_early_end_is_no_harm() {
    let (kernels, sections) = cubin();
    let mut described = kernels.clone();
    sections.describe(&mut described);
    assert_eq!(names(&described).len(), 15);
    let parts: [Part; 2] = [|sections| &mut sections.info, |sections| &mut sections.abbreviations];
    for part in parts {
        let original = part(&mut sections.clone()).clone();
        for place in 0..original.len() {
            for change in [0x01, 0x80, 0xff, original[place]] {
                let mut damaged = sections.clone();
                part(&mut damaged).to_mut()[place] ^= change;
                damaged.describe(&mut kernels.clone());
            }
            let mut cut = sections.clone();
            part(&mut cut).to_mut().truncate(place);
            let mut kernels = kernels.clone();
            cut.describe(&mut kernels);
            // All parameters of a kernel have a name, or none.
            let named = |kernel: &Kernel| kernel.signature.as_ref().map(Signature::names);
            assert!(kernels.iter().all(|kernel| matches!(named(kernel), Some(0 | 3 | 5 | 7))), "{place}");
        }
    }
}

#[test]
fn what_does_not_fit_is_left() {
    let (mut kernels, sections) = cubin();
    for kernel in &mut kernels {
        let list = &mut kernel.signature.as_mut().unwrap().0;
        match list.len() {
            3 => list.push(list[2].clone()),
            5 => list[2].size = 12,
            _ => kernel.name = "count".into(),
        }
    }
    sections.describe(&mut kernels);
    assert_eq!(names(&kernels), [""; 0]);
}

/// Debug information made by hand.
struct Made {
    sections: Sections<'static>,
    kernels: Vec<Kernel>,
}

/// A table of abbreviations: tag, whether it has children, pairs of attribute and form.
fn table(list: &[(u8, bool, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, (tag, children, attributes)) in list.iter().enumerate() {
        bytes.extend([u8::try_from(index + 1).unwrap(), *tag, u8::from(*children)]);
        bytes.extend(*attributes);
        bytes.extend([0, 0]);
    }
    bytes.push(0);
    bytes
}

/// A unit of DWARF 4 with these entries.
fn unit(table: u32, entries: &[u8]) -> Vec<u8> {
    let length = u32::try_from(entries.len() + 7).unwrap().to_le_bytes();
    [&length[..], &[4, 0], &table.to_le_bytes(), &[8], entries].concat()
}

/// With a kernel `k` that has that many parameters of 4 bytes.
fn made(info: Vec<u8>, abbreviations: Vec<u8>, count: u32) -> Made {
    let places: Vec<_> = (0..count).map(|index| (index * 4, 4)).collect();
    let signature = Some(Signature::of_sizes("k", places.into_iter()));
    let strings = Cow::Borrowed(&b"a table\0k\0x"[..]);
    Made {
        sections: Sections {
            info: info.into(),
            abbreviations: abbreviations.into(),
            strings,
            ..Sections::default()
        },
        kernels: vec![Kernel { name: "k".into(), signature, ..Kernel::default() }],
    }
}

/// The time that processors have spent on this thread, however busy the machine is with other things; where the system does not say it,
/// the time since `begin`.
fn spent(begin: Instant) -> Duration {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = line.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| begin.elapsed(), Duration::from_nanos)
}

impl Made {
    /// The parameters' names and meanings, in no time.
    fn answer(mut self) -> Vec<(Option<String>, Meaning)> {
        let begin = Instant::now();
        let start = spent(begin);
        self.sections.describe(&mut self.kernels);
        let took = spent(begin).saturating_sub(start);
        assert!(took < Duration::from_secs(20), "{took:?}");
        let signature = self.kernels.remove(0).signature.unwrap();
        signature.0.into_iter().map(|parameter| (parameter.name, parameter.meaning)).collect()
    }
}

const UNIT: u8 = 0x11;
const SUBPROGRAM: u8 = 0x2e;
const PARAMETER: u8 = 0x05;
const TYPEDEF: u8 = 0x16;
const BASE: u8 = 0x24;
const ENUMERATION: u8 = 0x04;
const NAME: [u8; 2] = [0x03, 0x08];
const NAME_IN_TABLE: [u8; 2] = [0x03, 0x0e];
const TYPE: [u8; 2] = [0x49, 0x13];
const ORIGIN: [u8; 2] = [0x31, 0x13];
const ENCODING: [u8; 2] = [0x3e, 0x0b];
const SIZE: [u8; 2] = [0x0b, 0x0b];

#[test]
fn names_and_types_may_stand_elsewhere() {
    let abbreviations = table(&[
        (UNIT, true, &[]),
        (BASE, false, &[ENCODING, SIZE].concat()),
        (PARAMETER, false, &[NAME, TYPE].concat()),
        (SUBPROGRAM, true, &NAME_IN_TABLE),
        (PARAMETER, false, &ORIGIN),
        (TYPEDEF, false, &TYPE),
        (ENUMERATION, false, &[SIZE, TYPE].concat()),
    ]);
    // The unit's header has 11 bytes, its entry one.
    let (base, typedef, enumeration, original) = (12, 15, 20, 26);
    let entries = |kernel: u8| {
        [
            &[1][..],
            &[2, 0x05, 4],
            &[6, base, 0, 0, 0],
            &[7, 4, typedef, 0, 0, 0],
            &[3, b'a', 0, enumeration, 0, 0, 0],
            &[4, kernel, 0, 0, 0],
            &[5, original, 0, 0, 0],
            &[3, b'!', 0, typedef, 0, 0, 0],
            &[3, b'c', 0, base, 0, 0, 0],
            &[0, 0],
        ]
        .concat()
    };
    let answer = |kernel| made(unit(0, &entries(kernel)), abbreviations.clone(), 3).answer();
    let number = || Meaning::Value(Scalar::I32);
    assert_eq!(answer(8), [(Some("a".into()), number()), (None, number()), (Some("c".into()), number())]);
    // A string without an end there, and no string at all.
    for place in [10, 11] {
        assert_eq!(answer(place)[0], (None, Meaning::Unknown));
    }
}

#[test]
fn types_without_end_end() {
    let abbreviations = table(&[
        (UNIT, true, &[]),
        (TYPEDEF, false, &TYPE),
        (SUBPROGRAM, true, &[NAME, ORIGIN].concat()),
        (PARAMETER, false, &TYPE),
    ]);
    let typedef = 12;
    let mut entries = vec![1, 2, typedef, 0, 0, 0, 3, b'k', 0, 17, 0, 0, 0];
    (0..10_000).for_each(|_| entries.extend([4, typedef, 0, 0, 0]));
    let answer = made(unit(0, &entries), abbreviations.clone(), 10_000).answer();
    assert!(answer.iter().all(|known| *known == (None, Meaning::Unknown)));
    // The subprogram is its own origin, and so is each of a million.
    let mut entries = vec![1];
    (0..1_000_000).for_each(|_| entries.extend([3, 0, 12, 0, 0, 0]));
    made(unit(0, &entries), abbreviations, 1).answer();
}

#[test]
fn attributes_without_bytes_cost_what_they_are() {
    // 15,000 attributes that are all `flag_present`, in each of a million entries of one byte.
    let flags = [0x3f, 0x19].repeat(15_000);
    let abbreviations = table(&[(UNIT, true, &[]), (BASE, false, &flags)]);
    let entries = [&[1][..], &vec![2; 1_000_000]].concat();
    made(unit(0, &entries), abbreviations, 1).answer();
}

#[test]
fn strings_without_end_are_searched_no_more_than_the_budget() {
    let abbreviations = table(&[
        (UNIT, true, &[]),
        (BASE, false, &NAME),
        (SUBPROGRAM, true, &NAME),
        (PARAMETER, false, &TYPE),
    ]);
    // Each parameter's type is an entry near the start with a name of megabytes, which ends nowhere.
    let mut entries = vec![1, 3, b'k', 0];
    (0..100_000u32).for_each(|_| entries.extend([4, 0x60, 0, 0x10, 0]));
    entries.resize(8 << 20, 2);
    made(unit(0, &entries), abbreviations, 200_000).answer();
}

#[test]
fn strings_of_a_table_are_searched_no_more_than_the_budget() {
    let abbreviations = table(&[(UNIT, true, &[]), (SUBPROGRAM, false, &NAME_IN_TABLE)]);
    let mut entries = vec![1];
    (0..2_000_000).for_each(|_| entries.extend([2, 0, 0, 0, 0]));
    let mut made = made(unit(0, &entries), abbreviations, 1);
    made.sections.strings = vec![b'k'; 8192].into();
    made.answer();
}

#[test]
fn tables_that_overlap_are_read_no_more_than_the_budget() {
    // Every byte begins a table that ends where all do.
    let abbreviations = [[1, 1, 0, 0, 0].repeat(6000), vec![0]].concat();
    let info: Vec<u8> = (0..200_000).flat_map(|index| unit(index % 30_000, &[])).collect();
    made(info, abbreviations, 1).answer();
}
