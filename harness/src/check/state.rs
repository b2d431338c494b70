//! The state between calls.

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
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// The number of launches that are remembered, one of which may have caused a fault.
const LAST_LAUNCHES: usize = 16;

#[derive(Default)]
pub(super) struct State {
    /// The number of calls so far.
    pub(super) count: usize,
    pub(super) objects: Objects,
    /// By the function's object and the context.
    pub(super) kernels: HashMap<(Place, u64), Arc<Kernel>, Quick>,
    /// Of modules and libraries.
    pub(super) images: HashMap<Place, Arc<Image>>,
    /// The extents of arrays whose creation was observed.
    pub(super) arrays: HashMap<Place, Extent>,
    pub(super) order: Order,
    /// Of graphs and executable graphs.
    pub(super) graphs: HashMap<Place, Nodes>,
    /// Nodes of clones, with the node that they are copies of, and the clone.
    pub(super) clones: HashMap<u64, (u64, Place), Quick>,
    /// The captures in progress, by their numbers.
    pub(super) captures: HashMap<u64, Capture, Quick>,
    /// The contexts that have peer access, each with the one to whose memory.
    pub(super) peers: HashSet<(u64, u64), Quick>,
    /// The number of calls in progress that end a capture.
    pub(super) ending: usize,
    /// The number of calls in progress that may add to a capture.
    pub(super) capturing: usize,
    /// Whether a capture ended whose begin was not observed: there may be others.
    pub(super) has_unseen_captures: bool,
    /// Whether a graph may wait for work outside of it when it is launched.
    pub(super) graphs_wait: bool,
    /// Error codes that the program has not queried: how often each occurred, and its first call.
    pub(super) failed: BTreeMap<(&'static str, u32), (usize, usize)>,
    pub(super) launches: VecDeque<Launched>,
    pub(super) fault: Option<CUresult>,
    /// Whether the program uses the CUDA runtime, which keeps contexts and modules of its own.
    pub(super) is_runtime: bool,
    /// The runtime's last error at the end of the program, and its name there.
    pub(super) runtime_error: Option<(CUresult, String)>,
    /// Whether it has green contexts, which share objects of other contexts.
    pub(super) is_green: bool,
}

/// A launch that succeeded.
pub(super) struct Launched {
    pub(super) call: usize,
    pub(super) kernel: Arc<Kernel>,
    pub(super) stream: u64,
    /// Its moment; `None` during a capture.
    pub(super) at: Option<Moment>,
}

impl State {
    /// Whether a capture may be in progress.
    pub(super) fn is_capturing(&self) -> bool {
        self.objects.captures > 0 || self.ending > 0 || self.has_unseen_captures
    }

    /// The image of a function or kernel: that of the first of its owners that has one.
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

    /// A context's name.
    pub(super) fn context_name(&mut self, context: u64) -> String {
        let device = self.objects.primaries.iter().find(|(_, primary)| **primary == context);
        let primary = device.and_then(|(device, _)| self.objects.find(Kind::PrimaryContext, *device));
        match primary.and_then(|place| self.objects.at(place)) {
            Some(object) => object.name.to_string(),
            None => decode::handle(Kind::Context, context, &mut self.objects).to_string(),
        }
    }

    /// The names of the streams of two pieces of work that race; for default streams of different contexts they include
    /// the context.
    pub(super) fn stream_names(&mut self, own: (u64, Moment), other: (u64, Moment)) -> [String; 2] {
        let mut names = [own, other].map(|(stream, _)| self.stream_name(stream));
        let contexts = [own, other].map(|(_, at)| self.order.context_of(at));
        let [is_default, is_of_thread] =
            [0..=2, 2..=2].map(|handles| handles.contains(&own.0) && handles.contains(&other.0));
        if is_default && contexts[0] != contexts[1] {
            for (name, context) in names.iter_mut().zip(contexts) {
                *name += &format!(" of {}", self.context_name(context));
            }
        } else if is_of_thread {
            names[1] += " of another thread";
        }
        names
    }

    pub(super) fn launched(&mut self, launched: Launched) {
        self.launches.push_back(launched);
        if self.launches.len() > LAST_LAUNCHES {
            self.launches.pop_front();
        }
    }
}

#[cfg(test)]
#[allow(unsafe_code, clippy::unwrap_used)] // Calls an emulator with valid arguments.
mod tests {
    use crate::check::Check;
    use cuda_driver_sys::CUresult;
    use cuda_emulator::Instance;
    use std::ptr::null_mut;

    const PTX: &std::ffi::CStr = c".version 7.8 .target sm_75 .address_size 64 .visible .entry k() { ret; }";

    #[test]
    fn nothing_is_kept_of_an_image_that_is_unloaded() {
        let instance = Instance::new().unwrap();
        let check = Check::over(&instance.driver(), |_| {}).unwrap();
        let driver = check.driver();
        let ok = |code: CUresult| assert_eq!(code, CUresult::SUCCESS);
        let (mut context, mut module, mut kernel) = (null_mut(), null_mut(), null_mut());
        let kept = || {
            let state = check.inner.lock();
            (state.images.len(), state.kernels.len())
        };
        // SAFETY: outputs for one handle each, live handles, and a kernel without parameters.
        unsafe {
            ok(driver.cuInit(0));
            ok(driver.cuDevicePrimaryCtxRetain(&mut context, 0));
            ok(driver.cuCtxSetCurrent(context));
            for unload in [true, false] {
                ok(driver.cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
                ok(driver.cuModuleGetFunction(&mut kernel, module, c"k".as_ptr()));
                ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()));
                assert_eq!(kept(), (1, 1));
                ok(if unload { driver.cuModuleUnload(module) } else { driver.cuDevicePrimaryCtxReset(0) });
                assert_eq!(kept(), (0, 0));
            }
            ok(driver.cuDevicePrimaryCtxRelease(0));
        }
    }
}
