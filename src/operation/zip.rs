//! Operations side by side.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// The result of [`zip()`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Zip<Ops>(Ops);

/// Runs 2 to 12 operations concurrently, each on its own stream; returns all outputs as a tuple.
///
/// All of them come after the earlier work of the chain, and later work comes after all of them. The streams are those of the chain's
/// policy; the last operation runs on the chain's own. An operation that uses no stream costs nothing; each of the others except the
/// last costs an event and a wait at its end, and also at its start if the chain has used its stream. After an error, the
/// remaining operations are not started.
///
/// `zip!` does the same without the inner parentheses of the tuple.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, value, zeroed, zip};
/// let (bytes, words, name) = zip!(zeroed::<u8>(3), zeroed::<u32>(5), value("words")).sync()?;
/// assert_eq!((bytes.len(), words.len(), name), (3, 5, "words"));
/// assert_eq!(zip((value(1), value(2))).map(|(a, b)| a + b).sync()?, 3);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn zip<Ops>(operations: Ops) -> Zip<Ops>
where
    Zip<Ops>: DeviceOperation,
{
    Zip(operations)
}

/// [`operation::zip`](crate::operation::zip())`((a, b, ..))`: runs operations concurrently, each on its own stream.
#[doc(hidden)]
#[macro_export]
macro_rules! __operation_zip {
    ($($operation:expr),+ $(,)?) => {
        $crate::operation::zip(($($operation,)+))
    };
}

macro_rules! zips {
    ($($op:ident)+ ; $last:ident) => {
        impl<$($op: DeviceOperation,)+ $last: DeviceOperation> DeviceOperation for Zip<($($op,)+ $last,)> {
            type Output = ($($op::Output,)+ $last::Output,);

            #[allow(non_snake_case)]
            unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
                let ($($op,)+ $last,) = self.0;
                let mut branches = cx.branches();
                $(
                    // SAFETY: 1: the caller's duty 1, as this operation borrows what its parts do; before the caller
                    // waits for the stream of `cx`, the branch is joined to it or waited for: by `join`, or, after an
                    // error or a panic, by the drop of `branches`.
                    let $op = branches.branch(|cx| unsafe { $op.execute(cx) })?;
                )+
                // SAFETY: 1: the caller's duty 1, as this operation borrows what its parts do.
                let $last = unsafe { $last.execute(cx) }?;
                branches.join()?;
                Ok(($($op,)+ $last,))
            }
        }
    };
}

zips! { A; B }
zips! { A B; C }
zips! { A B C; D }
zips! { A B C D; E }
zips! { A B C D E; F }
zips! { A B C D E F; G }
zips! { A B C D E F G; H }
zips! { A B C D E F G H; I }
zips! { A B C D E F G H I; J }
zips! { A B C D E F G H I J; K }
zips! { A B C D E F G H I J K; L }
