//! Typed device addresses.

pub(in crate::memory) mod attributes;

use std::fmt;
use std::marker::PhantomData;

macro_rules! device_pointer {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<T> {
            address: u64,
            // Not a host pointer: the same on every thread, with no claim on a `T`.
            of: PhantomData<fn() -> T>,
        }

        impl<T> $name<T> {
            /// A pointer to this device address. Nothing is checked: only using it is unsafe.
            ///
            /// ```
            /// use cuda_launch::DevicePtr;
            /// let address = DevicePtr::<f32>::from_raw(0x1000);
            /// assert_eq!(address.addr(), 0x1000);
            /// ```
            pub const fn from_raw(address: u64) -> Self {
                Self { address, of: PhantomData }
            }

            /// The address, in bytes.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.as_device_ptr().addr(), x.cu_deviceptr());
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            #[inline]
            pub const fn addr(self) -> u64 {
                self.address
            }

            /// Whether the address is 0, like that of an empty buffer.
            ///
            /// ```
            /// use cuda_launch::DevicePtr;
            /// assert!(DevicePtr::<f32>::from_raw(0).is_null());
            /// ```
            pub const fn is_null(self) -> bool {
                self.address == 0
            }

            /// The address `count` elements further; wraps at the end of the address space.
            ///
            /// ```
            /// use cuda_launch::DevicePtr;
            /// let third = DevicePtr::<f32>::from_raw(0x1000).wrapping_add(2);
            /// assert_eq!(third.addr(), 0x1008);
            /// ```
            #[must_use]
            pub const fn wrapping_add(self, count: u64) -> Self {
                Self::from_raw(self.address.wrapping_add(count.wrapping_mul(size_of::<T>() as u64)))
            }

            /// The same address, with another type.
            ///
            /// ```
            /// use cuda_launch::DevicePtr;
            /// let bytes = DevicePtr::<f32>::from_raw(0x1000).cast::<u8>();
            /// assert_eq!(bytes.wrapping_add(1).addr(), 0x1001);
            /// ```
            pub const fn cast<U>(self) -> $name<U> {
                $name::from_raw(self.address)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> PartialEq for $name<T> {
            fn eq(&self, other: &Self) -> bool {
                self.address == other.address
            }
        }

        impl<T> Eq for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:#x})", stringify!($name), self.address)
            }
        }
    };
}

device_pointer! {
    /// The address of `T`s on the device that a kernel may read: one `const T*` parameter.
    ///
    /// A number of 8 bytes that the host cannot dereference; `repr(transparent)`, so it may be used in structs for
    /// kernels.
    ///
    /// ```
    /// use cuda_launch::DevicePtr;
    /// let p = DevicePtr::<f32>::from_raw(0x1000).wrapping_add(3);
    /// assert_eq!((p.addr(), p.is_null()), (0x100c, false));
    /// ```
    DevicePtr
}

device_pointer! {
    /// The address of `T`s on the device that a kernel may write: one `T*` parameter. Otherwise like [`DevicePtr`].
    DevicePtrMut
}

impl<T> From<DevicePtrMut<T>> for DevicePtr<T> {
    fn from(pointer: DevicePtrMut<T>) -> Self {
        Self::from_raw(pointer.addr())
    }
}
