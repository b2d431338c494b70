//! What is remembered between calls.

use super::kernel::Kernel;
use crate::objects::{Objects, Place};
use cuda_driver_sys::CUresult;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Launches that a fault may be of.
const LAST_LAUNCHES: usize = 16;

#[derive(Default)]
pub(super) struct State {
    /// How many calls there were.
    pub(super) count: usize,
    pub(super) objects: Objects,
    /// By the function's object and the context.
    pub(super) kernels: HashMap<(Place, u64), Arc<Kernel>>,
    /// Answers that the program has not asked about: how often, and the first call.
    pub(super) failed: BTreeMap<(&'static str, u32), (usize, usize)>,
    pub(super) launches: VecDeque<Launched>,
    pub(super) fault: Option<CUresult>,
    /// The program is one of the CUDA runtime, which keeps contexts and modules of its own.
    pub(super) is_runtime: bool,
    /// It has green contexts, which share what others made.
    pub(super) is_green: bool,
}

/// A launch that succeeded.
pub(super) struct Launched {
    pub(super) call: usize,
    pub(super) kernel: Arc<Kernel>,
    pub(super) stream: String,
}

impl State {
    pub(super) fn launched(&mut self, launched: Launched) {
        self.launches.push_back(launched);
        if self.launches.len() > LAST_LAUNCHES {
            self.launches.pop_front();
        }
    }
}
