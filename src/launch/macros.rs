//! `cuda_launch!`.

/// Launches a kernel: turns the arguments into the packet of `cuLaunchKernelEx`, checks it, and submits it.
///
/// Usable only inside `unsafe`. It is an expression of type `Result<(), Error>`; on an error nothing was launched.
///
/// ```standalone_crate
/// use cuda_launch::{cuda_launch, CudaContext, DeviceBuffer, LaunchConfig};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = ctx.load_module(include_str!("../../examples/kernels/vecadd.ptx"))?;
/// let a = DeviceBuffer::from_host(&stream, &[1.0f32; 100])?;
/// let b = DeviceBuffer::from_host(&stream, &[2.0f32; 100])?;
/// let mut c = DeviceBuffer::<f32>::zeroed(&stream, 100)?;
/// // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3: they live until the copy below has waited for
/// // the stream; 4: nothing else uses them; 5: it writes floats; 6: it ends.
/// unsafe {
///     cuda_launch! {
///         kernel: vecadd,
///         module: module,
///         stream: stream,
///         config: LaunchConfig::for_num_elems(100),
///         args: [slice(a), slice(b), slice_mut(c)],
///     }
/// }?;
/// assert_eq!(c.to_host_vec(&stream)?, [3.0; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Fields
/// In any order, each at most once; a trailing comma is allowed.
///
/// | field | takes |
/// |---|---|
/// | `kernel` | the kernel's name: an identifier, a string literal, or any `&str` expression in parentheses; with `module` |
/// | `module` | a [`CudaModule`](crate::CudaModule) |
/// | `function` | a [`CudaFunction`](crate::CudaFunction), in place of `kernel` and `module` |
/// | `stream` | a [`CudaStream`](crate::CudaStream) |
/// | `config` | a [`LaunchConfig`](crate::LaunchConfig) |
/// | `args` | a list in brackets; each entry is one or two parameters of the kernel (see below) |
/// | `cluster_dim` | optional: blocks per cluster, `(x, y, z)` |
/// | `cooperative` | optional: `true` for a grid whose blocks synchronise with each other |
/// | `attributes` | optional: an array, `Vec` or slice of [`Attribute`](crate::Attribute) |
///
/// `module`, `stream`, `function` and the buffers in `args` may be values, references, `Box`es, `Rc`s or `Arc`s; they are
/// borrowed for the call, not moved. A kernel given by name is looked up once per module and call site; a literal name
/// costs a warm launch one comparison.
///
/// # Arguments
///
/// | argument | parameters of the kernel |
/// |---|---|
/// | `slice(x)` | two of 8 bytes: device address, length in elements; `x` is a buffer or a view |
/// | `slice_mut(x)` | the same, of a buffer or view that is borrowed mutably |
/// | `pitched(x)`, `pitched_mut(x)` | two of 8 bytes: device address, pitch in bytes, of a [`PitchedBuffer`](crate::memory::PitchedBuffer) |
/// | `ptr(x)`, `ptr_mut(x)` | one of 8 bytes: the device address; `x` as for `slice(x)`, `slice_mut(x)` |
/// | `byval(x)` | one, of `size_of_val(&x)` bytes: any `Copy` value that borrows nothing, such as a closure; none if the size is zero |
/// | `byval_borrowed(x)` | the same for a value that may hold references, on machines whose devices can access host memory: the memory that the references point to is subject to duties 2 to 4 |
/// | `named("n", x)` | those of `x`, which is any argument of this table; a `LaunchPlan` can set it by this name |
/// | anything else | one plain value, [`DeviceCopy`](crate::DeviceCopy): numbers, arrays, device pointers, derived structs |
///
/// The macro recurses once per entry: a list of more than about 110 entries needs `#![recursion_limit = "256"]` or
/// higher.
///
/// # Errors
/// - [`is_argument_mismatch`](crate::Error::is_argument_mismatch): the number or sizes of the arguments differ from those of the
///   kernel's parameters, or an integer is passed where PTX declares a float, or the reverse; `byval(x)`
///   passes any bits. If neither driver nor image describes the parameters,
///   [`CudaFunction::parameters`](crate::CudaFunction::parameters) says why, and the launch proceeds unchecked.
/// - [`is_launch_refused`](crate::Error::is_launch_refused): a dimension is zero or over a limit, too much shared memory, a
///   cluster that does not fit, an attribute that needs a newer driver.
/// - [`is_context_mismatch`](crate::Error::is_context_mismatch): module, stream and buffers do not belong to the same context.
/// - [`is_not_found`](crate::Error::is_not_found): the module has no such kernel.
/// - Any error returned by `cuLaunchKernelEx`, including faults of earlier launches.
///
/// # Safety
/// Checked for you: number and sizes of the arguments, the dimensions, contexts, lifetimes during the call. Yours:
/// 1. Types: each argument is what the kernel expects of that parameter. Two of the same size that are swapped, or a struct with
///    other fields of the same size, are not detected; an integer for a float, or the reverse, only if the image says so
///    (PTX with `.f32`, `.u64`).
/// 2. Bounds: with these arguments and dimensions the kernel accesses only memory that it is passed, or that its module
///    owns, and only inside it.
/// 3. Lifetime: memory that the kernel uses stays allocated until it is done. The end of a
///    [`DeviceBuffer`](crate::DeviceBuffer) of the stream's context is ordered after it; memory from elsewhere may not be.
/// 4. Aliasing: until it is done, nothing else writes what the kernel reads, or uses what it writes: not the host, not work
///    on another stream that is not ordered against this one. Buffers and views that are passed as `slice`, `slice_mut`,
///    `pitched`, `pitched_mut`, `ptr`, `ptr_mut` are ordered for you; addresses passed as plain values are not.
/// 5. Validity: the kernel writes only valid values of a buffer's element type into it.
/// 6. Termination: the kernel terminates, and its blocks do not wait for each other unless `cooperative` is set.
#[macro_export]
macro_rules! cuda_launch {
    ($($fields:tt)*) => {
        $crate::__cuda_launch_fields!({[] [] [] [] [] [] [] [] []} $($fields)*)
    };
}

