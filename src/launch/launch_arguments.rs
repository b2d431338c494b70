//! What a launch needs to know about its arguments, from a macro, a builder, or a prepared launch.

use std::ffi::c_void;

use cuda_driver_sys::CUlaunchConfig;

use super::args::{Memory, ParameterType, Signature};
use crate::driver::{Kernel, StreamQueue};

/// The arguments of one launch: their types, the memory they pass, and a packet of them.
///
/// The types of packet and signature are associated types, so that for lists known at compile time they stay constants.
///
/// # Safety
/// 1. The array that `kernel_params` returns has one pointer for each of `types`, in order, each to as many bytes as the type has,
///    readable as long as the packet and `self` live.
#[allow(unsafe_code)] // declared here, relied on where a packet is copied
pub(super) unsafe trait LaunchArguments<'l>: Copy {
    /// The device memory among them.
    type Memory: Memory;

    /// The owner of the array of pointers.
    type Packet;

    /// Their types.
    type Types: Into<ParameterTypes<'l>> + Copy;

    /// The device memory among them.
    fn memory(self) -> Self::Memory;

    /// Whether the arguments are known to match the kernel, the kernel belongs to the stream's context and has no rules besides the
    /// limits, and a launch of this shape is within the limits.
    fn is_warm(self, kernel: &Kernel, queue: &StreamQueue, config: &CUlaunchConfig) -> bool;

    /// Their types, for the check and for messages.
    fn types(self) -> Self::Types;

    /// Builds the packet: the pointers to the arguments.
    fn packet(self) -> Self::Packet;

    /// The `kernelParams` of `cuLaunchKernelEx`, valid as long as the packet and `self`.
    fn kernel_params(packet: &mut Self::Packet) -> *mut *mut c_void;
}

/// The types of a list: known at compile time, or collected argument by argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum ParameterTypes<'a> {
    Fixed(Option<&'static Signature>),
    Gathered(&'a [&'static ParameterType]),
}

impl<'a> ParameterTypes<'a> {
    /// In order.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static ParameterType> + 'a {
        let (fixed, gathered) = match self {
            Self::Fixed(list) => (list, [].as_slice()),
            Self::Gathered(list) => (None, list),
        };
        std::iter::successors(fixed, |s| s.rest).map(|s| &s.parameter).chain(gathered.iter().copied())
    }

    /// Their sizes in bytes, in order.
    pub(super) fn sizes(self) -> impl Iterator<Item = usize> + 'a {
        self.iter().map(|p| p.size)
    }
}

impl From<Option<&'static Signature>> for ParameterTypes<'_> {
    fn from(list: Option<&'static Signature>) -> Self {
        Self::Fixed(list)
    }
}

impl<'l> From<&'l [&'static ParameterType]> for ParameterTypes<'l> {
    fn from(list: &'l [&'static ParameterType]) -> Self {
        Self::Gathered(list)
    }
}
