//! What the compilers have in common: a library that was opened, with its version and cache, and a job in it with its log.

#![allow(unsafe_code)] // Calls of functions that `Api` names, with a handle that `Job` owns, and outputs and buffers that outlive them.

use cuda_driver_sys::{Compiler, Missing, Table};
use std::ffi::{c_char, c_int};
use std::fmt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

use super::cache::{CompileCache, KeyParts};
use super::code::{CacheUse, CodeKind, CompiledCode};
use super::search::Library;
use super::text::{argument_error, from_log};
use crate::error::{CompileError, CompileFailure, Diagnostic, Error, ErrorKind};

/// The functions that all compiler libraries have in some form, for one library.
///
/// # Safety
///
/// 1. Each constant is the library's function for this purpose, and requires nothing but valid arguments.
/// 2. The functions in `LOGS` may be called for every job that was created.
pub(super) unsafe trait Api: Table + Copy + fmt::Debug + 'static {
    /// What a handle points to.
    type Job: 'static;
    /// What its functions return.
    type Code: Into<Answer> + 'static;

    const LIBRARY: Library;
    /// Writes the two numbers of the version.
    const REPORT_VERSION: unsafe fn(&Self, *mut c_int, *mut c_int) -> Result<Self::Code, Missing>;
    /// Ends a job.
    const DESTROY: unsafe fn(&Self, *mut *mut Self::Job) -> Result<Self::Code, Missing>;
    /// What the library says of a job, errors first.
    const LOGS: &'static [Text<Self>];

    /// The version of the library that a function came with.
    fn since(symbol: &str) -> &'static str;

    /// What a refusal most likely means.
    fn hint(&self, answer: Answer, log: &str, options: &[String]) -> Option<String>;
}

/// Two functions: the first reports how many bytes the second writes.
pub(super) struct Text<A: Api> {
    /// Their names, for messages.
    pub(super) names: (&'static str, &'static str),
    pub(super) size: Writes<A, usize>,
    pub(super) read: Writes<A, c_char>,
}

/// A function that writes a number of these for a job.
pub(super) type Writes<A, T> =
    unsafe fn(&A, *mut <A as Api>::Job, *mut T) -> Result<<A as Api>::Code, Missing>;

/// The [`Text`] of these two functions of a table.
macro_rules! text {
    ($table:ident, $size:ident, $read:ident) => {
        Text { names: (stringify!($size), stringify!($read)), size: $table::$size, read: $table::$read }
    };
}
pub(super) use text;

/// A result of any of the libraries: its number, and its name in the header. Zero is success.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    pub(super) number: u32,
    pub(super) name: Option<&'static str>,
}

/// A library that was opened, and what is kept of it.
#[derive(Clone, Debug)]
pub(super) struct Opened<A> {
    inner: Arc<(Compiler<A>, (u32, u32))>,
    cache: Option<CompileCache>,
}

impl<A: Api> Opened<A> {
    pub(super) fn new(table: Compiler<A>) -> Result<Self, Error> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both outputs outlive the call, which needs nothing else by duty 1 of `Api`.
        let answer = unsafe { (A::REPORT_VERSION)(&table, &mut major, &mut minor) };
        let Answer { number, .. } = answer.map_err(|missing| too_old::<A>(None, missing))?.into();
        if number != 0 {
            let Library { name, variable, .. } = A::LIBRARY;
            let what = format!(
                "{name} does not report its version: {} returned {number}",
                A::VERSION.to_str().unwrap_or_default()
            );
            return Err(argument_error(what, &format!("install another one, and name it with {variable}")));
        }
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        Ok(Self { inner: Arc::new((table, version)), cache: None })
    }

    pub(super) fn table(&self) -> &A {
        &self.inner.0
    }

    pub(super) fn version(&self) -> (u32, u32) {
        self.inner.1
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.inner.0.file()
    }

    pub(super) fn cache(&self) -> Option<&CompileCache> {
        self.cache.as_ref()
    }

    pub(super) fn with_cache(self, cache: CompileCache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// The beginning of a key for the cache; or why there can be none.
    pub(super) fn key(&self, driver: u32, has_raw: bool) -> Result<KeyParts, String> {
        if has_raw {
            return Err("a raw option may name files unknown to this crate".into());
        }
        KeyParts::new(A::LIBRARY.name, self.version(), self.file(), driver)
    }

    /// Calls a function, which this version may not have.
    pub(super) fn call<R>(&self, call: impl FnOnce(&A) -> Result<R, Missing>) -> Result<R, Error> {
        call(self.table()).map_err(|missing| too_old::<A>(Some(self.version()), missing))
    }
}

/// What a job is made of, for messages.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) origin: &'a str,
    pub(super) options: &'a [String],
    /// Texts in which the log may point at lines without showing them, with their names.
    pub(super) texts: &'a [(&'a str, &'a [u8])],
}

/// A program or a link of a library, destroyed when it goes.
pub(super) struct Job<'a, A: Api> {
    compiler: &'a Opened<A>,
    raw: *mut A::Job,
    asked: Asked<'a>,
}

impl<'a, A: Api> Job<'a, A> {
    /// `create` is the call of this name, which writes the handle.
    pub(super) fn new(
        compiler: &'a Opened<A>,
        asked: Asked<'a>,
        name: &'static str,
        create: impl FnOnce(&A, &mut *mut A::Job) -> Result<A::Code, Missing>,
    ) -> Result<Self, Error> {
        let mut job = Self { compiler, raw: null_mut(), asked };
        let answer = compiler.call(|table| create(table, &mut job.raw))?;
        job.check(name, answer)?;
        Ok(job)
    }

