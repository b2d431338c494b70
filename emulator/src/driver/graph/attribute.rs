//! Launch attributes of kernel nodes.
//!
//! Relies on the caller for the member of a value that the attribute's id names: C2 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;

use super::kernel;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::launch::cluster::{UPDATABLE, without_node};
use crate::driver::since::Known;
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::updatable::DeviceNode;

entries! {
    cuGraphKernelNodeGetAttribute(node: CUgraphNode, id: CUkernelNodeAttrID, value: *mut CUkernelNodeAttrValue) = get;
    cuGraphKernelNodeSetAttribute(node: CUgraphNode, id: CUkernelNodeAttrID, value: *const CUkernelNodeAttrValue) = set;
    cuGraphKernelNodeCopyAttributes(target: CUgraphNode, source: CUgraphNode) = copy;
}

/// The attributes that a kernel node can have. Others belong to streams, or to launches that wait for others.
fn is_known(id: CUlaunchAttributeID) -> bool {
    use CUlaunchAttributeID as A;
    matches!(
        id,
        A::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            | A::CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            | A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            | A::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
            | A::CU_LAUNCH_ATTRIBUTE_PRIORITY
            | A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
            | A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
            | A::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
            | A::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            | UPDATABLE
    ) && id.known().is_ok()
}

/// What stands for an attribute that was not set.
fn unset(id: CUlaunchAttributeID) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue::default();
    if id == CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP {
        value.memSyncDomainMap = CUlaunchMemSyncDomainMap { default_: 0, remote: 1 };
    }
    value
}

fn get(call: &Call, node: CUgraphNode, id: CUkernelNodeAttrID, value: Out<CUkernelNodeAttrValue>) -> Outcome {
    let place = value.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Kernel(kernel)) = operation else { return Err(INVALID_VALUE) };
        if !is_known(id) {
            return Err(INVALID_VALUE);
        }
        let found = kernel.attributes().iter().rfind(|attribute| attribute.id == id);
        place.set(found.map_or_else(|| unset(id), |attribute| attribute.value));
        Ok(())
    })
}

fn set(call: &Call, node: CUgraphNode, id: CUkernelNodeAttrID, place: In<CUkernelNodeAttrValue>) -> Outcome {
    let value = place.read()?;
    call.node(node)?.change(|operation| {
        let Operation::Work(Work::Kernel(kernel)) = operation else { return Err(INVALID_VALUE) };
        if !is_known(id) {
            return Err(INVALID_VALUE);
        }
        if let (UPDATABLE, Some(node)) = (id, kernel.node()) {
            // Once set, it stays.
            // SAFETY: the id names this member, which is set, by C2.
            return match unsafe { value.deviceUpdatableKernelNode.deviceUpdatable } {
                0 => Err(NOT_SUPPORTED),
                1 => {
                    tell(&place, node);
                    Ok(())
                }
                _ => Err(INVALID_VALUE),
            };
        }
        let others = kernel.attributes().iter().filter(|attribute| attribute.id != id).copied();
        let attributes: Vec<_> =
            others.chain([without_node(CUlaunchAttribute { id, pad: [0; 4], value })]).collect();
        *kernel = kernel::read(call, &kernel.parameters(), &attributes)?;
        if let (UPDATABLE, Some(node)) = (id, kernel.node()) {
            tell(&place, node);
        }
        Ok(())
    })
}

/// Writes the handle of the node into the value that asked for it, as an H200 does.
fn tell(place: &In<CUkernelNodeAttrValue>, node: &DeviceNode) {
    // SAFETY: the callers have read the value, so the pointer is not null: by C1 it is aligned and, for this attribute, of which the driver
    // writes the handle, valid for writes; no other code uses it before the call returns, as C4 says.
    unsafe {
        let value = place.address().cast_mut();
        (&raw mut (*value).deviceUpdatableKernelNode.devNode).write(to_c(node.handle));
    }
}

fn copy(call: &Call, target: CUgraphNode, source: CUgraphNode) -> Outcome {
    let attributes = call.node(source)?.look(|operation| match operation {
        Operation::Work(Work::Kernel(kernel)) if kernel.node().is_some() => Err(NOT_SUPPORTED),
        Operation::Work(Work::Kernel(kernel)) => Ok(kernel.attributes().to_vec()),
        _ => Err(INVALID_VALUE),
    })?;
    call.node(target)?.change(|operation| {
        let Operation::Work(Work::Kernel(kernel)) = operation else { return Err(INVALID_VALUE) };
        if kernel.node().is_some() {
            return Err(NOT_SUPPORTED);
        }
        *kernel = kernel::read(call, &kernel.parameters(), &attributes)?;
        Ok(())
    })
}
