//! Numbers of the driver that have names, and of which a newer driver may have more: keys of attributes and limits, formats, choices.

/// One type for each: its docs, the driver's type, and a row for each name: what it says, our name, the driver's.
macro_rules! open_number {
    (
        $(#[$about:meta])*
        pub struct $name:ident($raw:ident);
        $($(#[$row_about:meta])+ $constant:ident = $driver:ident;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// All that have a name here, in the driver's order.
            pub const ALL: &[Self] = &[$(Self::$constant),*];

            $(
                $(#[$row_about])+
                pub const $constant: Self = Self($raw::$driver.0);
            )*

            /// The driver's name for it; `None` if this crate does not know it.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some(stringify!($driver)),)*
                    _ => None,
                }
            }
        }

        /// The driver's name, or the number if there is none.
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}({})", stringify!($name), self.0),
                }
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }

        $crate::open_number::driver_number!($name($raw));
    };
}
pub(crate) use open_number;

/// To the driver's form and back, also for numbers that have a meaning instead of a name.
macro_rules! driver_number {
    ($name:ident($raw:ident)) => {
        impl $name {
            /// From the driver's form; any number, also one that this crate has no name for.
            pub const fn from_raw(raw: $raw) -> Self {
                Self(raw.0)
            }

            /// The driver's form.
            pub const fn raw(self) -> $raw {
                $raw(self.0)
            }
        }

        impl From<$raw> for $name {
            fn from(raw: $raw) -> Self {
                Self::from_raw(raw)
            }
        }

        impl From<$name> for $raw {
            fn from(number: $name) -> Self {
                number.raw()
            }
        }
    };
}
pub(crate) use driver_number;
