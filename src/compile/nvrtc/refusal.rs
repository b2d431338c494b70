//! NVRTC as one of the compilers, and what its refusals mean.

#![allow(unsafe_code)] // The functions that `Api` asks for are those of NVRTC's header.

use cuda_driver_sys::Missing;
use cuda_driver_sys::nvrtc::{_nvrtcProgram, Functions, nvrtcResult};
use cuda_ptx::nearest;
use std::ffi::c_int;

use super::options::KNOWN;
use super::{LIBRARY, archs};
use crate::compile::compiler::{Answer, Api, Text, text};
use crate::compile::search::Library;

impl From<nvrtcResult> for Answer {
    fn from(code: nvrtcResult) -> Self {
        Self { number: code.0, name: code.name() }
    }
}

// SAFETY: 1: they are NVRTC's functions for the version, for the end of a program and for its log, whose arguments are
// outputs and the program; 2: a program has a log from its creation on.
unsafe impl Api for Functions {
    type Job = _nvrtcProgram;
    type Code = nvrtcResult;

    const LIBRARY: Library = LIBRARY;
    const REPORT_VERSION: unsafe fn(&Self, *mut c_int, *mut c_int) -> Result<Self::Code, Missing> =
        Self::nvrtcVersion;
    const DESTROY: unsafe fn(&Self, *mut *mut Self::Job) -> Result<Self::Code, Missing> =
        Self::nvrtcDestroyProgram;
    const LOGS: &'static [Text<Self>] = &[text!(Self, nvrtcGetProgramLogSize, nvrtcGetProgramLog)];

    fn since(symbol: &str) -> &'static str {
        match symbol {
            "nvrtcGetLTOIR" | "nvrtcGetLTOIRSize" => "LTO IR requires NVRTC 12.0",
            "nvrtcGetCUBIN" | "nvrtcGetCUBINSize" => "cubins require NVRTC 11.1",
            _ => "this crate needs NVRTC 11.1",
        }
    }

    fn hint(&self, _: Answer, log: &str, options: &[String]) -> Option<String> {
        hint(log, options, &archs(self).unwrap_or_default())
    }
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
            "NVRTC looked in {looked}: pass the header's text with `CudaSource::header`, or its folder with `NvrtcOptions::include`; \
             CUDA's own headers are in the toolkit's `include`"
        ));
    }
    (log.contains("invalid value for --gpu-architecture") && !archs.is_empty()).then(|| known(archs))
}

pub(super) fn known(archs: &[u32]) -> String {
    let list: Vec<String> = archs.iter().map(u32::to_string).collect();
    format!("it supports {}", list.join(", "))
}
