//! The counts of a kernel, by function and instruction.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::kernel::Kernel;
use super::Profiled;
use crate::profile::{Counts, InstructionProfile, KernelProfile};

/// The counts of a launch, or of a part of its blocks.
pub(super) struct Counted {
    /// By function of the kernel, then by instruction.
    counts: Vec<Vec<Counts>>,
    /// Times a warp entered a function, by function.
    entries: Vec<u64>,
    /// By function and instruction: threads that jumped, by target.
    jumps: HashMap<(usize, usize), BTreeMap<u32, u64>>,
}

impl Counted {
    /// Nothing, yet.
    pub(super) fn new(kernel: &Kernel) -> Counted {
        let counts = kernel.codes.iter().map(|code| vec![Counts::default(); code.insts.len()]).collect();
        Counted { counts, entries: vec![0; kernel.codes.len()], jumps: HashMap::new() }
    }

    /// The counts of an instruction.
    pub(super) fn at(&mut self, (code, at): (usize, usize)) -> Option<&mut Counts> {
        self.counts.get_mut(code)?.get_mut(at)
    }

    pub(super) fn enters(&mut self, code: usize) {
        if let Some(entries) = self.entries.get_mut(code) {
            *entries += 1;
        }
    }

    pub(super) fn jumps(&mut self, place: (usize, usize), target: u32, threads: u32) {
        *self.jumps.entry(place).or_default().entry(target).or_default() += u64::from(threads);
    }

    /// The instructions of the kernel with these counts, by function.
    pub(super) fn of(&self, kernel: &Kernel) -> KernelProfile {
        let files: BTreeMap<&str, Arc<str>> =
            kernel.files.values().map(|name| (name.as_str(), Arc::from(name.as_str()))).collect();
        let mut instructions: Vec<InstructionProfile> = Vec::new();
        for (number, (code, profiled)) in kernel.codes.iter().zip(&kernel.profiled).enumerate() {
            let function: Arc<str> = code.name.as_str().into();
            let mut last = 0;
            let mut entries = self.entries.get(number).copied().unwrap_or(0);
            for (at, (origin, profiled)) in code.origins.iter().zip(profiled).enumerate() {
                // Statement 0: the decoder's own.
                if origin.statement == 0 {
                    continue;
                }
                let counts = self.counts.get(number).and_then(|code| code.get(at));
                let (counts, targets) =
                    (counts.copied().unwrap_or_default(), self.targets((number, at), profiled));
                match instructions.last_mut() {
                    Some(known) if origin.statement == last => one_more(known, profiled, &counts, targets),
                    _ => {
                        let source = kernel.source(*origin);
                        instructions.push(InstructionProfile {
                            function: Arc::clone(&function),
                            name: Arc::clone(&profiled.name),
                            ptx_line: origin.line,
                            source: source.and_then(|(file, line)| Some((files.get(file)?.clone(), line))),
                            column: source.map_or(0, |_| origin.source_column),
                            conditional: profiled.conditional,
                            entries: std::mem::take(&mut entries),
                            targets,
                            counts,
                        });
                    }
                }
                last = origin.statement;
            }
        }
        KernelProfile {
            kernel: kernel.name.clone(),
            text: Arc::clone(&kernel.text),
            launches: 0,
            blocks: 0,
            threads: 0,
            instructions,
            allocations: Vec::new(),
        }
    }

    /// Threads that jumped to each target of a `brx.idx`.
    fn targets(&self, place: (usize, usize), profiled: &Profiled) -> Vec<u64> {
        let jumps = self.jumps.get(&place);
        let to = |target| jumps.and_then(|jumps| jumps.get(target)).copied().unwrap_or(0);
        profiled.targets.iter().map(to).collect()
    }
}

/// A kernel that was not launched.
pub(in crate::engine) fn nothing(kernel: &Kernel) -> KernelProfile {
    Counted::new(kernel).of(kernel)
}

/// Continues an instruction: the parts that compute its operands come first, and run for all its threads.
fn one_more(known: &mut InstructionProfile, part: &Profiled, counts: &Counts, targets: Vec<u64>) {
    known.conditional |= part.conditional;
    if !targets.is_empty() {
        known.targets = targets;
    }
    known.counts += *counts;
    (known.counts.warps, known.counts.threads) = (counts.warps, counts.threads);
    known.counts.threads_on = counts.threads_on;
}
