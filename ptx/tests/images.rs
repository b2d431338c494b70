//! Good images: what is read from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{data, fixtures, text};
use cuda_ptx::image::{
    Arch, Compression, Cubin, EntryKind, Fatbin, Image, ImageErrorKind, ImageKind, Kernel,
};

fn arch(name: &str) -> Arch {
    Arch::from_name(name).unwrap()
}

fn places(kernel: &Kernel<'_>) -> Vec<(u32, u32)> {
    kernel.parameters.as_ref().unwrap().iter().map(|p| (p.offset, p.size)).collect()
}

fn kernel<'k, 'a>(kernels: &'k [Kernel<'a>], name: &str) -> &'k Kernel<'a> {
    kernels.iter().find(|k| k.name == name).unwrap()
}

#[test]
fn every_fixture_is_good() {
    for (ending, kind) in
        [(".ptx", ImageKind::Ptx), (".cubin", ImageKind::Cubin), (".fatbin", ImageKind::Fatbin)]
    {
        let names = fixtures(ending);
        assert!(names.len() >= 5);
        for name in names {
            let bytes = data(&name);
            assert_eq!(Image::identify(&bytes).unwrap(), kind, "{name}");
            let image = Image::read(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(image.kind(), kind);
            if let Image::Cubin(cubin) = &image {
                assert_eq!(cubin.bytes().len(), bytes.len(), "{name}");
            }
            if let Image::Fatbin(fatbin) = &image {
                assert_eq!(fatbin.bytes().len(), bytes.len(), "{name}");
            }
        }
    }
}

/// One after the other, with lists that are used again, as all at once.
#[test]
fn kernels_one_by_one() {
    let mut some = 0;
    for name in [fixtures(".ptx"), fixtures(".cubin"), fixtures(".fatbin")].concat() {
        let bytes = data(&name);
        let image = Image::read(&bytes).unwrap();
        let mut found = Vec::new();
        let answer = image.for_each_kernel(&mut |kernel| found.push(format!("{kernel:?}")));
        let all = image.kernels();
        assert_eq!(answer.is_ok(), all.is_ok(), "{name}");
        let without = |mut kernel: Kernel<'_>| {
            (kernel.registers, kernel.shared_memory, kernel.local_memory) = (None, None, None);
            format!("{kernel:?}")
        };
        assert_eq!(found, all.unwrap_or_default().into_iter().map(without).collect::<Vec<_>>(), "{name}");
        some += found.len();
    }
    assert!(some > 50);
}

/// One encoding of the architecture until CUDA 12, another since CUDA 13.
#[test]
fn architectures_of_cubins() {
    for (name, wanted) in [
        ("basic.sm_75.cubin", "sm_75"),
        ("basic.sm_90.cubin", "sm_90"),
        ("basic.sm_90a.cubin", "sm_90a"),
        ("basic.sm_100a.cubin", "sm_100a"),
        ("legacy.sm_50.cubin", "sm_50"),
        ("legacy.sm_90a.cubin", "sm_90a"),
    ] {
        let bytes = data(name);
        assert_eq!(Cubin::read(&bytes).unwrap().arch(), Some(arch(wanted)), "{name}");
    }
}

#[test]
fn an_abi_that_is_not_known_has_no_architecture() {
    let mut bytes = data("basic.sm_90.cubin");
    bytes[7] = 0x42;
    assert_eq!(Cubin::read(&bytes).unwrap().arch(), None);
}

#[test]
fn relocatable_cubins() {
    let (rdc, whole) = (data("basic.rdc.cubin"), data("basic.sm_90.cubin"));
    assert!(Cubin::read(&rdc).unwrap().is_relocatable());
    assert!(!Cubin::read(&whole).unwrap().is_relocatable());
    assert_eq!(Cubin::read(&rdc).unwrap().kernels().len(), 2);
}