/// A list of arguments for `graph::KernelNode::new`, written as in [`cuda_launch!`].
///
/// It borrows its contents until the end of the statement. In it `slice_mut(x)` takes buffers and mutable views;
/// for types of your own bring `cuda_launch::launch::MutArgument` into scope.
#[macro_export]
macro_rules! kernel_args {
    ($($args:tt)*) => {
        $crate::__cuda_launch_args!($($args)*)
    };
}

/// Sorts the fields into `{kernel function module stream config args cluster_dim cooperative attributes}`.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_fields {
    // The kernel: a name, a string, or an expression.
    ({[] $fu:tt $m:tt $s:tt $c:tt $a:tt $cl:tt $co:tt $at:tt} kernel: $name:ident $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({[name ::core::stringify!($name)] $fu $m $s $c $a $cl $co $at} $($($rest)*)?)
    };
    ({[] $fu:tt $m:tt $s:tt $c:tt $a:tt $cl:tt $co:tt $at:tt} kernel: $name:literal $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({[name $name] $fu $m $s $c $a $cl $co $at} $($($rest)*)?)
    };
    ({[] $fu:tt $m:tt $s:tt $c:tt $a:tt $cl:tt $co:tt $at:tt} kernel: $name:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({[dynamic $name] $fu $m $s $c $a $cl $co $at} $($($rest)*)?)
    };
    ({$k:tt [] $m:tt $s:tt $c:tt $a:tt $cl:tt $co:tt $at:tt} function: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k [$v] $m $s $c $a $cl $co $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt [] $s:tt $c:tt $a:tt $cl:tt $co:tt $at:tt} module: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu [$v] $s $c $a $cl $co $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt $m:tt [] $c:tt $a:tt $cl:tt $co:tt $at:tt} stream: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu $m [$v] $c $a $cl $co $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt $m:tt $s:tt [] $a:tt $cl:tt $co:tt $at:tt} config: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu $m $s [$v] $a $cl $co $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt [] $cl:tt $co:tt $at:tt} args: [$($v:tt)*] $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu $m $s $c [[$($v)*]] $cl $co $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt [] $cl:tt $co:tt $at:tt} args: [$($v:tt)*] $next:ident $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch!: a comma is missing between the list of `args` and `", ::core::stringify!($next), "`"
        ))
    };
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt [] $cl:tt $co:tt $at:tt} args: $($rest:tt)*) => {
        ::core::compile_error!("cuda_launch!: `args` is a list in brackets: `args: [slice(a), 3u32]`, or `args: []` for none")
    };
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt $a:tt [] $co:tt $at:tt} cluster_dim: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu $m $s $c $a [$v] $co $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt $a:tt $cl:tt [] $at:tt} cooperative: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu $m $s $c $a $cl [$v] $at} $($($rest)*)?)
    };
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt $a:tt $cl:tt $co:tt []} attributes: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_fields!({$k $fu $m $s $c $a $cl $co [$v]} $($($rest)*)?)
    };
    // All fields are sorted; the next macro checks which are present.
    ({$k:tt $fu:tt $m:tt $s:tt $c:tt $a:tt $cl:tt $co:tt $at:tt}) => {
        $crate::__cuda_launch_finish!($k $fu $m $s $c $a $cl $co $at)
    };
    // Everything that gets this far is an error. A known field here was given before.
    ($state:tt kernel: $($rest:tt)*) => { $crate::__cuda_launch_twice!("kernel") };
    ($state:tt function: $($rest:tt)*) => { $crate::__cuda_launch_twice!("function") };
    ($state:tt module: $($rest:tt)*) => { $crate::__cuda_launch_twice!("module") };
    ({$k:tt $fu:tt $m:tt [@async] $($state:tt)*} stream: $($rest:tt)*) => {
        ::core::compile_error!("cuda_launch_async! has no field `stream`: the schedule chooses one")
    };
    ($state:tt stream: $($rest:tt)*) => { $crate::__cuda_launch_twice!("stream") };
    ($state:tt config: $($rest:tt)*) => { $crate::__cuda_launch_twice!("config") };
    ($state:tt args: $($rest:tt)*) => { $crate::__cuda_launch_twice!("args") };
    ($state:tt cluster_dim: $($rest:tt)*) => { $crate::__cuda_launch_twice!("cluster_dim") };
    ($state:tt cooperative: $($rest:tt)*) => { $crate::__cuda_launch_twice!("cooperative") };
    ($state:tt attributes: $($rest:tt)*) => { $crate::__cuda_launch_twice!("attributes") };
    ({$k:tt $fu:tt $m:tt [@async] $($state:tt)*} $field:ident: $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch_async! has no field `", ::core::stringify!($field), "`; the fields are kernel, module, \
             function, config, args, cluster_dim, cooperative, attributes"
        ))
    };
    ($state:tt $field:ident: $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch! has no field `", ::core::stringify!($field), "`; the fields are kernel, module, function, \
             stream, config, args, cluster_dim, cooperative, attributes"
        ))
    };
    ($state:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch!: expected `field: value`, separated by commas, as in `kernel: vecadd, module: module, \
             stream: stream, config: config, args: [slice(a)]`; found `", ::core::stringify!($($rest)*), "`"
        ))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_twice {
    ($field:literal) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch!: the field `",
            $field,
            "` is given twice, or its value is not followed by a comma"
        ))
    };
}

