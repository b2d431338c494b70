//! Messages for an NVRTC that is too old or rejects its input.

use cuda_driver_sys::Missing;
use cuda_driver_sys::nvrtc::nvrtcResult;
use cuda_ptx::nearest;

use super::nvrtc::{LIBRARY, Nvrtc};
use super::nvrtc_options::KNOWN;
use crate::error::{CompileError, Diagnostic, Error, ErrorKind, Refusal};

#[cold]
pub(super) fn too_old(found: Option<(u32, u32)>, missing: Missing) -> Error {
    let since = match missing.symbol {
        "nvrtcGetLTOIR" | "nvrtcGetLTOIRSize" => "LTO IR came with NVRTC 12.0",
        "nvrtcGetCUBIN" | "nvrtcGetCUBINSize" => "cubins came with NVRTC 11.1",
        _ => "this crate needs NVRTC 11.1",
    };
    let (library, variable, what) = (LIBRARY.name, LIBRARY.variable, missing.symbol.to_string());
    ErrorKind::Compile(CompileError::TooOld { library, found, what, since, variable }).into()
}

#[cold]
pub(super) fn refused(
    nvrtc: &Nvrtc,
    call: &'static str,
    code: nvrtcResult,
    origin: &str,
    options: &[String],
    log: String,
) -> Error {
    ErrorKind::Compile(CompileError::Refused(Refusal {
        library: LIBRARY.name,
        version: nvrtc.version(),
        call,
        code: code.0,
        code_name: code.name().unwrap_or("unknown code"),
        origin: origin.to_string(),
        options: options.to_vec(),
        diagnostics: Diagnostic::parse(&log),
        hint: hint(&log, options, nvrtc.architectures()),
        log,
    }))
    .into()
}

/// What the log most likely means.
fn hint(log: &str, options: &[String], archs: &[u32]) -> Option<String> {
    if let Some((_, rest)) = log.split_once("unrecognized option ") {
        let name = rest.split([' ', '=']).next()?.trim_start_matches('-');
        let known: Vec<&str> = KNOWN.iter().map(|known| known.trim_start_matches('-')).collect();
        let like = nearest(name, &known);
        let like: Vec<String> = like.iter().map(|name| format!("--{name}")).collect();
        return (!like.is_empty()).then(|| format!("did you mean {}?", like.join(" or ")));
    }
    if log.contains("cannot open source file") {
        let folders = options.iter().filter_map(|option| option.strip_prefix("--include-path="));
        let folders = folders.collect::<Vec<_>>().join(", ");
        let looked = if folders.is_empty() { "no folder".to_string() } else { folders };
        return Some(format!(
            "it looked in {looked}: give the header's text with `CudaSource::header`, or its folder with `NvrtcOptions::include`; \
             those of CUDA are in the toolkit's `include`"
        ));
    }
    (log.contains("invalid value for --gpu-architecture") && !archs.is_empty()).then(|| known(archs))
}

pub(super) fn known(archs: &[u32]) -> String {
    let list: Vec<String> = archs.iter().map(u32::to_string).collect();
    format!("it supports {}", list.join(", "))
}
