//! The asynchronous methods of a typed module. Feature `async`; without it there are none.

/// The asynchronous methods of one kernel: as `__cuda_module_kernel!`, whose arguments these are, less those of its own method.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "async")]
macro_rules! __cuda_module_async {
    (
        { $($attributes:tt)* } [$vis:vis] [$($unsafety:tt)*] [$name:ident $name_owned:ident { }]
        [$($generics:tt)*] [$($bounds:tt)*]
        [$this:ident $config:ident]
        [$((
            $argument:ident $kind:ident [$($element:tt)*] [$($borrowed:tt)*] [$($owned:tt)*] [$($parameter:tt)*]
        ))*]
        [[$($resources:tt)*] [$($given:tt)*]]
        { $($function:tt)* }
        { $($checks:tt)* }
        [$($field:expr,)*] [$($attribute:expr),*]
    ) => {
        #[allow(dead_code)]
        impl Module {
            $($attributes)*
            ///
            /// # Asynchronous
            /// Nothing is launched before the operation runs, on a stream that its schedule chooses. The launch contract is
            /// checked by this call, and whatever depends on the stream when the operation runs.
            #[allow(unsafe_code, clippy::too_many_arguments, clippy::multiple_bound_locations)]
            $vis $($unsafety)* fn $name<'launch, $($generics)*>(
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
                // SAFETY: 1: types: compared with the image when this was compiled, and with the driver when it was loaded. The
                // other duties of `cuda_launch!` are those of whoever calls this method, or, if it is a safe one, of whoever
                // declared its kernel as `safe fn`.
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
        }
    };
    (
        { $($attributes:tt)* } $vis:tt $unsafety:tt [$name:ident $name_owned:ident { $($taken:tt)+ }] $($rest:tt)*
    ) => {
        $($taken)+
    };
}

/// None: this crate was built without feature `async`.
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "async"))]
macro_rules! __cuda_module_async {
    ($($kernel:tt)*) => {};
}
