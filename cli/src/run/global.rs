//! `--global`: variables of the module, set before the kernel runs and shown after it.

use cuda_launch::error::GlobalError;
use cuda_launch::module::{ModuleConstant, ModuleGlobal};
use cuda_launch::{CudaModule, CudaStream, Error, ErrorKind};
use std::path::PathBuf;
use std::str::FromStr;

use super::argument::{Direction, Form, Source, hex, memory, saved, scalar};
use super::data;
use crate::failure::Failure;
use crate::kernel_file::File;
use crate::scalar::Scalar;
use crate::table::count;

/// One `--global`, as written.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    text: String,
    name: String,
    contents: Contents,
}

/// What follows the `=`.
#[derive(Clone, Debug)]
enum Contents {
    /// Data of the variable's own type.
    Own(Source),
    Raw(Vec<u8>),
    /// With the type, as for `--arg`.
    Typed {
        direction: Direction,
        scalar: Scalar,
        source: Option<Source>,
        save: Option<PathBuf>,
    },
}

impl FromStr for Global {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once('=').ok_or("expected NAME=DATA or NAME=TYPE:DATA")?;
        if name.is_empty() {
            return Err("the name of a variable goes before `=`".into());
        }
        let contents = match rest.split_once(':').filter(|_| !rest.starts_with('@')) {
            Some(("in", rest)) => typed(memory(Direction::In, rest)?)?,
            Some(("inout", rest)) => typed(memory(Direction::InOut, rest)?)?,
            Some(("out", rest)) => {
                let (name, save) = saved(rest)?;
                Contents::Typed { direction: Direction::Out, scalar: scalar(name)?, source: None, save }
            }
            Some(("hex", rest)) => Contents::Raw(hex(rest)?),
            Some(_) => typed(memory(Direction::In, rest)?)?,
            None => Contents::Own(match rest.strip_prefix('@') {
                Some("") => return Err("expected a file name after `@`".into()),
                Some(path) => Source::File(path.into()),
                None => Source::Text(rest.to_owned()),
            }),
        };
        Ok(Self { text: text.to_owned(), name: name.to_owned(), contents })
    }
}

fn typed(form: Form) -> Result<Contents, String> {
    match form {
        Form::Memory { direction, scalar, with_length: false, source, save } => {
            Ok(Contents::Typed { direction, scalar, source: Some(source), save })
        }
        _ => Err("a variable has no length beside it: write TYPE, not TYPE[]".into()),
    }
}

/// A variable and its new value.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    /// The type in which it is shown.
    pub(crate) scalar: Scalar,
    /// The bytes that are written to it; `None` if it is only shown.
    bytes: Option<Vec<u8>>,
    pub(crate) save: Option<PathBuf>,
}

/// Reads the values of the variables, and takes types that were not given from the file.
pub(super) fn load(globals: &[Global], file: &File) -> Result<Vec<Variable>, Failure> {
    let mut loaded: Vec<Variable> = Vec::new();
    for global in globals {
        if loaded.iter().any(|earlier| earlier.name == global.name) {
            return Err(global.wrong(format!("`{}` was set by another --global: set it once", global.name)));
        }
        loaded.push(global.load(file)?);
    }
    Ok(loaded)
}

impl Global {
    fn wrong(&self, message: String) -> Failure {
        Failure::usage(format!("global `{}`: {message}", self.text))
    }

    fn load(&self, file: &File) -> Result<Variable, Failure> {
        if let Some(message) = file.lacks_variable(&self.name) {
            return Err(self.wrong(message));
        }
        let known = file.variables().find(|variable| variable.name == self.name);
        let (scalar, bytes) = match &self.contents {
            Contents::Own(source) => {
                let scalar = match (known.and_then(|variable| variable.scalar()), source) {
                    (Some(scalar), _) => scalar,
                    (None, Source::File(path)) if data::is_raw(path) => Scalar::U8,
                    (None, _) => return Err(self.wrong(self.lacks_a_type())),
                };
                (scalar, Some(self.contents(source, scalar)?))
            }
            Contents::Raw(bytes) => (Scalar::U8, Some(bytes.clone())),
            Contents::Typed { scalar, source, .. } => {
                let bytes = source.as_ref().map(|source| self.contents(source, *scalar));
                (*scalar, bytes.transpose()?)
            }
        };
        let (direction, save) = match &self.contents {
            Contents::Typed { direction, save, .. } => (*direction, save.clone()),
            _ => (Direction::In, None),
        };
        Ok(Variable { name: self.name.clone(), direction, scalar, bytes, save })
    }

