//! Whether the CPU has the vector extensions that code is compiled for a second time with.

/// Whether it does.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn available() -> bool {
    // The standard library remembers the answer.
    cfg!(not(miri))
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}

/// Whether it does: here there is one compilation, with what every CPU of the kind has.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn available() -> bool {
    true
}

/// A function whose body, another function, is compiled twice: with the vector extensions and without. It runs what the CPU has, and is never
/// inlined: for work that is long beside a call, and that many call.
macro_rules! twice {
    (
        $(#[$about:meta])*
        $visible:vis fn $name:ident[$($parameter:ident: $bound:path),*][$($number:ident),*]($($argument:ident: $type:ty),* $(,)?)
            $(-> $result:ty)?, by $body:ident
    ) => {
        $(#[$about])*
        #[inline(never)]
        $visible fn $name<$($parameter: $bound,)* $(const $number: usize),*>($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn fast<$($parameter: $bound,)* $(const $number: usize),*>($($argument: $type),*) $(-> $result)? {
                $body::<$($parameter,)* $($number),*>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if $crate::vectors::available() {
                // SAFETY: the CPU has the features that the function is compiled for, as was just checked.
                return unsafe { fast::<$($parameter,)* $($number),*>($($argument),*) };
            }
            $body::<$($parameter,)* $($number),*>($($argument),*)
        }
    };
}
pub(crate) use twice;
