//! What the header defines with macros that bindgen cannot see: casts, renamed enumerators, and one `~0u`.

use crate::generated::types::*;
use core::ffi::c_void;
use core::ptr::without_provenance_mut;

/// The legacy default stream, as a handle: it waits for all blocking streams of its context, and vice versa.
pub const CU_STREAM_LEGACY: CUstream = without_provenance_mut(1);
/// The default stream of the calling thread, as a handle.
pub const CU_STREAM_PER_THREAD: CUstream = without_provenance_mut(2);

/// Ends the `extra` list of a launch.
pub const CU_LAUNCH_PARAM_END: *mut c_void = without_provenance_mut(CU_LAUNCH_PARAM_END_AS_INT as usize);
/// In the `extra` list: the next entry points to a buffer with all parameters.
pub const CU_LAUNCH_PARAM_BUFFER_POINTER: *mut c_void =
    without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize);
/// In the `extra` list: the next entry points to a `usize`, the exact size of that buffer in bytes.
pub const CU_LAUNCH_PARAM_BUFFER_SIZE: *mut c_void =
    without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize);

/// The host, for functions that take a device or the host.
pub const CU_DEVICE_CPU: CUdevice = -1;
/// No device.
pub const CU_DEVICE_INVALID: CUdevice = -2;

/// Any locality domain, in `CU_DEV_SM_RESOURCE_GROUP_PARAMS`.
pub const CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID_ANY: u32 = u32::MAX;

macro_rules! launch_attributes {
    ($($name:ident = $attribute:ident;)*) => {
        $(
            #[doc = concat!("The launch attribute `", stringify!($attribute), "`, under the name it has here.")]
            pub const $name: CUlaunchAttributeID = CUlaunchAttributeID::$attribute;
        )*
    };
}

launch_attributes! {
    CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
    CU_KERNEL_NODE_ATTRIBUTE_PRIORITY = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
    CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
    CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
    CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    CU_STREAM_ATTRIBUTE_PRIORITY = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
    CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}
