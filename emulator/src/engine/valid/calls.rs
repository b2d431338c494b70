//! Whether a call is one of the function that it names: as many arguments and results, and of the same kinds.

use cuda_ptx::{Function, FunctionKind, Literal, Operand, Space, Type, Variable};

use super::names::{NameKind, Names};
use super::operands::{self, register};
use super::vectors::counted;

/// A parameter or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formal {
    space: Space,
    ty: Type,
    vector: u32,
    align: u32,
    dims: Vec<Option<u64>>,
}

impl Formal {
    fn of(variable: &Variable<'_>) -> Formal {
        let align = variable.align.unwrap_or(variable.element_size() as u32);
        let dims = variable.dims.clone();
        Formal { space: variable.space, ty: variable.ty, vector: variable.vector.max(1), align, dims }
    }

    /// Bytes of an array; `None` if it is of any length.
    fn bytes(&self) -> Option<u64> {
        self.dims
            .iter()
            .try_fold(self.ty.size() as u64, |bytes, extent| Some(bytes.saturating_mul((*extent)?)))
    }
}

/// What a function takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) entry: bool,
    pub(super) noreturn: bool,
    returns: Vec<Formal>,
    params: Vec<Formal>,
}

impl Signature {
    pub(super) fn of(function: &Function<'_>) -> Signature {
        let entry = function.kind == FunctionKind::Entry;
        let mut signature = Signature::new(&function.returns, &function.params);
        (signature.entry, signature.noreturn) = (entry, function.noreturn);
        signature
    }

    /// Of a prototype.
    pub(super) fn new(returns: &[Variable<'_>], params: &[Variable<'_>]) -> Signature {
        let formals = |list: &[Variable<'_>]| list.iter().map(Formal::of).collect();
        Signature { entry: false, noreturn: false, returns: formals(returns), params: formals(params) }
    }

    /// Whether results and parameters are the same.
    pub(super) fn agrees(&self, other: &Signature) -> bool {
        self.entry == other.entry && self.returns == other.returns && self.params == other.params
    }

    /// Checks what a call of `callee` passes and takes.
    fn check(&self, callee: &str, call: &Call<'_, '_>, names: &Names<'_>) -> Result<(), String> {
        if self.entry {
            return Err(format!("the kernel `{callee}` cannot be called"));
        }
        let (params, found) = (self.params.len(), call.arguments.len());
        if params != found {
            return Err(format!("`{callee}` takes {}, {found} found", counted(params, "parameter")));
        }
        let (returns, found) = (self.returns.len(), call.results.len());
        if returns != found {
            return Err(format!("`{callee}` returns {}, {found} found", counted(returns, "result")));
        }
        let arguments = self.params.iter().zip(call.arguments).enumerate();
        for (at, (formal, operand)) in arguments {
            argument(formal, operand, names).map_err(|message| format!("argument {}: {message}", at + 1))?;
        }
        for (at, (formal, operand)) in self.returns.iter().zip(call.results).enumerate() {
            if *operand != Operand::Name("_") {
                result(formal, operand, names).map_err(|message| format!("result {}: {message}", at + 1))?;
            }
        }
        Ok(())
    }
}

/// The operands of a call.
struct Call<'o, 'a> {
    results: &'o [Operand<'a>],
    callee: &'a str,
    arguments: &'o [Operand<'a>],
    /// A prototype or a list of functions.
    prototype: Option<&'a str>,
}

