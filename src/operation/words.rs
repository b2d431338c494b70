//! The words for arguments, as methods of a launch that happens later; the same as those of the builder.

use super::launch::AsyncKernelLaunch;
use crate::launch::{
    ByValue, StoredArgument, byval, pitched, pitched_mut, ptr, ptr_mut, slice, slice_mut, value as plain,
};
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut, PitchedBuffer};

impl<'a> AsyncKernelLaunch<'a> {
    /// The next argument: memory by its address, a value as it is. [`StoredArgument`] says what it may be.
    #[inline(always)]
    pub fn arg<Kind>(&mut self, argument: impl StoredArgument<'a, Kind>) -> &mut Self {
        argument.store_in(&mut self.arguments);
        self
    }

    /// The next argument under a name, by which it can be set later in what is made from this launch: a prepared
    /// [`PreparedLaunch`](crate::launch::PreparedLaunch), a [`LaunchPlan`](crate::LaunchPlan), or a graph of operations. An argument of size 0 is
    /// not a parameter, and its name is dropped.
    pub fn named<Kind>(&mut self, name: &'a str, argument: impl StoredArgument<'a, Kind>) -> &mut Self {
        let first = self.arguments.count();
        argument.store_in(&mut self.arguments);
        self.arguments.name_from(name, first);
        self
    }

    /// Two parameters of 8 bytes: device address and length in elements of memory that the kernel reads.
    #[inline(always)]
    pub fn slice<S: DeviceSlice + ?Sized>(&mut self, memory: &'a S) -> &mut Self {
        self.arg(slice(memory))
    }

    /// Two parameters of 8 bytes: device address and length in elements of memory that the kernel may write.
    #[inline(always)]
    pub fn slice_mut<S: DeviceSliceMut + ?Sized>(&mut self, memory: &'a mut S) -> &mut Self {
        self.arg(slice_mut(memory))
    }

    /// Two parameters of 8 bytes: device address and pitch in bytes of rows that the kernel reads.
    #[inline(always)]
    pub fn pitched<T: DeviceCopy>(&mut self, memory: &'a PitchedBuffer<T>) -> &mut Self {
        self.arg(pitched(memory))
    }

    /// Two parameters of 8 bytes: device address and pitch in bytes of rows that the kernel may write.
    #[inline(always)]
    pub fn pitched_mut<T: DeviceCopy>(&mut self, memory: &'a mut PitchedBuffer<T>) -> &mut Self {
        self.arg(pitched_mut(memory))
    }

    /// One parameter of 8 bytes: the device address of memory that the kernel reads.
    #[inline(always)]
    pub fn ptr<S: DeviceSlice + ?Sized>(&mut self, memory: &'a S) -> &mut Self {
        self.arg(ptr(memory))
    }

    /// One parameter of 8 bytes: the device address of memory that the kernel may write.
    #[inline(always)]
    pub fn ptr_mut<S: DeviceSliceMut + ?Sized>(&mut self, memory: &'a mut S) -> &mut Self {
        self.arg(ptr_mut(memory))
    }

    /// One parameter: a plain value; none if its size is 0.
    #[inline(always)]
    pub fn value<T: DeviceCopy>(&mut self, value: &T) -> &mut Self {
        self.arg(plain(value))
    }

    /// One parameter of the size of `value`, which is of any `Copy` type that borrows nothing, such as a closure or a struct of
    /// another crate; none if the size is 0. What its bytes mean to the kernel is not compared.
    #[inline(always)]
    pub fn byval<T: ByValue>(&mut self, value: &T) -> &mut Self {
        self.arg(byval(value))
    }

    /// Like [`byval`](Self::byval), for a value that may hold references, for machines whose devices can access host memory.
    ///
    /// The memory that the references point to is neither kept alive nor ordered: for it, duties 2 to 4 are the caller's, as in
    /// [`cuda_launch!`](crate::cuda_launch), until the kernel is done, and as long as anything replays the launch.
    #[inline(always)]
    pub fn byval_borrowed<T: Copy + 'a>(&mut self, value: &T) -> &mut Self {
        self.arguments.bits(*value);
        self
    }
}
