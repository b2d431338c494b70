//! What a tensor map describes of a tensor, and the rules that the hardware imposes.

use cuda_driver_sys::{
    CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave, CUtensorMapL2promotion,
    CUtensorMapSwizzle,
};
use std::fmt::Display;

use crate::error::{Error, ErrorKind, RegionError, TensorMapError};
use crate::memory::device_copy::DeviceCopy;

/// The most dimensions.
pub(in crate::memory) const MAX_RANK: usize = 5;

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident($raw:ident) { $($(#[$variant_doc:meta])* $variant:ident = $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// As the driver counts it.
            pub fn raw(self) -> $raw {
                match self {
                    $(Self::$variant => $raw::$value,)*
                }
            }
        }
    };
}

choices! {
    /// How the copy engine interprets the elements of a tensor.
    TensorDataType(CUtensorMapDataType) {
        /// 8 bits.
        U8 = CU_TENSOR_MAP_DATA_TYPE_UINT8,
        /// 16 bits.
        U16 = CU_TENSOR_MAP_DATA_TYPE_UINT16,
        /// 32 bits, unsigned.
        U32 = CU_TENSOR_MAP_DATA_TYPE_UINT32,
        /// 32 bits, signed.
        I32 = CU_TENSOR_MAP_DATA_TYPE_INT32,
        /// 64 bits, unsigned.
        U64 = CU_TENSOR_MAP_DATA_TYPE_UINT64,
        /// 64 bits, signed.
        I64 = CU_TENSOR_MAP_DATA_TYPE_INT64,
        /// 16-bit float.
        F16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        /// 32-bit float.
        F32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        /// 64-bit float.
        F64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        /// 16-bit float with the exponent of 32-bit ones.
        BF16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        /// 32-bit float, subnormal numbers read as zero.
        F32Ftz = CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        /// 32-bit float, rounded to 10 bits of fraction.
        TF32 = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        /// As `TF32`, subnormal numbers read as zero.
        TF32Ftz = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
        /// 16 values of 4 bits in 8 bytes, in global and in shared memory.
        Packed16U4Align8 = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
        /// 16 values of 4 bits in 8 bytes of global memory, and in 8 of 16 bytes of shared memory.
        Packed16U4Align16 = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
        /// 16 values of 6 bits in 12 bytes of global memory, and in 12 of 16 bytes of shared memory.
        Packed16U6Align16 = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B,
    }
}

choices! {
    /// The layout of a tensor's channels in memory.
    ///
    /// In slices, the dimensions are width, height, depth (the last one or two may be absent), slices and images, and the first counts
    /// pixels of a slice, 16 or 32 bytes each whatever the element type.
    Interleave(CUtensorMapInterleave) {
        /// All channels of a pixel are contiguous.
        None = CU_TENSOR_MAP_INTERLEAVE_NONE,
        /// In slices of 16 bytes.
        Bytes16 = CU_TENSOR_MAP_INTERLEAVE_16B,
        /// In slices of 32 bytes.
        Bytes32 = CU_TENSOR_MAP_INTERLEAVE_32B,
    }
}

choices! {
    /// How the copy engine swizzles 16-byte chunks of rows in shared memory.
    Swizzle(CUtensorMapSwizzle) {
        /// Not at all.
        None = CU_TENSOR_MAP_SWIZZLE_NONE,
        /// Within 32 bytes.
        Bytes32 = CU_TENSOR_MAP_SWIZZLE_32B,
        /// Within 64 bytes.
        Bytes64 = CU_TENSOR_MAP_SWIZZLE_64B,
        /// Within 128 bytes.
        Bytes128 = CU_TENSOR_MAP_SWIZZLE_128B,
        /// Within 128 bytes, in chunks of 32.
        Bytes128Atom32 = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
        /// Like `Bytes128Atom32`, with the halves of 16 bytes swapped in every other row.
        Bytes128Atom32Flip8 = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B,
        /// Within 128 bytes, in chunks of 64.
        Bytes128Atom64 = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B,
    }
}

