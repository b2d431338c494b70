//! Call frames of a warp.

use std::hash::{Hash, Hasher};

use super::super::code::{Code, Row};
use super::super::exec::lanes::Lanes;
use super::super::kernel::Kernel;

/// Deepest nesting of calls.
const DEEPEST: u32 = 4096;
/// The maximum number of rows of registers in the frames of a warp: 64 MiB.
const MOST_ROWS: usize = 512 << 10;
/// Most bytes of local memory of a thread, as on hardware.
const MOST_LOCAL: u32 = 512 << 10;

/// The origin of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The frame.
    pub(super) frame: usize,
    /// Where it continues.
    pub(super) pc: u32,
    /// The instruction that called.
    pub(super) at: u32,
}

/// The registers of a function for the threads that entered it together.
#[derive(Debug, Default)]
struct Frame {
    /// Index of the function in the kernel.
    code: usize,
    /// Its constants, then its registers.
    rows: Vec<Row>,
    /// How many constants.
    constants: usize,
    predicates: Vec<u32>,
    caller: Option<Caller>,
    depth: u32,
    /// Splits in it, and frames called from it.
    holders: u32,
    local_base: u32,
    /// Bytes of local memory after its variables: the maximum that any of its threads has requested.
    dynamic: u32,
}

/// All frames of a warp.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    free: Vec<usize>,
    rows: usize,
}

