//! Options of calls: structs that a later driver may add to, made by `new` and a method for each field.

/// The struct with its methods, each of which has the words of its field.
macro_rules! options {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$field_about:meta])+ pub $field:ident: $ty:ty,)+ }) => {
        $(#[$about])*
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_about])+ pub $field: $ty,)+
        }

        impl $name {
            /// All as by default.
            pub fn new() -> Self {
                Self::default()
            }

            $($(#[$field_about])+
            #[must_use]
            pub fn $field(mut self, $field: $ty) -> Self {
                self.$field = $field;
                self
            })+
        }
    };
}
pub(crate) use options;