/// Reports a missing or superfluous field; otherwise expands to the call.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_finish {
    ([] [] $m:tt $($rest:tt)*) => {
        ::core::compile_error!("cuda_launch!: no kernel is named: write `kernel: name, module: module`, or `function: f`")
    };
    ([$($k:tt)+] [$($fu:tt)+] $($rest:tt)*) => {
        ::core::compile_error!(
            "cuda_launch!: both `kernel` and `function` are given: write `function: f` alone, or \
             `kernel: name, module: module`"
        )
    };
    ([] [$($fu:tt)+] [$($m:tt)+] $($rest:tt)*) => {
        ::core::compile_error!("cuda_launch!: `function` knows its module; leave `module` out")
    };
    ([$($k:tt)+] [] [] $($rest:tt)*) => {
        ::core::compile_error!(
            "cuda_launch!: the field `module` is missing: `module: m`, from `load_kernel_module(&ctx, \"name\")?` or \
             `ctx.load_module(..)?`"
        )
    };
    ($k:tt $fu:tt $m:tt [] $($rest:tt)*) => {
        ::core::compile_error!(
            "cuda_launch!: the field `stream` is missing: `stream: s`, from `ctx.new_stream()?` or `ctx.default_stream()`"
        )
    };
    ($k:tt $fu:tt $m:tt $s:tt [] $($rest:tt)*) => {
        ::core::compile_error!("cuda_launch!: the field `config` is missing: `config: LaunchConfig::for_num_elems(n)`")
    };
    ($k:tt $fu:tt $m:tt $s:tt $c:tt [] $($rest:tt)*) => {
        ::core::compile_error!(
            "cuda_launch!: the field `args` is missing: `args: [slice(a), 3u32]`, or `args: []` for a kernel without \
             parameters"
        )
    };
    // `cuda_launch_async!`: an operation that launches later.
    ([$($kernel:tt)*] [$($function:expr)?] [$($module:expr)?] [@async] [$config:expr] [[$($args:tt)*]]
     [$($cluster:expr)?] [$($cooperative:expr)?] [$($attributes:expr)?]) => {{
        #[allow(unused_imports)]
        use $crate::__private::MutArgument as _;
        $crate::operation::KernelLaunch::of(
            $crate::__cuda_launch_owned!([$(&$function)?] [$(&$module)?] $($kernel)*),
            $crate::__private::config($config),
            &([
                $($crate::Attribute::cluster_dimension($cluster),)?
                $($crate::Attribute::cooperative($cooperative),)?
            ] as [$crate::Attribute<'_>; $crate::__cuda_launch_count!($($cluster)? ; $($cooperative)?)]),
            $crate::__cuda_launch_attributes!($(&$attributes)?),
            $crate::__cuda_launch_args!($($args)*),
        )
    }};
    ([$($kernel:tt)*] [$($function:expr)?] [$($module:expr)?] [$stream:expr] [$config:expr] [[$($args:tt)*]]
     [$($cluster:expr)?] [$($cooperative:expr)?] [$($attributes:expr)?]) => {
        // `match` keeps what the expressions borrow alive until the launch is submitted.
        match (
            $(&$function,)? $(&$module,)? &$stream, $crate::__private::config($config),
            [
                $($crate::Attribute::cluster_dimension($cluster),)?
                $($crate::Attribute::cooperative($cooperative),)?
            ] as [$crate::Attribute<'_>; $crate::__cuda_launch_count!($($cluster)? ; $($cooperative)?)],
            $crate::__cuda_launch_attributes!($(&$attributes)?),
        ) {
            (owner, stream, config, fields, attributes) => {
                match $crate::__cuda_launch_kernel!(owner, $($kernel)*) {
                    ::core::result::Result::Ok(kernel) => {
                        #[allow(unused_imports)]
                        use $crate::__private::MutArgument as _;
                        $crate::__private::submit_shared(
                            kernel,
                            $crate::__private::StreamRef::stream_ref(stream),
                            config,
                            &fields,
                            attributes,
                            $crate::__cuda_launch_args!($($args)*),
                        )
                    }
                    ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
                }
            }
        }
    };
}

/// How many of the two fields that are attributes are there.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_count {
    (;) => {
        0
    };
    ($a:expr ;) => {
        1
    };
    (; $b:expr) => {
        1
    };
    ($a:expr ; $b:expr) => {
        2
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_attributes {
    () => {
        &[] as &[$crate::Attribute<'_>]
    };
    ($attributes:expr) => {
        $crate::launch::AttributeList::attribute_list($attributes)
    };
}

/// The kernel, from its name or a handle.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_kernel {
    ($function:ident,) => {
        ::core::result::Result::<_, $crate::Error>::Ok(
            $crate::__private::FunctionRef::function_ref($function).shared_kernel(),
        )
    };
    ($module:ident, name $name:expr) => {{
        static SITE: $crate::__private::Site = $crate::__private::Site::new();
        SITE.kernel($crate::__private::ModuleRef::module_ref($module), $name)
    }};
    ($module:ident, dynamic $name:expr) => {
        $crate::__private::kernel_by_name($crate::__private::ModuleRef::module_ref($module), $name)
    };
}

/// The list of arguments as nested `Cons`: one step of recursion an argument.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_args {
    () => { $crate::__private::Nil };
    (slice($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons($crate::__private::slice(&$x), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    (slice_mut($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons(($x).slice_mut_argument(), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    (ptr($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons($crate::__private::ptr(&$x), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    (ptr_mut($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons(($x).ptr_mut_argument(), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    (pitched($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons($crate::__private::pitched(&$x), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    (pitched_mut($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons(($x).pitched_mut_argument(), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    (byval($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons(
            $crate::__cuda_launch_value!(by_value $x),
            $crate::__cuda_launch_args!($($($rest)*)?),
        )
    };
    (byval_borrowed($x:expr) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons(
            $crate::__cuda_launch_value!(by_value_borrowed $x),
            $crate::__cuda_launch_args!($($($rest)*)?),
        )
    };
    (named($name:expr, $x:expr, $($more:tt)*) $(, $($rest:tt)*)?) => {
        $crate::__cuda_launch_args!(named())
    };
    (named($name:expr, $($x:tt)+) $(, $($rest:tt)*)?) => {
        $crate::__private::Cons(
            $crate::__private::Name(::core::convert::AsRef::<str>::as_ref(&$name)),
            $crate::__cuda_launch_args!($($x)+ $(, $($rest)*)?),
        )
    };
    (named() $(, $($rest:tt)*)?) => {
        ::core::compile_error!("cuda_launch!: `named(name, x)` in `args` takes a name and one argument")
    };
    (named($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_args!(named()) };
    (slice($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("slice", $($x)*) };
    (slice_mut($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("slice_mut", $($x)*) };
    (ptr($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("ptr", $($x)*) };
    (ptr_mut($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("ptr_mut", $($x)*) };
    (pitched($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("pitched", $($x)*) };
    (pitched_mut($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("pitched_mut", $($x)*) };
    (byval($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("byval", $($x)*) };
    (byval_borrowed($($x:tt)*) $(, $($rest:tt)*)?) => { $crate::__cuda_launch_one!("byval_borrowed", $($x)*) };
    ($x:expr $(, $($rest:tt)*)?) => {
        $crate::__private::Cons($crate::__cuda_launch_value!(plain $x), $crate::__cuda_launch_args!($($($rest)*)?))
    };
    ($($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch!: `", ::core::stringify!($($rest)*), "` in `args` is not an expression; separate arguments with commas"
        ))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_one {
    ($word:literal,) => {
        ::core::compile_error!(::core::concat!("cuda_launch!: `", $word, "(x)` in `args` takes one expression"))
    };
    ($word:literal, $($x:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "cuda_launch!: `", $word, "(x)` in `args` takes one expression, not `", ::core::stringify!($($x)*), "`"
        ))
    };
}

/// A value where it stands. The branch that is never taken costs nothing: it makes the compiler look at the type of the
/// expression alone, and so point at it, which it does only for what is given to a function as it is.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_value {
    (plain $x:expr) => { $crate::__cuda_launch_value!(Value plain $x) };
    ($check:ident $x:expr) => { $crate::__cuda_launch_value!(Bits $check $x) };
    ($form:ident $check:ident $x:expr) => {
        $crate::__private::$form(
            (
                if false {
                    $crate::__private::$check($x);
                    // What `$x` moves is not gone below, because nothing comes from here.
                    loop {}
                },
                &$x,
            )
                .1,
        )
    };
}