/// The stack is used up.
#[derive(Debug)]
pub(super) struct Overflow(pub(super) &'static str);

impl Frames {
    /// Drops all frames and makes the kernel's, held by one split.
    pub(super) fn start(&mut self, kernel: &Kernel, local: &mut Vec<u32>) -> usize {
        // The frame of the last block's kernel is nearly always the only one: its memory is used again.
        self.frames.truncate(1);
        self.free.clear();
        self.free.extend(0..self.frames.len());
        self.rows = 0;
        local.clear();
        // The first frame fits: the decoder refuses functions with more local memory than there is.
        self.make(kernel, 0, None, local).unwrap_or(0)
    }

    /// A new frame for function `code`, held by one split. The caller's frame is held by it.
    pub(super) fn make(
        &mut self,
        kernel: &Kernel,
        code: usize,
        caller: Option<Caller>,
        local: &mut Vec<u32>,
    ) -> Result<usize, Overflow> {
        let function = &kernel.codes[code];
        let (depth, local_base) = match caller {
            None => (0, 0),
            Some(caller) => {
                let below = &self.frames[caller.frame];
                let own = kernel.codes[below.code].local_bytes + below.dynamic;
                (below.depth + 1, (below.local_base + own).next_multiple_of(16))
            }
        };
        if depth > DEEPEST || self.rows + function.rows as usize > MOST_ROWS {
            return Err(Overflow("calls are nested too deep"));
        }
        let top = local_base + function.local_bytes;
        if top > MOST_LOCAL {
            return Err(Overflow("the stack of a thread is used up"));
        }
        local.resize(local.len().max(top as usize / 4 * 32), 0);
        self.rows += function.rows as usize;
        let index = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Frame::default());
            self.frames.len() - 1
        });
        let frame = &mut self.frames[index];
        let constants = function.constants.len();
        let total = constants + function.rows as usize;
        if frame.code == code && frame.rows.len() == total {
            // The constants are still valid from the last use, because they are never written.
            for rows in &function.zeroed {
                frame.rows[constants..][rows.start as usize..rows.end as usize].fill(Row::ZERO);
            }
        } else {
            frame.rows.clear();
            frame.rows.reserve_exact(total);
            frame.rows.extend_from_slice(&function.constants);
            frame.rows.resize(total, Row::ZERO);
            frame.constants = constants;
        }
        frame.predicates.clear();
        frame.predicates.resize(function.predicates as usize, 0);
        frame.predicates[1] = !0;
        (frame.code, frame.caller, frame.depth, frame.holders) = (code, caller, depth, 1);
        (frame.local_base, frame.dynamic) = (local_base, 0);
        if let Some(caller) = caller {
            self.hold(caller.frame);
        }
        Ok(index)
    }

    /// Gives a frame at least that many bytes of local memory after its variables.
    pub(super) fn grow(
        &mut self,
        kernel: &Kernel,
        frame: usize,
        bytes: u32,
        local: &mut Vec<u32>,
    ) -> Result<(), Overflow> {
        let frame = &mut self.frames[frame];
        let start = frame.local_base + kernel.codes[frame.code].local_bytes;
        if bytes > MOST_LOCAL - start.min(MOST_LOCAL) {
            return Err(Overflow("the stack of a thread is used up"));
        }
        frame.dynamic = frame.dynamic.max(bytes);
        let top = (start + frame.dynamic).next_multiple_of(4);
        local.resize(local.len().max(top as usize / 4 * 32), 0);
        Ok(())
    }

    /// One more split or called frame holds a frame.
    pub(super) fn hold(&mut self, frame: usize) {
        self.frames[frame].holders += 1;
    }

    /// A split or called frame lets a frame go; without holders it is dropped, and lets its caller's go.
    pub(super) fn release(&mut self, frame: usize) {
        let mut next = Some(frame);
        while let Some(index) = next {
            let frame = &mut self.frames[index];
            frame.holders = frame.holders.saturating_sub(1);
            next = None;
            if frame.holders == 0 {
                self.rows -= (frame.rows.len() - frame.constants).min(self.rows);
                self.free.push(index);
                next = frame.caller.map(|caller| caller.frame);
            }
        }
    }

    /// Moves the values of the lanes of `mask` in frame `from` and its callers to frame `into` and its callers. False, and nothing is
    /// moved, unless both were called from the same positions.
    pub(super) fn merge(&mut self, kernel: &Kernel, into: usize, from: usize, mask: u32) -> bool {
        let mut pairs = Vec::new();
        let (mut a, mut b) = (into, from);
        while a != b {
            let (x, y) = (&self.frames[a], &self.frames[b]);
            let same = x.code == y.code && x.local_base == y.local_base;
            pairs.push((a, b));
            match (x.caller, y.caller) {
                (Some(c), Some(d)) if same && c.pc == d.pc => (a, b) = (c.frame, d.frame),
                _ => return false,
            }
        }
        pairs.into_iter().for_each(|(into, from)| self.move_lanes(kernel, into, from, mask));
        true
    }

    /// Moves what lanes have in a frame to another one of the same function.
    fn move_lanes(&mut self, kernel: &Kernel, into: usize, from: usize, mask: u32) {
        let source = std::mem::take(&mut self.frames[from]);
        let target = &mut self.frames[into];
        let wide = &kernel.codes[target.code].wide_rows;
        let (first_wide, end) =
            (target.constants + wide.start as usize, target.constants + wide.end as usize);
        // What lies behind those is between the two parts of one instruction that reads a texture, where nobody waits.
        for (index, row) in source.rows.iter().enumerate().take(end).skip(target.constants) {
            // Of two rows of numbers of 64 bits, each has those of sixteen lanes.
            let lane_of = |place: usize| match index.checked_sub(first_wide) {
                Some(row) => row % 2 * 16 + place / 2,
                None => place,
            };
            let Some(to) = target.rows.get_mut(index) else { continue };
            for (place, word) in
                row.0.iter().enumerate().filter(|(place, _)| mask >> lane_of(*place) & 1 != 0)
            {
                to.0[place] = *word;
            }
        }
        for (to, bits) in target.predicates.iter_mut().zip(&source.predicates) {
            *to = *to & !mask | bits & mask;
        }
        target.dynamic = target.dynamic.max(source.dynamic);
        self.frames[from] = source;
    }

    /// Records that this many splits in a frame have merged with another one in it.
    pub(super) fn join(&mut self, frame: usize, count: usize) {
        self.frames[frame].holders -= count as u32;
    }

    /// Nesting of calls.
    #[inline]
    pub(super) fn depth(&self, frame: usize) -> u32 {
        self.frames[frame].depth
    }

    /// Where a frame was called from.
    pub(super) fn caller(&self, frame: usize) -> Option<Caller> {
        self.frames[frame].caller
    }

    /// Index in the kernel of a frame's function.
    pub(super) fn code_index(&self, frame: usize) -> usize {
        self.frames[frame].code
    }

    /// A frame's function.
    pub(super) fn code<'k>(&self, kernel: &'k Kernel, frame: usize) -> &'k Code {
        &kernel.codes[self.frames[frame].code]
    }

    /// Points lanes at a frame.
    #[inline]
    pub(super) fn enter<'e>(&mut self, frame: usize, lanes: &mut Lanes<'e>) -> &'e Code {
        let kernel: &'e Kernel = lanes.env.kernel;
        let frame = &mut self.frames[frame];
        let code = &kernel.codes[frame.code];
        lanes.enter(code, &mut frame.rows, &mut frame.predicates, (frame.local_base, frame.dynamic));
        code
    }

    /// Index of a frame's function in the kernel.
    pub(super) fn function(&self, frame: usize) -> usize {
        self.frames[frame].code
    }

    /// Adds what a frame holds to a hash, and where it was called from.
    pub(super) fn hash(&self, frame: usize, hasher: &mut impl Hasher) {
        let mut next = Some(frame);
        while let Some(frame) = next.and_then(|index| self.frames.get(index)) {
            frame.rows.iter().for_each(|row| row.0.hash(hasher));
            frame.predicates.hash(hasher);
            (frame.code, frame.caller.map(|caller| caller.pc)).hash(hasher);
            next = frame.caller.map(|caller| caller.frame);
        }
    }

    /// Rows of a frame.
    pub(super) fn rows(&self, frame: usize, start: u32, count: u32) -> &[Row] {
        let frame = &self.frames[frame];
        let start = frame.constants + start as usize;
        frame.rows.get(start..start + count as usize).unwrap_or(&[])
    }

    /// Rows of a frame.
    pub(super) fn rows_mut(&mut self, frame: usize, start: u32, count: u32) -> &mut [Row] {
        let frame = &mut self.frames[frame];
        let start = frame.constants + start as usize;
        frame.rows.get_mut(start..start + count as usize).unwrap_or(&mut [])
    }
}
