//! The sizes and kinds of a parameter list as two numbers: what a builder compares before each launch.

/// Whether a number is a float or an integer, as far as its type tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bits that may be either: structs, arrays, `.b32`.
    Other,
    /// Also an address, or a length.
    Integer,
    /// A floating-point number.
    Float,
}

impl Kind {
    /// What a PTX type says: `.f32`, `.u64`; `.b32` and `.b8[4]` say nothing. Of integers the sign is no kind: compilers disagree.
    pub(crate) fn of_ptx(ty: &str) -> Self {
        let is = |letters: &str| {
            let digits = ty.strip_prefix('.').and_then(|ty| ty.strip_prefix(letters));
            digits
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match () {
            () if is("f") || is("bf") => Self::Float,
            () if is("u") || is("s") => Self::Integer,
            () => Self::Other,
        }
    }

    /// Whether one is a float and the other an integer.
    pub(crate) const fn clashes(self, other: Self) -> bool {
        matches!((self, other), (Self::Float, Self::Integer) | (Self::Integer, Self::Float))
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Other => 0b00,
            Self::Integer => 0b01,
            Self::Float => 0b10,
        }
    }

    /// The bits of those that clash with it.
    const fn refused(self) -> u32 {
        match self {
            Self::Other => 0b00,
            Self::Integer => Self::Float.bits(),
            Self::Float => Self::Integer.bits(),
        }
    }
}

/// The sizes in order, a byte each, where the list has up to 16 of 1 to 254 bytes; and the kinds, two bits each: of a kernel's
/// parameters those that they refuse.
///
/// Nothing is lost, so that two lists have the same sizes if the numbers are the same. A builder's is a constant once the compiler
/// has seen all of it.
///
/// Packed: what has one is moved, and a place for nothing costs as much as one for something.
#[derive(Clone, Copy, Debug)]
#[repr(packed(8))]
pub(crate) struct Shape {
    sizes: u128,
    kinds: u32,
}

/// Of a list that does not fit. No size is 255, so no list that fits is this, nor the next.
const TOO_LARGE: u128 = u128::MAX;
const UNKNOWN: u128 = u128::MAX - 1;

impl Shape {
    /// Of no parameters.
    pub(crate) const EMPTY: Self = Self { sizes: 0, kinds: 0 };

    /// Of a kernel whose list is not known: the same as nothing.
    pub(crate) const UNKNOWN: Self = Self { sizes: UNKNOWN, kinds: 0 };

    /// Of a kernel with parameters of these sizes and kinds; the same as nothing if they do not fit.
    pub(crate) fn of_kernel(parameters: impl Iterator<Item = (usize, Kind)>) -> Self {
        let mut shape = Self::EMPTY;
        parameters.for_each(|(size, kind)| shape.append(size, kind.refused()));
        if shape.sizes == TOO_LARGE { Self::UNKNOWN } else { shape }
    }

    /// Appends an argument of `size` bytes.
    #[inline(always)]
    pub(crate) const fn push(&mut self, size: usize, kind: Kind) {
        self.append(size, kind.bits());
    }

    #[inline(always)]
    const fn append(&mut self, size: usize, kind: u32) {
        let fits = self.sizes >> 120 == 0 && 1 <= size && size <= 254;
        self.sizes = if fits { self.sizes << 8 | size as u128 } else { TOO_LARGE };
        self.kinds = self.kinds << 2 | kind;
    }

    /// Whether arguments of this shape are certain to be as many and as large as the parameters of a kernel, and none a float for an
    /// integer or the other way round.
    #[inline(always)]
    pub(crate) const fn fits(&self, kernel: &Self) -> bool {
        self.sizes == kernel.sizes && self.kinds & kernel.kinds == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Shape};

    fn arguments(sizes: &[usize]) -> Shape {
        let mut shape = Shape::EMPTY;
        sizes.iter().for_each(|&size| shape.push(size, Kind::Other));
        shape
    }

    fn kernel(sizes: &[usize]) -> Shape {
        Shape::of_kernel(sizes.iter().map(|&size| (size, Kind::Other)))
    }

    #[test]
    fn kinds_fit_unless_one_is_a_float_and_the_other_an_integer() {
        const KINDS: [Kind; 3] = [Kind::Other, Kind::Integer, Kind::Float];
        for place in 0..16 {
            for (given, wanted) in KINDS.iter().flat_map(|given| KINDS.map(|wanted| (*given, wanted))) {
                let kind = |at, kind| if at == place { kind } else { KINDS[at % 3] };
                let mut shape = Shape::EMPTY;
                (0..16).for_each(|at| shape.push(4, kind(at, given)));
                let kernel = Shape::of_kernel((0..16).map(|at| (4, kind(at, wanted))));
                assert_eq!(
                    shape.fits(&kernel),
                    !given.clashes(wanted),
                    "{given:?} for {wanted:?} at {place}"
                );
            }
        }
    }

    #[test]
    fn a_ptx_type_says_float_or_integer_or_nothing() {
        for (ty, kind) in [
            (".f32", Kind::Float),
            (".f64", Kind::Float),
            (".f16", Kind::Float),
            (".bf16", Kind::Float),
            (".u8", Kind::Integer),
            (".s64", Kind::Integer),
            (".b32", Kind::Other),
            (".b8[4]", Kind::Other),
            (".f32[2]", Kind::Other),
            (".surfref", Kind::Other),
            (".samplerref", Kind::Other),
            (".f", Kind::Other),
            ("f32", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of_ptx(ty), kind, "{ty}");
        }
    }

    #[test]
    fn lists_are_the_same_if_all_sizes_are() {
        let lists: &[&[usize]] = &[&[], &[8], &[8, 8], &[4, 8], &[8, 4], &[1], &[254; 16], &[8; 15]];
        for (i, a) in lists.iter().enumerate() {
            for (j, b) in lists.iter().enumerate() {
                assert_eq!(arguments(a).fits(&kernel(b)), i == j, "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_in_is_the_same_as_nothing() {
        for sizes in [[8; 17].as_slice(), &[8; 300], &[255], &[255; 16], &[0, 8], &[8, 4096, 8]] {
            assert!(!arguments(sizes).fits(&kernel(sizes)), "{sizes:?}");
            assert!(!arguments(sizes).fits(&Shape::UNKNOWN) && !arguments(&[]).fits(&kernel(sizes)));
        }
    }
}