#[test]
fn attributes_of_kernels() {
    let bytes = data("attributes.sm_90.cubin");
    let cubin = Cubin::read(&bytes).unwrap();
    let all = cubin.kernels();
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|k| k.registers.is_some_and(|r| (1..=255).contains(&r))));

    let nothing = kernel(all, "nothing");
    assert_eq!((places(nothing), nothing.parameter_bytes), (vec![], 0));
    // A block over 4,352 bytes has another record.
    let large = kernel(all, "large");
    assert_eq!((places(large), large.parameter_bytes), (vec![(0, 4500), (4500, 4), (4504, 8)], 4512));
    // Not where C would put them.
    let aligned = kernel(all, "aligned");
    assert_eq!((places(aligned), aligned.parameter_bytes), (vec![(0, 4), (48, 64), (112, 4), (120, 8)], 128));
    let small = kernel(all, "small");
    assert_eq!(places(small), [(0, 1), (1, 1), (2, 3), (6, 2), (8, 12), (32, 16), (48, 8)]);

    let bounds = kernel(all, "bounds");
    assert_eq!(
        (bounds.max_threads, bounds.max_cluster_rank, bounds.required_threads),
        (Some([192, 1, 1]), Some(4), None)
    );
    let clusters = kernel(all, "clusters");
    assert_eq!((clusters.cluster, clusters.explicit_cluster), (Some([4, 2, 1]), true));
    let shaped = kernel(all, "shaped");
    assert_eq!((shaped.required_threads, shaped.cluster), (Some([32, 2, 1]), Some([2, 1, 1])));
    assert!(shaped.blocks_are_clusters && !clusters.blocks_are_clusters);
}

#[test]
fn attributes_in_the_older_abi() {
    for (name, registers) in [("legacy.sm_50.cubin", 4), ("legacy.sm_90a.cubin", 8)] {
        let bytes = data(name);
        let cubin = Cubin::read(&bytes).unwrap();
        let (k, m) = (kernel(cubin.kernels(), "k"), kernel(cubin.kernels(), "m"));
        assert_eq!((places(k), k.parameter_bytes), (vec![(0, 8), (8, 4), (16, 48)], 64), "{name}");
        assert_eq!((k.max_threads, m.required_threads), (Some([64, 2, 1]), Some([32, 4, 1])));
        assert_eq!((k.registers, m.registers), (Some(registers), Some(registers)));
    }
}

/// Device functions are no kernels.
#[test]
fn only_kernels_are_listed() {
    let bytes = data("features.sm_90.cubin");
    let mut names: Vec<&str> = Cubin::read(&bytes).unwrap().kernels().iter().map(|k| k.name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "_Z5tiledIdLi8EEvPKT_PS0_i",
            "_Z5tiledIfLi16EEvPKT_PS0_i",
            "indirect",
            "print_it",
            "recursive",
            "reduce",
            "structs",
            "switched"
        ]
    );
}

#[test]
fn bytes_behind_an_image_are_ignored() {
    for name in ["basic.sm_90.cubin", "basic.plain.fatbin"] {
        let good = data(name);
        let longer = [&good[..], b"anything"].concat();
        let extent = match Image::read(&longer).unwrap() {
            Image::Cubin(cubin) => cubin.bytes().len(),
            Image::Fatbin(fatbin) => fatbin.bytes().len(),
            _ => panic!(),
        };
        assert_eq!(extent, good.len());
    }
}

#[test]
fn entries_of_fatbins() {
    use Compression::{Lz4, Zstd};
    use EntryKind::{Cubin, LtoIr, Ptx};
    type Described<'s> = (EntryKind, &'s str, Option<Compression>, u64);
    let cases: [(&str, &[Described<'_>]); 5] = [
        ("basic.plain.fatbin", &[(Cubin, "sm_90", None, 5744), (Ptx, "sm_90", None, 1792)]),
        ("basic.zstd.fatbin", &[(Cubin, "sm_90", Some(Zstd), 5744), (Ptx, "sm_90", Some(Zstd), 1792)]),
        ("basic.lz4.fatbin", &[(Cubin, "sm_90", None, 5744), (Ptx, "sm_90", Some(Lz4), 1792)]),
        (
            "basic.suffixes.fatbin",
            &[(Cubin, "sm_90a", None, 5744), (Ptx, "sm_100f", None, 1840), (Ptx, "sm_80", None, 1792)],
        ),
        ("basic.lto.fatbin", &[(LtoIr, "sm_90", Some(Zstd), 2780)]),
    ];
    for (name, wanted) in cases {
        let bytes = data(name);
        let fatbin = Fatbin::read(&bytes).unwrap();
        let found: Vec<_> =
            fatbin.entries().iter().map(|e| (e.kind(), e.arch(), e.compression(), e.size())).collect();
        let wanted: Vec<_> =
            wanted.iter().map(|&(kind, sm, how, size)| (kind, arch(sm), how, size)).collect();
        assert_eq!(found, wanted, "{name}");
        for entry in fatbin.entries() {
            assert_eq!(entry.payload(), &bytes[entry.offset()..entry.offset() + entry.payload().len()]);
            assert_eq!(entry.name(), None);
        }
    }
}

#[test]
fn uncompressed_entries_are_extracted() {
    let bytes = data("basic.plain.fatbin");
    let fatbin = Fatbin::read(&bytes).unwrap();
    let [cubin, ptx] = fatbin.entries() else { panic!() };
    assert_eq!(cubin.cubin().unwrap().kernels().len(), 2);
    assert_eq!(cubin.payload(), data("basic.sm_90.cubin"));
    let module = cuda_ptx::parse(ptx.ptx().unwrap()).unwrap();
    assert_eq!(module.functions.len(), 2);
    assert_eq!(ptx.cubin().unwrap_err().kind(), ImageErrorKind::Unrecognized);
    assert_eq!(cubin.ptx().unwrap_err().kind(), ImageErrorKind::Unrecognized);
}

#[test]
fn compressed_entries_say_so() {
    let bytes = data("basic.zstd.fatbin");
    let fatbin = Fatbin::read(&bytes).unwrap();
    let error = fatbin.entries()[0].cubin().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ImageErrorKind::Compressed, 80));
    assert!(error.to_string().contains("sm_90 is compressed (Zstd)"), "{error}");
    assert_eq!(Image::read(&bytes).unwrap().kernels().unwrap_err().kind(), ImageErrorKind::Compressed);
    // Zstd frames start with their magic number: the payload is where it should be.
    assert!(fatbin.entries().iter().all(|e| e.payload().starts_with(&[0x28, 0xb5, 0x2f, 0xfd])));
}

