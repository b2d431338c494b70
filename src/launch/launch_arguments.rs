//! What a launch needs to know about its arguments, from a macro, a builder, or a prepared launch.

use std::ffi::c_void;

use cuda_driver_sys::CUlaunchConfig;

use super::args::{Memory, ParameterType, Signature};
use crate::driver::{Kernel, StreamQueue};

/// The arguments of one launch: their types, the memory they pass, and a packet of them.
///
/// Packet and types are of the implementor's own making, so that those of a list that is a type stay constants.
///
/// # Safety
/// 1. What `kernel_params` gives has one pointer for each of `types`, in order, to that many bytes that can be read as long as packet
///    and `self` live.
#[allow(unsafe_code)] // declared here, relied on where a packet is copied
pub(super) unsafe trait LaunchArguments<'l>: Copy {
    /// The device memory among them.
    type Memory: Memory;

    /// What holds the packet.
    type Packet;

    /// Their types.
    type Types: Into<ParameterTypes<'l>>;

    /// The device memory among them.
    fn memory(self) -> Self::Memory;

    /// Whether they are known to fit the kernel, which is of the stream's context and has no rules beyond the limits, and a launch of
    /// this shape is within those.
    fn is_warm(self, kernel: &Kernel, queue: &StreamQueue, config: &CUlaunchConfig) -> bool;

    /// Their types, for the check and for messages.
    fn types(self) -> Self::Types;

    /// Points at them.
    fn packet(self) -> Self::Packet;

    /// The `kernelParams` of `cuLaunchKernelEx`, valid as long as the packet and `self`.
    fn kernel_params(packet: &mut Self::Packet) -> *mut *mut c_void;
}

/// The types of a list: known when the program was compiled, or gathered one by one.
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
