//! What a program needs that launches a module's kernels: their signatures, and the names of the module's variables.
//!
//! Everything else is skipped, not checked: the driver does that. Programs that read no more are linked without the parser.

use super::constant::WARP_SIZE;
use super::cursor::Cursor;
use crate::error::{Fault, Message, ParseError, ParseErrorKind};
use crate::image::Arch;
use crate::lexer::{Kind, check_length};
use crate::number;
use crate::tree::{Directives, Space, Type};

/// The kernels and variables of a PTX module, as [`outline`] reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline<'a> {
    /// `.version major.minor`
    pub version: (u32, u32),
    /// The first name after `.target`; empty if there is none.
    pub target: &'a str,
    /// The kernels that have a body, in the order of the text.
    pub kernels: Vec<KernelOutline<'a>>,
    /// The names and spaces of variables in global or constant memory, without those that are `.extern`.
    pub variables: Vec<(&'a str, Space)>,
}

/// The signature of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelOutline<'a> {
    /// Mangled if the compiler mangled it.
    pub name: &'a str,
    /// In the order of the text.
    pub parameters: Vec<ParameterOutline<'a>>,
    /// The launch limits between parameters and body.
    pub directives: Directives,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterOutline<'a> {
    /// Name in the PTX (`kernel_param_0` if a compiler generated it).
    pub name: &'a str,
    /// Element type. Compilers pass structures as arrays of `.b8`.
    pub ty: Type,
    /// The size of the whole parameter, in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Whether it is declared with an array extent, as structures are.
    pub array: bool,
}

/// Reads the signatures of a module's kernels and the names of its variables; the rest is skipped, whether or not it follows the
/// grammar.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .f32 pi = 3.14159;\n.entry k(.param .u64 p) { ret; }";
/// let outline = cuda_ptx::outline(text).unwrap();
/// assert_eq!((outline.kernels[0].name, outline.kernels[0].parameters[0].size), ("k", 8));
/// assert_eq!(outline.variables, [("pi", cuda_ptx::Space::Global)]);
/// assert!(cuda_ptx::outline("hello").is_none());
/// ```
#[must_use]
pub fn outline(text: &str) -> Option<Outline<'_>> {
    // Without an error, because composing its text would add code to the program.
    read(text).ok()
}

/// As [`outline`], with the reason if the text is refused.
pub(crate) fn checked_outline(text: &str) -> Result<Outline<'_>, ParseError> {
    read(text).map_err(|fault| fault.locate(text, 1))
}

fn read(text: &str) -> Result<Outline<'_>, Fault> {
    check_length(text)?;
    Cursor::new(text, 1).map_err(|fault| fault.with_kind(ParseErrorKind::NotPtx))?.outline()
}

impl Outline<'_> {
    /// The architecture of `.target`.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        Arch::from_name(self.target)
    }
}