choices! {
    /// How much the L2 cache fetches at a time.
    L2Promotion(CUtensorMapL2promotion) {
        /// Only what is requested.
        None = CU_TENSOR_MAP_L2_PROMOTION_NONE,
        /// 64 bytes.
        Bytes64 = CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        /// 128 bytes.
        Bytes128 = CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        /// 256 bytes.
        Bytes256 = CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    }
}

choices! {
    /// The value of elements outside a tensor.
    OutOfBoundsFill(CUtensorMapFloatOOBfill) {
        /// Zeros.
        Zero = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        /// A NaN that multiplications and additions of the tensor cores treat as zero. Floats only.
        NanZeroFma = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    }
}

impl TensorDataType {
    /// Bits in memory.
    fn bits(self) -> u64 {
        match self {
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::U32 | Self::I32 | Self::F32 | Self::F32Ftz | Self::TF32 | Self::TF32Ftz => 32,
            Self::U64 | Self::I64 | Self::F64 => 64,
            Self::Packed16U4Align8 | Self::Packed16U4Align16 => 4,
            Self::Packed16U6Align16 => 6,
        }
    }

    fn is_float(self) -> bool {
        use TensorDataType as D;
        matches!(self, D::F16 | D::F32 | D::F64 | D::BF16 | D::F32Ftz | D::TF32 | D::TF32Ftz)
    }

    /// Packed with gaps: rules of 32 bytes and 128 elements.
    fn is_gapped(self) -> bool {
        matches!(self, Self::Packed16U4Align16 | Self::Packed16U6Align16)
    }

    /// What the elements of a buffer are, if their type says it.
    fn of<T: DeviceCopy>() -> Option<Self> {
        use std::any::TypeId;
        let id = TypeId::of::<T>();
        #[cfg(feature = "half")]
        if id == TypeId::of::<half::f16>() {
            return Some(Self::F16);
        } else if id == TypeId::of::<half::bf16>() {
            return Some(Self::BF16);
        }
        let known = [
            (TypeId::of::<u8>(), Self::U8),
            (TypeId::of::<i8>(), Self::U8),
            (TypeId::of::<u16>(), Self::U16),
            (TypeId::of::<i16>(), Self::U16),
            (TypeId::of::<u32>(), Self::U32),
            (TypeId::of::<i32>(), Self::I32),
            (TypeId::of::<u64>(), Self::U64),
            (TypeId::of::<i64>(), Self::I64),
            (TypeId::of::<f32>(), Self::F32),
            (TypeId::of::<f64>(), Self::F64),
        ];
        known.into_iter().find(|(of, _)| *of == id).map(|(_, ty)| ty)
    }
}

/// What tiled and im2col maps share.
#[derive(Clone, Debug)]
pub(in crate::memory) struct TensorLayout {
    pub(in crate::memory) dims: Vec<u64>,
    /// In bytes, one less than dimensions; `None` for a dense tensor.
    pub(in crate::memory) strides: Option<Vec<u64>>,
    pub(in crate::memory) steps: Vec<u32>,
    /// `None` for what the elements of the memory say.
    pub(in crate::memory) data_type: Option<TensorDataType>,
    pub(in crate::memory) interleave: Interleave,
    pub(in crate::memory) swizzle: Swizzle,
    pub(in crate::memory) promotion: L2Promotion,
    pub(in crate::memory) fill: OutOfBoundsFill,
}

/// What is known once the elements are.
pub(in crate::memory) struct Known {
    pub(in crate::memory) data_type: TensorDataType,
    pub(in crate::memory) rank: u32,
    pub(in crate::memory) strides: Vec<u64>,
}

impl TensorLayout {
    pub(in crate::memory) fn dense(dims: &[u64]) -> Self {
        Self {
            dims: dims.to_vec(),
            strides: None,
            steps: vec![1; dims.len()],
            data_type: None,
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            promotion: L2Promotion::None,
            fill: OutOfBoundsFill::Zero,
        }
    }

