//! Launch attributes: a typed constructor for every `CUlaunchAttribute` of the CUDA 13.5 header.
//!
//! This file alone, and `stream_attributes` beside it, touch the attribute union.

#![allow(unsafe_code)] // Reading the union member that the id names.

use cuda_driver_sys::{self as sys, CUlaunchAttribute, CUlaunchAttributeID as Id, CUlaunchAttributeValue};
use std::fmt;

use super::config::Dim3;
use super::device_node::DeviceNode;
use crate::driver::{CudaEvent, Keep};

mod values;

pub use values::{
    AccessPolicyWindow, AccessProperty, ClusterSchedulingPolicy, MemSyncDomain, PortableClusterMode,
    SharedMemoryMode, SynchronizationPolicy,
};

/// One attribute of a launch.
///
/// The constructors carry the driver's names without the prefix. If the driver is too old for an attribute, the
/// launch returns an error that names both versions.
///
/// ```
/// use cuda_launch::{Attribute, CudaContext, DeviceBuffer, LaunchConfig, cuda_launch, load_kernel_module};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let fill = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
/// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// // SAFETY: 1 to 6: fill takes an address, a count and a value, writes that many numbers, and ends.
/// unsafe {
///     cuda_launch! {
///         function: fill, stream: stream, config: LaunchConfig::for_num_elems(100),
///         attributes: [Attribute::priority(-1), Attribute::preferred_shared_memory_carveout(50)],
///         args: [ptr_mut(x), 100u32, 7u32]
///     }
/// }?;
/// assert_eq!(x.to_host_vec(&stream)?, [7; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Attribute<'event> {
    raw: CUlaunchAttribute,
    lent: Lent<'event>,
}

