//! How a texture samples its memory.

use cuda_driver_sys::{self as sys, CUDA_TEXTURE_DESC, CUaddress_mode, CUfilter_mode};

use super::format::ArrayElement;
use crate::error::{Error, ErrorKind, TextureError};
use crate::flags::flags;
use crate::options::options;

/// What a texture returns for coordinates outside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUaddress_mode")]
pub enum AddressMode {
    /// Wraps around. Normalized coordinates only, otherwise like `Clamp`.
    Wrap,
    /// The nearest element.
    #[default]
    Clamp,
    /// Wraps around, mirrored every other time. Normalized coordinates only, otherwise like `Clamp`.
    Mirror,
    /// The border colour.
    Border,
}

impl AddressMode {
    fn raw(self) -> CUaddress_mode {
        match self {
            Self::Wrap => CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            Self::Clamp => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            Self::Mirror => CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            Self::Border => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        }
    }
}

/// What a texture returns between elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUfilter_mode")]
pub enum FilterMode {
    /// The element that contains the coordinates.
    #[default]
    Point,
    /// A mean of the surrounding elements, weighted by distance with 8 bits of fraction. Floats only.
    Linear,
}

impl FilterMode {
    fn raw(self) -> CUfilter_mode {
        match self {
            Self::Point => CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            Self::Linear => CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        }
    }
}

flags! {
    /// How a texture is read (`CU_TRSF_*`).
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    pub struct TextureFlags: u32 {
        /// Integers of 8 and 16 bits are read as they are, not as fractions of their largest value. Those of 32 bits
        /// always are.
        const READ_AS_INTEGER = sys::CU_TRSF_READ_AS_INTEGER;
        /// Coordinates go from 0 to 1, not from 0 to the number of elements.
        const NORMALIZED_COORDINATES = sys::CU_TRSF_NORMALIZED_COORDINATES;
        /// Elements are sRGB and read as linear values.
        const SRGB = sys::CU_TRSF_SRGB;
        /// Filtering between mipmap levels is exact.
        const DISABLE_TRILINEAR_OPTIMIZATION = sys::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
        /// Filtering goes across the edges of a cubemap's faces.
        const SEAMLESS_CUBEMAP = sys::CU_TRSF_SEAMLESS_CUBEMAP;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

options! {
    /// How a texture samples its memory. The default is: clamp, point filter, unnormalized coordinates.
    ///
    /// ```
    /// use cuda_launch::texture::{AddressMode, FilterMode, TextureDescriptor};
    /// let smooth = TextureDescriptor::new().filter(FilterMode::Linear);
    /// assert_eq!(smooth.address, [AddressMode::Clamp; 3]);
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[doc(alias = "CUDA_TEXTURE_DESC")]
    pub struct TextureDescriptor {
        /// What is returned outside, for each dimension.
        pub address: [AddressMode; 3],
        /// What is returned between elements.
        pub filter: FilterMode,
        /// How elements and coordinates are interpreted.
        pub flags: TextureFlags,
        /// What `AddressMode::Border` returns: red, green, blue, alpha.
        pub border: [f32; 4],
        /// The maximum anisotropy ratio; 0 and 1 for none.
        pub max_anisotropy: u32,
        /// What is returned between mipmap levels.
        pub mipmap_filter: FilterMode,
        /// Added to the mipmap level that a kernel asks for.
        pub mipmap_bias: f32,
        /// The lowest and the highest mipmap level that is read.
        pub mipmap_clamp: [f32; 2],
    }
}

impl TextureDescriptor {
    pub(in crate::memory) fn raw(&self) -> CUDA_TEXTURE_DESC {
        let [minimum, maximum] = self.mipmap_clamp;
        CUDA_TEXTURE_DESC {
            addressMode: self.address.map(AddressMode::raw),
            filterMode: self.filter.raw(),
            flags: self.flags.bits(),
            maxAnisotropy: self.max_anisotropy,
            mipmapFilterMode: self.mipmap_filter.raw(),
            mipmapLevelBias: self.mipmap_bias,
            minMipmapLevelClamp: minimum,
            maxMipmapLevelClamp: maximum,
            borderColor: self.border,
            ..CUDA_TEXTURE_DESC::default()
        }
    }

    /// Linear filtering needs floats: stored so, or read as fractions.
    pub(in crate::memory) fn fits<T: ArrayElement>(&self) -> Result<(), Error> {
        use crate::memory::texture::format::ArrayFormat as F;
        let float = matches!(T::FORMAT, F::F16 | F::F32);
        let word = matches!(T::FORMAT, F::U32 | F::I32);
        let integers = word || !float && self.flags.contains(TextureFlags::READ_AS_INTEGER);
        if self.filter == FilterMode::Linear && integers {
            let element = std::any::type_name::<T>();
            return Err(ErrorKind::Texture(TextureError::LinearFilterOfIntegers { element }).into());
        }
        Ok(())
    }
}