impl<'a> Cursor<'a> {
    fn outline(&mut self) -> Result<Outline<'a>, Fault> {
        let mut outline = Outline { version: self.version()?, ..Outline::default() };
        let mut external = false;
        loop {
            let directive = self.directive();
            match self.token.kind {
                Kind::End => return Ok(outline),
                Kind::Punct(b'{' | b'(' | b'[') => self.skip()?,
                _ => self.advance()?,
            }
            match directive {
                Some("target") if outline.target.is_empty() => outline.target = self.text(),
                Some("extern") => external = true,
                Some("entry") => outline.kernels.extend(self.kernel()?),
                Some(name @ ("global" | "const")) => {
                    let space = if name == "const" { Space::Const } else { Space::Global };
                    let all = self.declared()?.into_iter().filter(|_| !external);
                    outline.variables.extend(all.map(|name| (name, space)));
                }
                _ => {}
            }
            if self.at(b';') {
                external = false;
            }
        }
    }

    /// A block or a group in parentheses or brackets.
    fn skip(&mut self) -> Result<(), Fault> {
        if self.at(b'{') { self.skip_block().map(drop) } else { self.skip_group() }
    }

    /// The names up to a semicolon, without those in values: `.align 4 .b8 a[4] = {1, 2}, b`.
    fn declared(&mut self) -> Result<Vec<&'a str>, Fault> {
        let (mut names, mut value) = (Vec::new(), false);
        loop {
            match self.token.kind {
                Kind::Punct(b';') | Kind::End => return Ok(names),
                Kind::Punct(b'{' | b'(' | b'[') => {
                    self.skip()?;
                    continue;
                }
                Kind::Punct(b'=') => value = true,
                Kind::Punct(b',') => value = false,
                Kind::Word if !value => names.push(self.text()),
                _ => {}
            }
            self.advance()?;
        }
    }

    /// A kernel whose `.entry` has been read; `None` if it has no body.
    fn kernel(&mut self) -> Result<Option<KernelOutline<'a>>, Fault> {
        while self.directive().is_some() {
            self.advance()?;
            self.skip_group()?;
        }
        let mut kernel = KernelOutline { name: self.word("the name of the kernel")?, ..Default::default() };
        if self.eat(b'(')? {
            while !self.eat(b')')? {
                kernel.parameters.push(self.parameter()?);
                self.eat(b',')?;
            }
        }
        let d = &mut kernel.directives;
        loop {
            let directive = self.directive();
            match self.token.kind {
                Kind::Punct(b'{') => return self.skip_block().map(|_| Some(kernel)),
                Kind::Punct(b';') | Kind::End => return Ok(None),
                _ => self.advance()?,
            }
            match directive.unwrap_or_default() {
                "maxntid" => d.maxntid = Some(self.three()?),
                "reqntid" => d.reqntid = Some(self.three()?),
                "reqnctapercluster" => d.reqnctapercluster = Some(self.three()?),
                "minnctapersm" => d.minnctapersm = Some(self.natural()?),
                "maxnreg" => d.maxnreg = Some(self.natural()?),
                "maxclusterrank" => d.maxclusterrank = Some(self.natural()?),
                // It has a semicolon of its own.
                "pragma" => self.declared().and_then(|_| self.eat(b';')).map(drop)?,
                "explicitcluster" => d.explicitcluster = true,
                "blocksareclusters" => d.blocksareclusters = true,
                _ => {}
            }
        }
    }

    /// `.param .align 8 .b8 name[24]`
    fn parameter(&mut self) -> Result<ParameterOutline<'a>, Fault> {
        let (mut ty, mut vector, mut align, mut pointer) = (None, 1, 0, false);
        while let Some(directive) = self.directive() {
            self.advance()?;
            match directive {
                "align" => {
                    let bytes = self.natural()?;
                    // Behind `.ptr` it is that of the memory.
                    align = if pointer { align } else { bytes as usize };
                }
                "ptr" => pointer = true,
                "v2" | "v4" | "v8" => vector = usize::from(directive.as_bytes()[1] - b'0'),
                _ => ty = ty.or(Type::from_name(directive)),
            }
        }
        let Some(ty) = ty else { return Err(self.expected("a type")) };
        let name = self.word("the name of a parameter")?;
        let element = ty.size() * vector;
        let (mut size, mut array) = (element, false);
        while self.eat(b'[')? {
            array = true;
            size = size.saturating_mul(if self.at(b']') { 0 } else { self.natural()? as usize });
            self.expect(b']', "after the array extent")?;
        }
        // As `Variable::align` has it.
        Ok(ParameterOutline { name, ty, size, align: element.max(align), array })
    }

    /// `x {, y {, z}}`
    fn three(&mut self) -> Result<[u32; 3], Fault> {
        let mut dimensions = [1; 3];
        for (i, extent) in dimensions.iter_mut().enumerate() {
            if i > 0 && !self.eat(b',')? {
                break;
            }
            *extent = self.natural()?;
        }
        Ok(dimensions)
    }

    /// A number of 32 bits without sign. Not read as other constants are, because that would bring the reading of floats into every program.
    fn natural(&mut self) -> Result<u32, Fault> {
        let value = match self.text() {
            WARP_SIZE => Some(32),
            text => number::integer(text).ok().and_then(|(value, _)| u32::try_from(value).ok()),
        };
        let value = value.ok_or_else(|| Fault::at(self.token.place(), Message::NotSmall("a number")))?;
        self.advance()?;
        Ok(value)
    }
}
