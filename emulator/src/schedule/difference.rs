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
    Check(Finding),
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
            "kernel `{kernel}` depends on the order of its threads: seed {seed} ({times} of {orders} orders): "
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