    /// The rules for the tensor itself, which is to lie in `bytes` bytes from `address` on.
    pub(in crate::memory) fn check<T: DeviceCopy>(&self, address: u64, bytes: usize) -> Result<Known, Error> {
        let element = std::any::type_name::<T>();
        let data_type = self.data_type.or_else(TensorDataType::of::<T>);
        let data_type = data_type
            .ok_or_else(|| broken("the element", element, "a number, or say what it is with `data_type`"))?;
        let rank = self.dims.len();
        require(matches!(rank, 1..=MAX_RANK), "the number of dimensions", rank, "1 to 5")?;
        let interleaved = self.interleave != Interleave::None;
        require(!interleaved || rank >= 3, "the number of dimensions", rank, "at least 3 with interleave")?;
        let wide = self.interleave == Interleave::Bytes32 || data_type.is_gapped();
        check_address(address, if wide { 32 } else { 16 })?;
        for (i, &dim) in self.dims.iter().enumerate() {
            let fits = (1..=1 << 32).contains(&dim);
            require(fits, format_args!("dimension {i}"), dim, "1 to 2^32 elements")?;
        }
        self.check_packed(data_type)?;
        let strides = self.strides.clone().unwrap_or_else(|| self.dense_strides(data_type));
        self.check_strides(&strides, if wide { 32 } else { 16 })?;
        self.check_steps()?;
        self.check_modes(data_type)?;
        let known = Known { data_type, rank: rank as u32, strides };
        self.ends_inside(&known, bytes)?;
        Ok(known)
    }

    fn check_packed(&self, data_type: TensorDataType) -> Result<(), Error> {
        let multiple = match data_type {
            TensorDataType::Packed16U4Align8 => 2,
            ty if ty.is_gapped() => 128,
            _ => return Ok(()),
        };
        let inner = self.dims.first().copied().unwrap_or(0);
        let rule = format!("a multiple of {multiple} for {data_type:?}");
        require(inner.is_multiple_of(multiple), "dimension 0", inner, rule)
    }

    fn dense_strides(&self, data_type: TensorDataType) -> Vec<u64> {
        let row = |dim: &u64| dim.saturating_mul(self.unit_bits(data_type)).div_ceil(8);
        let mut next = self.dims.first().map_or(0, row);
        let outer = self.dims.iter().skip(1);
        outer
            .map(|dim| {
                let after = next.saturating_mul(*dim);
                std::mem::replace(&mut next, after)
            })
            .collect()
    }

    /// Bits of what the first dimension counts: elements or, interleaved, pixels of a group of channels, whatever their type.
    fn unit_bits(&self, data_type: TensorDataType) -> u64 {
        match self.interleave {
            Interleave::None => data_type.bits(),
            Interleave::Bytes16 => 128,
            Interleave::Bytes32 => 256,
        }
    }

    fn check_strides(&self, strides: &[u64], multiple: u64) -> Result<(), Error> {
        let (count, wanted) = (strides.len(), self.dims.len() - 1);
        require(
            count == wanted,
            "the number of strides",
            count,
            format_args!("one less than dimensions: {wanted}"),
        )?;
        for (i, &stride) in strides.iter().enumerate() {
            let fits = stride.is_multiple_of(multiple) && stride < 1 << 40;
            let rule = format!("a multiple of {multiple} bytes under 2^40; pad the rows of the tensor");
            require(fits, format_args!("the stride of dimension {}", i + 1), stride, rule)?;
        }
        Ok(())
    }

    fn check_steps(&self) -> Result<(), Error> {
        let (count, wanted) = (self.steps.len(), self.dims.len());
        require(
            count == wanted,
            "the number of element strides",
            count,
            format_args!("as many as dimensions: {wanted}"),
        )?;
        for (i, &step) in self.steps.iter().enumerate() {
            require(
                matches!(step, 1..=8),
                format_args!("the element stride of dimension {i}"),
                step,
                "1 to 8",
            )?;
        }
        Ok(())
    }

    fn check_modes(&self, data_type: TensorDataType) -> Result<(), Error> {
        let fill = format!("{:?}", self.fill);
        let zero = self.fill == OutOfBoundsFill::Zero;
        require(zero || data_type.is_float(), "the fill", fill, "for floats only")?;
        let fits = self.interleave != Interleave::Bytes32 || self.swizzle == Swizzle::Bytes32;
        require(fits, "the swizzle", format!("{:?}", self.swizzle), "Bytes32 with interleave Bytes32")
    }