#[test]
fn kernels_of_any_image() {
    for name in
        ["basic.ptx", "basic.sm_90.cubin", "basic.plain.fatbin", "basic.lz4.fatbin", "basic.suffixes.fatbin"]
    {
        let bytes = data(name);
        let kernels = Image::read(&bytes).unwrap().kernels().unwrap();
        assert_eq!(places(kernel(&kernels, "vecadd")), [(0, 8), (8, 8), (16, 8), (24, 8)], "{name}");
        let scale = kernel(&kernels, "scale");
        assert_eq!(places(scale), [(0, 8), (8, 8), (16, 4), (20, 1), (22, 2)], "{name}");
        assert_eq!((scale.parameter_bytes, scale.max_threads), (24, Some([256, 1, 1])));
    }
}

#[test]
fn ptx_text() {
    for end in ["", "\0", "\0\0\0\0"] {
        let bytes = [text("basic.ptx").as_bytes(), end.as_bytes()].concat();
        let Image::Ptx(found) = Image::read(&bytes).unwrap() else { panic!() };
        assert_eq!(found, text("basic.ptx"));
    }
    assert_eq!(Image::identify(b" \n// comment\n /* more */ .version 3.2").unwrap(), ImageKind::Ptx);
}

#[test]
fn ptx_that_does_not_parse() {
    let image = Image::read(b".version 8.0\n.target sm_90\n.entry k(nonsense) { }\n").unwrap();
    let error = image.kernels().unwrap_err();
    assert_eq!(error.kind(), ImageErrorKind::Ptx);
    assert_eq!(error.parse_error().map(|e| (e.line, e.column)), Some((3, 10)));
    assert_eq!(error.to_string(), "PTX line 3, column 10: expected a type, found `nonsense`");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn architecture_names() {
    for (name, sm, suffix) in [
        ("sm_90", 90, None),
        ("sm_90a", 90, Some('a')),
        ("compute_100f", 100, Some('f')),
        ("sm_121", 121, None),
    ] {
        let found = arch(name);
        assert_eq!((found.sm, found.suffix), (sm, suffix));
        assert_eq!(found.to_string(), name.replace("compute", "sm"));
    }
    for name in
        ["", "sm", "sm_", "sm_a", "sm_9", "sm_90b", "sm_12345", "sm_9x", "90", "SM_90", "sm_-9", "sm_+9"]
    {
        assert_eq!(Arch::from_name(name), None, "{name}");
    }
    assert_eq!((arch("sm_103").major(), arch("sm_103").minor()), (10, 3));
}

#[test]
fn where_machine_code_runs() {
    for (name, major, minor, runs) in [
        ("sm_80", 8, 0, true),
        ("sm_80", 8, 9, true),
        ("sm_86", 8, 0, false),
        ("sm_80", 9, 0, false),
        ("sm_90", 8, 0, false),
        ("sm_90a", 9, 0, true),
        ("sm_100a", 10, 3, false),
        ("sm_100f", 10, 3, true),
        ("sm_100", 10, 3, true),
        ("sm_120", 12, 1, true),
    ] {
        assert_eq!(arch(name).runs_on(major, minor), runs, "{name} on {major}.{minor}");
    }
}
