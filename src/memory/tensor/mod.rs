//! Tensor maps.

pub(crate) mod layout;
pub(crate) mod map;
pub(crate) mod object;
