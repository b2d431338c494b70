//! Whether a module is PTX that assembles: what ptxas refuses is refused when the module is loaded, with its line.
//!
//! Names, types, numbers of operands, state spaces, labels, guards, limits, and the version and target they need are checked for all functions, whether or not something
//! reaches them. What the engine itself can run is not asked here: the forms are those of the ISA. `tests/engine/invalid.rs` has an
//! example of each rule, and a comparison with ptxas 13.0 over thousands of changed files.

mod constants;
mod declarations;
mod forms;
mod instruction;
mod modifiers;
mod names;
mod operands;
mod since;

use std::collections::HashMap;

use cuda_ptx::{Function, FunctionKind, Module, Space, Statement, Variable};

use super::image::{LoadFailure, LoadFailureKind};
use instruction::Forms;
use names::{NameKind, Names};
use since::Since;

/// Most bytes of `.const` variables.
const MOST_CONSTANT: u64 = 64 << 10;
/// Most bytes of the parameters of a kernel.
const MOST_PARAMETERS: usize = 0x7ffc;

/// A function's signature, for calls.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signature {
    entry: bool,
    returns: usize,
    params: usize,
    /// Whether the last parameter is an array of any length, which may be missing.
    open: bool,
}

impl Signature {
    fn of(function: &Function<'_>) -> Signature {
        Signature {
            entry: function.kind == FunctionKind::Entry,
            returns: function.returns.len(),
            params: function.params.len(),
            open: function.params.last().is_some_and(Variable::is_open),
        }
    }
}

/// What is known while a module is checked.
pub(super) struct Check<'a> {
    names: Names<'a>,
    signatures: HashMap<&'a str, Signature>,
    forms: Forms<'a>,
    since: Since<'a>,
}

/// A failure at a line.
fn invalid(line: u32, message: impl Into<String>) -> LoadFailure {
    LoadFailure { line, message: message.into(), kind: LoadFailureKind::Invalid }
}

fn duplicate(line: u32, name: &str) -> LoadFailure {
    LoadFailure {
        line,
        message: format!("duplicate definition of `{name}`"),
        kind: LoadFailureKind::Duplicate,
    }
}

impl<'a> Check<'a> {
    /// Checks what stands outside functions, and begins.
    pub(super) fn new(module: &Module<'a>) -> Result<Check<'a>, LoadFailure> {
        let mut check = Check {
            names: Names::new(),
            signatures: HashMap::new(),
            forms: Forms::default(),
            since: Since::new(module),
        };
        if let Some((line, name)) = module.unknown.first() {
            return Err(invalid(*line, format!("there is no directive `.{name}`")));
        }
        let mut constant = 0;
        for variable in &module.variables {
            check.names.declare(variable.name, NameKind::of(variable, false));
            declarations::variable(variable, true).map_err(|message| invalid(variable.line, message))?;
            if variable.space == Space::Const {
                constant += variable.size();
            }
            if constant > MOST_CONSTANT {
                let message = format!(
                    "the module has {constant} bytes of constant data, and {MOST_CONSTANT} are possible"
                );
                return Err(invalid(variable.line, message));
            }
        }
        for function in &module.functions {
            declarations::head(function).map_err(|message| invalid(function.line, message))?;
            if matches!(check.names.find(function.name), Some(NameKind::Variable { .. })) {
                return Err(duplicate(function.line, function.name));
            }
            check.names.declare(function.name, NameKind::Function);
            let signature = Signature::of(function);
            if check.signatures.insert(function.name, signature).is_some_and(|other| other != signature) {
                let message = format!("`{}` is declared with other parameters", function.name);
                return Err(invalid(function.line, message));
            }
        }
        for (alias, target) in &module.aliases {
            check.names.declare(alias, NameKind::Function);
            if let Some(signature) = check.signatures.get(target).copied() {
                check.signatures.insert(alias, signature);
            }
        }
        Ok(check)
    }

    /// Checks a function that has a body.
    pub(super) fn function(
        &mut self,
        function: &Function<'a>,
        statements: &[Statement<'a>],
    ) -> Result<(), LoadFailure> {
        let entry = function.kind == FunctionKind::Entry;
        if entry && function.parameter_bytes() > MOST_PARAMETERS {
            let bytes = function.parameter_bytes();
            let message = format!(
                "kernel `{}` has {bytes} bytes of parameters, and {MOST_PARAMETERS} are possible",
                function.name
            );
            return Err(invalid(function.line, message));
        }
        self.since.directives(&function.directives).map_err(|message| invalid(function.line, message))?;
        self.names.push();
        for variable in function.params.iter().chain(&function.returns) {
            let thing = NameKind::of(variable, entry);
            if !variable.name.is_empty() && variable.name != "_" && !self.names.declare(variable.name, thing)
            {
                return Err(duplicate(function.line, variable.name));
            }
        }
        // The body shares its names with the parameters.
        let checked = self.statements(statements, function.body_line);
        self.names.pop();
        checked
    }

    fn block(&mut self, statements: &[Statement<'a>], line: u32) -> Result<(), LoadFailure> {
        self.names.push();
        let checked = self.statements(statements, line);
        self.names.pop();
        checked
    }

    fn statements(&mut self, statements: &[Statement<'a>], mut line: u32) -> Result<(), LoadFailure> {
        // Labels are known before the place where they stand.
        for (at, statement) in statements.iter().enumerate() {
            line = line_of(statement).unwrap_or(line);
            if let Statement::Label(name) = statement {
                let thing = match statements.get(at + 1) {
                    Some(Statement::Targets(_) | Statement::CallPrototype { .. }) => NameKind::List,
                    _ => NameKind::Label,
                };
                if !self.names.declare(name, thing) {
                    return Err(duplicate(line, name));
                }
            }
        }
        for statement in statements {
            match statement {
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Block(inner) => self.block(inner, line)?,
                Statement::Instruction(instruction) => {
                    let (names, signatures) = (&self.names, &self.signatures);
                    self.since
                        .instruction(instruction, names)
                        .and_then(|()| {
                            self.forms.check(instruction, names, |name| signatures.get(name).copied())
                        })
                        .map_err(|message| invalid(instruction.line, message))?;
                }
                Statement::Targets(targets) => {
                    let unknown = targets.iter().find(|target| self.names.find(target).is_none());
                    if let Some(name) = unknown {
                        return Err(invalid(line, format!("`{name}` is not declared")));
                    }
                }
                _ => {}
            }
            line = line_of(statement).unwrap_or(line);
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable<'a>) -> Result<(), LoadFailure> {
        if variable.space == Space::Reg {
            self.since.register(variable.ty).map_err(|message| invalid(variable.line, message))?;
        }
        declarations::variable(variable, false).map_err(|message| invalid(variable.line, message))?;
        let thing = NameKind::of(variable, false);
        let fresh = match variable.count {
            Some(count) => self.names.declare_set(variable.name, count, thing),
            None => self.names.declare(variable.name, thing),
        };
        if fresh { Ok(()) } else { Err(duplicate(variable.line, variable.name)) }
    }
}

/// The line of a statement, if it knows it.
fn line_of(statement: &Statement<'_>) -> Option<u32> {
    match statement {
        Statement::Instruction(instruction) => Some(instruction.line),
        Statement::Variable(variable) => Some(variable.line),
        _ => None,
    }
}
