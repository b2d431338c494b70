//! What `cuda-launch profile` counts of the kernels of `kernels.txt`, beside what Nsight Compute counted of the same launches on an H200
//! (`ncu_h200.csv`, which `cargo xtask gpu --profile` and its script make). `docs/profile-on-a-gpu.md` shows both: `UPDATE_PROFILES=1`
//! writes its table anew.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::support::{json, root};

const KERNELS: &str = include_str!("kernels.txt");
const MEASURED: &str = include_str!("ncu_h200.csv");
const PAGE: &str = "docs/profile-on-a-gpu.md";

/// The counters of a kernel, by their names.
type Counters = BTreeMap<&'static str, u64>;

/// A count of the profile, and what it is for Nsight Compute.
struct Count {
    /// The heading of its column.
    name: &'static str,
    profiled: fn(&Value) -> u64,
    measured: fn(&Counters) -> u64,
}

const COUNTS: &[Count] = &[
    Count {
        name: "accesses",
        profiled: |profile| total(profile, "global_requests"),
        measured: |all| sum(all, "l1tex__t_requests_pipe_lsu_mem_global_op_", &["ld", "st", "atom", "red"]),
    },
    Count {
        name: "sectors",
        profiled: |profile| total(profile, "global_sectors"),
        measured: |all| all["memory_l2_theoretical_sectors_global"],
    },
    Count {
        name: "sectors (hardware)",
        profiled: |profile| total(profile, "global_sectors"),
        measured: |all| sum(all, "l1tex__t_sectors_pipe_lsu_mem_global_op_", &["ld", "st", "atom", "red"]),
    },
    Count {
        name: "needed sectors",
        profiled: |profile| total(profile, "global_sectors_ideal"),
        measured: |all| all["memory_l2_theoretical_sectors_global_ideal"],
    },
    Count {
        name: "shared accesses",
        profiled: |profile| total(profile, "shared_requests"),
        measured: |all| {
            sum(all, "smsp__inst_executed_op_", &["shared_ld", "shared_st", "shared_atom", "ldsm", "ldgsts"])
        },
    },
    Count {
        name: "passes",
        profiled: |profile| total(profile, "shared_wavefronts"),
        measured: |all| all["memory_l1_wavefronts_shared"],
    },
    Count {
        name: "passes (hardware)",
        profiled: |profile| total(profile, "shared_wavefronts"),
        measured: |all| sum(all, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_", &["ld", "st", "atom"]),
    },
    Count {
        name: "needed passes",
        profiled: |profile| total(profile, "shared_wavefronts_ideal"),
        measured: |all| all["memory_l1_wavefronts_shared_ideal"],
    },
    Count {
        name: "local accesses",
        profiled: |profile| total(profile, "local_requests"),
        measured: |all| sum(all, "smsp__inst_executed_op_local_", &["ld", "st"]),
    },
    Count {
        name: "divergent branches",
        profiled: |profile| total(profile, "divergent"),
        measured: |all| all["smsp__sass_branch_targets_threads_divergent"],
    },
    Count {
        name: "operations",
        profiled: |profile| operations(profile, "f32") + operations(profile, "f64"),
        measured: |all| {
            let of = |name: &str| all[&*format!("smsp__sass_thread_inst_executed_op_{name}_pred_on")];
            ["fadd", "fmul", "dadd", "dmul"].map(of).iter().sum::<u64>()
                + 2 * ["ffma", "dfma"].map(of).iter().sum::<u64>()
        },
    },
    Count {
        name: "matrix operations",
        profiled: |profile| operations(profile, "matrix"),
        measured: |all| MATRIX.iter().map(|(_, counters)| sum(all, TENSOR, counters)).sum(),
    },
];

const TENSOR: &str = "sm__ops_path_tensor_src_";

/// The types of matrices, and the counters of each.
const MATRIX: &[(&str, &[&str])] = &[
    ("matrix_f64", &["fp64"]),
    ("matrix_tf32", &["tf32_dst_fp32"]),
    ("matrix_f16", &["fp16", "bf16_dst_fp32"]),
    ("matrix_f8", &["fp8"]),
    ("matrix_i8", &["int8"]),
    ("matrix_narrow", &["int1"]),
];

/// Where they differ, and the letter of the reason on the page.
const DIFFERENT: &[(&str, &str, char)] = &[
    ("saxpy", "divergent branches", 'a'),
    ("strided-copy", "divergent branches", 'a'),
    ("matmul-naive", "divergent branches", 'a'),
    ("matmul", "divergent branches", 'a'),
    ("reduce", "divergent branches", 'a'),
    ("reduce-f64", "divergent branches", 'a'),
    ("scan", "divergent branches", 'a'),
    ("shuffles", "divergent branches", 'a'),
    ("predicated", "divergent branches", 'a'),
    ("matmul", "shared accesses", 'b'),
    ("matmul", "passes", 'b'),
    ("matmul", "passes (hardware)", 'b'),
    ("matmul", "needed passes", 'b'),
    ("reduce", "operations", 'c'),
    ("reduce-f64", "operations", 'c'),
    ("scan", "shared accesses", 'd'),
    ("async-copy", "shared accesses", 'd'),
    ("async-copy-cg", "shared accesses", 'd'),
    ("gemm", "shared accesses", 'd'),
    ("gemm", "sectors", 'e'),
    ("gemm", "sectors (hardware)", 'e'),
    ("gemm", "passes", 'e'),
    ("async-copy", "passes (hardware)", 'f'),
    ("async-copy-cg", "passes (hardware)", 'f'),
    ("gemm", "passes (hardware)", 'f'),
    ("generic", "shared accesses", 'g'),
    ("histogram-same", "sectors (hardware)", 'h'),
    ("atomics", "sectors (hardware)", 'h'),
    ("mma-f8", "matrix operations", 'i'),
    ("mma-f8", "operations", 'i'),
    ("mma-sparse", "matrix operations", 'j'),
    ("wgmma-sparse", "matrix operations", 'j'),
    ("wgmma-tf32", "passes", 'k'),
    ("wgmma-tf32", "needed passes", 'k'),
    ("wgmma-f16", "passes", 'k'),
    ("wgmma-f16", "needed passes", 'k'),
    ("wgmma-bf16", "passes", 'k'),
    ("wgmma-bf16", "needed passes", 'k'),
    ("wgmma-f8", "passes", 'k'),
    ("wgmma-f8", "needed passes", 'k'),
    ("wgmma-i8", "passes", 'k'),
    ("wgmma-i8", "needed passes", 'k'),
    ("wgmma-sparse", "passes", 'k'),
    ("wgmma-sparse", "needed passes", 'k'),
];

fn total(profile: &Value, count: &str) -> u64 {
    profile["total"][count].as_u64().unwrap()
}

fn operations(profile: &Value, number: &str) -> u64 {
    profile["operations"][number].as_u64().unwrap()
}

fn sum(all: &Counters, start: &str, ends: &[&str]) -> u64 {
    ends.iter().map(|end| all[&*format!("{start}{end}")]).sum()
}

/// The rows of `ncu_h200.csv`, by kernel.
fn measured() -> BTreeMap<&'static str, Counters> {
    let mut lines = MEASURED.lines().map(|line| line.split(','));
    let names: Vec<_> = lines.next().unwrap().skip(1).collect();
    let row = |mut cells: std::str::Split<'static, char>| {
        let kernel = cells.next().unwrap();
        let counters: Counters = names.iter().copied().zip(cells.map(|cell| cell.parse().unwrap())).collect();
        assert_eq!(counters.len(), names.len(), "{kernel}");
        (kernel, counters)
    };
    lines.map(row).collect()
}

