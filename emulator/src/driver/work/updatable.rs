//! Kernel nodes that kernels change (`CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`): their parameters, their grid, and whether they run.
//!
//! As NVIDIA's documentation says. Where it says nothing: a change lasts until the next upload of the executable graph, and is refused while
//! there is none on the device.

use cuda_driver_sys::CUdevice;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use super::kernel::KernelCall;
use crate::driver::entry::INVALID_VALUE;
use crate::driver::function::Function;
use crate::driver::launch::grid_of;
use crate::driver::state::lock;
use crate::driver::{logs, slot};
use crate::engine::{Launch, NodeUpdate, NodeUpdater};

/// The nodes of all drivers: the threads that run a kernel work for none.
static NODES: Mutex<Nodes> = Mutex::new(Nodes { last: FIRST, nodes: BTreeMap::new() });

/// Below the first handle.
const FIRST: usize = 35 << 40;

struct Nodes {
    /// The last handle.
    last: usize,
    nodes: BTreeMap<usize, Weak<DeviceNode>>,
}

/// A node that kernels change.
pub(in crate::driver) struct DeviceNode {
    /// What kernels call it.
    pub(in crate::driver) handle: usize,
    /// Whose driver it is.
    slot: usize,
    state: Mutex<OnDevice>,
}

/// What kernels see of it.
#[derive(Default)]
struct OnDevice {
    /// What was uploaded; `None` before that.
    uploaded: Option<Uploaded>,
    grid: Option<[u32; 3]>,
    /// Bytes of the parameters, by their offsets.
    parameters: BTreeMap<usize, u8>,
    enabled: Option<bool>,
    /// Whether the log tells of a change that was refused.
    told: bool,
}

struct Uploaded {
    function: Arc<Function>,
    cluster: [u32; 3],
}

impl DeviceNode {
    pub(in crate::driver) fn new() -> Arc<DeviceNode> {
        let mut nodes = lock(&NODES);
        nodes.last += 1;
        let handle = nodes.last;
        let node = Arc::new(DeviceNode { handle, slot: slot::current(), state: Mutex::default() });
        nodes.nodes.insert(handle, Arc::downgrade(&node));
        node
    }

    /// The node with that handle.
    pub(in crate::driver) fn find(handle: usize) -> Option<Arc<DeviceNode>> {
        lock(&NODES).nodes.get(&handle)?.upgrade()
    }

    /// The device gets the node as the executable graph has it, unless it has one and `anew` is false.
    pub(in crate::driver) fn upload(&self, kernel: &KernelCall, anew: bool) {
        let mut state = lock(&self.state);
        if anew || state.uploaded.is_none() {
            let uploaded = Uploaded { function: Arc::clone(kernel.function()), cluster: kernel.cluster() };
            *state = OnDevice { uploaded: Some(uploaded), told: state.told, ..OnDevice::default() };
        }
    }

    /// The device has it no more.
    pub(in crate::driver) fn unload(&self) {
        *lock(&self.state) = OnDevice::default();
    }

    /// Whether launches do it, if a kernel has decided that.
    pub(in crate::driver) fn enabled(&self) -> Option<bool> {
        lock(&self.state).enabled
    }

    /// The launch as kernels have changed it; `None` if they have not.
    pub(super) fn changed(&self, launch: &Launch) -> Option<Launch> {
        let state = lock(&self.state);
        if state.grid.is_none() && state.parameters.is_empty() {
            return None;
        }
        let mut launch = Launch { grid: state.grid.unwrap_or(launch.grid), ..launch.clone() };
        for (offset, byte) in &state.parameters {
            // The host may have given the node another kernel since.
            if let Some(place) = launch.parameters.get_mut(*offset) {
                *place = *byte;
            }
        }
        Some(launch)
    }

    fn update(&self, device: CUdevice, update: NodeUpdate) -> Result<(), Refused> {
        let mut state = lock(&self.state);
        let Some(Uploaded { function, cluster }) = &state.uploaded else {
            return Err("its executable graph does not exist, or was neither uploaded nor launched".into());
        };
        if function.context.device != device {
            return Err("the node is another device's".into());
        }
        match update {
            NodeUpdate::Grid(asked) => {
                let grid = grid_of(function, asked).ok();
                let fits =
                    |grid: &[u32; 3]| grid.iter().zip(cluster).all(|(all, part)| all.is_multiple_of(*part));
                let grid = grid.filter(fits);
                state.grid = Some(grid.ok_or_else(|| format!("a grid of {asked:?} blocks is not possible"))?);
            }
            NodeUpdate::Parameters { offset, bytes } => {
                let all = function.kernel.parameter_bytes;
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                if start.checked_add(bytes.len()).is_none_or(|end| end > all) {
                    return Err(format!(
                        "{} bytes at offset {offset} are not in the {all} bytes of parameters of kernel `{}`",
                        bytes.len(),
                        function.kernel.name
                    ));
                }
                state.parameters.extend((start..).zip(bytes));
            }
            NodeUpdate::Enabled(enabled) => state.enabled = Some(enabled),
        }
        Ok(())
    }

    /// The code of a refused change.
    fn refused(&self, why: &Refused) -> u32 {
        if !std::mem::replace(&mut lock(&self.state).told, true) {
            let _entered = slot::enter(self.slot);
            let text = "a change of a graph's node by a kernel returns cudaErrorInvalidValue";
            logs::tell(vec![format!("{text}: {why}")]);
        }
        INVALID_VALUE.0
    }
}

impl Drop for DeviceNode {
    fn drop(&mut self) {
        lock(&NODES).nodes.remove(&self.handle);
    }
}

/// Why a change is refused. The code is the same for all of them.
type Refused = String;

/// Changes nodes for a kernel on that device.
pub(super) struct Updater(pub(super) CUdevice);

impl fmt::Debug for Updater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Updater").field(&self.0).finish()
    }
}

impl NodeUpdater for Updater {
    fn update(&self, node: u64, update: NodeUpdate) -> Result<u32, String> {
        let handle = usize::try_from(node).unwrap_or(usize::MAX);
        match DeviceNode::find(handle) {
            Some(node) => Ok(node.update(self.0, update).map_or_else(|why| node.refused(&why), |()| 0)),
            // No node, or one that is gone.
            None if handle == 0 || (FIRST..=lock(&NODES).last).contains(&handle) => Ok(INVALID_VALUE.0),
            None => Err(format!("a change of 0x{node:x}, which is not a node that kernels can change")),
        }
    }
}