/// What an attribute refers to.
#[derive(Clone, Copy)]
enum Lent<'event> {
    Nothing,
    /// The event that the launch records.
    Event(&'event CudaEvent),
    /// Where the handle of the launch's graph node is stored.
    Node(&'event DeviceNode),
}

// SAFETY: the only pointers inside are a borrowed event, which any thread may use (`AnyEvent`); the base of an access
// policy window, a device address that the host never dereferences; a null pointer for a node; and those of `from_raw`,
// which any thread may use by its duty 3. What is borrowed is Sync.
unsafe impl Send for Attribute<'_> {}
// SAFETY: any thread may use the pointers, as above; through a shared reference only the cell of the node in `lent` can
// change, and it is atomic.
unsafe impl Sync for Attribute<'_> {}

impl<'event> Attribute<'event> {
    fn new(id: Id, value: CUlaunchAttributeValue) -> Self {
        Self { raw: CUlaunchAttribute { id, value, ..Default::default() }, lent: Lent::Nothing }
    }

    /// The same attribute, with the object that it refers to.
    fn with(self, lent: Lent<'event>) -> Self {
        Self { lent, ..self }
    }

    /// A placeholder that changes nothing. Since 11.8.
    pub fn ignore() -> Self {
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_IGNORE, CUlaunchAttributeValue::default())
    }

    /// L2 residency of a range of memory. Since 11.8; also for streams and graph nodes.
    pub fn access_policy_window(window: AccessPolicyWindow) -> Self {
        let raw = sys::CUaccessPolicyWindow {
            base_ptr: std::ptr::without_provenance_mut(window.base as usize),
            num_bytes: window.bytes,
            hitRatio: window.hit_ratio,
            hitProp: sys::CUaccessProperty(window.hit as u32),
            missProp: sys::CUaccessProperty(window.miss as u32),
        };
        let value = CUlaunchAttributeValue { accessPolicyWindow: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value)
    }

    /// Whether all blocks must run at once, and may therefore wait for each other. Since 11.8; the field `cooperative`
    /// sets it.
    ///
    /// The grid must fit on the device: blocks per multiprocessor ([`CudaFunction::max_active_blocks`]) times multiprocessors, else
    /// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`.
    ///
    /// [`CudaFunction::max_active_blocks`]: crate::CudaFunction::max_active_blocks
    pub fn cooperative(yes: bool) -> Self {
        let value = CUlaunchAttributeValue { cooperative: yes.into() };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value)
    }

    /// How threads wait for a stream. Since 11.8; for streams only: on a launch it is an error.
    pub fn synchronization_policy(policy: SynchronizationPolicy) -> Self {
        let value = CUlaunchAttributeValue { syncPolicy: sys::CUsynchronizationPolicy(policy as u32) };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value)
    }

    /// Blocks of a cluster along x, y, z. Since 11.8; devices from compute capability 9.0; the field `cluster_dim` sets it.
    ///
    /// Each divides the grid's dimension. The product is at most 8, or 16 if the kernel allows a size that is not
    /// portable. A kernel compiled for one cluster shape accepts only that shape.
    pub fn cluster_dimension((x, y, z): Dim3) -> Self {
        let value = CUlaunchAttributeValue { clusterDim: sys::CUlaunchAttributeValue_clusterDim { x, y, z } };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value)
    }

    /// How the blocks of a cluster are distributed. Since 11.8.
    pub fn cluster_scheduling_policy_preference(policy: ClusterSchedulingPolicy) -> Self {
        let raw = sys::CUclusterSchedulingPolicy(policy as u32);
        let value = CUlaunchAttributeValue { clusterSchedulingPolicyPreference: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, value)
    }

    /// The kernel may start before the preceding one in the stream is done, and waits for it with
    /// `griddepcontrol.wait`. Since 11.8; devices from compute capability 9.0.
    pub fn programmatic_stream_serialization(allowed: bool) -> Self {
        let value = CUlaunchAttributeValue { programmaticStreamSerializationAllowed: allowed.into() };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value)
    }

    /// Records `event` when all blocks have triggered it (`griddepcontrol.launch_dependents`), or when all have started.
    ///
    /// Since 11.8. Timing events and events shared between processes cannot be used here. A graph whose node has it keeps the
    /// event.
    pub fn programmatic_event(event: &'event CudaEvent, trigger_at_block_start: bool) -> Self {
        let raw = sys::CUlaunchAttributeValue_programmaticEvent {
            event: event.raw(),
            flags: 0,
            triggerAtBlockStart: trigger_at_block_start.into(),
        };
        let value = CUlaunchAttributeValue { programmaticEvent: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, value).with(Lent::Event(event))
    }

    /// Priority of the launch within the stream's context: lower numbers go first. Since 11.8.
    pub fn priority(priority: i32) -> Self {
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_PRIORITY, CUlaunchAttributeValue { priority })
    }

    /// Which hardware domains the two logical memory synchronisation domains mean. Since 12.0.
    ///
    /// Each is below the device's `MEM_SYNC_DOMAIN_COUNT`.
    pub fn mem_sync_domain_map(default: u8, remote: u8) -> Self {
        let map = sys::CUlaunchMemSyncDomainMap { default_: default, remote };
        Self::new(
            Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
            CUlaunchAttributeValue { memSyncDomainMap: map },
        )
    }

    /// The logical memory synchronisation domain of the launch. Since 12.0.
    pub fn mem_sync_domain(domain: MemSyncDomain) -> Self {
        let value = CUlaunchAttributeValue { memSyncDomain: sys::CUlaunchMemSyncDomain(domain as u32) };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, value)
    }

    /// A cluster shape to use where it fits; elsewhere the `cluster_dimension` of the same launch is used. Since 12.8.
    ///
    /// A multiple of that one along x and y, equal along z, and a divisor of the grid.
    pub fn preferred_cluster_dimension((x, y, z): Dim3) -> Self {
        let raw = sys::CUlaunchAttributeValue_preferredClusterDim { x, y, z };
        let value = CUlaunchAttributeValue { preferredClusterDim: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, value)
    }

    /// Records `event` once all blocks have started. Since 12.3.
    ///
    /// Timing events and events shared between processes cannot be used here. A graph whose node has it keeps the event.
    pub fn launch_completion_event(event: &'event CudaEvent) -> Self {
        let raw = sys::CUlaunchAttributeValue_launchCompletionEvent { event: event.raw(), flags: 0 };
        let value = CUlaunchAttributeValue { launchCompletionEvent: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, value).with(Lent::Event(event))
    }

    /// The graph node that captures this launch, or is created from it, can be updated from the device. Since 12.4; in a
    /// capture, or of a kernel node.
    ///
    /// Kernels name the node by a handle: see [`device_updatable_kernel_node_at`](Self::device_updatable_kernel_node_at).
    pub fn device_updatable_kernel_node() -> Self {
        let raw = sys::CUlaunchAttributeValue_deviceUpdatableKernelNode {
            deviceUpdatable: 1,
            ..Default::default()
        };
        let value = CUlaunchAttributeValue { deviceUpdatableKernelNode: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, value)
    }

    /// The same, storing the handle of the node in `node`.
    pub fn device_updatable_kernel_node_at(node: &'event DeviceNode) -> Self {
        Self::device_updatable_kernel_node().with(Lent::Node(node))
    }

    /// Share of the L1 cache to use as shared memory, in percent; a hint, and stronger than the function attribute.
    /// Since 12.5.
    pub fn preferred_shared_memory_carveout(percent: u32) -> Self {
        let value = CUlaunchAttributeValue { sharedMemCarveout: percent };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, value)
    }

    /// Schedules blocks for the best NVLink utilisation. Since 13.0.
    pub fn nvlink_util_centric_scheduling(yes: bool) -> Self {
        let value = CUlaunchAttributeValue { nvlinkUtilCentricScheduling: yes.into() };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, value)
    }

    /// Whether a cluster of more than 8 blocks is allowed for this launch. Since 13.2.
    pub fn portable_cluster_size_mode(mode: PortableClusterMode) -> Self {
        let raw = sys::CUlaunchAttributePortableClusterMode(mode as u32);
        let value = CUlaunchAttributeValue { portableClusterSizeMode: raw };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, value)
    }

    /// How much shared memory a block of this launch may have. Since 13.2.
    pub fn shared_memory_mode(mode: SharedMemoryMode) -> Self {
        let value = CUlaunchAttributeValue { sharedMemoryMode: sys::CUsharedMemoryMode(mode as u32) };
        Self::new(Id::CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE, value)
    }

    /// An attribute that this version of the crate does not know.
    ///
    /// # Safety
    /// 1. Id and value are as the driver's documentation requires, and pointers in them outlive the launch call; those of an attribute that
    ///    a stream is given outlive the work on the stream.
    /// 2. If the launch becomes a node of a graph, what they refer to lives as long as the graph can run: nothing else keeps it alive.
    /// 3. What they refer to may be used from any thread.
    pub const unsafe fn from_raw(raw: CUlaunchAttribute) -> Self {
        Self { raw, lent: Lent::Nothing }
    }

    /// Shared ownership of the event that the launch records, for a graph that replays the launch.
    pub(crate) fn share(&self) -> Option<Keep> {
        self.event().map(|event| event.share())
    }

    /// The node whose handle the driver returns in the attribute's value, if there is one.
    pub(crate) fn node(&self) -> Option<&'event DeviceNode> {
        match self.lent {
            Lent::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Stores what the driver returned in the attribute's value.
    pub(crate) fn answered(&self, value: &CUlaunchAttributeValue) {
        if let Some(node) = self.node() {
            // SAFETY: only `device_updatable_kernel_node_at` lends a node, and it sets this member. `value` is the copy of this attribute's
            // value that was passed to the driver (both callers pass that one), so the member is initialised, possibly overwritten by the
            // driver; any bits are a valid pointer value, and only its address is used.
            node.set(unsafe { value.deviceUpdatableKernelNode.devNode }.addr());
        }
    }

    /// The raw attribute.
    #[inline]
    pub const fn raw(&self) -> CUlaunchAttribute {
        self.raw
    }

    /// The driver's name without its prefix.
    pub fn name(&self) -> &'static str {
        description(self.raw.id).map_or("(unknown to this crate)", |(name, _)| name)
    }

    /// The first driver version that supports it, in the format of `cuDriverGetVersion`: 12030 is 12.3; 0 if unknown.
    pub fn since(&self) -> u32 {
        description(self.raw.id).map_or(0, |(_, since)| since)
    }

    /// The event inside, if it is one that this crate made.
    pub(super) fn event(&self) -> Option<&'event CudaEvent> {
        match self.lent {
            Lent::Event(event) => Some(event),
            _ => None,
        }
    }

    /// Its bit in [`Kernel::attributes`](crate::driver::Kernel), if the only check that it needs is whether the driver is new enough
    /// and the driver returns nothing in its value; 0 for all other attributes, and for those that this crate does not know.
    pub(super) fn plain_bit(&self) -> u64 {
        if self.raw.id.0 < u64::BITS { PLAIN & 1 << self.raw.id.0 } else { 0 }
    }

    /// Whether its bit is among these.
    #[inline(always)]
    pub(super) fn is_among(&self, bits: u64) -> bool {
        self.raw.id.0 < u64::BITS && bits >> self.raw.id.0 & 1 != 0
    }

    pub(super) fn is_stream_only(&self) -> bool {
        self.raw.id == Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
    }

    /// The shape, if this is `cluster_dimension`.
    #[inline(always)]
    pub(super) fn cluster(&self) -> Option<Dim3> {
        // SAFETY: the id says which member is set, by the constructor for that id or by duty 1 of `from_raw`; any bits are valid for
        // the member's integers.
        (self.raw.id == Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).then(|| unsafe {
            let dim = self.raw.value.clusterDim;
            (dim.x, dim.y, dim.z)
        })
    }

    /// The preferred cluster shape; `None` for `(0, 0, 0)`.
    pub(super) fn preferred_cluster(&self) -> Option<Dim3> {
        // SAFETY: the id says which member is set, by the constructor for that id or by duty 1 of `from_raw`; any bits are valid for
        // the member's integers.
        let preferred =
            (self.raw.id == Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION).then(|| unsafe {
                let dim = self.raw.value.preferredClusterDim;
                (dim.x, dim.y, dim.z)
            });
        preferred.filter(|&dim| dim != (0, 0, 0))
    }

    /// Whether this is `cooperative(true)`.
    pub(super) fn is_cooperative(&self) -> bool {
        // SAFETY: the id says which member is set, by the constructor for that id or by duty 1 of `from_raw`; any bits are valid for
        // the member's integers.
        self.raw.id == Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE && unsafe { self.raw.value.cooperative } != 0
    }

    /// Whether this allows clusters of more than 8 blocks for the launch.
    pub(super) fn allows_non_portable(&self) -> bool {
        let allow =
            sys::CUlaunchAttributePortableClusterMode::CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE;
        self.raw.id == Id::CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE
            // SAFETY: the id says which member is set, by the constructor for that id or by duty 1 of `from_raw`; any bits are valid for
            // the member's integers.
            && unsafe { self.raw.value.portableClusterSizeMode } == allow
    }

    /// Whether this lifts the limit on dynamic shared memory for the launch. All modes do except the first two, which leave it as it is.
    pub(super) fn lifts_shared_memory(&self) -> bool {
        const UNCHANGED: [SharedMemoryMode; 2] =
            [SharedMemoryMode::Default, SharedMemoryMode::RequirePortable];
        self.raw.id == Id::CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE
            // SAFETY: the id says which member is set: by the constructor of that id, or duty 1 of `from_raw`; any bits are its number.
            && !UNCHANGED.map(|mode| mode as u32).contains(&unsafe { self.raw.value.sharedMemoryMode }.0)
    }
}

