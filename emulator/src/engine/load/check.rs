//! Finds mistakes of a function without decoding it: mnemonics that PTX does not have, and calls of functions that no
//! image defines.

use std::collections::HashMap;

use cuda_ptx::{Instruction, Module, Operand, Space, Statement, Variable};

use super::{failure, refused};
use crate::engine::code::Extern;
use crate::engine::image::{Image, LoadFailure, LoadFailureKind};
use crate::engine::table;
use crate::engine::valid::Check;

/// The variables in functions that are in device memory or shared memory.
pub(super) struct Nested<'a> {
    pub(super) variables: Vec<Variable<'a>>,
    /// By the declaration of one with initial values: the names in them that mean other variables of functions, and their declarations.
    pub(super) named: HashMap<usize, HashMap<String, usize>>,
}

/// Checks every function that has a body. Returns the variables in them; `linked`: the linker has compared their declarations.
pub(super) fn functions<'a>(
    module: &Module<'a>,
    image: &Image,
    linked: bool,
) -> Result<Nested<'a>, LoadFailure> {
    let mut nested = Vec::new();
    let mut check = Check::new(module, linked)?;
    for function in &module.functions {
        check.reach(function);
        if function.body.is_none() {
            continue;
        }
        let statements = function.statements().map_err(|error| refused(&error))?;
        block(&statements, image)?;
        check.function(function, &statements)?;
        collect(statements, &mut nested);
    }
    Ok(Nested { variables: nested, named: check.named() })
}

/// The variables in device and in shared memory among these statements.
fn collect<'a>(statements: Vec<Statement<'a>>, found: &mut Vec<Variable<'a>>) {
    for statement in statements {
        match statement {
            Statement::Variable(variable)
                if matches!(variable.space, Space::Global | Space::Const | Space::Shared) =>
            {
                found.push(variable);
            }
            Statement::Block(inner) => collect(inner, found),
            _ => {}
        }
    }
}

fn block(statements: &[Statement<'_>], image: &Image) -> Result<(), LoadFailure> {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => check(instruction, image)?,
            Statement::Block(inner) => block(inner, image)?,
            _ => {}
        }
    }
    Ok(())
}

fn check(instruction: &Instruction<'_>, image: &Image) -> Result<(), LoadFailure> {
    let mnemonic = instruction.name.split('.').next().unwrap_or_default();
    if !table::is_mnemonic(mnemonic) {
        let message = format!("`{}` is not a PTX instruction", instruction.name);
        return Err(failure(LoadFailureKind::Syntax, instruction.line, message));
    }
    if mnemonic == "call"
        && let Some(callee) = callee(instruction)
        && image.externs.iter().any(|name| name == callee)
        && Extern::from_name(callee).is_none()
    {
        let message = format!("unresolved extern function `{callee}`");
        return Err(failure(LoadFailureKind::Unresolved, instruction.line, message));
    }
    Ok(())
}

/// The operand of `call` that names the callee.
fn callee<'a>(instruction: &Instruction<'a>) -> Option<&'a str> {
    instruction.operands.iter().find_map(|operand| match operand {
        Operand::Name(name) => Some(*name),
        _ => None,
    })
}
