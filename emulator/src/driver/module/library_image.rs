//! The images of a library, one for each architecture of a device.

use std::sync::{Arc, OnceLock};

use super::Module;
use super::log::Refusal;
use crate::architecture::Architecture;
use crate::driver::context::Context;
use crate::memory::Memory;

/// What a library is for devices of one architecture.
pub(super) struct LibraryImage {
    pub(super) device: Architecture,
    /// Empty for an image in memory.
    file: String,
    pub(super) text: Result<String, Refusal>,
    /// The image loaded into memory of no device: what can be known without a context.
    sample: OnceLock<Result<Arc<Module>, Refusal>>,
}

impl LibraryImage {
    pub(super) fn new(device: Architecture, file: String, text: Result<String, Refusal>) -> LibraryImage {
        LibraryImage { device, file, text, sample: OnceLock::new() }
    }

    /// The sample, if it was asked for and loads.
    pub(super) fn loaded(&self) -> Option<&Arc<Module>> {
        self.sample.get()?.as_ref().ok()
    }

    pub(super) fn sample(&self, symbols: &[(String, u64)]) -> Result<&Arc<Module>, &Refusal> {
        let load = || {
            let text = self.text.as_ref().map_err(Refusal::clone);
            let loaded = text.and_then(|text| Module::sample(text, symbols, self.device));
            loaded.inspect_err(|refusal| self.say(refusal))
        };
        self.sample.get_or_init(load).as_ref()
    }

    /// The library's calls have no log to fill: the log goes to standard error.
    pub(super) fn say(&self, refusal: &Refusal) {
        refusal.send(&self.file);
        if !refusal.log.is_empty() {
            crate::driver::report::line(format_args!(
                "a library does not load: {:?}\n{}",
                refusal.code, refusal.log
            ));
        }
    }
}

impl Module {
    /// Loads PTX into memory of its own, in no context.
    fn sample(text: &str, symbols: &[(String, u64)], device: Architecture) -> Result<Arc<Module>, Refusal> {
        let memory = Arc::new(Memory::new(u64::MAX >> 1).with_architecture(device));
        Module::load_into(&memory, &Context::nowhere(device), text, true, symbols)
    }
}
