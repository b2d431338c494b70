//! What is remembered between calls.

use super::graphs::{Capture, Nodes};
use super::image::Image;
use super::kernel::Kernel;
use super::order::{Moment, Order};
use super::range::Extent;
use crate::decode;
use crate::kind::Kind;
use crate::objects::{Objects, Place, Quick};
use crate::value::Value;
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
    pub(super) kernels: HashMap<(Place, u64), Arc<Kernel>, Quick>,
    /// Of modules and libraries.
    pub(super) images: HashMap<Place, Arc<Image>>,
    /// Of arrays that were seen being made.
    pub(super) arrays: HashMap<Place, Extent>,
    pub(super) order: Order,
    /// Of graphs and executable graphs.
    pub(super) graphs: HashMap<Place, Nodes>,
    pub(super) capture: Capture,
    /// Calls under way that end a capture.
    pub(super) ending: usize,
    /// A capture ended whose begin was not seen: there may be others.
    pub(super) has_unseen_captures: bool,
    /// A graph may wait for work outside of it when it is launched.
    pub(super) graphs_wait: bool,
    /// Answers that the program has not asked about: how often, and the first call.
    pub(super) failed: BTreeMap<(&'static str, u32), (usize, usize)>,
    pub(super) launches: VecDeque<Launched>,
    pub(super) fault: Option<CUresult>,
    /// The program is one of the CUDA runtime, which keeps contexts and modules of its own.
    pub(super) is_runtime: bool,
    /// The runtime's last error at the end of the program, and its name there.
    pub(super) runtime_error: Option<(CUresult, String)>,
    /// It has green contexts, which share what others made.
    pub(super) is_green: bool,
}

/// A launch that succeeded.
pub(super) struct Launched {
    pub(super) call: usize,
    pub(super) kernel: Arc<Kernel>,
    pub(super) stream: u64,
    /// When; none while a graph is captured.
    pub(super) at: Option<Moment>,
}

impl State {
    /// Whether a capture may be under way.
    pub(super) fn is_capturing(&self) -> bool {
        self.objects.captures > 0 || self.ending > 0 || self.has_unseen_captures
    }

    /// The image that a function or kernel is of: that of the first of its owners that has one.
    pub(super) fn image_of(&self, place: Place) -> Option<Arc<Image>> {
        let mut owner = Some(place);
        while let Some(place) = owner {
            if let Some(image) = self.images.get(&place) {
                return Some(image.clone());
            }
            owner = self.objects.at(place)?.owner;
        }
        None
    }

    /// A stream's name.
    pub(super) fn stream_name(&mut self, stream: u64) -> String {
        match decode::handle(Kind::Stream, stream, &mut self.objects) {
            Value::Stream(name) => format!("the {name} stream"),
            other => other.to_string(),
        }
    }

    pub(super) fn launched(&mut self, launched: Launched) {
        self.launches.push_back(launched);
        if self.launches.len() > LAST_LAUNCHES {
            self.launches.pop_front();
        }
    }
}