    /// Whether the last element lies inside the memory.
    fn ends_inside(&self, known: &Known, bytes: usize) -> Result<(), Error> {
        let outer = self.dims.iter().skip(1).zip(&known.strides);
        let last: u128 = outer.map(|(dim, stride)| u128::from(dim - 1) * u128::from(*stride)).sum();
        let unit = u128::from(self.unit_bits(known.data_type));
        let row = u128::from(self.dims.first().copied().unwrap_or(0)) * unit;
        let end = last + row.div_ceil(8);
        if end <= bytes as u128 {
            return Ok(());
        }
        let pitch = known.strides.first().map_or(0, |stride| *stride as usize);
        Err(RegionError::TooShort { side: "tensor", len: bytes, pitch, end }.into())
    }

    /// The rules for the box of a tiled map.
    pub(in crate::memory) fn check_tile(&self, tile: &[u32], data_type: TensorDataType) -> Result<(), Error> {
        for (i, &size) in tile.iter().enumerate() {
            require(matches!(size, 1..=256), format_args!("box dimension {i}"), size, "1 to 256 elements")?;
        }
        let inner = tile.first().copied().unwrap_or(0);
        if data_type.is_gapped() {
            return require(inner == 128, "box dimension 0", inner, format!("128 for {data_type:?}"));
        }
        self.check_inner("box dimension 0", inner, data_type)
    }

    /// The rules for what an im2col map copies.
    pub(in crate::memory) fn check_pixels(
        &self,
        corners: [&[i32]; 2],
        channels: u32,
        pixels: u32,
        data_type: TensorDataType,
    ) -> Result<(), Error> {
        let rank = self.dims.len();
        require(rank >= 3, "the number of dimensions", rank, "3 to 5 for im2col")?;
        let limit = match rank {
            3 => 1 << 15,
            4 => 1 << 7,
            _ => 1 << 4,
        };
        for corner in corners {
            let count = corner.len();
            require(count == rank - 2, "the number of corner offsets", count, "two less than dimensions")?;
            for &offset in corner {
                let rule = format!("{} to {} with {rank} dimensions", -limit, limit - 1);
                require((-limit..limit).contains(&offset), "a corner offset", offset, rule)?;
            }
        }
        require(matches!(channels, 1..=256), "channels at a time", channels, "1 to 256")?;
        require(matches!(pixels, 1..=1024), "pixels at a time", pixels, "1 to 1024")?;
        self.check_inner("channels at a time", channels, data_type)
    }

    /// The innermost size of what is copied: whole pieces of 16 bytes that fit the swizzle.
    fn check_inner(&self, what: &str, inner: u32, data_type: TensorDataType) -> Result<(), Error> {
        if self.interleave != Interleave::None {
            return Ok(());
        }
        let bytes = u64::from(inner) * data_type.bits() / 8;
        let value = format!("{inner}, {bytes} bytes");
        require(bytes.is_multiple_of(16) && bytes != 0, what, &value, "a multiple of 16 bytes")?;
        let (limit, name) = match self.swizzle {
            Swizzle::None => return Ok(()),
            Swizzle::Bytes32 => (32, "32"),
            Swizzle::Bytes64 => (64, "64"),
            _ => (128, "128"),
        };
        let rule = format!("at most {name} bytes with swizzle {:?}", self.swizzle);
        require(bytes <= limit, what, value, rule)
    }
}

/// The rule for the address of a tensor.
pub(in crate::memory) fn check_address(address: u64, multiple: u64) -> Result<(), Error> {
    let fits = address != 0 && address.is_multiple_of(multiple);
    let rule = format!("memory at a multiple of {multiple} bytes");
    require(fits, "the address", format!("{address:#x}"), rule)
}

fn require(fits: bool, what: impl Display, value: impl Display, rule: impl Display) -> Result<(), Error> {
    if fits { Ok(()) } else { Err(broken(what, value, rule)) }
}

#[cold]
fn broken(what: impl Display, value: impl Display, rule: impl Display) -> Error {
    let (what, value, rule) = (what.to_string(), value.to_string(), format!("it must be: {rule}"));
    ErrorKind::TensorMap(TensorMapError { what, value, rule }).into()
}
