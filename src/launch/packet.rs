//! The packet: the array of pointers that the driver takes, on the stack, as long as the list of arguments needs.

#![allow(unsafe_code)] // `pack` writes into an array of exactly the size that it needs.

use cuda_driver_sys::CUlaunchConfig;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::args::{ArgumentList, Signature};
use super::check;
use super::launch_arguments::LaunchArguments;
use crate::driver::{Kernel, StreamQueue};

/// Pointers to the arguments of one launch. Building one is safe and does nothing; only submitting is unsafe.
///
/// ```
/// use cuda_launch::foundation::{Cons, Nil, Packet, Value};
/// let arguments = Cons(Value(&7u32), Cons(Value(&1.5f32), Nil));
/// let mut packet = Packet::new(&arguments);
/// let params = packet.kernel_params();
/// // SAFETY: the two pointers point to the `u32` and the `f32`, in the order of the list, which borrows both and is
/// // still alive.
/// unsafe {
///     assert_eq!(*(*params).cast::<u32>(), 7);
///     assert_eq!(*(*params.add(1)).cast::<f32>(), 1.5);
/// }
/// ```
#[derive(Debug)]
pub struct Packet<'a, L: ArgumentList> {
    slots: MaybeUninit<L::Slots>,
    arguments: PhantomData<&'a L>,
}

impl<'a, L: ArgumentList> Packet<'a, L> {
    /// Points at the arguments.
    #[inline(always)]
    pub fn new(arguments: &'a L) -> Self {
        let mut slots = MaybeUninit::<L::Slots>::uninit();
        // SAFETY: 1: `slots` is a place for `Slots`; 2: the arguments are borrowed for `'a`, as long as the packet lives.
        unsafe { arguments.pack(slots.as_mut_ptr().cast()) };
        Self { slots, arguments: PhantomData }
    }

    /// The `kernelParams` of `cuLaunchKernelEx`: one pointer per parameter, valid while the packet is borrowed.
    ///
    /// The driver copies the values during the call.
    #[inline(always)]
    pub fn kernel_params(&mut self) -> *mut *mut c_void {
        self.slots.as_mut_ptr().cast()
    }
}

/// A list whose types are known at compile time (an [`ArgumentList`]), in the form that a launch takes.
#[derive(Debug)]
pub(super) struct Listed<'a, L>(pub(super) &'a L);

impl<L> Clone for Listed<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Listed<'_, L> {}

// SAFETY: 1: `types` returns the signature of the list, so this is duty 1 of `ArgumentList`.
unsafe impl<'a, L: ArgumentList> LaunchArguments<'a> for Listed<'a, L> {
    type Memory = L::Memory;
    type Packet = Packet<'a, L>;
    type Types = Option<&'static Signature>;

    #[inline(always)]
    fn memory(self) -> L::Memory {
        self.0.memory()
    }

    #[inline(always)]
    fn is_warm(self, kernel: &Kernel, queue: &StreamQueue, config: &CUlaunchConfig) -> bool {
        check::is_warm::<L>(kernel, queue, config)
    }

    #[inline(always)]
    fn types(self) -> Option<&'static Signature> {
        L::SIGNATURE
    }

    #[inline(always)]
    fn packet(self) -> Packet<'a, L> {
        Packet::new(self.0)
    }

    #[inline(always)]
    fn kernel_params(packet: &mut Packet<'a, L>) -> *mut *mut c_void {
        packet.kernel_params()
    }
}
