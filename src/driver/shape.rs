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

    const fn bits(self) -> u128 {
        match self {
            Self::Other => 0b00,
            Self::Integer => 0b01,
            Self::Float => 0b10,
        }
    }

    /// The bits of those that clash with it.
    const fn refused(self) -> u128 {
        match self {
            Self::Other => 0b00,
            Self::Integer => Self::Float.bits(),
            Self::Float => Self::Integer.bits(),
        }
    }
}

/// The sizes and kinds of arguments in order, a byte each, where there are up to 16 of usual sizes.
///
/// Nothing is lost, so that two lists are the same if the numbers are. A builder's is a constant once the compiler has seen
/// all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape(u128);

/// The same of a kernel's parameters, and which bits of it an argument list must have: of the kinds only that which each refuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelShape {
    codes: u128,
    mask: u128,
}

/// Of a list that does not fit. No size has the code 63, so no list that fits is this, nor the next.
const TOO_LARGE: u128 = u128::MAX;
const UNKNOWN: u128 = u128::MAX - 1;

/// The bits of a byte that encode the size; the others encode the kind.
const SIZE: u128 = 0xfc;

/// The code of a size: one of its own for each of the usual ones, else 0.
const fn code(size: usize) -> u128 {
    (match size {
        1..=32 => size,
        36..=64 if size.is_multiple_of(4) => 32 + (size - 32) / 4,
        72..=160 if size.is_multiple_of(8) => 40 + (size - 64) / 8,
        176..=256 if size.is_multiple_of(16) => 52 + (size - 160) / 16,
        512 => 59,
        1024 => 60,
        4096 => 61,
        _ => 0,
    }) as u128
}

impl Shape {
    /// Of no arguments.
    pub(crate) const EMPTY: Self = Self(0);

    /// Appends an argument of `size` bytes.
    #[inline(always)]
    pub(crate) const fn push(&mut self, size: usize, kind: Kind) {
        let code = code(size);
        let fits = self.0 >> 120 == 0 && code != 0;
        self.0 = if fits { self.0 << 8 | code << 2 | kind.bits() } else { TOO_LARGE };
    }

    /// Whether arguments of this shape are certain to be as many and as large as the parameters of a kernel, and none a float for an
    /// integer or the other way round.
    #[inline(always)]
    pub(crate) const fn fits(&self, kernel: &KernelShape) -> bool {
        (self.0 ^ kernel.codes) & kernel.mask == 0
    }
}

impl KernelShape {
    /// Of a kernel whose list is not known: the same as nothing.
    pub(crate) const UNKNOWN: Self = Self { codes: UNKNOWN, mask: u128::MAX };

    /// Of a kernel with parameters of these sizes and kinds; the same as nothing if they do not fit.
    pub(crate) fn new(parameters: impl Iterator<Item = (usize, Kind)>) -> Self {
        // Where there is no parameter, there must be no argument: nothing of its byte.
        let (mut shape, mut mask) = (Shape::EMPTY, u128::MAX);
        for (size, kind) in parameters {
            shape.push(size, Kind::Other);
            mask = mask << 8 | SIZE | kind.refused();
        }
        if shape.0 == TOO_LARGE { Self::UNKNOWN } else { Self { codes: shape.0, mask } }
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelShape, Kind, Shape, code};

    fn arguments(sizes: &[usize]) -> Shape {
        let mut shape = Shape::EMPTY;
        sizes.iter().for_each(|&size| shape.push(size, Kind::Other));
        shape
    }

    fn kernel(sizes: &[usize]) -> KernelShape {
        KernelShape::new(sizes.iter().map(|&size| (size, Kind::Other)))
    }

    #[test]
    fn no_two_sizes_have_one_code() {
        let codes: Vec<u128> = (0..5000).map(code).filter(|code| *code != 0).collect();
        let different: std::collections::BTreeSet<u128> = codes.iter().copied().collect();
        assert_eq!(different.len(), codes.len());
        assert!(codes.len() > 60 && codes.iter().all(|code| *code < 63));
        assert!([1, 2, 4, 8, 12, 16, 40, 64, 128, 256].iter().all(|size| code(*size) != 0));
    }

    #[test]
    fn kinds_fit_unless_one_is_a_float_and_the_other_an_integer() {
        const KINDS: [Kind; 3] = [Kind::Other, Kind::Integer, Kind::Float];
        for place in 0..16 {
            for (given, wanted) in KINDS.iter().flat_map(|given| KINDS.map(|wanted| (*given, wanted))) {
                let kind = |at, kind| if at == place { kind } else { KINDS[at as usize % 3] };
                let mut shape = Shape::EMPTY;
                (0..16).for_each(|at| shape.push(4, kind(at, given)));
                let kernel = KernelShape::new((0..16).map(|at| (4, kind(at, wanted))));
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
        let lists: &[&[usize]] = &[&[], &[8], &[8, 8], &[4, 8], &[8, 4], &[1], &[4096; 16], &[8; 15]];
        for (i, a) in lists.iter().enumerate() {
            for (j, b) in lists.iter().enumerate() {
                assert_eq!(arguments(a).fits(&kernel(b)), i == j, "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_in_is_the_same_as_nothing() {
        for sizes in [[8; 17].as_slice(), &[8; 300], &[255], &[255; 16], &[0, 8], &[8, 4095, 8]] {
            assert!(!arguments(sizes).fits(&kernel(sizes)), "{sizes:?}");
            assert!(!arguments(sizes).fits(&KernelShape::UNKNOWN) && !arguments(&[]).fits(&kernel(sizes)));
        }
    }
}
