//! Sets of flags.

/// The type of a set of flags, as `bitflags!` would define it, with `Debug` that prints their names.
///
/// `bitflags!` is only given the type, not asked to define it: then it does not write a second one for each, with a parser of names that no
/// program can call.
macro_rules! flags {
    ($(#[$attribute:meta])* pub struct $name:ident: $bits:ty { $($flags:tt)* }) => {
        $(#[$attribute])*
        pub struct $name($bits);

        bitflags::bitflags! {
            impl $name: $bits { $($flags)* }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&$crate::flags::Names(self)).finish()
            }
        }
    };
}

pub(crate) use flags;

/// The names of the flags that are set.
pub(crate) struct Names<'f, F>(pub(crate) &'f F);

impl<F: bitflags::Flags> std::fmt::Debug for Names<'_, F>
where
    F::Bits: bitflags::parser::WriteHex,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str("0x0") } else { bitflags::parser::to_writer(self.0, f) }
    }
}

#[cfg(test)]
#[allow(unreachable_pub)] // As the macro writes it.
mod tests {
    flags! {
        /// Two flags, and whatever is newer.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct Both: u32 {
            /// The first.
            const ONE = 1;
            /// The second.
            const OTHER = 2;
            const _ = !0;
        }
    }

    #[test]
    fn flags_print_as_their_names() {
        let text = |bits| format!("{:?}", Both::from_bits_retain(bits));
        assert_eq!(
            [0, 1, 3, 10].map(text),
            ["Both(0x0)", "Both(ONE)", "Both(ONE | OTHER)", "Both(OTHER | 0x8)"]
        );
        assert_eq!(Both::from_bits_truncate(10), Both::OTHER | Both::from_bits_retain(8));
    }
}
