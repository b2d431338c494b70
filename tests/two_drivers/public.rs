//! The public functions that take two objects, found in the sources.

#![allow(unreachable_pub)] // For one test program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What belongs to a driver: types, and traits of device memory. Not the nodes of graphs: `Table::get` knows them, or no node is
/// found; and rows of the table call it.
const OBJECTS: &[&str] = &[
    "AnyEvent",
    "AsyncKernelLaunch",
    "Attribute",
    "Conditional",
    "ConstantViewMut",
    "CopyBatch",
    "CopyNode",
    "CopySource",
    "CopyTarget",
    "CudaArray",
    "CudaContext",
    "CudaDevice",
    "CudaEvent",
    "CudaFunction",
    "CudaGraph",
    "CudaLibrary",
    "CudaModule",
    "CudaStream",
    "DeviceBuffer",
    "DeviceSlice",
    "DeviceSliceMut",
    "DeviceView",
    "DeviceViewMut",
    "DlTensor",
    "ExecutionContext",
    "ExternalMemory",
    "ExternalSemaphore",
    "GraphExec",
    "GraphMemory",
    "GreenContext",
    "GrowableBuffer",
    "HostMemory",
    "Im2colMap",
    "IpcEvent",
    "Kernel",
    "KernelNode",
    "PreparedLaunch",
    "LaunchPlan",
    "LibraryKernel",
    "Linker",
    "ManagedBuffer",
    "Mapping",
    "MemoryPool",
    "MemsetNode",
    "MipmappedArray",
    "ModuleConstant",
    "ModuleGlobal",
    "MulticastObject",
    "OperationGraph",
    "PhysicalAllocation",
    "PinnedBuffer",
    "PinnedView",
    "PinnedViewMut",
    "PitchedBuffer",
    "RawOwnership",
    "PrefetchBatch",
    "RegionBatch",
    "SmResource",
    "SurfaceObject",
    "TensorMap",
    "TensorMapObject",
    "TextureObject",
    "TiledMap",
    "TimingEvent",
    "VirtualReservation",
];

/// Of these folders; compilers know no object of a driver.
const FOLDERS: &[&str] = &["driver", "memory", "graph", "launch", "operation"];

/// `Type::function` for each that takes two objects, itself included.
///
/// `None` where the sources are not: on a machine that the tests were brought to.
pub fn functions_of_two_objects() -> Option<BTreeSet<String>> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    for folder in FOLDERS.iter().filter(|_| sources.exists()) {
        visit(&sources.join(folder), &mut found);
    }
    sources.exists().then_some(found)
}

fn visit(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            visit(&entry, found);
        } else {
            of_file(&fs::read_to_string(&entry).unwrap(), found);
        }
    }
}

/// The functions of inherent implementations, and those beside them, as `::function`. Generic code (`$name`) is looked at where it is used.
fn of_file(text: &str, found: &mut BTreeSet<String>) {
    let mut owner = String::new();
    for (at, line) in lines(text) {
        if line.trim_start().starts_with("impl") {
            owner = owner_of(&text[at..]);
        }
        if line.starts_with('}') {
            owner = String::new();
        }
        let Some(rest) =
            ["pub fn ", "pub unsafe fn "].iter().find_map(|start| line.trim_start().strip_prefix(start))
        else {
            continue;
        };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let signature = &text[at..at + text[at..].find('{').unwrap_or(0)];
        if owner.is_empty() && line.starts_with(' ') {
            continue;
        }
        // Whatever has a context belongs to a driver.
        if name == "context"
            && !owner.is_empty()
            && signature.contains("&self")
            && !OBJECTS.contains(&owner.as_str())
        {
            found.insert(format!("{owner}, which has a context"));
        }
        let own = usize::from(signature.contains("self") && OBJECTS.contains(&owner.as_str()));
        if own + objects_in(parameters(signature)) >= 2 {
            found.insert(format!("{owner}::{name}"));
        }
    }
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

/// `Type` of `impl<..> Type<..> {`; nothing for an implementation of a trait.
fn owner_of(text: &str) -> String {
    let header = &text[..text.find('{').unwrap_or(0)];
    // What macros write for several types has no name here.
    if header.contains('$') || words(header).any(|word| word == "for") {
        return String::new();
    }
    let header = header.trim_start_matches("impl");
    let header = if header.starts_with('<') { &header[closing(header)..] } else { header };
    words(header).next().unwrap_or_default().to_string()
}

/// Behind the bracket that closes the first one.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            ')' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// What stands in the parentheses.
fn parameters(signature: &str) -> &str {
    let name = signature.find("fn ").unwrap_or(0);
    let mut rest = &signature[name..];
    // Type parameters first: they may have parentheses of their own.
    let (generic, list) = (rest.find('<'), rest.find('('));
    if generic.is_some() && generic < list {
        rest = &rest[generic.unwrap_or(0)..];
        rest = &rest[closing(rest)..];
    }
    let start = rest.find('(').unwrap_or(0);
    &rest[start..start + closing(&rest[start..])]
}

/// Objects among parameters; those of closures are made by the function itself.
fn objects_in(parameters: &str) -> usize {
    let mut rest = parameters.to_string();
    while let Some(at) = rest.find("impl FnOnce(") {
        let end = at + closing(&rest[at..]);
        rest.replace_range(at..end, "");
    }
    words(&rest).filter(|word| OBJECTS.contains(word)).count()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}
