//! What needs a later PTX version or target than the module names is refused when the module is loaded, as ptxas refuses it.

#[path = "../since_support/mod.rs"]
pub(crate) mod since_support;

use std::sync::Arc;

use cuda_emulator::Architecture;
use cuda_emulator::engine::{LoadFailureKind, Program};
use cuda_emulator::memory::Memory;
use since_support::{FIRST, Header, edges, facts, module};

fn load(text: &str) -> Result<(), String> {
    load_on(Architecture::Sm90, text)
}

fn load_on(device: Architecture, text: &str) -> Result<(), String> {
    let memory = Arc::new(Memory::new(1 << 20).with_architecture(device));
    Program::load(text, &memory).map(drop).map_err(|failure| {
        assert_eq!(failure.kind, LoadFailureKind::Invalid, "{failure}");
        failure.to_string()
    })
}

#[test]
fn instructions_load_under_the_headers_under_which_ptxas_takes_them() {
    let facts = facts();
    assert!(facts.len() > 1000);
    let mut different = Vec::new();
    for header in edges() {
        let (taken, refused): (Vec<_>, Vec<_>) = facts.iter().partition(|fact| fact.holds_under(header));
        let together: Vec<&str> = taken.iter().map(|fact| fact.instruction).collect();
        let load = |text: String| load_on(header.device(), &text);
        if let Err(message) = load(module(&together, header)) {
            different.push(format!("{header:?}: {message}"));
        }
        let wrong = refused.iter().filter(|fact| load(module(&[fact.instruction], header)).is_ok());
        different.extend(wrong.map(|fact| format!("{header:?}: {} is taken", fact.instruction)));
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

#[test]
fn the_refusal_names_the_line_and_both_headers() {
    let says = |version, target, instruction: &str, message: &str| {
        let found = load(&module(&["", instruction], Header { version, target })).unwrap_err();
        assert_eq!(found, format!("line {}: {message}", FIRST + 1), "{instruction}");
    };
    says(
        (8, 0),
        "sm_75",
        "min.NaN.f32 %f1, %f2, %f3;",
        "`min.NaN.f32` needs .target sm_80 or higher; the module says sm_75",
    );
    says(
        (7, 3),
        "sm_80",
        "ld.global.L2::cache_hint.b32 %r1, [%x1], %x2;",
        "`ld.global.L2::cache_hint.b32` needs .version 7.4 or later; the module says 7.3",
    );
    says(
        (6, 5),
        "sm_75",
        "min.NaN.f32 %f1, %f2, %f3;",
        "`min.NaN.f32` needs .version 7.0 or later and .target sm_80 or higher; the module says 6.5 and sm_75",
    );
    says(
        (8, 0),
        "sm_90",
        "wgmma.fence.sync.aligned;",
        "`wgmma.fence.sync.aligned` needs .target sm_90a; the module says sm_90",
    );
    says(
        (9, 0),
        "sm_90a",
        "add.f32x2 %x1, %x2, %x3;",
        "`add.f32x2` needs .target sm_100 or higher; the module says sm_90a",
    );
    says(
        (8, 0),
        "sm_80",
        "mov.u32 %r1, %clusterid.x;",
        "`mov.u32` needs .target sm_90 or higher; the module says sm_80",
    );
    says((8, 3), "sm_62", ".reg .b128 %w;", "`.b128` needs .target sm_70 or higher; the module says sm_62");
    says(
        (6, 4),
        "sm_70",
        "vote.any.pred %p1, %p2;",
        "`vote.any.pred` is gone since .version 6.4 for .target sm_70 or higher; write `vote.sync.any.pred` with the mask of lanes",
    );
}

#[test]
fn what_was_removed_is_there_before() {
    for instruction in ["vote.any.pred %p1, %p2;", "shfl.idx.b32 %r1, %r2, 1, 31;"] {
        for (version, target, taken) in
            [((6, 3), "sm_70", true), ((6, 4), "sm_62", true), ((9, 0), "sm_90", false)]
        {
            let header = Header { version, target };
            assert_eq!(load(&module(&[instruction], header)).is_ok(), taken, "{instruction} {header:?}");
        }
    }
}

#[test]
fn directives_of_clusters_want_the_target_that_has_clusters() {
    let kernel = |version: &str, target: &str, directive: &str| {
        load(&format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k() {directive} {{ ret; }}"
        ))
    };
    for directive in [".reqnctapercluster 2", ".maxclusterrank 8", ".explicitcluster"] {
        assert!(kernel("7.8", "sm_89", directive).unwrap_err().contains("needs .target sm_90 or higher"));
        assert_eq!(kernel("7.8", "sm_90", directive), Ok(()));
    }
    let all = ".reqntid 32 .reqnctapercluster 2 .blocksareclusters";
    assert!(
        kernel("8.8", "sm_90", all).unwrap_err().contains("`.blocksareclusters` needs .version 9.0 or later")
    );
    assert_eq!(kernel("9.0", "sm_90", all), Ok(()));
}
