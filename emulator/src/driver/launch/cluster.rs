//! Launch attributes, above all the cluster shape.
//!
//! Relies on the caller for the array of attributes, and for the member of each union that the attribute's id names: C1 and C2 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::architecture::PORTABLE_CLUSTER;
use crate::driver::context::Context;
use crate::driver::entry::{FromC, INVALID_VALUE, In, Outcome};
use crate::driver::function::Function;
use crate::driver::handles::to_c;
use crate::driver::logs;
use crate::driver::since::Known;
use crate::driver::state::Call;
use crate::driver::work::event::Event;
use crate::driver::work::kernel::Attributes;
use crate::driver::work::updatable::DeviceNode;

/// What the attributes of a launch ask for. Those that only steer a GPU's scheduler and caches are checked and have no
/// effect.
#[derive(Default)]
pub(in crate::driver) struct Request {
    /// `COOPERATIVE`
    pub(in crate::driver) cooperative: bool,
    /// `CLUSTER_DIMENSION`
    dimensions: Option<[u32; 3]>,
    /// `PREFERRED_CLUSTER_DIMENSION`
    preferred: Option<[u32; 3]>,
    /// Events that the launch signals: here when it is done.
    pub(super) events: Vec<Arc<Event>>,
    /// The node that kernels change, where `DEVICE_UPDATABLE_KERNEL_NODE` asks for one.
    pub(in crate::driver) node: Option<Arc<DeviceNode>>,
    /// All attributes, as they were given: the member that each id names is set.
    attributes: Vec<CUlaunchAttribute>,
}

