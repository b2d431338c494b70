//! Sizes, alignments, and the C layout of parameters.

use crate::tree::{Function, Init, PtrAttribute, Type, Variable};

/// One parameter of a kernel or function and its place in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Name in the PTX (`kernel_param_0` if a compiler generated it).
    pub name: String,
    /// Element type. Compilers pass structures as arrays of `.b8`.
    pub ty: Type,
    /// The size of the whole parameter, in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Offset in bytes by the rules of C: each parameter at the next multiple of its alignment.
    ///
    /// That is the layout for a PTX interpreter; on some architectures a GPU places parameters with an alignment over
    /// 16 bytes elsewhere.
    pub offset: usize,
    /// Whether it is declared with an array extent, as structures are.
    pub array: bool,
    /// The `.ptr` attribute, if the compiler wrote one.
    pub pointer: Option<PtrAttribute>,
}

impl Variable<'_> {
    /// The size of one element, in bytes: that of the type times the vector width.
    #[must_use]
    pub fn element_size(&self) -> usize {
        self.ty.size() * self.vector as usize
    }

    /// Whether it is an array whose length is not declared: `x[]`, or `x[0]`, which is the same.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.dims.first().is_some_and(|extent| extent.is_none_or(|extent| extent == 0))
    }

    /// The number of elements. For `[]`, the number in the initialiser, or 0 without one (`.extern .shared x[]`).
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.checked_elements().unwrap_or(u64::MAX)
    }

    /// The size in memory, in bytes. For a register set `%r<n>`, that of one register.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.checked_size().unwrap_or(u64::MAX)
    }

    /// Alignment in bytes: that of one element, or that of `.align` if it is larger, as ptxas places variables and
    /// parameters of every space.
    #[must_use]
    pub fn align(&self) -> usize {
        self.element_size().max(self.align.unwrap_or(0) as usize)
    }

    /// `None` where the product does not fit in 64 bits; the parser refuses such variables.
    pub(crate) fn checked_size(&self) -> Option<u64> {
        self.checked_elements()?.checked_mul(self.element_size() as u64)
    }

    fn checked_elements(&self) -> Option<u64> {
        let listed = match &self.init {
            Some(Init::List(items)) => items.len() as u64,
            Some(_) => 1,
            None => 0,
        };
        self.dims.iter().try_fold(1u64, |product, extent| product.checked_mul(extent.unwrap_or(listed)))
    }
}

impl Function<'_> {
    /// The parameters in order with their sizes and C offsets (PTX ISA, "Kernel Function Parameters").
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        layout(&self.params)
    }

    /// The size of the parameter block, in bytes: the end of the last parameter, without padding after it.
    #[must_use]
    pub fn parameter_bytes(&self) -> usize {
        self.parameters().last().map_or(0, |p| p.offset.saturating_add(p.size))
    }
}

/// Lays out `variables` consecutively by the rules of C.
#[must_use]
pub fn layout(variables: &[Variable<'_>]) -> Vec<Parameter> {
    let mut end = 0usize;
    let place = |v: &Variable<'_>| {
        let (size, align) = (usize::try_from(v.size()).unwrap_or(usize::MAX), v.align().max(1));
        let offset = end.checked_next_multiple_of(align).unwrap_or(usize::MAX);
        end = offset.saturating_add(size);
        Parameter {
            name: v.name.to_owned(),
            ty: v.ty,
            size,
            align,
            offset,
            array: !v.dims.is_empty(),
            pointer: v.ptr,
        }
    };
    variables.iter().map(place).collect()
}