impl<'o, 'a> Call<'o, 'a> {
    fn new(operands: &'o [Operand<'a>]) -> Result<Call<'o, 'a>, String> {
        let (results, rest) = match operands {
            [Operand::List(list), rest @ ..] => (list.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let (callee, rest) = match rest {
            [Operand::Name(callee), rest @ ..] => (*callee, rest),
            _ => return Err("a function is expected".to_owned()),
        };
        let (arguments, rest) = match rest {
            [Operand::List(list), rest @ ..] => (list.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let prototype = match rest {
            [] => None,
            [Operand::Name(name)] => Some(*name),
            _ => {
                return Err("the arguments are expected in parentheses, and behind them at most a prototype"
                    .to_owned());
            }
        };
        Ok(Call { results, callee, arguments, prototype })
    }
}

/// Checks a call; `signature` knows the functions, `prototypes` what the labels of prototypes and lists stand for.
pub(super) fn check<'a, 's>(
    name: &str,
    operands: &[Operand<'a>],
    names: &Names<'a>,
    signature: impl Fn(&str) -> Option<&'s Signature>,
    prototypes: &[Target<'a>],
) -> Result<(), String> {
    if !matches!(name, "call" | "call.uni") {
        return Err("there is no such combination of modifiers and types".to_owned());
    }
    let call = Call::new(operands)?;
    let callee = call.callee;
    match names.find(callee) {
        Some(NameKind::Function) if call.prototype.is_some() => {
            Err(format!("`{callee}` is a function, and a prototype goes with a register"))
        }
        Some(NameKind::Function) => match signature(callee) {
            Some(signature) => signature.check(callee, &call, names),
            None => Ok(()),
        },
        Some(NameKind::Register { .. }) => {
            match register(names, &Operand::Name(callee)) {
                Some(ty) if ty.size() == 8 && !operands::is_float(ty) => {}
                _ => return Err(format!("`{callee}` is not a register of 64 bits")),
            }
            let label = call.prototype.ok_or_else(|| format!("a prototype is expected for `{callee}`"))?;
            let Some(&NameKind::List(index)) = names.find(label) else {
                return Err(format!("`{label}` is neither a prototype nor a list of functions"));
            };
            match prototypes.get(index) {
                Some(Target::Prototype(signature)) => signature.check(callee, &call, names),
                Some(Target::Names(list)) => list.iter().try_for_each(|target| match signature(target) {
                    Some(signature) => signature.check(target, &call, names),
                    None => Err(format!("`{target}` is not a function")),
                }),
                None => Ok(()),
            }
        }
        _ => Err(format!("`{callee}` is not a function")),
    }
}

/// What the label of a list or of a prototype stands for.
pub(super) enum Target<'a> {
    Prototype(Signature),
    Names(Vec<&'a str>),
}

/// ptxas passes and returns these in no call.
fn too_small(formal: &Formal) -> bool {
    matches!(formal.ty, Type::Pred | Type::U8 | Type::S8 | Type::U16 | Type::S16)
        && formal.dims.is_empty()
        && formal.vector == 1
}

fn argument(formal: &Formal, operand: &Operand<'_>, names: &Names<'_>) -> Result<(), String> {
    if too_small(formal) {
        return Err(format!("calls pass no {}", formal.ty));
    }
    match operand {
        Operand::Literal(literal) if formal.dims.is_empty() && formal.vector == 1 => {
            match number_fits(formal.ty, *literal) {
                true => Ok(()),
                false => Err(format!("such a number is no {}", formal.ty)),
            }
        }
        Operand::Name("WARP_SZ") => Ok(()),
        operand => place(formal, operand, names),
    }
}

/// Whether a call passes that number as such a parameter: bits take all.
fn number_fits(ty: Type, literal: Literal) -> bool {
    let is_bits = matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128);
    is_bits || operands::is_float(ty) != matches!(literal, Literal::Int(_))
}

fn result(formal: &Formal, operand: &Operand<'_>, names: &Names<'_>) -> Result<(), String> {
    if too_small(formal) {
        return Err(format!("calls return no {}", formal.ty));
    }
    place(formal, operand, names)
}

/// A register or a variable in `.param` that takes or gives what the formal one is.
fn place(formal: &Formal, operand: &Operand<'_>, names: &Names<'_>) -> Result<(), String> {
    let Operand::Name(name) = operand else {
        return Err("a register, a number or a variable in .param is expected".to_owned());
    };
    let wrong = |found: &str| Err(format!("`{name}` is {found}, and the function has {}", describe(formal)));
    match names.find(name) {
        Some(&NameKind::Register { ty, elements }) => {
            match formal.dims.is_empty() && elements == formal.vector && operands::fits(formal.ty, ty, false)
            {
                true => Ok(()),
                false => wrong(&ty.to_string()),
            }
        }
        Some(NameKind::Param { of_function: true, .. }) => {
            Err(format!("the parameter `{name}` of the function itself cannot be passed on: copy it"))
        }
        Some(&NameKind::Param { ty, array: None, .. }) => {
            match formal.dims.is_empty() && formal.vector == 1 && operands::fits(formal.ty, ty, false) {
                true => Ok(()),
                false => wrong(&ty.to_string()),
            }
        }
        Some(&NameKind::Param { ty, array: Some((bytes, align)), .. }) => {
            let same = !formal.dims.is_empty() && formal.bytes().is_none_or(|formal| formal == bytes);
            match same && align == formal.align {
                true => Ok(()),
                false => wrong(&format!("an array of {bytes} bytes of {ty}, aligned to {align}")),
            }
        }
        _ => Err(format!("`{name}` is neither a register nor a variable in .param")),
    }
}

fn describe(formal: &Formal) -> String {
    let Formal { ty, align, .. } = formal;
    match (formal.dims.is_empty(), formal.bytes()) {
        (true, _) => ty.to_string(),
        (false, Some(bytes)) => format!("an array of {bytes} bytes, aligned to {align}"),
        (false, None) => format!("an array of any length, aligned to {align}"),
    }
}
