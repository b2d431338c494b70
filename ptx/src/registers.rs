//! The limit of registers that is passed to a compiler.

use std::borrow::Cow;

use crate::{FunctionKind, parse};

/// PTX whose kernels have at most `most` registers per thread, as `.maxnreg`: the same as the option `-maxrregcount` of ptxas. Without
/// `overrides`, a kernel that has bounds of its own (`.maxnreg`, `.maxntid` or `.reqntid`) keeps them. Line numbers do not change. Text
/// that is not PTX is returned unchanged, and so is any text if `most` is 0, which means no limit.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.visible .entry k()\n{\n\tret;\n}\n";
/// let limited = cuda_ptx::limit_registers(text, 32, false);
/// assert_eq!(cuda_ptx::parse(&limited)?.functions[0].directives.maxnreg, Some(32));
/// # Ok::<(), cuda_ptx::ParseError>(())
/// ```
pub fn limit_registers(text: &str, most: u32, overrides: bool) -> Cow<'_, str> {
    let Some(module) = parse(text).ok().filter(|_| most != 0) else { return text.into() };
    let kernels = module.functions.iter().filter(|function| function.kind == FunctionKind::Entry);
    let is_bounded = |kernel: &crate::Function<'_>| {
        let bounds = &kernel.directives;
        bounds.maxnreg.is_some() || bounds.maxntid.is_some() || bounds.reqntid.is_some()
    };
    let limited = kernels.filter(|kernel| overrides || !is_bounded(kernel));
    let bodies = limited.filter_map(|kernel| kernel.span.end.checked_sub(kernel.body?.len()));
    let mut with_limits = String::with_capacity(text.len());
    let mut end = 0;
    for body in bodies {
        with_limits += text.get(end..body).unwrap_or_default();
        // If there are two, the last counts.
        with_limits += &format!(" .maxnreg {most} ");
        end = body;
    }
    with_limits += text.get(end..).unwrap_or_default();
    with_limits.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_90\n.func f()\n{\n\tret;\n}\n.entry a(.param .u32 p)\n{\n\tret;\n}\n\
                        .entry b() .maxnreg 96\n{\n\tret;\n}\n.entry c() .maxntid 128\n{ ret; }\n.entry d() .reqntid 8, 8\n{ ret; }\n";

    fn limits(text: &str) -> Vec<Option<u32>> {
        parse(text).unwrap().functions.iter().map(|function| function.directives.maxnreg).collect()
    }

    #[test]
    fn kernels_without_bounds_of_their_own_get_the_limit() {
        let limited = limit_registers(TEXT, 38, false);
        assert_eq!(limits(&limited), [None, Some(38), Some(96), None, None]);
        assert_eq!(limits(&limit_registers(TEXT, 38, true)), [None, Some(38), Some(38), Some(38), Some(38)]);
        let lines = |text: &str| text.lines().map(|line| line.contains("ret;")).collect::<Vec<_>>();
        assert_eq!(lines(&limited), lines(TEXT));
    }

    #[test]
    fn no_limit_and_no_ptx_change_nothing() {
        assert_eq!(limit_registers(TEXT, 0, true), TEXT);
        assert_eq!(limit_registers("no PTX", 38, true), "no PTX");
    }
}
