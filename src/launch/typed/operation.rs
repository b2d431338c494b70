//! The asynchronous methods of a typed module. Feature `async`; without it there are none.

/// The asynchronous methods of one kernel: takes the arguments of `__cuda_module_kernel!`, without those for its own method.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "async")]
macro_rules! __cuda_module_async {
    (
        { $($attributes:tt)* } [$($vis:tt)*] [$($unsafety:tt)*] [$name:ident $name_owned:ident { }]
        [$($generics:tt)*] [$($bounds:tt)*]
        [$this:ident $config:ident]
        [$(($argument:ident $kind:ident [$($element:tt)*] [$($borrowed:tt)*] [$($owned:tt)*]))*]
        [[$($owned_generics:tt)*] [$($resources:tt)*] [$($given:tt)*]]
        { $($function:tt)* }
        { $($checks:tt)* }
        [$($field:expr,)*] [$($attribute:expr),*]
    ) => {
        #[allow(dead_code)]
        impl Module {
            $($attributes)*
            ///
            /// # Asynchronous
            /// Nothing is launched until the operation runs, on a stream chosen by its schedule. The launch contract is
            /// checked by this call, and whatever depends on the stream when the operation runs.
            #[allow(unreachable_pub, trivial_bounds)]
            #[allow(clippy::too_many_arguments, clippy::multiple_bound_locations)]
            $($vis)* $($unsafety)* fn $name<'launch, $($generics)*>(
                &$this,
                $config: $crate::LaunchConfig,
                $($argument: $($borrowed)*),*
            ) -> ::core::result::Result<$crate::operation::KernelLaunch<'launch>, $crate::Error>
            where
                $($bounds)*
            {
                $($crate::__cuda_module_parameter! { $kind $argument [$($element)*] })*
                $($checks)*
                let function: &$crate::CudaFunction = $($function)*;
                let fields: &[$crate::Attribute<'_>] = &[$($field),*];
                let attributes: &[$crate::Attribute<'_>] = &[$($attribute),*];
                // SAFETY: 1: the types are the responsibility of the author of the declaration, and were compared with
                // the image and the driver; the other duties of `cuda_launch!`, whenever the operation runs, are those
                // of the caller of this method, or, if the method is safe, of the author who declared the kernel as
                // `safe fn`. Objects: 1: the list goes into an operation.
                ::core::result::Result::Ok(unsafe {
                    $crate::operation::KernelLaunch::of(
                        ::core::result::Result::Ok(::core::clone::Clone::clone(function)),
                        $config,
                        fields,
                        attributes,
                        $crate::__cuda_module_list!($($kind $argument)*),
                    )
                })
            }

            $($attributes)*
            ///
            /// # Asynchronous
            /// Like the method that borrows. The operation takes buffers or other device memory, such as an `Arc` of a buffer
            /// that is only read, for several operations. It returns them in order, one as is, several as a tuple; after
            /// an error they are dropped.
            #[allow(unreachable_pub, trivial_bounds)]
            #[allow(clippy::too_many_arguments, clippy::multiple_bound_locations)]
            $($vis)* $($unsafety)* fn $name_owned<$($owned_generics)*>(
                &$this,
                $config: $crate::LaunchConfig,
                $($argument: $($owned)*),*
            ) -> ::core::result::Result<$crate::operation::OwnedKernelLaunch<$($resources)*>, $crate::Error>
            where
                $($bounds)*
            {
                $($crate::__cuda_module_parameter! { $kind $argument [$($element)*] })*
                {
                    $($crate::__cuda_module_borrow! { $kind $argument [$($element)*] })*
                    $($checks)*
                }
                let function: &$crate::CudaFunction = $($function)*;
                let mut launch = $crate::AsyncKernelLaunch::new(::core::clone::Clone::clone(function));
                launch.set_launch_config($config);
                $($crate::__cuda_module_push! { launch $kind $argument [$($element)*] })*
                let fields: &[$crate::Attribute<'_>] = &[$($field),*];
                let attributes: &[$crate::Attribute<'_>] = &[$($attribute),*];
                launch.attributes(fields).attributes(attributes);
                // SAFETY: of `new`: 1: as for the method that borrows; 2: what the kernel uses is pushed as memory or objects, which
                // launches order; of `typed`: 2: each slice, address and object was pushed, and is filled, in the order of the parameters,
                // with its type.
                ::core::result::Result::Ok(unsafe {
                    $crate::operation::OwnedKernelLaunch::typed($($given)*, launch, |$($given)*, launch| {
                        $($crate::__cuda_module_fill! { launch $kind $argument [$($element)*] })*
                    })
                })
            }
        }
    };
    (
        { $($attributes:tt)* } $vis:tt $unsafety:tt [$name:ident $name_owned:ident { $($taken:tt)+ }] $($rest:tt)*
    ) => {
        $($taken)+
    };
}

/// The function that loads a typed module for operations.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "async")]
macro_rules! __cuda_module_load_async {
    () => {
        /// Loads the kernels as `load` does, for the context that operations on this device run in.
        ///
        /// # Errors
        /// Those of `load` and of `cuda_launch::operation::device_context`.
        #[allow(dead_code)]
        pub fn load_async(device: u32) -> ::core::result::Result<Module, $crate::Error> {
            load(&$crate::operation::device_context(device)?)
        }
    };
}

/// Expands to nothing: this crate was built without feature `async`.
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "async"))]
macro_rules! __cuda_module_load_async {
    () => {};
}

