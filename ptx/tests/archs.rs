//! One kernel file by the pinned ptxas for every architecture that it knows: each cubin says what the PTX says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{data, fixtures, text};
use cuda_ptx::image::{Arch, Cubin, DebugInfo, Image, Kernel};
use cuda_ptx::{SharedVariables, parse};

/// Architecture, and the registers of `mixed` and `shaped` as `ptxas -v` prints them.
const ARCHS: [(u32, u32, u32); 12] = [
    (75, 16, 4),
    (80, 17, 8),
    (86, 15, 8),
    (87, 15, 8),
    (88, 15, 8),
    (89, 15, 8),
    (90, 19, 8),
    (100, 19, 8),
    (103, 19, 8),
    (110, 18, 8),
    (120, 18, 8),
    (121, 18, 8),
];

/// Offset and size of each parameter.
fn places(kernel: &Kernel<'_>) -> Vec<(u32, u32)> {
    kernel.parameters.as_ref().unwrap().iter().map(|p| (p.offset, p.size)).collect()
}

#[test]
fn every_architecture_is_there() {
    let mut names: Vec<String> = ARCHS.iter().map(|(sm, ..)| format!("archs.sm_{sm}.cubin")).collect();
    names.sort();
    let found: Vec<String> =
        fixtures(".cubin").into_iter().filter(|name| name.starts_with("archs.")).collect();
    assert_eq!(found, names);
}

/// What both kinds of image say of a kernel.
#[test]
fn cubins_of_every_architecture_agree_with_their_ptx() {
    let source = text("archs.ptx");
    let module = parse(&source).unwrap();
    let shared = SharedVariables::of(&module);
    let wanted = Image::Ptx(&source).kernels().unwrap();
    for (sm, ..) in ARCHS {
        let bytes = data(&format!("archs.sm_{sm}.cubin"));
        let Image::Cubin(cubin) = Image::read(&bytes).unwrap() else { panic!("sm_{sm}") };
        assert_eq!(cubin.arch(), Some(Arch { sm, suffix: None }));
        assert_eq!((cubin.is_relocatable(), cubin.debug_info()), (false, DebugInfo::None), "sm_{sm}");
        assert_eq!(cubin.kernels().len(), wanted.len(), "sm_{sm}");
        for kernel in &wanted {
            let place = format!("sm_{sm} {}", kernel.name);
            let own = cubin.kernels().iter().find(|own| own.name == kernel.name).expect(&place);
            assert_eq!(places(own), places(kernel), "{place}");
            assert_eq!(own.parameter_bytes, kernel.parameter_bytes, "{place}");
            assert_eq!(own.max_threads, kernel.max_threads, "{place}");
            assert_eq!(own.required_threads, kernel.required_threads, "{place}");
            let function = module.functions.iter().find(|f| f.name == kernel.name).unwrap();
            let bytes = shared.used_by(&function.statements().unwrap()).bytes;
            assert_eq!(own.shared_memory.map(u64::from), Some(bytes), "{place}");
            assert_eq!((own.cluster, own.explicit_cluster), (None, false), "{place}");
        }
    }
}

/// The same numbers once more, as a person reads them in the PTX; and what only machine code says.
#[test]
fn cubins_of_every_architecture_say_what_was_written() {
    for (sm, registers, few) in ARCHS {
        let bytes = data(&format!("archs.sm_{sm}.cubin"));
        let cubin = Cubin::read(&bytes).unwrap();
        assert_eq!(cubin.constant_memory(), 96, "sm_{sm}");
        let mixed = cubin.kernels().iter().find(|kernel| kernel.name == "mixed").unwrap();
        assert_eq!(
            (places(mixed), mixed.parameter_bytes),
            (vec![(0, 1), (2, 2), (4, 12), (16, 8), (24, 4), (32, 32), (64, 4)], 68),
            "sm_{sm}"
        );
        let memory = (mixed.shared_memory, mixed.local_memory, mixed.registers);
        assert_eq!(memory, (Some(1544), Some(64), Some(registers)), "sm_{sm}");
        assert_eq!(mixed.max_threads, Some([192, 1, 1]), "sm_{sm}");
        let shaped = cubin.kernels().iter().find(|kernel| kernel.name == "shaped").unwrap();
        assert_eq!((places(shaped), shaped.required_threads), (vec![(0, 8)], Some([32, 4, 1])), "sm_{sm}");
        let memory = (shaped.shared_memory, shaped.local_memory, shaped.registers);
        assert_eq!(memory, (Some(0), Some(0), Some(few)), "sm_{sm}");
    }
}
