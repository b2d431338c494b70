//! The objects of texture and surface handles, and how they read and write device memory ("Texture and Surface
//! Memory" and "Texture Fetching" in the programming guide).

mod cube;
mod mix;
mod reader;
mod sample;
mod surface;
mod texel;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

pub use reader::Reader;
pub use sample::{Coordinates, Lod, Query, Shape};
pub use surface::{Edge, Surface};
pub use texel::{Channel, Texel, Value};

/// Elements in device memory: an array, a level of one, or linear memory.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Address of the first one.
    pub address: u64,
    /// Their format.
    pub texel: Texel,
    /// Elements of a row, rows of a plane, planes or layers; none is 0.
    pub size: [usize; 3],
    /// Bytes from row to row, and from plane to plane.
    pub pitch: usize,
    /// Bytes from plane to plane.
    pub plane: usize,
    /// What it is, which its size does not tell.
    pub kind: ImageKind,
}

/// What the elements of an image belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// Plain memory.
    Linear,
    /// Rows of plain memory.
    Pitched,
    /// An array of this many dimensions.
    Array(usize),
    /// Layers of this many dimensions.
    Layered(usize),
    /// Six faces.
    Cubemap,
    /// Six layers for each cube.
    LayeredCubemap,
}

impl Image {
    /// What `txq` and `suq` answer for width, height and depth, as an H200 does: 0 for what there is not, layers in place of the next
    /// dimension, and for textures cubes instead of faces.
    pub fn queried(&self, of_surface: bool) -> [usize; 3] {
        let [width, height, depth] = self.size;
        match self.kind {
            ImageKind::Linear => [width, 0, 0],
            ImageKind::Array(1) => [width, if of_surface { 0 } else { 1 }, 0],
            ImageKind::Pitched | ImageKind::Array(2) => [width, height, 0],
            ImageKind::Layered(1) => [width, depth, 0],
            ImageKind::Array(_) | ImageKind::Layered(_) => [width, height, depth],
            ImageKind::Cubemap => [width, height, if of_surface { depth } else { 0 }],
            ImageKind::LayeredCubemap => [width, height, if of_surface { depth } else { depth / 6 }],
        }
    }

    /// The offset of an element that is in bounds.
    fn place(&self, [x, y, z]: [usize; 3]) -> u64 {
        self.address + (z * self.plane + y * self.pitch + x * self.texel.bytes()) as u64
    }
}

/// How reads outside of a texture are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as the API has them
pub enum Wrap {
    Wrap,
    Clamp,
    Mirror,
    Border,
}

/// A texture object.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Its levels, the largest first; one unless it is mipmapped.
    pub levels: Vec<Image>,
    /// How reads outside are handled, for each dimension.
    pub wrap: [Wrap; 3],
    /// Whether elements are mixed by distance.
    pub linear: bool,
    /// Whether coordinates go from 0 to 1.
    pub normalized: bool,
    /// Whether short integers are read as they are.
    pub integer: bool,
    /// Whether bytes are sRGB.
    pub srgb: bool,
    /// The value of reads outside with [`Wrap::Border`].
    pub border: [f32; 4],
    /// Whether levels are mixed.
    pub mix_levels: bool,
    /// Added to a requested level.
    pub bias: f32,
    /// Lowest and highest level that is read.
    pub level_range: [f32; 2],
    /// Whether it is plain memory, which reads as zero outside.
    pub memory: bool,
    /// The maximum number of samples that are mixed if gradients differ.
    pub anisotropy: u32,
    /// Whether elements of all faces of a cube are mixed.
    pub seamless: bool,
}

/// All texture and surface objects by their handles.
#[derive(Debug, Default)]
pub struct Objects {
    textures: RwLock<HashMap<u64, Arc<Texture>>>,
    surfaces: RwLock<HashMap<u64, Arc<Surface>>>,
}

impl Objects {
    /// The texture that a handle means.
    pub fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.textures.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    /// The surface that a handle means.
    pub fn surface(&self, handle: u64) -> Option<Arc<Surface>> {
        self.surfaces.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    /// Makes a handle mean a texture, or nothing.
    pub fn set_texture(&self, handle: u64, texture: Option<Texture>) {
        let mut textures = self.textures.write().unwrap_or_else(PoisonError::into_inner);
        match texture {
            Some(texture) => textures.insert(handle, Arc::new(texture)),
            None => textures.remove(&handle),
        };
    }

    /// Makes a handle mean a surface, or nothing.
    pub fn set_surface(&self, handle: u64, surface: Option<Surface>) {
        let mut surfaces = self.surfaces.write().unwrap_or_else(PoisonError::into_inner);
        match surface {
            Some(surface) => surfaces.insert(handle, Arc::new(surface)),
            None => surfaces.remove(&handle),
        };
    }
}
