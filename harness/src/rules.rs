//! The objects that functions create, and those that they release.

use crate::kind::Kind;

/// What a call does to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Creates an object, whose handle is the value of that argument, or is written where the argument points.
    Makes(Kind, usize, Size),
    /// As `Makes`, unless the handle is that of an object that is there.
    Finds(Kind, usize),
    /// Looks an object up, or makes one, that belongs to the one that the second argument names.
    Belongs(Kind, usize, usize),
    /// Tells the address, and perhaps the size, of memory that no call makes, such as a variable of a module. Memory that was freed there
    /// has gone.
    Tells(usize, Option<usize>),
    /// Destroys the object that the argument names.
    Ends(Kind, usize),
    /// Ends what starts in the range: address and size.
    EndsRange(Kind, usize, usize),
    /// Takes references to the object that the first argument names, as many as the second says.
    Shares(Kind, usize, Shares),
    /// Releases references.
    Unshares(Kind, usize, Shares),
    /// Destroys a context, with everything created in it.
    EndsContext(usize),
    /// Destroys everything in the primary context of the device that the argument names. The references to it stay.
    EndsPrimary(usize),
}

/// How many shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shares {
    One,
    /// As the argument says.
    Argument(usize),
    /// As the first argument says, if the second has the flag `CU_GRAPH_USER_OBJECT_MOVE`.
    Moved(usize, usize),
}

/// How large an object is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    None,
    /// Device memory, which a budget counts: the argument's value.
    Counted(usize),
    /// Device memory, which a budget counts: the product of two arguments, a width and a number of rows. Each row is as long as the first
    /// argument receives.
    Rows(usize, usize, usize),
    /// Of something else.
    Plain(usize),
}

use Effect::{
    Belongs, Ends, EndsContext, EndsPrimary, EndsRange, Finds, Makes, Shares as Takes, Tells, Unshares,
};

