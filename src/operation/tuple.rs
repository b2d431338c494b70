//! Outputs that are tuples, and their parts.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// Tuples of 2 to 12: outputs that have a first and a last part.
pub trait Tuple {
    /// The type of the first part.
    type First: Send;
    /// The type of the last part.
    type Last: Send;

    /// The first part.
    fn first(self) -> Self::First;

    /// The last part.
    fn last(self) -> Self::Last;
}

/// Tuples whose parts can be taken one by one.
pub trait Split {
    /// The parts that have not been taken.
    #[doc(hidden)]
    type Parts: Send;

    #[doc(hidden)]
    fn split(self) -> Self::Parts;
}

/// Tuples that have a part of this number.
pub trait PartOf<const N: usize>: Split {
    /// Its type.
    type Part: Send;

    #[doc(hidden)]
    fn take(parts: &mut Self::Parts) -> Option<Self::Part>;
}

/// Gives `$macro` the names and indices of tuples of 2 to 12.
macro_rules! for_tuples {
    ($macro:ident) => {
        $macro! { A 0, B 1 }
        $macro! { A 0, B 1, C 2 }
        $macro! { A 0, B 1, C 2, D 3 }
        $macro! { A 0, B 1, C 2, D 3, E 4 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5, G 6 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10 }
        $macro! { A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11 }
    };
}
pub(super) use for_tuples;

macro_rules! tuples {
    ($($of:ident $index:tt),+) => {
        impl<$($of: Send),+> Split for ($($of,)+) {
            type Parts = ($(Option<$of>,)+);

            fn split(self) -> Self::Parts {
                ($(Some(self.$index),)+)
            }
        }

        tuples! { @parts ($($of,)+) $($of $index),+ }
        tuples! { @last ($($of,)+) $($of $index),+ }
    };
    (@parts $all:tt $($of:ident $index:tt),+) => {
        $(tuples! { @part $all $of $index })+
    };
    (@part ($($all:ident,)+) $of:ident $index:tt) => {
        impl<$($all: Send),+> PartOf<$index> for ($($all,)+) {
            type Part = $of;

            fn take(parts: &mut Self::Parts) -> Option<$of> {
                parts.$index.take()
            }
        }
    };
    (@last $all:tt $of:ident $index:tt, $($rest:tt)+) => {
        tuples! { @last $all $($rest)+ }
    };
    (@last ($first:ident, $($all:ident,)+) $last:ident $index:tt) => {
        impl<$first: Send, $($all: Send),+> Tuple for ($first, $($all,)+) {
            type First = $first;
            type Last = $last;

            fn first(self) -> $first {
                self.0
            }

            fn last(self) -> $last {
                self.$index
            }
        }
    };
}

for_tuples!(tuples);

macro_rules! ends {
    ($($(#[$doc:meta])* $name:ident $of:ident $method:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "an operation does nothing until it is awaited or synchronised"]
        pub struct $name<Op>(Op);

        impl<Op> $name<Op> {
            pub(super) fn new(op: Op) -> Self {
                Self(op)
            }
        }

        impl<Op: DeviceOperation> DeviceOperation for $name<Op>
        where
            Op::Output: Tuple,
        {
            type Output = <Op::Output as Tuple>::$of;

            unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
                // SAFETY: 1: the caller's duty 1, as this operation borrows what the one in it does.
                unsafe { self.0.execute(cx) }.map(Tuple::$method)
            }
        }
    )*};
}

ends! {
    /// The result of [`DeviceOperation::first`].
    First First first;
    /// The result of [`DeviceOperation::last`].
    Last Last last;
}
