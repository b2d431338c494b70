//! The syntax tree of a PTX module, without knowledge of any instruction.
//!
//! Everything borrows from the source text. Function bodies remain text until [`Function::statements`] parses them, so
//! that reading the signatures of a large module takes one pass over its tokens.

use std::ops::Range;

use crate::image::Arch;

/// One PTX module (PTX ISA, "Directives").
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Module<'a> {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target` list: the architecture first (`sm_90`, `sm_90a`), then options (`debug`, `texmode_unified`).
    pub targets: Vec<&'a str>,
    /// `.address_size`: 32 or 64 (64 if the directive is missing).
    pub address_size: u32,
    /// `.file index "name"` entries; the name as written between its quotes.
    pub files: Vec<(u32, &'a str)>,
    /// `.alias name, function;` entries: a second name of a function.
    pub aliases: Vec<(&'a str, &'a str)>,
    /// Variables at module scope in source order: `.global`, `.const`, `.shared`, `.extern`, texture references.
    pub variables: Vec<Variable<'a>>,
    /// Functions and kernels in source order; a declaration and its definition are two entries.
    pub functions: Vec<Function<'a>>,
    /// `.section` blocks in source order: debug information.
    pub sections: Vec<Section<'a>>,
    /// Directives outside bodies that this parser does not know and skipped: line, and name without its dot. Also the banks of constants that
    /// old versions have: `const[2]`.
    pub unknown: Vec<(u32, &'a str)>,
}

impl Module<'_> {
    /// The architecture that it is for: the first name of `.target`. `None` without one, and where it is none of the form `sm_90`, `sm_90a` or
    /// `sm_100f`, nor `compute_90`, which ptxas takes, too.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        let is_arch = |name: &&&str| name.starts_with("sm_") || name.starts_with("compute_");
        self.targets.first().filter(is_arch).and_then(|name| Arch::from_name(name))
    }
}

/// `.section name { ... }`: bytes for a debugger, as text that [`Module::section_bytes`] assembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section<'a> {
    /// With its dot: `.debug_info`. Several sections with one name are parts of the same section.
    pub name: &'a str,
    /// The text between the braces.
    pub text: &'a str,
}

/// How a symbol is linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Linkage {
    /// No directive: local to the module.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// `.entry` or `.func`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: a device function.
    Function,
}

/// A kernel or device function.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Function<'a> {
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// The name as written (mangled if the compiler mangled it).
    pub name: &'a str,
    /// `.visible`, `.extern`, `.weak` or none.
    pub linkage: Linkage,
    /// The return parameter of a `.func`, if any.
    pub returns: Vec<Variable<'a>>,
    /// Parameters in order.
    pub params: Vec<Variable<'a>>,
    /// Performance-tuning and cluster directives between the parameter list and the body.
    pub directives: Directives,
    /// `.noreturn`
    pub noreturn: bool,
    /// The body's text, including its braces; `None` for a declaration.
    pub body: Option<&'a str>,
    /// The byte range of the whole function in the source, from its first directive to the closing brace or semicolon.
    pub span: Range<usize>,
    /// Line of the function's first token, counted from 1.
    pub line: u32,
    /// Line of the body's opening brace, counted from 1 (0 for a declaration).
    pub body_line: u32,
}

/// Directives that limit or shape the launches of a kernel (PTX ISA, "Performance-Tuning Directives" and
/// "Cluster Dimension Directives"). Missing dimensions are 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Directives {
    /// `.maxntid x, y, z`
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid x, y, z`
    pub reqntid: Option<[u32; 3]>,
    /// `.minnctapersm n`
    pub minnctapersm: Option<u32>,
    /// `.maxnreg n`
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster x, y, z`
    pub reqnctapercluster: Option<[u32; 3]>,
    /// `.maxclusterrank n`
    pub maxclusterrank: Option<u32>,
    /// `.explicitcluster`
    pub explicitcluster: bool,
    /// `.blocksareclusters`
    pub blocksareclusters: bool,
}

/// A state space (PTX ISA, "State Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.param`
    Param,
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.tex` (deprecated)
    Tex,
}

/// A fundamental type (PTX ISA, "Fundamental Types" and "Alternate Floating-Point Data Formats").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each variant is the PTX type of that name
#[non_exhaustive]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    E4m3x4,
    E5m2x4,
    E2m3x2,
    E3m2x2,
    E2m3x4,
    E3m2x4,
    E2m1x2,
    E2m1x4,
    Ue8m0x2,
    S2f6x2,
    F32,
    F32x2,
    F64,
    U16x2,
    S16x2,
    /// `.texref`, `.samplerref`, `.surfref`: an opaque 64-bit handle.
    Texref,
    Samplerref,
    Surfref,
}

/// A variable or parameter declaration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Variable<'a> {
    /// Name; for `%r<5>` the prefix `%r`, with `count` = 5. Empty for a nameless prototype parameter (`_`).
    pub name: &'a str,
    /// State space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// 1, or 2, 4, 8 for `.v2`, `.v4`, `.v8`.
    pub vector: u32,
    /// `.align n` in bytes, if written.
    pub align: Option<u32>,
    /// Array extents in order; `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    /// `Some(n)` for a parameterised register set `%r<n>`: registers `%r0` to `%r(n-1)`.
    pub count: Option<u32>,
    /// Initialiser of a `.global` or `.const`.
    pub init: Option<Init<'a>>,
    /// `.ptr` attribute of a kernel parameter.
    pub ptr: Option<PtrAttribute>,
    /// Linkage of a module-scope variable.
    pub linkage: Linkage,
    /// `.attribute(.managed)`
    pub managed: bool,
    /// Line of the declaration, counted from 1.
    pub line: u32,
}