/// Functions with the objects that they make, find or end.
const RULES: &[(&str, Effect)] = &[
    ("cuArray3DCreate_v2", Makes(Kind::Array, 0, Size::None)),
    ("cuArrayCreate_v2", Makes(Kind::Array, 0, Size::None)),
    ("cuArrayDestroy", Ends(Kind::Array, 0)),
    ("cuArrayGetPlane", Belongs(Kind::Array, 0, 1)),
    ("cuCoredumpDeregisterCompleteCallback", Ends(Kind::CoredumpCallback, 0)),
    ("cuCoredumpDeregisterStartCallback", Ends(Kind::CoredumpCallback, 0)),
    ("cuCoredumpRegisterCompleteCallback", Makes(Kind::CoredumpCallback, 2, Size::None)),
    ("cuCoredumpRegisterStartCallback", Makes(Kind::CoredumpCallback, 2, Size::None)),
    ("cuCtxCreate_v3", Makes(Kind::Context, 0, Size::None)),
    ("cuCtxCreate_v4", Makes(Kind::Context, 0, Size::None)),
    ("cuCtxDestroy_v2", EndsContext(0)),
    ("cuDestroyExternalMemory", Ends(Kind::ExternalMemory, 0)),
    ("cuDestroyExternalSemaphore", Ends(Kind::ExternalSemaphore, 0)),
    ("cuDevicePrimaryCtxRelease_v2", Unshares(Kind::PrimaryContext, 0, Shares::One)),
    ("cuDevicePrimaryCtxReset_v2", EndsPrimary(0)),
    ("cuDevicePrimaryCtxRetain", Takes(Kind::PrimaryContext, 1, Shares::One)),
    ("cuDeviceRegisterAsyncNotification", Makes(Kind::Notification, 3, Size::None)),
    ("cuDeviceUnregisterAsyncNotification", Ends(Kind::Notification, 1)),
    ("cuEventCreate", Makes(Kind::Event, 0, Size::None)),
    ("cuEventDestroy_v2", Ends(Kind::Event, 0)),
    ("cuExternalMemoryGetMappedBuffer", Makes(Kind::Memory, 0, Size::None)),
    ("cuExternalMemoryGetMappedMipmappedArray", Makes(Kind::MipmappedArray, 0, Size::None)),
    ("cuGraphAddBatchMemOpNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddChildGraphNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddEmptyNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddEventRecordNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddEventWaitNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddExternalSemaphoresSignalNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddExternalSemaphoresWaitNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddHostNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddKernelNode_v1", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddKernelNode_v2", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddMemAllocNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddMemFreeNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddMemcpyNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddMemsetNode", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddNode_v1", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddNode_v2", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphAddNode_v3", Belongs(Kind::GraphNode, 0, 1)),
    ("cuGraphChildGraphNodeGetGraph", Belongs(Kind::Graph, 1, 0)),
    ("cuGraphClone", Makes(Kind::Graph, 0, Size::None)),
    ("cuGraphConditionalHandleCreate", Belongs(Kind::Condition, 0, 1)),
    ("cuGraphCreate", Makes(Kind::Graph, 0, Size::None)),
    ("cuGraphDestroy", Ends(Kind::Graph, 0)),
    ("cuGraphDestroyNode", Ends(Kind::GraphNode, 0)),
    ("cuGraphExecDestroy", Ends(Kind::ExecutableGraph, 0)),
    ("cuGraphInstantiateWithFlags", Makes(Kind::ExecutableGraph, 0, Size::None)),
    ("cuGraphInstantiateWithParams", Makes(Kind::ExecutableGraph, 0, Size::None)),
    ("cuGraphNodeFindInClone", Belongs(Kind::GraphNode, 0, 2)),
    ("cuGraphRetainUserObject", Unshares(Kind::UserObject, 1, Shares::Moved(2, 3))),
    ("cuGraphicsResourceGetMappedPointer_v2", Tells(0, Some(1))),
    ("cuGraphicsUnregisterResource", Ends(Kind::GraphicsResource, 0)),
    ("cuGreenCtxCreate", Makes(Kind::GreenContext, 0, Size::None)),
    ("cuGreenCtxDestroy", Ends(Kind::GreenContext, 0)),
    ("cuGreenCtxStreamCreate", Makes(Kind::Stream, 0, Size::None)),
    ("cuImportExternalMemory", Makes(Kind::ExternalMemory, 0, Size::None)),
    ("cuImportExternalSemaphore", Makes(Kind::ExternalSemaphore, 0, Size::None)),
    ("cuIpcCloseMemHandle", Ends(Kind::IpcMemory, 0)),
    ("cuIpcOpenEventHandle", Makes(Kind::Event, 0, Size::None)),
    ("cuIpcOpenMemHandle_v2", Makes(Kind::IpcMemory, 0, Size::None)),
    ("cuKernelGetFunction", Belongs(Kind::Function, 0, 1)),
    ("cuLibraryGetGlobal", Tells(0, Some(1))),
    ("cuLibraryGetKernel", Belongs(Kind::Kernel, 0, 1)),
    ("cuLibraryGetManaged", Tells(0, Some(1))),
    ("cuLibraryGetModule", Belongs(Kind::Module, 0, 1)),
    ("cuLibraryLoadData", Makes(Kind::Library, 0, Size::None)),
    ("cuLibraryLoadFromFile", Makes(Kind::Library, 0, Size::None)),
    ("cuLibraryUnload", Ends(Kind::Library, 0)),
    ("cuLinkCreate_v2", Makes(Kind::Linker, 3, Size::None)),
    ("cuLinkDestroy", Ends(Kind::Linker, 0)),
    ("cuLogsRegisterCallback", Makes(Kind::LogCallback, 2, Size::None)),
    ("cuLogsUnregisterCallback", Ends(Kind::LogCallback, 0)),
    ("cuMemAddressFree", Ends(Kind::Reservation, 0)),
    ("cuMemAddressReserve", Makes(Kind::Reservation, 0, Size::Plain(1))),
    ("cuMemAllocAsync", Makes(Kind::Memory, 0, Size::Counted(1))),
    ("cuMemAllocFromPoolAsync", Makes(Kind::Memory, 0, Size::Counted(1))),
    ("cuMemAllocHost_v2", Makes(Kind::HostMemory, 0, Size::Plain(1))),
    ("cuMemAllocManaged", Makes(Kind::ManagedMemory, 0, Size::Counted(1))),
    ("cuMemAllocPitch_v2", Makes(Kind::Memory, 0, Size::Rows(1, 2, 3))),
    ("cuMemAlloc_v2", Makes(Kind::Memory, 0, Size::Counted(1))),
    ("cuMemCreate", Makes(Kind::PhysicalMemory, 0, Size::Counted(1))),
    ("cuMemFreeAsync", Ends(Kind::Memory, 0)),
    ("cuMemFreeHost", Ends(Kind::HostMemory, 0)),
    ("cuMemFree_v2", Ends(Kind::Memory, 0)),
    ("cuMemHostAlloc", Makes(Kind::HostMemory, 0, Size::Plain(1))),
    ("cuMemHostGetDevicePointer_v2", Tells(0, None)),
    ("cuMemHostRegister_v2", Makes(Kind::Registration, 0, Size::Plain(1))),
    ("cuMemHostUnregister", Ends(Kind::Registration, 0)),
    ("cuMemImportFromShareableHandle", Makes(Kind::PhysicalMemory, 0, Size::None)),
    ("cuMemMap", Makes(Kind::Mapping, 0, Size::Plain(1))),
    ("cuMemPoolCreate", Makes(Kind::Pool, 0, Size::None)),
    ("cuMemPoolDestroy", Ends(Kind::Pool, 0)),
    ("cuMemPoolImportFromShareableHandle", Makes(Kind::Pool, 0, Size::None)),
    ("cuMemPoolImportPointer", Makes(Kind::Memory, 0, Size::None)),
    ("cuMemRelease", Unshares(Kind::PhysicalMemory, 0, Shares::One)),
    ("cuMemRetainAllocationHandle", Takes(Kind::PhysicalMemory, 0, Shares::One)),
    ("cuMemUnmap", EndsRange(Kind::Mapping, 0, 1)),
    ("cuMipmappedArrayCreate", Makes(Kind::MipmappedArray, 0, Size::None)),
    ("cuMipmappedArrayDestroy", Ends(Kind::MipmappedArray, 0)),
    ("cuMipmappedArrayGetLevel", Belongs(Kind::Array, 0, 1)),
    ("cuModuleGetFunction", Belongs(Kind::Function, 0, 1)),
    ("cuModuleGetGlobal_v2", Tells(0, Some(1))),
    ("cuModuleLoad", Makes(Kind::Module, 0, Size::None)),
    ("cuModuleLoadData", Makes(Kind::Module, 0, Size::None)),
    ("cuModuleLoadDataEx", Makes(Kind::Module, 0, Size::None)),
    ("cuModuleLoadFatBinary", Makes(Kind::Module, 0, Size::None)),
    ("cuModuleUnload", Ends(Kind::Module, 0)),
    ("cuMulticastCreate", Makes(Kind::PhysicalMemory, 0, Size::None)),
    ("cuStreamBeginCaptureToCig", Makes(Kind::Capture, 0, Size::None)),
    ("cuStreamBeginCaptureToGraph", Makes(Kind::Capture, 0, Size::None)),
    ("cuStreamBeginCapture_v2", Makes(Kind::Capture, 0, Size::None)),
    ("cuStreamBeginRecaptureToGraph", Makes(Kind::Capture, 0, Size::None)),
    ("cuStreamCreate", Makes(Kind::Stream, 0, Size::None)),
    ("cuStreamCreateWithPriority", Makes(Kind::Stream, 0, Size::None)),
    ("cuStreamDestroy_v2", Ends(Kind::Stream, 0)),
    ("cuStreamEndCapture", Ends(Kind::Capture, 0)),
    ("cuStreamEndCapture", Finds(Kind::Graph, 1)),
    ("cuStreamEndCaptureToCig", Ends(Kind::Capture, 0)),
    ("cuSurfObjectCreate", Makes(Kind::Surface, 0, Size::None)),
    ("cuSurfObjectDestroy", Ends(Kind::Surface, 0)),
    ("cuTexObjectCreate", Makes(Kind::Texture, 0, Size::None)),
    ("cuTexObjectDestroy", Ends(Kind::Texture, 0)),
    ("cuTexRefCreate", Makes(Kind::TextureReference, 0, Size::None)),
    ("cuTexRefDestroy", Ends(Kind::TextureReference, 0)),
    ("cuUserObjectCreate", Takes(Kind::UserObject, 0, Shares::Argument(3))),
    ("cuUserObjectRelease", Unshares(Kind::UserObject, 0, Shares::Argument(1))),
    ("cuUserObjectRetain", Takes(Kind::UserObject, 0, Shares::Argument(1))),
];

/// What a function does to objects.
pub(crate) fn effects(function: &str) -> Vec<Effect> {
    RULES.iter().filter(|(name, _)| *name == function).map(|(_, effect)| *effect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_driver_sys::FUNCTIONS;

    #[test]
    fn each_rule_is_of_a_function_and_in_its_place() {
        assert!(RULES.is_sorted_by_key(|(name, _)| *name));
        for (name, _) in RULES {
            assert!(FUNCTIONS.binary_search_by_key(name, |function| function.name()).is_ok(), "{name}");
        }
    }

    /// Otherwise the address of the caller's variable would be taken for the handle.
    #[test]
    fn what_is_made_is_received_or_is_the_argument_itself() {
        use crate::functions::{Type, named};
        for (name, effect) in RULES {
            let (kind, at) = match effect {
                Makes(kind, at, _) | Finds(kind, at) | Belongs(kind, at, _) => (*kind, *at),
                _ => continue,
            };
            let parameter = named(name).and_then(|function| function.parameters.get(at));
            let is_result = parameter.is_some_and(|parameter| matches!(parameter.ty, Type::Out(_)));
            let is_argument = matches!(kind, Kind::Registration | Kind::Mapping | Kind::Capture);
            assert!(is_result != is_argument, "{name}");
        }
    }

    /// A name that is in no rule would be a capture that nobody sees.
    #[test]
    fn each_begin_of_a_capture_makes_one_and_each_end_ends_it() {
        let of = |start: &str| -> Vec<&str> {
            FUNCTIONS.iter().map(|function| function.name()).filter(|name| name.starts_with(start)).collect()
        };
        let has = |name: &str, effect: Effect| effects(name).contains(&effect);
        let (begins, ends) = (of("cuStreamBegin"), of("cuStreamEndCapture"));
        assert!(begins.len() >= 4 && ends.len() >= 2, "{begins:?} {ends:?}");
        begins.iter().for_each(|name| assert!(has(name, Makes(Kind::Capture, 0, Size::None)), "{name}"));
        ends.iter().for_each(|name| assert!(has(name, Ends(Kind::Capture, 0)), "{name}"));
    }

    #[test]
    fn what_is_made_can_be_given_back() {
        let makes = |effect: &Effect| match effect {
            Makes(kind, ..) | Finds(kind, _) | Takes(kind, ..) => Some(kind.family()),
            _ => None,
        };
        let ends = |kind: Kind| {
            RULES.iter().any(|(_, effect)| match effect {
                Ends(ended, _) | EndsRange(ended, ..) | Unshares(ended, ..) => ended.family() == kind,
                EndsContext(_) => kind == Kind::Context,
                _ => false,
            })
        };
        for kind in RULES.iter().filter_map(|(_, effect)| makes(effect)) {
            assert!(ends(kind), "{kind}");
        }
    }
}