    fn contents(&self, source: &Source, scalar: Scalar) -> Result<Vec<u8>, Failure> {
        data::contents(source, scalar, |message| self.wrong(message))
    }

    fn lacks_a_type(&self) -> String {
        format!(
            "the file does not say the type of its elements\n  help: write {}=TYPE:DATA, as in {0}=f32:1,2,3",
            self.name
        )
    }
}

/// The handle of a variable, as bytes.
enum Handle {
    Device(ModuleGlobal<u8>),
    Constant(ModuleConstant<u8>),
}

impl Handle {
    fn of(module: &CudaModule, name: &str) -> Result<Self, Error> {
        match module.global::<u8>(name) {
            Ok(handle) => Ok(Self::Device(handle)),
            Err(error) if matches!(error.kind(), ErrorKind::Global(GlobalError::Constant { .. })) => {
                module.constant(name).map(Self::Constant)
            }
            Err(error) => Err(error),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Device(handle) => handle.byte_len(),
            Self::Constant(handle) => handle.byte_len(),
        }
    }
}

impl Variable {
    /// Checks that the module has it with this size.
    pub(super) fn check(&self, module: &CudaModule) -> Result<(), Failure> {
        let handle = Handle::of(module, &self.name)?;
        let (name, scalar, has) = (&self.name, self.scalar, handle.len());
        let elements = if scalar.size() == 1 { String::new() } else { format!(" of {}", scalar.word()) };
        let given = self.bytes.as_ref().map_or(has, Vec::len);
        if given != has {
            let (has, given) = (count(has, "byte"), count(given, "byte"));
            return Err(Failure::usage(format!(
                "variable `{name}` has {has}, the data{elements} {given}\n  help: give all of its elements; COUNT*VALUE repeats one"
            )));
        }
        if !has.is_multiple_of(scalar.size()) {
            let (has, size) = (count(has, "byte"), count(scalar.size(), "byte"));
            return Err(Failure::usage(format!(
                "variable `{name}` has {has}, which is not a multiple of the {size} of {}\n  help: use a smaller type",
                scalar.word()
            )));
        }
        Ok(())
    }

    /// Writes its value, without waiting.
    pub(super) fn set(&self, module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
        let Some(bytes) = &self.bytes else { return Ok(()) };
        match Handle::of(module, &self.name)? {
            Handle::Device(mut handle) => handle.copy_from_host(stream, bytes),
            Handle::Constant(mut handle) => handle.copy_from_host(stream, bytes),
        }
    }

    /// Its contents, if requested.
    pub(super) fn get(&self, module: &CudaModule, stream: &CudaStream) -> Result<Vec<u8>, Error> {
        if self.direction == Direction::In {
            return Ok(Vec::new());
        }
        match Handle::of(module, &self.name)? {
            Handle::Device(handle) => handle.to_host_vec(stream),
            Handle::Constant(handle) => handle.to_host_vec(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_stands_behind_the_name() {
        let parse = |text: &str| text.parse::<Global>().map(|global| format!("{:?}", global.contents));
        for (text, contents) in [
            ("x=1,2", "Own(Text(\"1,2\"))"),
            ("x=@a:b.bin", "Own(File(\"a:b.bin\"))"),
            ("x=hex:00ff", "Raw([0, 255])"),
            ("x=f32:0..4", "Typed { direction: In, scalar: F32, source: Some(Text(\"0..4\")), save: None }"),
            (
                "x=in:u8:@f.npy",
                "Typed { direction: In, scalar: U8, source: Some(File(\"f.npy\")), save: None }",
            ),
            (
                "x=inout:i32:3@a.txt",
                "Typed { direction: InOut, scalar: I32, source: Some(Text(\"3\")), save: Some(\"a.txt\") }",
            ),
            ("x=out:f32@o.npy", "Typed { direction: Out, scalar: F32, source: None, save: Some(\"o.npy\") }"),
        ] {
            assert_eq!(parse(text).unwrap(), contents, "{text}");
        }
        for text in ["x", "=1", "x=f33:1", "x=@", "x=f32[]:1", "x=out:f32@", "x=hex:0"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
