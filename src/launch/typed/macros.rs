//! The methods of typed modules. `#[cuda_module]` passes on what it knows about a kernel; which methods are generated is
//! decided here, where the features of this crate are known.

/// The methods of one kernel.
///
/// In order: attributes and docs, visibility, `unsafe` or nothing, the names of the methods and an error if the names of the
/// asynchronous ones are taken, generic parameters and bounds, the names of the method's own arguments, the kernel's parameters
/// as `(name kind [type in the kernel] [type in the method] [in the asynchronous method] [in the owned method])`, the generics
/// of the owned method with its output, the function, the checks to make first, the attributes that are fields of
/// `cuda_launch!`, and the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_module_kernel {
    (
        { $($attributes:tt)* } [$($vis:tt)*] [$($unsafety:tt)*]
        [$name:ident $($names:tt)*]
        [$($generics:tt)*] [$($bounds:tt)*]
        [$this:ident $stream:ident $config:ident]
        [$(($argument:ident $kind:ident [$($element:tt)*] [$($ty:tt)*] $($later:tt)*))*]
        [$($owned:tt)*]
        { $($function:tt)* }
        { $($checks:tt)* }
        [$($field:expr,)*] [$($attribute:expr),*]
    ) => {
        #[allow(dead_code)]
        impl Module {
            $($attributes)*
            // `unreachable_pub`: that of the declaration, which is the author's to choose. `trivial_bounds`: of element types.
            #[allow(unreachable_pub, trivial_bounds)]
            #[allow(clippy::too_many_arguments, clippy::multiple_bound_locations)]
            #[inline(always)]
            $($vis)* $($unsafety)* fn $name<$($generics)*>(
                &$this,
                $stream: &$crate::CudaStream,
                $config: $crate::LaunchConfig,
                $($argument: $($ty)*),*
            ) -> ::core::result::Result<(), $crate::Error>
            where
                $($bounds)*
            {
                $($crate::__cuda_module_parameter! { $kind $argument [$($element)*] })*
                $($checks)*
                let function: &$crate::CudaFunction = $($function)*;
                let fields: &[$crate::Attribute<'_>] = &[$($field),*];
                let attributes: &[$crate::Attribute<'_>] = &[$($attribute),*];
                // SAFETY: 1: the types are the responsibility of the author of the declaration, and were compared with
                // the image and the driver; the other duties of `cuda_launch!` are those of the caller of this method,
                // or, if the method is safe, of the author who declared the kernel as `safe fn`; 2: the function keeps
                // its module loaded. Objects: 1: the list goes to `submit`.
                unsafe {
                    $crate::__private::submit_shared(
                        function.shared_kernel(),
                        $stream,
                        $config,
                        fields,
                        attributes,
                        $crate::__cuda_module_list!($($kind $argument)*),
                    )
                }
            }
        }

        $crate::__cuda_module_async! {
            { $($attributes)* } [$($vis)*] [$($unsafety)*] [$($names)*]
            [$($generics)*] [$($bounds)*]
            [$this $config]
            [$(($argument $kind [$($element)*] $($later)*))*]
            [$($owned)*]
            { $($function)* }
            { $($checks)* }
            [$($field,)*] [$($attribute),*]
        }
    };
}

/// The value that a parameter gets, from what the caller passes for it.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_module_parameter {
    (value $argument:ident [$($ty:tt)*]) => {
        let $argument: $($ty)* = $crate::launch::KernelArgument::<$($ty)*>::parameter(&$argument);
    };
    ($kind:ident $argument:ident [$($ty:tt)*]) => {};
}

/// The list of arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_module_list {
    () => { $crate::__private::Nil };
    (slice $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::slice($argument), $crate::__cuda_module_list!($($rest)*))
    };
    (slice_mut $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons(
            $crate::__private::MutArgument::slice_mut_argument($argument),
            $crate::__cuda_module_list!($($rest)*),
        )
    };
    (pitched $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::pitched($argument), $crate::__cuda_module_list!($($rest)*))
    };
    (pitched_mut $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::pitched_mut($argument), $crate::__cuda_module_list!($($rest)*))
    };
    (ptr $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::ptr($argument), $crate::__cuda_module_list!($($rest)*))
    };
    (ptr_mut $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons(
            $crate::__private::MutArgument::ptr_mut_argument($argument),
            $crate::__cuda_module_list!($($rest)*),
        )
    };
    (object $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::typed::object($argument), $crate::__cuda_module_list!($($rest)*))
    };
    (object_mut $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::typed::object_mut($argument), $crate::__cuda_module_list!($($rest)*))
    };
    (open $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::Bits(&$argument), $crate::__cuda_module_list!($($rest)*))
    };
    ($kind:ident $argument:ident $($rest:tt)*) => {
        $crate::__private::Cons($crate::__private::Value(&$argument), $crate::__cuda_module_list!($($rest)*))
    };
}

/// The artifacts of files that are compiled when the module is loaded: `(path, bytes, headers)`. Each exists with the feature of its
/// compiler only, and says so without it.
macro_rules! source_artifact {
    ($d:tt $name:ident $feature:literal $kind:ident $what:literal) => {
        #[doc(hidden)]
        #[cfg(feature = $feature)]
        #[macro_export]
        macro_rules! $name {
            ($d path:expr, $d bytes:expr, [$d(($d header:expr, $d file:expr)),*]) => {
                $d crate::__private::typed::Artifact {
                    path: $d path,
                    bytes: $d bytes,
                    codes: &[],
                    source: ::core::option::Option::Some($d crate::__private::typed::Source {
                        what: $what,
                        load: $d crate::__private::typed::$kind,
                        headers: &[$d(($d header, ::core::include_bytes!($d file))),*],
                    }),
                }
            };
        }
        #[doc(hidden)]
        #[cfg(not(feature = $feature))]
        #[macro_export]
        macro_rules! $name {
            ($d path:expr, $d($d rest:tt)*) => {
                ::core::compile_error!(::core::concat!(
                    $d path,
                    " is ", $what, ", which is compiled when the module is loaded: build cuda-launch with its feature `", $feature,
                    "`, or name PTX, a cubin or a fatbin here"
                ))
            };
        }
    };
}
source_artifact!($ __cuda_module_nvrtc "nvrtc" load_cuda "CUDA C++");
source_artifact!($ __cuda_module_nvvm "nvvm" load_nvvm_ir "NVVM IR");
source_artifact!($ __cuda_module_nvjitlink "nvjitlink" load_lto_ir "LTO IR");