    /// Calls a function of this name with the handle, which is that of a live job.
    pub(super) fn call(
        &self,
        name: &'static str,
        call: impl FnOnce(&A, *mut A::Job) -> Result<A::Code, Missing>,
    ) -> Result<(), Error> {
        let answer = self.compiler.call(|table| call(table, self.raw))?;
        self.check(name, answer)
    }

    fn check(&self, call: &'static str, answer: A::Code) -> Result<(), Error> {
        let answer = answer.into();
        if answer.number == 0 { Ok(()) } else { Err(self.refused(call, answer)) }
    }

    #[cold]
    fn refused(&self, call: &'static str, answer: Answer) -> Error {
        let (log, options) = (self.log(), self.asked.options);
        ErrorKind::Compile(CompileError::Refused(CompileFailure {
            library: A::LIBRARY.name,
            version: self.compiler.version(),
            call,
            code: answer.number,
            code_name: answer.name.unwrap_or("unknown code"),
            origin: self.asked.origin.to_string(),
            options: options.to_vec(),
            diagnostics: self.diagnostics(&log),
            hint: self.compiler.table().hint(answer, &log, options),
            log,
        }))
        .into()
    }

    /// The log parsed, with the lines of text that it points at and does not show.
    fn diagnostics(&self, log: &str) -> Vec<Diagnostic> {
        let mut diagnostics = Diagnostic::parse(log);
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.excerpt.is_none()) {
            let named = |(name, _): &&(&str, &[u8])| diagnostic.file.as_deref() == Some(*name);
            let found = self.asked.texts.iter().find(named);
            let text = found.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok());
            let number = diagnostic.line.and_then(|line| (line as usize).checked_sub(1));
            let line = text.zip(number).and_then(|(text, number)| text.lines().nth(number));
            diagnostic.excerpt = line.map(str::to_string);
        }
        diagnostics
    }

    /// All logs; empty if there are none.
    fn log(&self) -> String {
        if self.raw.is_null() {
            return String::new();
        }
        let one = |text: &Text<A>| {
            // SAFETY: 1: `LOGS` has it: functions that belong together, by duty 1 of `Api`, and may be called for every
            // job, by its duty 2; there is one, as the handle is not null.
            let log = unsafe { self.read(text) }.map_or(String::new(), |bytes| from_log(&bytes));
            (!log.is_empty()).then_some(log)
        };
        A::LOGS.iter().filter_map(one).collect::<Vec<_>>().join("\n")
    }

    /// The code that the job made, of which `text` reads the bytes.
    ///
    /// # Safety
    /// 1. `text` has two functions of the library that belong together, and the job is done.
    pub(super) unsafe fn finish(self, kind: CodeKind, text: &Text<A>) -> Result<CompiledCode, Error> {
        // SAFETY: 1: the caller's duty 1: they belong together, and may be called for a job that is done.
        let mut bytes = unsafe { self.read(text) }.map_err(|(name, answer)| match answer {
            Ok(answer) => self.refused(name, answer),
            Err(missing) => too_old::<A>(Some(self.compiler.version()), missing),
        })?;
        // The texts end in NUL.
        if kind == CodeKind::Ptx && bytes.last() == Some(&0) {
            bytes.pop();
        }
        let (log, origin) = (self.log(), self.asked.origin.to_string());
        Ok(CompiledCode { kind, bytes, log, names: Vec::new(), origin, cache: CacheUse::Off })
    }

    /// What `text` reads, or which of its functions failed how.
    ///
    /// # Safety
    /// 1. `text` has two functions of the library that belong together, and they may be called for the job as it is.
    unsafe fn read(&self, text: &Text<A>) -> Result<Vec<u8>, (&'static str, Result<Answer, Missing>)> {
        let done = |name, answer: Result<A::Code, Missing>| match answer.map(Into::into) {
            Ok(Answer { number: 0, .. }) => Ok(()),
            answer => Err((name, answer)),
        };
        let (table, mut size) = (self.compiler.table(), 0);
        // SAFETY: this value has the job, for which the function may be called by the caller's duty 1; the output is a
        // local, which outlives the call.
        done(text.names.0, unsafe { (text.size)(table, self.raw, &mut size) })?;
        // One more: nvJitLink writes a NUL for an empty log all the same.
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(size.saturating_add(1)).is_err() {
            return Err((
                text.names.0,
                Ok(Answer { number: 0, name: Some("more bytes than there is memory for") }),
            ));
        }
        bytes.resize(size + 1, 0_u8);
        // SAFETY: this value has the job, for which the function may be called by the caller's duty 1; the buffer has
        // as many bytes as the library has just said that it writes, and one more, and outlives the call.
        done(text.names.1, unsafe { (text.read)(table, self.raw, bytes.as_mut_ptr().cast()) })?;
        bytes.truncate(size);
        Ok(bytes)
    }
}

impl<A: Api> Drop for Job<'_, A> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: this value owns the job, of which nobody else has the handle, and ends with it; it needs nothing
            // else by duty 1 of `Api`. An error cannot be reported here.
            let _ = unsafe { (A::DESTROY)(self.compiler.table(), &mut self.raw) };
        }
    }
}

#[cold]
fn too_old<A: Api>(found: Option<(u32, u32)>, missing: Missing) -> Error {
    let (library, variable, what) = (A::LIBRARY.name, A::LIBRARY.variable, missing.symbol.to_string());
    let since = A::since(missing.symbol);
    ErrorKind::Compile(CompileError::TooOld { library, found, what, since, variable }).into()
}