/// A cell of the table, and whether it differs.
fn cell(count: &Count, kernel: &str, profile: &Value, counters: &Counters) -> (String, bool) {
    let (ours, theirs) = ((count.profiled)(profile), (count.measured)(counters));
    if ours == theirs {
        return (if ours == 0 { String::new() } else { ours.to_string() }, false);
    }
    let known = DIFFERENT.iter().find(|known| (known.0, known.1) == (kernel, count.name));
    (format!("{ours} / {theirs} {}", known.map_or('?', |known| known.2)), true)
}

#[test]
fn counts_are_those_of_nsight_compute_but_where_the_page_says_why() {
    let measured = measured();
    let mut table = vec![format!(
        "| kernel | instructions | {} |",
        COUNTS.iter().map(|count| count.name).collect::<Vec<_>>().join(" | ")
    )];
    table.push(format!("|---|---|{}", "---|".repeat(COUNTS.len())));
    let mut differ = BTreeSet::new();
    for line in KERNELS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<_> = line.split_whitespace().collect();
        let (kernel, counters) = (words[0], &measured[words[0]]);
        let (code, profile) = json(&[&["profile"], &words[1..]].concat());
        assert_eq!(code, 0, "{profile:#}");
        let instructions = format!("{} / {}", total(&profile, "warps"), counters["smsp__inst_executed"]);
        let mut row = format!("| `{kernel}` | {instructions} |");
        for count in COUNTS {
            let (cell, different) = cell(count, kernel, &profile, counters);
            row += &format!(" {cell} |");
            if different {
                differ.insert((kernel, count.name));
            }
        }
        table.push(row);
        // Each under its type, where there are as many.
        if !differ.contains(&(kernel, "matrix operations")) {
            for (name, of_type) in MATRIX {
                assert_eq!(operations(&profile, name), sum(counters, TENSOR, of_type), "{kernel}: {name}");
            }
        }
    }
    assert_eq!(table.len() - 2, measured.len(), "each row of the counters is a kernel");
    is_on_the_page(&table);
    let known: BTreeSet<_> = DIFFERENT.iter().map(|known| (known.0, known.1)).collect();
    assert_eq!(differ, known, "what differs, and what has a reason");
}

/// The one table of the page is this one.
fn is_on_the_page(table: &[String]) {
    let file = root().join(PAGE);
    let page = fs::read_to_string(&file).unwrap();
    let shown: Vec<_> = page.lines().filter(|line| line.starts_with('|')).collect();
    if std::env::var_os("UPDATE_PROFILES").is_some() {
        let (before, rest) = page.split_once("\n|").unwrap();
        let after = rest.lines().skip_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        fs::write(file, format!("{before}\n{}\n{after}\n", table.join("\n"))).unwrap();
    } else {
        assert_eq!(shown, *table, "UPDATE_PROFILES=1 writes the table anew");
    }
}
