//! Arrays, mipmaps, textures and surfaces.

pub(crate) mod array;
pub(crate) mod descriptor;
pub(crate) mod format;
pub(crate) mod mipmap;
pub(crate) mod object;
pub(crate) mod surface;
