//! The record: calls, and lists of them.

use crate::functions::symbol;
use crate::launch::Launch;
use crate::value::{Argument, Value};
use cuda_driver_sys::CUresult;
use std::fmt::{self, Write as _};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One call of a driver function.
#[derive(Debug)]
pub struct Call {
    pub(crate) number: usize,
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) launch: Option<Launch>,
    pub(crate) is_launch: bool,
    pub(crate) thread: usize,
    /// The context that its work is in: its stream's, or else the current one; 0 if it is not known.
    pub(crate) context: u64,
    pub(crate) at: Duration,
    pub(crate) end: OnceLock<End>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) answer: CUresult,
    pub(crate) is_injected: bool,
    pub(crate) took: Duration,
    /// The values that the arguments with these indices received.
    pub(crate) arguments: Vec<(usize, Value)>,
    /// The event that a node of a graph, which the call made or changed, records when the graph is launched.
    pub(crate) recorded_by_node: Option<Value>,
}

impl Call {
    /// Its number among the calls of its spy, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The function's symbol: `cuMemAlloc_v2`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it is a call of this function, by symbol or by the header's name.
    pub fn is(&self, name: &str) -> bool {
        self.name == symbol(name)
    }

    /// Its arguments, in order, with the values that the call wrote.
    pub fn arguments(&self) -> Vec<Argument> {
        let mut arguments = self.arguments.clone();
        for (number, value) in self.end.get().into_iter().flat_map(|end| &end.arguments) {
            if let Some(argument) = arguments.get_mut(*number) {
                argument.received = Some(value.clone());
            }
        }
        arguments
    }

    /// The value of an argument, by its name in the header: what the call wrote to it, or else what was passed.
    pub fn argument(&self, name: &str) -> Option<Value> {
        let number = self.arguments.iter().position(|argument| argument.name == name)?;
        let received = self.end.get().and_then(|end| end.arguments.iter().find(|(at, _)| *at == number));
        match received {
            Some((_, value)) => Some(value.clone()),
            None => self.arguments.get(number).map(|argument| argument.value.clone()),
        }
    }

    /// What it launches, for `cuLaunchKernel`, `cuLaunchKernelEx` and `cuLaunchCooperativeKernel`.
    pub fn launch(&self) -> Option<&Launch> {
        self.launch.as_ref()
    }

    /// Whether it launches a kernel or a graph.
    pub fn is_launch(&self) -> bool {
        self.is_launch
    }

    /// The result that the program received; none while the call is in progress.
    pub fn answer(&self) -> Option<CUresult> {
        self.end.get().map(|end| end.answer)
    }

    /// Whether the result comes from a [`Fault`](crate::Fault) and not from the driver.
    pub fn is_injected(&self) -> bool {
        self.end.get().is_some_and(|end| end.is_injected)
    }

    /// The thread that made it; threads count from 1, in the order of their first calls.
    pub fn thread(&self) -> usize {
        self.thread
    }

    /// When it was made, since the spy was created.
    pub fn at(&self) -> Duration {
        self.at
    }

    /// How long it took; none while it is in progress.
    pub fn took(&self) -> Option<Duration> {
        self.end.get().map(|end| end.took)
    }

    /// The call in one line that is the same in each run: no addresses, times or threads.
    pub fn snapshot(&self) -> String {
        format!("{self:#}")
    }
}

/// Number, thread, time, and the call with its answer, if that is an error. With `{:#}` only what is the same in each run.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "#{} [thread {}, {:.3} ms] ", self.number, self.thread, self.at.as_secs_f64() * 1e3)?;
        }
        write!(f, "{}(", self.name)?;
        match &self.launch {
            Some(launch) => launch.fmt(f)?,
            None => {
                for (number, argument) in self.arguments().iter().enumerate() {
                    f.write_str(if number == 0 { "" } else { ", " })?;
                    argument.fmt(f)?;
                }
            }
        }
        f.write_str(")")?;
        match self.end.get() {
            None => f.write_str(" ..")?,
            Some(end) if end.answer != CUresult::SUCCESS => {
                match end.answer.name() {
                    Some(name) => write!(f, " = {name}")?,
                    None => write!(f, " = {}", end.answer.0)?,
                }
                f.write_str(if end.is_injected { " (injected)" } else { "" })?;
            }
            Some(_) => {}
        }
        Ok(())
    }
}

/// Calls, in the order in which they were made.
///
/// It is a list: [`Deref`] gives a slice. [`Display`](fmt::Display) prints one call per line.
#[derive(Clone, Debug, Default)]
pub struct Calls(pub(crate) Vec<Arc<Call>>);

impl Calls {
    /// How many of them are of this function, by symbol or by the header's name.
    pub fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|call| call.is(name)).count()
    }

    /// The calls for which `wanted` is true.
    pub fn filter(&self, mut wanted: impl FnMut(&Call) -> bool) -> Calls {
        Calls(self.0.iter().filter(|call| wanted(call)).cloned().collect())
    }

    /// The calls of this function.
    pub fn of(&self, name: &str) -> Calls {
        self.filter(|call| call.is(name))
    }

    /// The calls of this thread.
    pub fn of_thread(&self, thread: usize) -> Calls {
        self.filter(|call| call.thread == thread)
    }

    /// The calls whose result comes from a [`Fault`](crate::Fault).
    ///
    /// ```
    /// use cuda_driver_sys::CUresult;
    /// use cuda_harness::{Fault, Spy, assert_calls};
    ///
    /// let spy = Spy::over(&cuda_emulator::driver())?;
    /// spy.inject(Fault::any().nth(2).answer(CUresult::CUDA_ERROR_UNKNOWN))?;
    /// let cuda = spy.driver();
    /// assert!(cuda.version().is_ok());
    /// assert!(cuda.version().is_err());
    /// assert_calls!(spy.calls().injected(), ["cuDriverGetVersion"]);
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn injected(&self) -> Calls {
        self.filter(Call::is_injected)
    }

    /// What was launched.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.0.iter().filter_map(|call| call.launch())
    }

    /// Their names: `["cuInit", "cuDeviceGet"]`.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|call| call.name).collect()
    }

    /// The calls as text that is the same in each run of a program that makes the same calls in the same order: no addresses, times or
    /// threads, and objects by their names. For tests that compare with a file.
    ///
    /// Bytes of structures that kernels take by value are shown as they are, with the addresses in them.
    pub fn snapshot(&self) -> String {
        let mut text = String::new();
        for call in &self.0 {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{call:#}");
        }
        text
    }
}

impl Deref for Calls {
    type Target = [Arc<Call>];

    fn deref(&self) -> &[Arc<Call>] {
        &self.0
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|call| writeln!(f, "{call}"))
    }
}