/// The ids of the attributes for which only the driver version is checked. This excludes attributes that refer to an event or a node,
/// attributes of streams only, and the preferred cluster, which needs another attribute. The dimensions of a cluster are checked as
/// well, on every launch, by `check::portable_cluster`.
const PLAIN: u64 = bits(&[
    Id::CU_LAUNCH_ATTRIBUTE_IGNORE,
    Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    Id::CU_LAUNCH_ATTRIBUTE_PRIORITY,
    Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    Id::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
    Id::CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE,
    Id::CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE,
]);

const fn bits(ids: &[Id]) -> u64 {
    let (mut bits, mut rest) = (0, ids);
    while let [id, more @ ..] = rest {
        bits |= 1 << id.0;
        rest = more;
    }
    bits
}

/// Name and first version of an attribute.
fn description(id: Id) -> Option<(&'static str, u32)> {
    Some(match id {
        Id::CU_LAUNCH_ATTRIBUTE_IGNORE => ("IGNORE", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => ("ACCESS_POLICY_WINDOW", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => ("COOPERATIVE", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => ("SYNCHRONIZATION_POLICY", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => ("CLUSTER_DIMENSION", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            ("CLUSTER_SCHEDULING_POLICY_PREFERENCE", 11080)
        }
        Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => {
            ("PROGRAMMATIC_STREAM_SERIALIZATION", 11080)
        }
        Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => ("PROGRAMMATIC_EVENT", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_PRIORITY => ("PRIORITY", 11080),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => ("MEM_SYNC_DOMAIN_MAP", 12000),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => ("MEM_SYNC_DOMAIN", 12000),
        Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION => ("PREFERRED_CLUSTER_DIMENSION", 12080),
        Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => ("LAUNCH_COMPLETION_EVENT", 12030),
        Id::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => ("DEVICE_UPDATABLE_KERNEL_NODE", 12040),
        Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
            ("PREFERRED_SHARED_MEMORY_CARVEOUT", 12050)
        }
        Id::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING => ("NVLINK_UTIL_CENTRIC_SCHEDULING", 13000),
        Id::CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE => ("PORTABLE_CLUSTER_SIZE_MODE", 13020),
        Id::CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE => ("SHARED_MEMORY_MODE", 13020),
        _ => return None,
    })
}

impl fmt::Debug for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attribute::{}", self.name())
    }
}
