//! Kernel nodes that kernels change (`CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`): their parameters, their grid, and whether they run.
//!
//! As NVIDIA's documentation says, and as an H200 with driver 580 does where that says nothing: a change lasts until the host gives the
//! node other parameters or switches it on or off, and is refused until the executable graph was uploaded or launched.

use cuda_driver_sys::CUdevice;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::kernel::KernelCall;
use crate::driver::entry::INVALID_VALUE;
use crate::driver::function::Function;
use crate::driver::launch::grid::{grid_of, most_resident};
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

/// When the host last said what a node does. The numbers grow.
#[derive(Clone, Copy, Default)]
pub(in crate::driver) struct Said {
    /// That of its kernel, its grid and its parameters.
    kernel: u64,
    /// That of whether it runs.
    enabled: u64,
}

impl Said {
    /// All of it now.
    pub(in crate::driver) fn now() -> Said {
        let mut said = Said::default();
        said.kernel_now();
        said.enabled_now();
        said
    }

    /// It gives the node a kernel now.
    pub(in crate::driver) fn kernel_now(&mut self) {
        self.kernel = next();
    }

    /// It switches the node on or off now.
    pub(in crate::driver) fn enabled_now(&mut self) {
        self.enabled = next();
    }
}

/// A number larger than all before it.
fn next() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Held while kernels change nodes, so that several changes are one.
static CHANGES: Mutex<()> = Mutex::new(());

/// What kernels see of it.
#[derive(Default)]
struct OnDevice {
    /// What was uploaded; `None` before that.
    uploaded: Option<Uploaded>,
    /// Up to where the device knows what the host says.
    said: Said,
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
    /// The most blocks of a cooperative one: all are resident at once.
    most: Option<u64>,
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

    /// The device gets what the host has said of the node since; that ends what kernels have said of the same.
    pub(in crate::driver) fn upload(&self, kernel: &KernelCall, said: Said) {
        let _changes = lock(&CHANGES);
        let mut state = lock(&self.state);
        if state.said.kernel < said.kernel {
            let function = Arc::clone(kernel.function());
            let most = kernel.is_cooperative().then(|| {
                let (block, shared) = kernel.block_and_shared();
                most_resident(&function, block.iter().product(), shared)
            });
            state.uploaded = Some(Uploaded { function, cluster: kernel.cluster(), most });
            state.said.kernel = said.kernel;
            state.grid = None;
            state.parameters.clear();
        }
        if state.said.enabled < said.enabled {
            state.said.enabled = said.enabled;
            state.enabled = None;
        }
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

    /// Whether a kernel on that device can change it so; the grid is as the node will have it.
    fn check(&self, device: CUdevice, update: NodeUpdate) -> Result<NodeUpdate, Refused> {
        let state = lock(&self.state);
        let Some(Uploaded { function, cluster, most }) = &state.uploaded else {
            return Err("its executable graph was neither uploaded nor launched".into());
        };
        if function.context.device != device {
            return Err("the node is another device's".into());
        }
        match update {
            NodeUpdate::Grid(asked) => {
                let grid = grid_of(function, asked).ok();
                let fits =
                    |grid: &[u32; 3]| grid.iter().zip(cluster).all(|(all, part)| all.is_multiple_of(*part));
                let grid =
                    grid.filter(fits).ok_or_else(|| format!("a grid of {asked:?} blocks is not possible"))?;
                let blocks = grid
                    .iter()
                    .fold(1_u64, |product, dimension| product.saturating_mul(u64::from(*dimension)));
                if let Some(most) = most.filter(|most| *most < blocks) {
                    return Err(format!(
                        "kernel `{}` is cooperative: at most {most} of its blocks are resident at once, and a grid of {asked:?} has {blocks}",
                        function.kernel.name
                    ));
                }
                Ok(NodeUpdate::Grid(grid))
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
                Ok(NodeUpdate::Parameters { offset, bytes })
            }
            NodeUpdate::Enabled(enabled) => Ok(NodeUpdate::Enabled(enabled)),
        }
    }

    /// Makes a change that was checked.
    fn apply(&self, update: NodeUpdate) {
        let mut state = lock(&self.state);
        match update {
            NodeUpdate::Grid(grid) => state.grid = Some(grid),
            NodeUpdate::Parameters { offset, bytes } => {
                state.parameters.extend((offset as usize..).zip(bytes));
            }
            NodeUpdate::Enabled(enabled) => state.enabled = Some(enabled),
        }
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

/// Changes nodes for a kernel.
#[derive(Debug)]
pub(super) struct Updater {
    /// Where it runs.
    pub(super) device: CUdevice,
    /// Whose driver runs it.
    pub(super) slot: usize,
}

impl Updater {
    /// The node of a handle; `None` for no node, for one that is gone, and for one of another driver.
    fn node(&self, node: u64) -> Result<Option<Arc<DeviceNode>>, String> {
        let handle = usize::try_from(node).unwrap_or(usize::MAX);
        let found = DeviceNode::find(handle);
        if found.is_none() && handle != 0 && !(FIRST..=lock(&NODES).last).contains(&handle) {
            return Err(format!("a change of 0x{node:x}, which is not a node that kernels can change"));
        }
        Ok(found.filter(|node| node.slot == self.slot))
    }
}

impl NodeUpdater for Updater {
    fn update(&self, updates: Vec<(u64, NodeUpdate)>) -> Result<u32, String> {
        let _changes = lock(&CHANGES);
        let mut checked = Vec::with_capacity(updates.len());
        for (node, update) in updates {
            let Some(node) = self.node(node)? else { return Ok(INVALID_VALUE.0) };
            match node.check(self.device, update) {
                Ok(update) => checked.push((node, update)),
                Err(why) => return Ok(node.refused(&why)),
            }
        }
        checked.into_iter().for_each(|(node, update)| node.apply(update));
        Ok(0)
    }
}
