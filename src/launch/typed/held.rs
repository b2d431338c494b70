//! What owns an object or rows for an operation of a typed module.

use std::sync::Arc;

/// What an operation that owns its arguments accepts for `&O`: an object or rows, or a smart pointer to them.
///
/// Sealed: it must return the same object every time.
#[diagnostic::on_unimplemented(
    message = "an operation cannot own a `{Self}` as a `{O}`",
    label = "not a `{O}`, nor an `Arc` or `Box` of one"
)]
pub trait HeldObject<O>: sealed::Held<O> {
    /// The object.
    #[doc(hidden)]
    fn held(&self) -> &O;
}

/// The same for `&mut O`.
#[diagnostic::on_unimplemented(
    message = "an operation cannot own a `{Self}` as a `{O}` to write through",
    label = "not a `{O}`, nor a `Box` of one"
)]
pub trait HeldObjectMut<O>: HeldObject<O> {
    /// The object.
    #[doc(hidden)]
    fn held_mut(&mut self) -> &mut O;
}

macro_rules! held {
    ($($holder:ty: $($mutable:ident)?;)*) => {$(
        impl<O> sealed::Held<O> for $holder {}

        impl<O> HeldObject<O> for $holder {
            fn held(&self) -> &O {
                self
            }
        }

        $(impl<O> HeldObjectMut<O> for $holder {
            fn held_mut(&mut self) -> &mut O {
                let $mutable = self;
                $mutable
            }
        })?
    )*};
}

held! {
    O: object;
    Box<O>: object;
    &mut O: object;
    &O:;
    Arc<O>:;
}

mod sealed {
    #[doc(hidden)]
    pub trait Held<O> {}
}
