//! Objects that remain at the end of a program.

use super::Inner;
use super::rule::{Finding, Rule};
use super::state::State;
use crate::kind::Kind;
use crate::objects::Object;
use cuda_driver_sys::CUresult;
use std::collections::BTreeMap;

impl Inner {
    pub(super) fn end(&self) {
        let state = self.lock();
        // After a fault nothing can be released, and every call fails.
        if state.fault.is_some() {
            return;
        }
        let mut findings = leaks(&state);
        match state.is_runtime {
            true => findings.extend(runtime_failure(&state)),
            false => findings.extend(failures(&state)),
        }
        drop(state);
        findings.iter().filter(|finding| self.is_wanted(finding)).for_each(|finding| self.tell(finding));
    }
}

fn at_end(rule: Rule, function: &'static str, message: String) -> Finding {
    Finding { rule, call: 0, function, kernel: None, message }
}

/// Whether the CUDA runtime creates objects of this kind for itself and keeps them until it is unloaded.
fn is_runtime_s(kind: Kind) -> bool {
    matches!(kind, Kind::PrimaryContext | Kind::Context | Kind::Module | Kind::Library)
}

/// One finding for each kind and function that made it.
fn leaks(state: &State) -> Vec<Finding> {
    let owed = state.objects.live().map(|(_, object)| object).filter(|object| object.is_owed());
    let owed = owed.filter(|object| !(state.is_runtime && is_runtime_s(object.name.kind())));
    let owed = owed.chain(state.objects.lost_captures());
    let mut groups: BTreeMap<(Kind, &'static str), Vec<&Object>> = BTreeMap::new();
    for object in owed {
        let function = object.made_by.map_or("", |(_, function)| function);
        groups.entry((object.name.kind(), function)).or_default().push(object);
    }
    let finding = |((kind, function), objects): ((Kind, &'static str), Vec<&Object>)| {
        let first = objects.first()?;
        let (call, _) = first.made_by?;
        if kind == Kind::Capture {
            let message = format!("the capture that call {call}, {function}, began was not ended");
            return Some(at_end(Rule::OpenCapture, function, message));
        }
        let bytes = objects.iter().fold(0_u64, |sum, object| sum.saturating_add(object.bytes));
        let size = if bytes == 0 { String::new() } else { format!(" ({bytes} bytes)") };
        let name = first.name;
        let message = match objects.len() {
            1 => format!("{name}{size} was not released; it was created by call {call}, {function}"),
            n => format!(
                "{n} objects of kind {kind}{size} were not released; {function} created them, {name} first, in call {call}"
            ),
        };
        Some(at_end(Rule::Leak, function, message))
    };
    groups.into_iter().filter_map(finding).collect()
}

fn failures(state: &State) -> Vec<Finding> {
    let finding = |((function, code), (times, first)): (&(&'static str, u32), &(usize, usize))| {
        let name = CUresult(*code).name().map_or_else(|| code.to_string(), str::to_owned);
        let often = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        let message = format!(
            "{function} returned {name} {often}, first in call {first}, and the program never queried that error"
        );
        at_end(Rule::FailedCall, function, message)
    };
    state.failed.iter().map(finding).collect()
}

/// Whether the program checked the runtime's results is not visible, but whether it took the last error is.
fn runtime_failure(state: &State) -> Option<Finding> {
    let (code, name) = state.runtime_error.as_ref().filter(|(code, _)| !is_probe("", *code))?;
    let left = "and the program never called cudaGetLastError";
    let of_the_driver = state.failed.iter().find(|((_, answer), _)| *answer == code.0);
    let Some(((function, answer), (times, first))) = of_the_driver else {
        let message = format!("the runtime's last error is {name}, {left}");
        return Some(at_end(Rule::FailedCall, "cudaGetLastError", message));
    };
    let answer = CUresult(*answer).name().unwrap_or(name);
    let often = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
    let message = format!(
        "{function} returned {answer} {often}, first in call {first}, the runtime's last error is {name}, {left}"
    );
    Some(at_end(Rule::FailedCall, function, message))
}

/// Whether programs call the function as a query for which an error is a normal result.
pub(super) fn is_probe(function: &str, answer: CUresult) -> bool {
    let codes = [
        CUresult::CUDA_ERROR_NOT_READY,
        CUresult::CUDA_ERROR_NOT_SUPPORTED,
        CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
        CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
        CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
    ];
    let asks =
        ["cuDeviceGet", "cuDeviceCan", "cuCtxGet", "cuPointerGet", "cuGet", "cuFuncGet", "cuKernelGet"];
    let finds = ["cuModuleGet", "cuLibraryGet"];
    codes.contains(&answer)
        || asks.iter().any(|start| function.starts_with(start))
        || (answer == CUresult::CUDA_ERROR_NOT_FOUND && finds.iter().any(|start| function.starts_with(start)))
}
