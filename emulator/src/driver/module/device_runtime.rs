//! What stands for `libcudadevrt.a`: its functions in PTX, which call those of the engine.

use std::fmt::Write;

use crate::driver::error_texts::{TEXTS, UNKNOWN};

/// What a grid waits for itself with, what kernels of CUDA 11 wait for others with, what launches graphs, and what changes their nodes.
const ONE_NAME: [&str; 4] = [
    include_str!("device_runtime.ptx"),
    include_str!("device_waits.ptx"),
    include_str!("device_graphs.ptx"),
    include_str!("device_nodes.ptx"),
];
/// What kernels launch kernels with, and ask.
const LAUNCHES: [&str; 3] = [
    include_str!("device_launches.ptx"),
    include_str!("device_copies.ptx"),
    include_str!("device_queries.ptx"),
];
/// What looks into the table of errors.
const ERRORS: &str = include_str!("device_errors.ptx");
/// What names of CUDA 12 and later begin with, and those of CUDA 11: they are the same functions.
const PREFIXES: [&str; 2] = ["__cudaCDP2", "cuda"];
/// The functions that have a second name for programs whose default stream is that of the thread: for a kernel both are the block's.
const PER_THREAD: [&str; 10] = [
    "EventRecord",
    "LaunchDevice",
    "LaunchDeviceV2",
    "Memcpy2DAsync",
    "Memcpy3DAsync",
    "MemcpyAsync",
    "Memset2DAsync",
    "Memset3DAsync",
    "MemsetAsync",
    "StreamWaitEvent",
];

/// All of it, in parts of which a program gets what it needs.
pub(super) fn texts() -> Vec<String> {
    let [new, old] = PREFIXES;
    let launches = LAUNCHES.map(with_second_names).into_iter().chain([errors()]);
    let both = launches.flat_map(|text| [text.replace(new, old), text]);
    ONE_NAME.map(str::to_owned).into_iter().chain(both).collect()
}

/// The text with its functions under their second names, too.
fn with_second_names(text: &str) -> String {
    let functions = cuda_ptx::parse(text).map(|module| module.functions).unwrap_or_default();
    let mut both = text.to_owned();
    for function in functions {
        let name = function.name;
        if name.strip_prefix(PREFIXES[0]).is_some_and(|name| PER_THREAD.contains(&name)) {
            let definition = text.get(function.span).unwrap_or_default();
            both.push_str(&definition.replacen(name, &format!("{name}_ptsz"), 1));
            both.push('\n');
        }
    }
    both
}

/// The functions and their table. A row is a code, the address of its name and that of its meaning; bit 32 marks the last one, which is for all
/// codes that no other row has.
fn errors() -> String {
    let mut strings = String::new();
    let mut string = |text: &str, label: &str| {
        let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
        // Writing to a string does not fail.
        let _ =
            writeln!(strings, ".global .align 1 .b8 {label}[{}] = {{{}}};", bytes.len(), bytes.join(", "));
    };
    let mut rows = Vec::new();
    for (code, name, meaning) in TEXTS {
        let (named, means) = (format!("emulator_name{code}"), format!("emulator_meaning{code}"));
        string(name, &named);
        string(meaning, &means);
        rows.push(format!("{code}, generic({named}), generic({means})"));
    }
    string(UNKNOWN, "emulator_unknown");
    rows.push(format!("{}, generic(emulator_unknown), generic(emulator_unknown)", 1_u64 << 32));
    let table =
        format!(".global .align 8 .u64 emulator_errors[{}] = {{{}}};", 3 * rows.len(), rows.join(", "));
    ERRORS.replace("// The table.", &format!("{strings}{table}"))
}
