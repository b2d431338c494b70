//! Names and types of parameters from DWARF, which `nvcc -G`, `clang -O0 -g` and `rustc -g` write.
//!
//! They are a convenience: broken, unknown or excessive data is silently ignored. All reading is charged to a budget, so
//! that no file takes long; only the data of one kernel is kept at a time.

mod entry;
mod kernels;
#[cfg(test)]
mod tests;
mod types;

use cuda_ptx::Module;
use cuda_ptx::image::Cubin;
use std::borrow::Cow;

use crate::model::Kernel;

/// The sections that are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sections<'a> {
    pub(crate) info: Cow<'a, [u8]>,
    pub(crate) abbreviations: Cow<'a, [u8]>,
    pub(crate) strings: Cow<'a, [u8]>,
    pub(crate) line_strings: Cow<'a, [u8]>,
}

const NAMES: [&str; 4] = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str"];

impl<'a> Sections<'a> {
    pub(crate) fn of_cubin(cubin: &Cubin<'a>) -> Self {
        let [info, abbreviations, strings, line_strings] =
            NAMES.map(|name| Cow::Borrowed(cubin.debug_section(name).unwrap_or_default()));
        Self { info, abbreviations, strings, line_strings }
    }

    pub(crate) fn of_ptx(module: &Module<'_>) -> Self {
        let mut bytes = module.section_bytes(&NAMES).unwrap_or_default().into_iter().map(Cow::Owned);
        let mut next = || bytes.next().unwrap_or_default();
        Self { info: next(), abbreviations: next(), strings: next(), line_strings: next() }
    }

    /// Gives the parameters of the kernels the names and types that the source has, where these fit the image.
    pub(crate) fn describe(&self, kernels: &mut [Kernel]) {
        if !self.info.is_empty() && !self.abbreviations.is_empty() {
            kernels::describe(self, kernels);
        }
    }
}
