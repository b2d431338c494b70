//! `cuda-launch harness -- PROGRAM`: a program of any language on the emulator, with failing calls, leak reports and logs.

use cuda_harness::{Environment, Error};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::emulated::{Emulated, Options};
use crate::failure::Failure;
use crate::output::Outcome;
use crate::style;
use crate::table::Columns;

/// The end of `--help`.
const NOTES: &str = "\
A fault is NAME, NAME:N or NAME:N:CODE: call N of a driver function returns
CODE, a name or a number [default: every call; UNKNOWN]. 3.. as N is the third
call and all later ones; * as NAME is any function, and launch is a launch of a
kernel or a graph. With ! before the code a launch faults, and all later calls
return that code:
  cuda-launch harness --fail cuMemAlloc:2:OUT_OF_MEMORY --leaks -- ./program
  cuda-launch harness --fail launch:2:!700 -- ./program

The program must use the driver API and contain PTX: programs that use the CUDA
runtime (<<<>>>, CuPy, PyTorch) do not run on the emulator. With --as-of, later
functions are still symbols of the library; they return an error (36), and
cuGetProcAddress does not find them.

Exit codes:
  that of the program, or 128 plus the number of the signal that ended it
If the program did not fail:
  1  --leaks found leaked objects or mistakes, a check found something, a
     checked kernel faulted, or schedules differed, in it or in a process that
     it started
  3  the log lacks calls, or a coverage report was not written
If it was not started:
  2  the command line is wrong
  3  a file cannot be read or written, or the program cannot be started";

/// What is said of a program that reported no leaks, nor that there are none.
const NO_REPORT: &str = "no process reported its leaks: none has used the driver, or those that have ended by a signal or `_exit`";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// Make calls fail: NAME[:N[:CODE]]
    #[arg(long, value_name = "FAULT")]
    fail: Vec<String>,
    /// Allocations beyond this many bytes (K, M, G) return OUT_OF_MEMORY
    #[arg(long, value_name = "BYTES")]
    memory: Option<String>,
    /// Behave like the driver of a CUDA version, from 11.4 to 13.0, without later functions
    #[arg(long, value_name = "VERSION")]
    as_of: Option<String>,
    /// Functions to hide, so that the driver lacks them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    hide: Vec<String>,
    /// Report leaks and misused handles at the end
    #[arg(long)]
    leaks: bool,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let variables = variables(arguments)?;
    let mut emulated = Emulated::new(&arguments.options, json)?;
    emulated.command.envs(variables);
    let finished = emulated.run()?;
    let lacks_leaks = arguments.leaks && finished.found.lacks_leaks();
    let more = if lacks_leaks {
        Columns::err().wrap(&format!("{} {NO_REPORT}", style::strong("note:")), "")
    } else {
        String::new()
    };
    Ok(finished.outcome("cuda-launch.harness.1", &more, Value::Null))
}

/// The settings as the library reads them, tried here first, because an invalid one would leave the program without a driver.
fn variables(arguments: &Arguments) -> Result<BTreeMap<&'static str, String>, Failure> {
    let mut variables = BTreeMap::new();
    let faults: Option<Vec<String>> = arguments.fail.iter().map(|text| fault(text)).collect();
    let faults = faults.ok_or_else(|| Failure::usage("--fail takes NAME, NAME:N or NAME:N:CODE"))?;
    if !faults.is_empty() {
        variables.insert("CUDA_LAUNCH_HARNESS_FAIL", faults.join(","));
    }
    if let Some(bytes) = &arguments.memory {
        variables.insert("CUDA_LAUNCH_HARNESS_MEMORY", bytes.clone());
    }
    if let Some(version) = &arguments.as_of {
        variables.insert("CUDA_LAUNCH_HARNESS_VERSION", version.clone());
    }
    if !arguments.hide.is_empty() {
        variables.insert("CUDA_LAUNCH_HARNESS_HIDE", arguments.hide.join(","));
    }
    if arguments.leaks {
        variables.insert("CUDA_LAUNCH_HARNESS_LEAKS", "1".to_owned());
    }
    let refused = |error| refused(error, &arguments.fail);
    let asked = Environment::of(|name| variables.get(name).cloned()).map_err(refused)?;
    if let Some(asked) = asked {
        asked.over(&cuda_emulator::driver()).map_err(refused)?;
    }
    Ok(variables)
}

/// `NAME:N:CODE` as the library reads it, `NAME@N=CODE`.
fn fault(text: &str) -> Option<String> {
    let mut parts = text.split(':');
    let (name, number, code) = (parts.next()?, parts.next(), parts.next().unwrap_or("UNKNOWN"));
    let is_whole = parts.next().is_none() && !name.is_empty() && !text.contains(['@', '=', ',']);
    let number = number.map_or(String::new(), |number| format!("@{number}"));
    let code = code.strip_prefix('!').map_or(format!("={code}"), |code| format!("!{code}"));
    is_whole.then(|| format!("{name}{number}{code}"))
}

/// The option whose value is invalid, as it was written.
fn refused(error: Error, faults: &[String]) -> Failure {
    let Error::Variable { name, value, wanted } = &error else {
        return Failure::usage(error.to_string());
    };
    let (option, wanted) = match *name {
        "CUDA_LAUNCH_HARNESS_FAIL" => {
            ("--fail", "a function, which of its calls, and a code, such as cuMemAlloc:2:OUT_OF_MEMORY")
        }
        "CUDA_LAUNCH_HARNESS_MEMORY" => ("--memory", wanted.as_str()),
        "CUDA_LAUNCH_HARNESS_VERSION" => ("--as-of", wanted.as_str()),
        _ => (*name, wanted.as_str()),
    };
    let written = faults.iter().find(|text| option == "--fail" && fault(text).as_ref() == Some(value));
    Failure::usage(format!("{option}: {:?} should be {wanted}", written.unwrap_or(value)))
}
