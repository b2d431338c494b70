//! `--arg`: its syntax, and the check against the kernel's parameters.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::data::Input;
use crate::failure::Failure;
use crate::model::{Kernel, Meaning, Parameter};
use crate::scalar::Scalar;
use crate::table::{Table, count, shorten};

/// Columns of an argument in a table: data may be long.
const LONGEST: usize = 32;

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

/// The source of the contents.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    File(PathBuf),
    /// Numbers, a range, or one number many times.
    Text(String),
    /// A number of elements with unspecified contents.
    Count(usize),
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, rest) = text
            .split_once(':')
            .ok_or("expected TYPE:VALUE, hex:BYTES, in:TYPE:DATA, inout:TYPE:DATA or out:TYPE:COUNT")?;
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

pub(super) fn scalar(name: &str) -> Result<Scalar, String> {
    Scalar::of_rust(name).ok_or_else(|| format!("unknown type `{name}`; the types are {}", Scalar::names()))
}

pub(super) fn memory(direction: Direction, rest: &str) -> Result<Form, String> {
    let (ty, rest) = rest.split_once(':').ok_or("expected a type and then data, as in in:f32:1,2,3")?;
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
    let unnamed = |path: &Path| path.as_os_str().is_empty();
    if matches!(&from, Source::File(path) if unnamed(path)) || save.is_some_and(str::is_empty) {
        return Err(UNNAMED.into());
    }
    let source = match (direction, from) {
        (Direction::Out, Source::Text(text)) => {
            let count = text.trim().parse();
            Source::Count(
                count.map_err(|_| format!("`{text}` is not a number of elements, as in out:f32:1024"))?,
            )
        }
        (Direction::Out, _) => {
            return Err("`out` takes a number of elements; use `inout` to start from a file".into());
        }
        (_, from) => from,
    };
    Ok(Form::Memory { direction, scalar, with_length, source, save: save.map(PathBuf::from) })
}

const UNNAMED: &str = "expected a file name after `@`";

/// `TYPE`, or `TYPE@FILE`: the type, and the file in which it is saved.
pub(super) fn saved(text: &str) -> Result<(&str, Option<PathBuf>), String> {
    match text.split_once('@') {
        Some((_, "")) => Err(UNNAMED.into()),
        Some((name, path)) => Ok((name, Some(path.into()))),
        None => Ok((text, None)),
    }
}

pub(super) fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| *c != '_').collect();
    let byte = |pair: &[char]| match pair {
        [high, low] => Some((high.to_digit(16)? * 16 + low.to_digit(16)?) as u8),
        _ => None,
    };
    digits
        .chunks(2)
        .map(byte)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("`{text}` is not a list of bytes in hexadecimal, as in hex:00ff"))
}

/// Compares the number and sizes of the parameters, and floats with integers of the same size.
pub(super) fn compare(inputs: &[Input<'_>], kernel: &Kernel) -> Result<(), Failure> {
    let Some(signature) = &kernel.signature else { return Ok(()) };
    let (given, wanted) = (made(inputs), &signature.0);
    let refuse = |at: usize, what: String, help: &str| {
        let table = side_by_side(&given, wanted, at);
        Err(Failure::usage(format!("{what}\n{table}  help: {help}")))
    };
    if given.len() != wanted.len() {
        let (name, has, makes) = (&kernel.name, count(wanted.len(), "parameter"), given.len());
        let help = "give one --arg per parameter; TYPE[] makes two: an address and a length";
        return refuse(
            given.len().min(wanted.len()),
            format!("kernel `{name}` has {has}, the arguments make {makes}"),
            help,
        );
    }
    for (at, (one, parameter)) in given.iter().zip(wanted).enumerate() {
        let text = shorten(&one.argument.text, LONGEST);
        if one.bytes != parameter.size {
            let (is, wants) = (count(one.bytes, "byte"), count(parameter.size, "byte"));
            let what = format!(
                "{}: argument {at} is {is} (`{text}`); the kernel's parameter {at} is {wants}",
                kernel.name
            );
            return refuse(at, what, &help(parameter));
        }
        if let Form::Value { scalar, .. } = one.argument.form
            && is_other_class(scalar, parameter)
        {
            let what = format!("argument `{text}`: parameter {at} is {}", describe(parameter));
            return refuse(at, what, &help(parameter));
        }
    }
    Ok(())
}

/// One parameter that an argument supplies.
struct ParameterBytes<'a> {
    argument: &'a Argument,
    bytes: usize,
    is_length: bool,
}

fn made<'a>(inputs: &'a [Input<'_>]) -> Vec<ParameterBytes<'a>> {
    let mut list = Vec::new();
    for Input { argument, bytes } in inputs {
        let with_length = match argument.form {
            Form::Memory { with_length, .. } => Some(with_length),
            _ => None,
        };
        // An address and a length have 8 bytes each.
        let bytes = if with_length.is_some() { 8 } else { bytes.len() };
        list.push(ParameterBytes { argument, bytes, is_length: false });
        list.extend((with_length == Some(true)).then_some(ParameterBytes {
            argument,
            bytes,
            is_length: true,
        }));
    }
    list
}

/// Arguments beside parameters, with the first difference marked.
fn side_by_side(given: &[ParameterBytes<'_>], wanted: &[Parameter], at: usize) -> String {
    let mut table = Table::new(&["", "#", "argument", "bytes", "parameter"], &[1, 3]);
    for index in 0..given.len().max(wanted.len()) {
        let one = given.get(index);
        let text = one.map_or("-".into(), |one| {
            let what = if one.is_length { "length of " } else { "" };
            format!("{what}{}", shorten(&one.argument.text, LONGEST))
        });
        table.row(vec![
            if index == at { ">" } else { " " }.into(),
            index.to_string(),
            text,
            one.map_or("-".into(), |one| one.bytes.to_string()),
            wanted.get(index).map_or("-".into(), describe),
        ]);
    }
    table.plain("  ")
}

/// The advice for a parameter.
fn help(wanted: &Parameter) -> String {
    match &wanted.meaning {
        Meaning::Value(scalar) => format!("write {}:VALUE", scalar.word()),
        Meaning::Pointer { element, .. } => {
            format!(
                "write in:{0}:DATA, inout:{0}:DATA or out:{0}:COUNT",
                element.map_or("TYPE", Scalar::word)
            )
        }
        _ => format!("write TYPE:VALUES or hex:BYTES that make {}", count(wanted.size, "byte")),
    }
}

/// `.f32` does not accept `u32`, although both have 4 bytes.
fn is_other_class(scalar: Scalar, wanted: &Parameter) -> bool {
    let ty = wanted.ptx.as_deref().unwrap_or_default();
    let is_float = matches!(scalar, Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64);
    match ty.as_bytes() {
        [b'.', b'f', ..] => !is_float,
        [b'.', b'u' | b's', ..] => is_float && !ty.contains('['),
        _ => false,
    }
}

fn describe(parameter: &Parameter) -> String {
    let name = parameter.name.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let ty = parameter.ptx.as_ref().map_or(String::new(), |ty| format!("{ty}, "));
    let rust = parameter.meaning.rust(parameter.size, parameter.align);
    format!("{name}{ty}{} bytes, {rust}", parameter.size)
}
