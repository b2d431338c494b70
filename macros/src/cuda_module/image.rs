//! The kernels and variables of an image, read again only if the file changes.

use cuda_ptx::image::{Arch, Cubin, EntryKind, Image, ImageError, Kernel as ImageKernel};
use cuda_ptx::{FunctionKind, Linkage, Space, Type};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::SystemTime;

use super::source::Source;

/// The contents of a file, as far as the macro needs them.
#[derive(Debug)]
pub(super) struct Facts {
    /// The code from which the loader chooses.
    pub(super) codes: Vec<Code>,
    /// `None` for contents that are only read when they are loaded: sources, and entries of a fatbin that are neither
    /// PTX nor cubins.
    pub(super) kernels: Option<Vec<Kernel>>,
    /// `None` if the image does not list them.
    pub(super) variables: Option<Vec<Variable>>,
    /// The kind of source, if the file is not an image yet.
    pub(super) source: Option<Source>,
}

/// Code in an image, and the devices it is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    /// True for machine code, false for PTX.
    pub(super) machine: bool,
    pub(super) arch: Option<Arch>,
}

#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// `None` if the image does not list them.
    pub(super) parameters: Option<Vec<Parameter>>,
    /// In the text, if it is one.
    pub(super) line: Option<u32>,
    pub(super) max_threads: Option<u64>,
    pub(super) min_blocks: Option<u32>,
    pub(super) required_threads: Option<[u32; 3]>,
    pub(super) cluster: Option<[u32; 3]>,
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) size: usize,
    /// Information that only PTX has.
    pub(super) text: Option<ParameterText>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ParameterText {
    pub(super) ty: Type,
    pub(super) array: bool,
    pub(super) align: usize,
    pub(super) line: u32,
}

#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) constant: bool,
    /// Bytes; 0 if another module defines the size.
    pub(super) size: u64,
    pub(super) line: u32,
}

type Cache = Mutex<HashMap<PathBuf, (Stamp, Arc<Facts>)>>;
/// Length and time of change.
type Stamp = (u64, Option<SystemTime>);

/// The facts of a file, or what is wrong with it. A long-running macro expander, such as that of rust-analyzer, reads a file again only
/// when it has changed.
pub(super) fn facts(path: &Path) -> Result<Arc<Facts>, String> {
    static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);
    let metadata = std::fs::metadata(path).map_err(|e| format!("cannot be read: {e}"))?;
    let stamp = (metadata.len(), metadata.modified().ok());
    let cache = || CACHE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, facts)) = cache().get(path).filter(|(known, _)| *known == stamp && stamp.1.is_some()) {
        return Ok(facts.clone());
    }
    let bytes = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    let facts = match Source::of(path, &bytes) {
        Some(source) => source.facts(path, &bytes)?,
        None => read(&bytes).map_err(|e| e.to_string())?,
    };
    let facts = Arc::new(facts);
    cache().insert(path.to_path_buf(), (stamp, facts.clone()));
    Ok(facts)
}

fn read(bytes: &[u8]) -> Result<Facts, ImageError> {
    match Image::read(bytes)? {
        Image::Ptx(text) => of_ptx(text),
        Image::Cubin(cubin) => Ok(of_machine_code(&cubin)),
        Image::Fatbin(fatbin) => {
            let entries = fatbin.entries();
            let code = |e: &cuda_ptx::image::Entry<'_>| match e.kind() {
                EntryKind::Ptx => Some(Code { machine: false, arch: Some(e.arch()) }),
                EntryKind::Cubin => Some(Code { machine: true, arch: Some(e.arch()) }),
                _ => None,
            };
            let codes = entries.iter().filter_map(code).collect();
            let first = |kind| entries.iter().find(move |e| e.kind() == kind);
            // PTX first, because it has types. All entries of a fatbin are compiled from one source.
            let Some(entry) = first(EntryKind::Ptx).or_else(|| first(EntryKind::Cubin)) else {
                return Ok(Facts { codes, kernels: None, variables: None, source: None });
            };
            let facts = match Image::read(&entry.content()?)? {
                Image::Ptx(text) => of_ptx(text)?,
                Image::Cubin(cubin) => of_machine_code(&cubin),
                _ => Facts { codes: Vec::new(), kernels: None, variables: None, source: None },
            };
            Ok(Facts { codes, ..facts })
        }
        // A newer kind of entry: unknown here, and the loader decides whether it can run.
        _ => Ok(Facts { codes: Vec::new(), kernels: None, variables: None, source: None }),
    }
}

fn of_machine_code(cubin: &Cubin<'_>) -> Facts {
    Facts {
        codes: vec![Code { machine: true, arch: cubin.arch() }],
        kernels: Some(cubin.kernels().iter().map(of_cubin).collect()),
        variables: None,
        source: None,
    }
}

fn of_ptx(text: &str) -> Result<Facts, ImageError> {
    let module = cuda_ptx::parse(text)?;
    let arch = module.arch();
    let entries = module.functions.iter().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some());
    let variables = module.variables.iter().filter(|v| {
        matches!(v.space, Space::Global | Space::Const) && v.linkage != Linkage::Extern && !v.ty.is_opaque()
    });
    Ok(Facts {
        codes: vec![Code { machine: false, arch }],
        kernels: Some(entries.map(of_entry).collect()),
        variables: Some(variables.map(of_variable).collect()),
        source: None,
    })
}

fn of_entry(function: &cuda_ptx::Function<'_>) -> Kernel {
    let parameters = function.parameters().into_iter().zip(&function.params).map(|(p, variable)| {
        let text = ParameterText { ty: p.ty, array: p.array, align: p.align, line: variable.line };
        Parameter { size: p.size, text: Some(text) }
    });
    let d = &function.directives;
    Kernel {
        name: function.name.to_string(),
        parameters: Some(parameters.collect()),
        line: Some(function.line),
        max_threads: d.maxntid.map(volume),
        min_blocks: d.minnctapersm,
        required_threads: d.reqntid,
        cluster: d.reqnctapercluster,
    }
}

fn of_cubin(kernel: &ImageKernel<'_>) -> Kernel {
    let parameter = |size: u32| Parameter { size: size as usize, text: None };
    Kernel {
        name: kernel.name.to_string(),
        parameters: kernel.parameters.as_ref().map(|list| list.iter().map(|p| parameter(p.size)).collect()),
        line: None,
        max_threads: kernel.max_threads.map(volume),
        min_blocks: None,
        required_threads: kernel.required_threads,
        cluster: kernel.cluster,
    }
}

fn of_variable(variable: &cuda_ptx::Variable<'_>) -> Variable {
    Variable {
        name: variable.name.to_string(),
        constant: variable.space == Space::Const,
        size: variable.size(),
        line: variable.line,
    }
}

fn volume(dimensions: [u32; 3]) -> u64 {
    dimensions.iter().map(|&d| u64::from(d)).fold(1, u64::saturating_mul)
}
