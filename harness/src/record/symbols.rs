//! What the text of an image says of it: its variables, and whether its kernels use textures or surfaces.

use cuda_ptx::image::{EntryKind, Fatbin};
use cuda_ptx::{Init, Module, Space, Type};
use std::collections::BTreeSet;

const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";
/// What instructions begin with that use textures and surfaces.
const SAMPLES: [&str; 7] = ["tex.", "tld4.", "suld.", "sust.", "sured.", "txq.", "suq."];

/// What is known of an image.
#[derive(Default)]
pub(super) struct Symbols {
    /// Names of `__device__` and `__constant__` variables, mangled.
    pub(super) variables: BTreeSet<String>,
    /// Those that have addresses of functions from the start: where code is each driver decides anew.
    pub(super) code: BTreeSet<String>,
    /// Whether a kernel uses textures or surfaces; none where no kernel has PTX.
    pub(super) samples: Option<bool>,
    /// A texture or surface reference, which the program binds to memory.
    pub(super) reference: Option<String>,
}

impl Symbols {
    pub(super) fn of(image: &[u8]) -> Symbols {
        let mut symbols = Symbols::default();
        if !image.starts_with(&FATBIN) {
            symbols.add(image);
            return symbols;
        }
        let Ok(fatbin) = Fatbin::read(image) else { return symbols };
        for entry in fatbin.entries().iter().filter(|entry| entry.kind() == EntryKind::Ptx) {
            if let Ok(content) = entry.content() {
                symbols.add(&content);
            }
        }
        symbols
    }

    fn add(&mut self, image: &[u8]) {
        if image.starts_with(&ELF) {
            return;
        }
        let text = image.split(|byte| *byte == 0).next().unwrap_or_default();
        let Ok(text) = std::str::from_utf8(text) else { return };
        let mut words = text.split(|c: char| c.is_whitespace() || c == ';' || c == '}' || c == '{');
        let samples = words.any(|word| SAMPLES.iter().any(|start| word.starts_with(start)));
        self.samples = Some(samples || self.samples == Some(true));
        let Ok(module) = cuda_ptx::parse(text) else { return };
        let is_reference = |ty| matches!(ty, Type::Texref | Type::Surfref);
        let reference = module.variables.iter().find(|variable| is_reference(variable.ty));
        if let (Some(variable), true, None) = (reference, samples, &self.reference) {
            self.reference = Some(variable.name.to_owned());
        }
        let has_memory = |space| matches!(space, Space::Global | Space::Const);
        for variable in module.variables.iter().filter(|variable| has_memory(variable.space)) {
            let has_code = variable.init.as_ref().is_some_and(|init| has_code(init, &module));
            let names = if has_code { &mut self.code } else { &mut self.variables };
            names.insert(variable.name.to_owned());
        }
    }
}

fn has_code(init: &Init<'_>, module: &Module<'_>) -> bool {
    match init {
        Init::Address { symbol, .. } => module.functions.iter().any(|function| function.name == *symbol),
        Init::List(all) => all.iter().any(|init| has_code(init, module)),
        Init::Value(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    #[test]
    fn variables_and_textures_are_those_of_the_text() {
        let text = b".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 here;\n.const .u32 there[2];
            .shared .u32 not;\n.visible .func f() { ret; }\n.global .u64 both[2] = {0, f};\n.global .u64 to = generic(here);\n.visible .entry k()\n{\n\ttex.1d.v4.f32.s32 {%f1}, [%rd1, {%r1}];\n\tret;\n}\n\0";
        let symbols = Symbols::of(text);
        assert_eq!(symbols.variables.into_iter().collect::<Vec<_>>(), ["here", "there", "to"]);
        assert_eq!(symbols.code.into_iter().collect::<Vec<_>>(), ["both"]);
        assert_eq!(symbols.samples, Some(true));
        let text = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry tex() { ret; }";
        assert_eq!(Symbols::of(text).samples, Some(false));
        assert_eq!(Symbols::of(b"\x7fELF").samples, None);
        let text = b".version 4.0\n.target sm_20\n.address_size 64\n.global .texref own;\n.visible .entry k()\n{\n\ttex.1d.v4.f32.s32 {%f1}, [own, {%r1}];\n}\n";
        assert_eq!(Symbols::of(text).reference.as_deref(), Some("own"));
    }
}
