//! `--arg`: what is written, and whether the kernel can take it.

use std::path::PathBuf;
use std::str::FromStr;

use crate::failure::Failure;
use crate::image::Kernel;
use crate::signature::{Parameter, Scalar};

/// One `--arg`.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// As written.
    pub(crate) text: String,
    pub(crate) form: Form,
}

/// What it is.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// A number, or several by value.
    Value { scalar: Scalar, numbers: String },
    /// Bytes by value.
    Raw(Vec<u8>),
    /// Memory.
    Memory { direction: Direction, scalar: Scalar, with_length: bool, source: Source, save: Option<PathBuf> },
}

/// Which way the data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    InOut,
    Out,
}

/// Where the contents come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    File(PathBuf),
    /// Numbers, a range, or one number many times.
    Text(String),
    /// So many elements of nothing in particular.
    Count(usize),
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, rest) =
            text.split_once(':').ok_or("expected TYPE:VALUE, in:TYPE:DATA or out:TYPE:COUNT")?;
        let form = match first {
            "in" => memory(Direction::In, rest)?,
            "inout" => memory(Direction::InOut, rest)?,
            "out" => memory(Direction::Out, rest)?,
            "hex" => Form::Raw(hex(rest)?),
            name => Form::Value { scalar: scalar(name)?, numbers: rest.to_owned() },
        };
        Ok(Self { text: text.to_owned(), form })
    }
}

fn scalar(name: &str) -> Result<Scalar, String> {
    Scalar::of_rust(name).ok_or_else(|| format!("no type `{name}`; there are {}", Scalar::names()))
}

fn memory(direction: Direction, rest: &str) -> Result<Form, String> {
    let (ty, rest) = rest.split_once(':').ok_or("expected a type and then data, as in:f32:1,2,3")?;
    let (name, with_length) = ty.strip_suffix("[]").map_or((ty, false), |name| (name, true));
    let scalar = scalar(name)?;
    let (from, save) = match (rest.strip_prefix('@'), direction) {
        (Some(path), Direction::In) => (Source::File(path.into()), None),
        (Some(path), _) => {
            let (path, save) = path.split_once('@').map_or((path, None), |(path, save)| (path, Some(save)));
            (Source::File(path.into()), save)
        }
        (None, Direction::In) => (Source::Text(rest.to_owned()), None),
        (None, _) => {
            let (text, save) = rest.split_once('@').map_or((rest, None), |(text, save)| (text, Some(save)));
            (Source::Text(text.to_owned()), save)
        }
    };
    let source = match (direction, from) {
        (Direction::Out, Source::Text(text)) => {
            let count = text.trim().parse();
            Source::Count(count.map_err(|_| format!("`{text}` is no count of elements, as in out:f32:1024"))?)
        }
        (Direction::Out, _) => return Err("an out has a count of elements; inout starts with a file".into()),
        (_, from) => from,
    };
    Ok(Form::Memory { direction, scalar, with_length, source, save: save.map(PathBuf::from) })
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| *c != '_').collect();
    let byte = |pair: &[char]| match pair {
        [high, low] => Some((high.to_digit(16)? * 16 + low.to_digit(16)?) as u8),
        _ => None,
    };
    digits
        .chunks(2)
        .map(byte)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("`{text}` is no list of bytes in hex"))
}

impl Argument {
    /// Parameters that it makes.
    fn parameters(&self) -> usize {
        match self.form {
            Form::Memory { with_length: true, .. } => 2,
            _ => 1,
        }
    }
}

/// What the sizes do not show: the number of parameters with all their types, and floats for integers.
pub(super) fn compare(arguments: &[Argument], kernel: &Kernel) -> Result<(), Failure> {
    let Some(signature) = &kernel.signature else { return Ok(()) };
    let given: usize = arguments.iter().map(Argument::parameters).sum();
    let wanted = &signature.0;
    if given != wanted.len() {
        let list: Vec<String> =
            wanted.iter().enumerate().map(|(index, p)| format!("  {index}: {}", describe(p))).collect();
        return Err(Failure::usage(format!(
            "kernel `{}` has {} parameters, the arguments make {given}\n{}",
            kernel.name,
            wanted.len(),
            list.join("\n")
        )));
    }
    let mut at = 0;
    for argument in arguments {
        if let (Form::Value { scalar, .. }, Some(parameter)) = (&argument.form, wanted.get(at)) {
            check_class(argument, *scalar, at, parameter)?;
        }
        at += argument.parameters();
    }
    Ok(())
}

/// `.f32` takes no `u32`, though both have 4 bytes.
fn check_class(argument: &Argument, scalar: Scalar, index: usize, wanted: &Parameter) -> Result<(), Failure> {
    let ty = wanted.ptx.as_deref().unwrap_or_default();
    let is_float = matches!(scalar, Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64);
    let clash = match ty.as_bytes() {
        [b'.', b'f', ..] => !is_float,
        [b'.', b'u' | b's', ..] => is_float && !ty.contains('['),
        _ => false,
    };
    if clash {
        let message = format!("argument `{}`: parameter {index} is {}", argument.text, describe(wanted));
        return Err(Failure::usage(message));
    }
    Ok(())
}

fn describe(parameter: &Parameter) -> String {
    let name = parameter.name.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let ty = parameter.ptx.as_ref().map_or(String::new(), |ty| format!("{ty}, "));
    let rust = parameter.meaning.rust(parameter.size, parameter.align);
    format!("{name}{ty}{} bytes, {rust}", parameter.size)
}