/// `.ptr{.space}{.align n}` on a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtrAttribute {
    /// The space that the pointer points to; `None` for generic.
    pub space: Option<Space>,
    /// Alignment of what it points to (4 if the directive is missing).
    pub align: u32,
}

/// An initialiser. Exhaustive: code that initialises variables must know every form.
#[derive(Clone, Debug, PartialEq)]
pub enum Init<'a> {
    /// One number.
    Value(Literal),
    /// `symbol`, `symbol+offset`, `generic(symbol)+offset`: an address.
    Address {
        /// The named variable or function.
        symbol: &'a str,
        /// Bytes added.
        offset: i64,
        /// `generic(..)`.
        generic: bool,
        /// `0xff00(..)`: the mask that selects one byte of the address.
        mask: Option<u64>,
    },
    /// `{ .. }`, nested for arrays of arrays.
    List(Vec<Init<'a>>),
}

/// A number as written. Floats keep their bits. Exhaustive: PTX has no other kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// Any integer literal, in two's complement, already negated if it was preceded by `-`.
    Int(i64),
    /// `0f3F800000`
    F32(u32),
    /// `0d3FF0000000000000`, and a decimal float such as `1.5`.
    F64(u64),
}

/// A statement of a function body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statement<'a> {
    /// `name:`
    Label(&'a str),
    /// A declaration inside the body.
    Variable(Variable<'a>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `{ .. }`: a nested scope for registers and variables.
    Block(Vec<Statement<'a>>),
    /// `.loc file line column`, for the instructions that follow.
    Loc {
        /// Index into [`Module::files`].
        file: u32,
        /// Line in that file.
        line: u32,
        /// Column in that file.
        column: u32,
    },
    /// `.pragma "used_bytes_mask 7";`: which of the bytes that the next load reads are used, from the lowest bit on. Other pragmas are not
    /// kept.
    UsedBytes(u32),
    /// `label: .branchtargets a, b, c;` or `label: .calltargets f, g;` (the label is its own statement before).
    Targets(Vec<&'a str>),
    /// `label: .callprototype (..) _ (..);` (the label is its own statement before).
    CallPrototype {
        /// Return parameters.
        returns: Vec<Variable<'a>>,
        /// Parameters.
        params: Vec<Variable<'a>>,
    },
}

/// `@p`, `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guard<'a> {
    /// The predicate register.
    pub register: &'a str,
    /// `@!p`.
    pub negated: bool,
}

/// One instruction: guard, dotted name, operands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Instruction<'a> {
    /// `@p` or `@!p`.
    pub guard: Option<Guard<'a>>,
    /// The whole dotted name as written, for example `ld.global.nc.v4.f32` or `cp.async.ca.shared::cta.global`.
    pub name: &'a str,
    /// Operands in order, destination first.
    pub operands: Vec<Operand<'a>>,
    /// Line in the PTX text, counted from 1.
    pub line: u32,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operand<'a> {
    /// A register, special register (`%tid.x`), variable, function or label.
    Name(&'a str),
    /// `!p`
    Not(&'a str),
    /// `-%r1`, which some instructions allow.
    Negated(&'a str),
    /// A number.
    Literal(Literal),
    /// `symbol+4` outside brackets (`mov.u64 %rd1, table+8`).
    Offset(&'a str, i64),
    /// `table[3]` outside brackets: the element of an array variable by its index (PTX ISA, "Arrays as Operands"). For `ld` and `st` it is
    /// the accessed memory, elsewhere an address.
    Indexed(&'a str, i64),
    /// `table[%r1]`, `table[%r1+3]`: the element whose index a register holds, and a number added to it.
    IndexedBy {
        /// The array variable.
        array: &'a str,
        /// The register.
        register: &'a str,
        /// Added to the register's value.
        plus: i64,
    },
    /// `[base+offset]`; base is `Name`, `Literal` or `Element`.
    Address {
        /// Register, variable or number.
        base: Box<Operand<'a>>,
        /// Bytes added.
        offset: i64,
    },
    /// `[tex, {x, y}]`, `[tensormap, {..}]`: several operands inside brackets.
    AddressList(Vec<Operand<'a>>),
    /// `{a, b, c, d}`; `_` inside is `Name("_")`.
    Vector(Vec<Operand<'a>>),
    /// `p|q` or `d|p`.
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `(a, b)`: the return or argument list of `call`.
    List(Vec<Operand<'a>>),
    /// `%v.x`: one element of a vector register (special registers keep their dotted name in `Name`).
    Element(&'a str, u32),
}
