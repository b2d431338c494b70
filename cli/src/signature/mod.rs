//! The meaning of a kernel's parameters: from PTX types, from their uses in the body, from a mangled name, from sizes, and
//! from debug information.

mod flow;
mod mangled;

use cuda_ptx::{Function, Statement};

use crate::model::{Access, Declared, Meaning, Parameter, Signature};
use crate::scalar::Scalar;

pub(crate) use mangled::demangled;

impl Signature {
    /// The parameters of a kernel in PTX with these statements.
    pub(crate) fn of_ptx(function: &Function<'_>, statements: &[Statement<'_>]) -> Self {
        let declared = function.parameters();
        let mut meanings = flow::meanings(&declared, statements);
        if let Some(named) = mangled::meanings(function.name).filter(|named| named.len() == declared.len()) {
            meanings.iter_mut().zip(named).for_each(|(found, named)| found.refine(named));
        }
        let parameters = declared.into_iter().zip(meanings).map(|(parameter, meaning)| Parameter {
            name: own_name(&parameter.name, function.name),
            offset: parameter.offset,
            size: parameter.size,
            align: parameter.align,
            ptx: Some(match parameter.array {
                true => format!("{}[{}]", parameter.ty, parameter.size / parameter.ty.size().max(1)),
                false => parameter.ty.to_string(),
            }),
            meaning,
        });
        Self(parameters.collect())
    }

    /// The parameters of a kernel of which only the name and the offset and size of each parameter are known.
    pub(crate) fn of_sizes(kernel: &str, places: impl ExactSizeIterator<Item = (u32, u32)>) -> Self {
        let named = mangled::meanings(kernel).filter(|named| named.len() == places.len());
        let meaning = |index: usize| named.as_ref().and_then(|list| list.get(index).cloned());
        let parameter = |(index, (offset, size)): (usize, (u32, u32))| {
            let (offset, size) = (offset as usize, size as usize);
            let align = if size.is_power_of_two() { size.min(8) } else { 1 };
            let meaning = meaning(index).filter(|m| m.fits(size)).unwrap_or(match size {
                1 | 2 | 4 | 8 => Meaning::Unknown,
                _ => Meaning::Bytes,
            });
            Parameter { name: None, offset, size, align, ptx: None, meaning }
        };
        Self(places.enumerate().map(parameter).collect())
    }

    /// Adopts the information from another image of the same source, where it fits.
    pub(crate) fn learn(&mut self, other: &Self) {
        if self.fits(other.0.iter().map(|parameter| parameter.size)) {
            for (own, known) in self.0.iter_mut().zip(&other.0) {
                let name = known.name.clone().or(own.name.take());
                let mut meaning = known.meaning.clone();
                if own.meaning != Meaning::Unknown {
                    meaning.refine(own.meaning.clone());
                }
                *own = Parameter { name, meaning, offset: own.offset, ..known.clone() };
            }
        }
    }

    /// Takes over the names that another image of the same source has and this one lacks.
    pub(crate) fn learn_names(&mut self, other: &Self) {
        if self.fits(other.0.iter().map(|parameter| parameter.size)) {
            for (own, known) in self.0.iter_mut().zip(&other.0) {
                own.name = own.name.take().or_else(|| known.name.clone());
            }
        }
    }

    /// Adopts the declarations of the source, where they fit.
    pub(crate) fn declared(&mut self, parameters: Vec<Declared>) {
        if self.fits(parameters.iter().map(|parameter| parameter.size)) {
            for (own, declared) in self.0.iter_mut().zip(parameters) {
                own.name = declared.name.or(own.name.take());
                own.meaning.refine(declared.meaning);
            }
        }
    }

    /// Whether parameters of these sizes can be these.
    fn fits(&self, sizes: impl ExactSizeIterator<Item = usize>) -> bool {
        self.0.len() == sizes.len() && self.0.iter().zip(sizes).all(|(own, size)| own.size == size)
    }

    /// How many parameters have a name.
    pub(crate) fn names(&self) -> usize {
        self.0.iter().filter(|parameter| parameter.name.is_some()).count()
    }

    /// How many parameters are more than a size.
    pub(crate) fn known(&self) -> usize {
        self.0.iter().filter(|parameter| parameter.meaning != Meaning::Unknown).count()
    }
}

impl Meaning {
    fn fits(&self, size: usize) -> bool {
        match self {
            Self::Value(scalar) => scalar.size() == size,
            Self::Pointer { .. } => size == 8,
            Self::Unknown | Self::Bytes => true,
        }
    }

    /// Declarations of the source are certain, but do not show how the memory is accessed.
    fn refine(&mut self, named: Meaning) {
        *self = match (&*self, named) {
            (own @ (Self::Value(_) | Self::Pointer { .. }), Self::Unknown | Self::Bytes) => own.clone(),
            (Self::Pointer { element, access }, Self::Pointer { element: named, access: allowed }) => {
                let access = if *access == Access::default() { allowed } else { *access };
                Self::Pointer { element: named.or(*element), access }
            }
            (_, named) => named,
        };
    }

    /// The C notation, for a parameter of this many bytes.
    pub(crate) fn c(&self, size: usize) -> String {
        match self {
            Self::Value(scalar) => scalar.c().to_owned(),
            Self::Pointer { element, access } => {
                let constant = if access.is_read_only() { "const " } else { "" };
                format!("{constant}{} *", element.map_or("void", Scalar::c))
            }
            Self::Unknown | Self::Bytes => format!("{size} bytes"),
        }
    }

    /// The notation in a typed module.
    pub(crate) fn rust(&self, size: usize, align: usize) -> String {
        match self {
            Self::Value(scalar) => scalar.rust().to_owned(),
            Self::Pointer { element, access } => {
                let of = if access.is_read_only() { "*const" } else { "*mut" };
                format!("{of} {}", element.map_or("u8", Scalar::rust))
            }
            Self::Unknown => format!("u{}", size * 8),
            Self::Bytes => bytes(size, align),
        }
    }
}

impl Access {
    pub(crate) fn is_read_only(self) -> bool {
        self.reads && !self.writes
    }

    /// The word for it.
    pub(crate) fn word(self) -> Option<&'static str> {
        match (self.reads, self.writes) {
            (true, true) => Some("read-write"),
            (true, false) => Some("read"),
            (false, true) => Some("write"),
            (false, false) => None,
        }
    }
}

/// An array of this size and alignment.
fn bytes(size: usize, align: usize) -> String {
    let unit =
        [16, 8, 4, 2].into_iter().find(|unit| align >= *unit && size.is_multiple_of(*unit)).unwrap_or(1);
    format!("[u{}; {}]", unit * 8, size / unit)
}

/// Compilers number the parameters: `vecadd_param_0`, `scale_param_1_param`.
fn own_name(name: &str, kernel: &str) -> Option<String> {
    let rest = name.strip_prefix(kernel).and_then(|rest| rest.strip_prefix("_param"));
    let invented = rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'_'));
    (!name.is_empty() && !invented).then(|| name.to_owned())
}