/// An owned argument as the launch contract sees it.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "async")]
macro_rules! __cuda_module_borrow {
    (value $argument:ident [$($element:tt)*]) => {};
    (open $argument:ident [$($element:tt)*]) => {};
    (object $argument:ident [$($ty:tt)*]) => {
        let $argument: &$($ty)* = $crate::__private::typed::HeldObject::held(&$argument);
        // Few contracts look at all of them.
        let _ = $argument;
    };
    (object_mut $argument:ident [$($ty:tt)*]) => {
        $crate::__cuda_module_borrow! { object $argument [$($ty)*] }
    };
    (pitched $argument:ident [$($element:tt)*]) => {
        $crate::__cuda_module_borrow! { object $argument [$crate::memory::PitchedBuffer<$($element)*>] }
    };
    (pitched_mut $argument:ident [$($element:tt)*]) => {
        $crate::__cuda_module_borrow! { object $argument [$crate::memory::PitchedBuffer<$($element)*>] }
    };
    ($memory:ident $argument:ident [$($element:tt)*]) => {
        let $argument = &$argument;
        let _ = $argument;
    };
}

/// Values are pushed as they are, memory and objects when the launch runs.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "async")]
macro_rules! __cuda_module_push {
    ($launch:ident slice $argument:ident [$($element:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; the method's bound `DeviceSlice<Element = ..>` names this element.
        unsafe { $launch.push_slice_later::<$($element)*>() };
    };
    ($launch:ident slice_mut $argument:ident [$($element:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; the method's bound `DeviceSliceMut<Element = ..>` names this element.
        unsafe { $launch.push_slice_later::<$($element)*>() };
    };
    ($launch:ident pitched $argument:ident [$($element:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; it takes a `PitchedBuffer` of this element out of the argument (`HeldObject`).
        unsafe { $launch.push_rows_later::<$($element)*>() };
    };
    ($launch:ident pitched_mut $argument:ident [$($element:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; it takes a `PitchedBuffer` of this element out of the argument (`HeldObjectMut`).
        unsafe { $launch.push_rows_later::<$($element)*>() };
    };
    ($launch:ident ptr $argument:ident [$($element:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; the method's bound `DeviceSlice<Element = ..>` names this element.
        unsafe { $launch.push_ptr_later::<$($element)*>() };
    };
    ($launch:ident ptr_mut $argument:ident [$($element:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; the method's bound `DeviceSliceMut<Element = ..>` names this element.
        unsafe { $launch.push_ptr_later::<$($element)*>() };
    };
    ($launch:ident object $argument:ident [$($ty:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; it takes an object of this type, and so of its handle, out of the argument
        // (`HeldObject`).
        unsafe { $launch.push_object_later::<$($ty)*>() };
    };
    ($launch:ident object_mut $argument:ident [$($ty:tt)*]) => {
        // SAFETY: 1: `__cuda_module_fill!` fills what this macro pushes, of the same parameters in the same order,
        // before the launch runs; it takes an object of this type, and so of its handle, out of the argument
        // (`HeldObjectMut`).
        unsafe { $launch.push_object_later::<$($ty)*>() };
    };
    ($launch:ident $kind:ident $argument:ident [$($element:tt)*]) => {
        $launch.byval(&$argument);
    };
}

/// Fills in, when the launch runs, what `__cuda_module_push!` left open.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "async")]
macro_rules! __cuda_module_fill {
    ($launch:ident slice $argument:ident [$($element:tt)*]) => {
        $launch.fill_memory($argument);
    };
    ($launch:ident slice_mut $argument:ident [$($element:tt)*]) => {
        $launch.fill_memory_mut($argument);
    };
    ($launch:ident ptr $argument:ident [$($element:tt)*]) => {
        $launch.fill_memory($argument);
    };
    ($launch:ident ptr_mut $argument:ident [$($element:tt)*]) => {
        $launch.fill_memory_mut($argument);
    };
    ($launch:ident pitched $argument:ident [$($element:tt)*]) => {
        let rows: &$crate::memory::PitchedBuffer<$($element)*> = $crate::__private::typed::HeldObject::held(&*$argument);
        $launch.fill_rows($crate::__private::pitched(rows));
    };
    ($launch:ident pitched_mut $argument:ident [$($element:tt)*]) => {
        let rows: &mut $crate::memory::PitchedBuffer<$($element)*> =
            $crate::__private::typed::HeldObjectMut::held_mut($argument);
        $launch.fill_rows($crate::__private::pitched_mut(rows));
    };
    ($launch:ident object $argument:ident [$($ty:tt)*]) => {
        let object: &$($ty)* = $crate::__private::typed::HeldObject::held(&*$argument);
        // SAFETY: 1: `fill_object` puts it into the list of an operation, which orders the object and keeps its memory alive.
        $launch.fill_object(unsafe { $crate::__private::typed::object(object) });
    };
    ($launch:ident object_mut $argument:ident [$($ty:tt)*]) => {
        let object: &mut $($ty)* = $crate::__private::typed::HeldObjectMut::held_mut($argument);
        // SAFETY: 1: `fill_object` puts it into the list of an operation, which orders the object and keeps its memory alive.
        $launch.fill_object(unsafe { $crate::__private::typed::object_mut(object) });
    };
    ($launch:ident $kind:ident $argument:ident [$($element:tt)*]) => {};
}

/// Expands to nothing: this crate was built without feature `async`.
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "async"))]
macro_rules! __cuda_module_async {
    ($($kernel:tt)*) => {};
}
