//! What differs under another order of warps and blocks.

use std::fmt;

use crate::check::Finding;
use crate::engine::Fault;

/// Unseen stores that are printed.
const MOST: usize = 4;

/// How a launch under a seed differed from the same launch in the ordinary order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// Memory has different contents at the end.
    ///
    /// That is a mistake only if the kernel means to leave the same: sums of floats by atomics, and lists whose places atomics hand out,
    /// depend on the order by their nature.
    Memory(DifferentBytes),
    /// The launch hangs: its threads wait for something that cannot happen. The report lists what each of them waits for.
    Hang(Fault),
    /// The launch faults.
    Fault(Fault),
    /// One of the [checks](crate::Checks) finds what it does not find in the ordinary order.
    Check(Box<Finding>),
}

/// Bytes that differ at the end of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferentBytes {
    /// How many.
    pub count: u64,
    /// Device address of the first of them, rounded down to a multiple of 4.
    pub address: u64,
    /// In which allocation that is, at which offset.
    pub place: String,
    /// What the four bytes there are after the ordinary order, and after this one.
    pub contents: [[u8; 4]; 2],
    /// Lines in the PTX text of the instructions that wrote there last, in the ordinary order and in this one; 0 if none did.
    pub ptx_lines: [u32; 2],
}

/// How a launch behaves under a seed but not in the ordinary order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleDifference {
    /// Name of the kernel.
    pub kernel: String,
    /// The first seed that exposed it. [`Schedules::new(1).seed(seed)`](crate::Schedules::seed) runs that order alone.
    pub seed: u64,
    /// How many orders exposed it, over all launches of the kernel.
    pub times: u64,
    /// How many orders were run, over all launches of the kernel in which it was seen.
    pub orders: u64,
    /// What it is.
    pub kind: DifferenceKind,
    /// Stores that were executed and that other threads did not see when they read there: the line of the store in the PTX text, and the
    /// line that read. Where memory differs, a fence or a barrier may be missing between the two.
    pub unseen_stores: Vec<[u32; 2]>,
}

impl ScheduleDifference {
    /// What is the same for all differences that are reported as one.
    pub(super) fn key(&self) -> (&'static str, u32, u32) {
        match &self.kind {
            DifferenceKind::Memory(bytes) => (self.kind.name(), bytes.ptx_lines[0], bytes.ptx_lines[1]),
            DifferenceKind::Hang(_) => (self.kind.name(), 0, 0),
            DifferenceKind::Fault(fault) => (self.kind.name(), fault.ptx_line, 0),
            DifferenceKind::Check(finding) => {
                let other = finding.other.as_ref().map_or(0, |other| other.ptx_line);
                (finding.kind.name(), finding.access.ptx_line, other)
            }
        }
    }
}

impl DifferenceKind {
    /// One word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            DifferenceKind::Memory(_) => "memory",
            DifferenceKind::Hang(_) => "hang",
            DifferenceKind::Fault(_) => "fault",
            DifferenceKind::Check(_) => "check",
        }
    }
}

impl fmt::Display for DifferentBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DifferentBytes { count, address, place, contents, ptx_lines } = self;
        let [first, here] = contents.map(u32::from_le_bytes);
        let bytes = if *count == 1 { "1 byte differs" } else { &format!("{count} bytes differ") };
        write!(f, "{bytes}, the first at 0x{address:x}, {place}: {first} (0x{first:08x})")?;
        let written = |f: &mut fmt::Formatter<'_>, line: u32| match line {
            0 => f.write_str(", not written"),
            line => write!(f, ", written in PTX line {line}"),
        };
        written(f, ptx_lines[0])?;
        write!(f, "; with this seed {here} (0x{here:08x})")?;
        written(f, ptx_lines[1])
    }
}

impl fmt::Display for ScheduleDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScheduleDifference { kernel, seed, times, orders, kind, unseen_stores } = self;
        write!(
            f,
            "kernel `{kernel}` depends on the order of its threads: seed {seed} ({times} of {orders} order{}): ",
            if *orders == 1 { "" } else { "s" }
        )?;
        match kind {
            DifferenceKind::Memory(bytes) => write!(f, "{bytes}"),
            DifferenceKind::Hang(fault) => write!(f, "it hangs: {}", fault.message),
            DifferenceKind::Fault(fault) => write!(f, "it faults: {fault}"),
            DifferenceKind::Check(finding) => write!(f, "{finding}"),
        }?;
        for [store, load] in unseen_stores.iter().take(MOST) {
            write!(f, "; PTX line {load} did not see what line {store} had stored")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::FaultKind;

    fn difference(kind: DifferenceKind) -> ScheduleDifference {
        let unseen_stores = vec![[4, 9]];
        ScheduleDifference { kernel: "k".to_owned(), seed: 7, times: 2, orders: 32, kind, unseen_stores }
    }

    fn memory(count: u64, ptx_lines: [u32; 2]) -> DifferenceKind {
        let contents = [[1, 0, 0, 0], [0, 1, 0, 0]];
        DifferenceKind::Memory(DifferentBytes {
            count,
            address: 0x100,
            place: "here".to_owned(),
            contents,
            ptx_lines,
        })
    }

    fn fault(ptx_line: u32) -> Fault {
        let (kind, kernel, message) = (FaultKind::Trap, "k".to_owned(), "it traps".to_owned());
        Fault { kind, kernel, block: [0; 3], thread: [0; 3], address: None, ptx_line, source: None, message }
    }

    #[test]
    fn what_is_told_as_one() {
        let key = |kind| difference(kind).key();
        assert_eq!(key(memory(1, [3, 5])), ("memory", 3, 5));
        assert_eq!(key(memory(1, [3, 5])), key(memory(2, [3, 5])));
        // A hang is one, wherever the threads wait; faults are one for each line.
        assert_eq!(key(DifferenceKind::Hang(fault(3))), ("hang", 0, 0));
        assert_eq!(key(DifferenceKind::Fault(fault(3))), ("fault", 3, 0));
        let mut finding = Finding::of_copy("k", 0, 1, String::new());
        finding.access.ptx_line = 3;
        assert_eq!(key(DifferenceKind::Check(finding.clone().into())), ("uninitialised-copy", 3, 0));
        finding.other = Some(crate::check::Actor { ptx_line: 8, ..finding.access.clone() });
        assert_eq!(key(DifferenceKind::Check(finding.into())), ("uninitialised-copy", 3, 8));
    }

    #[test]
    fn as_text() {
        let start = "kernel `k` depends on the order of its threads: seed 7 (2 of 32 orders): ";
        let end = "; PTX line 9 did not see what line 4 had stored";
        let is =
            |kind, middle: &str| assert_eq!(difference(kind).to_string(), format!("{start}{middle}{end}"));
        is(
            memory(1, [3, 0]),
            "1 byte differs, the first at 0x100, here: 1 (0x00000001), written in PTX line 3; with this seed 256 (0x00000100), not written",
        );
        is(
            memory(8, [0, 5]),
            "8 bytes differ, the first at 0x100, here: 1 (0x00000001), not written; with this seed 256 (0x00000100), written in PTX line 5",
        );
        is(DifferenceKind::Hang(fault(3)), "it hangs: it traps");
        is(
            DifferenceKind::Fault(fault(3)),
            "it faults: it traps in kernel `k`, block (0, 0, 0), thread (0, 0, 0), PTX line 3",
        );
        let mut many = difference(DifferenceKind::Hang(fault(3)));
        many.unseen_stores = (0..9).map(|line| [line, line]).collect();
        assert_eq!(many.to_string().matches("did not see").count(), MOST);
    }
}
