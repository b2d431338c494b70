//! The sizes of a parameter list as one number: what a builder compares before each launch.

/// The sizes in order, a byte each, where the list has up to 16 of 1 to 254 bytes.
///
/// Nothing is lost, so that two lists are the same if the numbers are. A builder's is a constant once the compiler has seen
/// all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape(u128);

/// Of a list that does not fit. No size is 255, so no list that fits is this, nor the next.
const TOO_LARGE: u128 = u128::MAX;
const UNKNOWN: u128 = u128::MAX - 1;

impl Shape {
    /// Of no parameters.
    pub(crate) const EMPTY: Self = Self(0);

    /// Of a kernel whose list is not known: the same as nothing.
    pub(crate) const UNKNOWN: Self = Self(UNKNOWN);

    /// Of a kernel with parameters of these sizes; the same as nothing if they do not fit.
    pub(crate) fn of_kernel(sizes: impl Iterator<Item = usize>) -> Self {
        let mut shape = Self::EMPTY;
        sizes.for_each(|size| shape.push(size));
        if shape.0 == TOO_LARGE { Self::UNKNOWN } else { shape }
    }

    /// Appends an argument of `size` bytes.
    #[inline(always)]
    pub(crate) const fn push(&mut self, size: usize) {
        let fits = self.0 >> 120 == 0 && 1 <= size && size <= 254;
        self.0 = if fits { self.0 << 8 | size as u128 } else { TOO_LARGE };
    }

    /// Whether arguments of this shape are certain to be as many and as large as the parameters of a kernel.
    #[inline(always)]
    pub(crate) const fn fits(&self, kernel: &Self) -> bool {
        self.0 == kernel.0
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    fn arguments(sizes: &[usize]) -> Shape {
        let mut shape = Shape::EMPTY;
        sizes.iter().for_each(|&size| shape.push(size));
        shape
    }

    fn kernel(sizes: &[usize]) -> Shape {
        Shape::of_kernel(sizes.iter().copied())
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