/// The attribute of nodes that kernels change.
pub(in crate::driver) const UPDATABLE: CUlaunchAttributeID =
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE`
const INVALID_CLUSTER: CUresult = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;

impl Request {
    /// What `cuLaunchCooperativeKernel` asks for.
    pub(super) fn cooperative() -> Request {
        Request { cooperative: true, ..Request::default() }
    }

    /// Reads and checks the attributes of a launch.
    pub(in crate::driver) fn read(call: &Call, config: &CUlaunchConfig) -> Outcome<Request> {
        // SAFETY: 1 of `from_c`: the caller's pointer, which as C1, C2 and C4 say lasts until the call returns, longer than `all`; a `MaybeUninit`
        // has the alignment of what is in it. 1 of `read_array`: by C1 it is null or has `numAttrs` attributes.
        let attributes = unsafe {
            let all: In<'_, MaybeUninit<CUlaunchAttribute>> =
                In::from_c(config.attrs.cast::<MaybeUninit<_>>());
            all.read_array(config.numAttrs as usize)?
        };
        let attributes = attributes.iter().map(|attribute| without_node(set(attribute)));
        Request::of(call, attributes.collect())
    }

    /// What these attributes ask for, of which the member that each id names is set. A node that they name keeps its handle.
    pub(in crate::driver) fn of(call: &Call, attributes: Vec<CUlaunchAttribute>) -> Outcome<Request> {
        let mut request = Request::default();
        for attribute in &attributes {
            request.add(call, attribute)?;
        }
        request.attributes = attributes;
        if let Some(node) = &request.node {
            let of_node = request.attributes.iter_mut().filter(|attribute| attribute.id == UPDATABLE);
            of_node.for_each(|attribute| attribute.value = told(node));
        }
        Ok(request)
    }

    /// Whether it has the attribute of nodes that kernels change, with either value.
    pub(super) fn is_of_a_node(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.id == UPDATABLE)
    }

    /// Takes all attributes out, as they were given.
    pub(super) fn attributes(&mut self) -> Attributes {
        let programmatic = self.attributes.iter().any(|attribute| {
            attribute.id == CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
                // SAFETY: the id that was just compared names this member, a number, which is set, as `attributes` says.
                && unsafe { attribute.value.programmaticStreamSerializationAllowed } != 0
        });
        Attributes { all: std::mem::take(&mut self.attributes), programmatic, node: self.node.take() }
    }

    fn add(&mut self, call: &Call, attribute: &CUlaunchAttribute) -> Outcome {
        use CUlaunchAttributeID as A;
        let value = &attribute.value;
        // SAFETY: each arm reads the member that the id names, which is set, as the callers promise: `of` says it of its attributes. All of them
        // are numbers and pointers, of which any bytes are a value.
        unsafe {
            match attribute.id.known()? {
                A::CU_LAUNCH_ATTRIBUTE_IGNORE
                | A::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
                | A::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
                | A::CU_LAUNCH_ATTRIBUTE_PRIORITY => Ok(()),
                A::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                    self.cooperative = value.cooperative != 0;
                    Ok(())
                }
                A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    let CUlaunchAttributeValue_clusterDim { x, y, z } = value.clusterDim;
                    self.dimensions = dimensions([x, y, z])?;
                    Ok(())
                }
                A::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION => {
                    let CUlaunchAttributeValue_preferredClusterDim { x, y, z } = value.preferredClusterDim;
                    self.preferred = dimensions([x, y, z])?;
                    Ok(())
                }
                A::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
                    valid(value.clusterSchedulingPolicyPreference.0 <= 2)
                }
                A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
                    let CUlaunchMemSyncDomainMap { default_, remote } = value.memSyncDomainMap;
                    valid(default_ < 4 && remote < 4)
                }
                A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => valid(value.memSyncDomain.0 <= 1),
                A::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
                    valid(value.sharedMemCarveout <= 100)
                }
                A::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING => {
                    valid(value.nvlinkUtilCentricScheduling <= 1)
                }
                A::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                    let asked = value.programmaticEvent;
                    self.events.push(event(call, asked.event, asked.flags)?);
                    Ok(())
                }
                A::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                    let asked = value.launchCompletionEvent;
                    self.events.push(event(call, asked.event, asked.flags)?);
                    Ok(())
                }
                UPDATABLE => {
                    let asked = value.deviceUpdatableKernelNode;
                    let node = || DeviceNode::find(asked.devNode.addr()).unwrap_or_else(DeviceNode::new);
                    self.node = (asked.deviceUpdatable == 1).then(node);
                    valid(matches!(asked.deviceUpdatable, 0 | 1))
                }
                // Attributes of streams, and those that came after CUDA 13.0.
                _ => Err(INVALID_VALUE),
            }
        }
    }

    /// The cluster of a launch: what is asked for, what the kernel was compiled for or what its attributes require;
    /// `None` for a launch without clusters. All that do not fit together are `CUDA_ERROR_INVALID_CLUSTER_SIZE`, and so are
    /// all clusters of several blocks on a device that has none.
    pub(in crate::driver) fn cluster(
        &self,
        function: &Function,
        grid: [u32; 3],
    ) -> Outcome<Option<[u32; 3]>> {
        let (settings, shape) = (function.settings(), &function.shape);
        let required =
            (settings.cluster != [0; 3]).then(|| settings.cluster.map(|dimension| dimension.max(1) as u32));
        let cluster = match (self.dimensions, required) {
            (Some(asked), Some(required)) if asked != required => return Err(INVALID_CLUSTER),
            (Some(cluster), _) | (None, Some(cluster)) => cluster,
            (None, None) if shape.explicit_cluster || self.preferred.is_some() => {
                return Err(INVALID_CLUSTER);
            }
            (None, None) => return Ok(None),
        };
        let most = function.context.architecture().model().largest_cluster;
        if most == 0 {
            return without_clusters(function, cluster);
        }
        let largest = if settings.non_portable { most } else { PORTABLE_CLUSTER };
        let largest = shape.max_cluster_rank.map_or(largest, |rank| rank.min(largest));
        if !divides(cluster, grid) || size(cluster) > largest {
            return Err(INVALID_CLUSTER);
        }
        if let Some(preferred) = self.preferred {
            let multiple = divides(cluster, preferred) && preferred[2] == cluster[2];
            if !multiple || !divides(preferred, grid) || size(preferred) > most {
                return Err(INVALID_CLUSTER);
            }
        }
        Ok(Some(cluster))
    }
}

/// A device without clusters takes one of a single block, as if there was none.
fn without_clusters(function: &Function, cluster: [u32; 3]) -> Outcome<Option<[u32; 3]>> {
    if size(cluster) == 1 {
        return Ok(None);
    }
    logs::because(no_clusters(function));
    Err(INVALID_CLUSTER)
}

/// Why a kernel cannot have clusters where it is.
pub(in crate::driver) fn no_clusters(function: &Function) -> String {
    let Context { device, .. } = *function.context;
    format!(
        "device {device} is {}, and clusters exist from sm_90 on: launch kernel `{}` without one, or choose another device \
         (CUDA_LAUNCH_EMULATOR_ARCH)",
        function.context.architecture(),
        function.kernel.name
    )
}

/// An attribute as the program gave it, without what lies between the id and the value: nobody sets that.
fn set(attribute: &MaybeUninit<CUlaunchAttribute>) -> CUlaunchAttribute {
    let attribute = attribute.as_ptr();
    // SAFETY: the pointer comes from a reference, so it is aligned and valid for reads. Id and value are set, by C2: a number, and a union,
    // which may be unset in part.
    let (id, value) =
        unsafe { ((&raw const (*attribute).id).read(), (&raw const (*attribute).value).read()) };
    CUlaunchAttribute { id, value, ..Default::default() }
}

/// The value of the attribute of a node that kernels change.
fn told(node: &DeviceNode) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue::default();
    value.deviceUpdatableKernelNode =
        CUlaunchAttributeValue_deviceUpdatableKernelNode { deviceUpdatable: 1, devNode: to_c(node.handle) };
    value
}

/// The attribute without a handle that the program may have left there: it asks for a node of its own.
pub(in crate::driver) fn without_node(mut attribute: CUlaunchAttribute) -> CUlaunchAttribute {
    if attribute.id == UPDATABLE {
        // SAFETY: the id names this member, which is set, as the callers promise: a number and a pointer, of which any bytes are a value.
        let asked = unsafe { attribute.value.deviceUpdatableKernelNode };
        attribute.value.deviceUpdatableKernelNode =
            CUlaunchAttributeValue_deviceUpdatableKernelNode { devNode: to_c(0), ..asked };
    }
    attribute
}

/// Tells the program the handle of the node, in the attributes of its launch.
pub(super) fn tell(config: &CUlaunchConfig, node: &DeviceNode) {
    for index in 0..config.numAttrs as usize {
        // SAFETY: by C1 the array has `numAttrs` attributes, and this one is valid for reads and, for this attribute, of which the driver writes
        // the handle, for writes; no other code uses it before the call returns, as C4 says. Its id is set.
        unsafe {
            let attribute = config.attrs.add(index);
            if (&raw const (*attribute).id).read() == UPDATABLE {
                (&raw mut (*attribute).value.deviceUpdatableKernelNode.devNode).write(to_c(node.handle));
            }
        }
    }
}

/// Dimensions of a cluster: all zeros are none, some zeros are wrong.
fn dimensions(dimensions: [u32; 3]) -> Outcome<Option<[u32; 3]>> {
    match dimensions {
        [0, 0, 0] => Ok(None),
        [0, _, _] | [_, 0, _] | [_, _, 0] => Err(INVALID_CLUSTER),
        dimensions => Ok(Some(dimensions)),
    }
}

fn valid(good: bool) -> Outcome {
    if good { Ok(()) } else { Err(INVALID_VALUE) }
}

fn size(cluster: [u32; 3]) -> u32 {
    cluster.iter().fold(1, |product, dimension| product.saturating_mul(*dimension))
}

fn divides(cluster: [u32; 3], grid: [u32; 3]) -> bool {
    grid.iter().zip(cluster).all(|(dimension, factor)| dimension.is_multiple_of(factor))
}

/// The event that a launch attribute names.
fn event(call: &Call, handle: CUevent, flags: i32) -> Outcome<Arc<Event>> {
    let event = call.event(handle)?;
    match flags {
        _ if !event.is_plain() => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        0 => Ok(event),
        // Only in a graph that is being captured.
        1 => Err(CUresult::CUDA_ERROR_ILLEGAL_STATE),
        _ => Err(INVALID_VALUE),
    }
}
