//! The program that a command starts, and signals: a signal that ends it still leaves the command's output.
//!
//! A signal of the terminal (^C) also reaches the program, because both are in the foreground; a signal that was sent only to this
//! process is forwarded. In both cases the program decides how to react, and this process waits for its end.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::failure::{Failure, FileOperation};

/// How a program ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// The number of the signal that ended it.
    pub(crate) signal: Option<i32>,
}

impl Ended {
    /// The exit code as in shells.
    pub(crate) fn exit_code(self) -> u8 {
        let code = self.code.or(self.signal.map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Self { code: status.code(), signal }
    }
}

/// Whether a process with that number exists and has not ended; true if that cannot be determined.
pub(crate) fn is_alive(process: u64) -> bool {
    let folder = Path::new("/proc").join(process.to_string());
    let state = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
    // The name before it may have any character.
    let has_ended = state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']));
    !Path::new("/proc/self").exists() || (folder.exists() && !has_ended)
}

/// `LD_LIBRARY_PATH` with this folder first.
pub(crate) fn library_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    path
}

/// Starts it and waits for its end.
pub(crate) fn run(command: &mut Command) -> Result<Ended, Failure> {
    #[cfg(unix)]
    signals::catch();
    let ended = command.spawn().and_then(|mut child| {
        #[cfg(unix)]
        signals::hand_on_to(&child);
        child.wait()
    });
    ended
        .map(Ended::from)
        .map_err(|error| Failure::io(FileOperation::Start, command.get_program().as_ref(), &error))
}

#[cfg(unix)]
mod signals {
    #![allow(unsafe_code)] // Calls of POSIX; the handler uses atomics, `kill` and nothing else.

    use libc::{c_int, pid_t, siginfo_t};
    use std::mem::MaybeUninit;
    use std::process::Child;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicI32, Ordering};

    /// The signals with which users and service managers end programs.
    const ENDING: [c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
    /// The process number of the program; 0 before it has started and after it has ended, when the number may be
    /// reused.
    static PROGRAM: AtomicI32 = AtomicI32::new(0);
    /// A signal that arrived before the program was started.
    static EARLY: AtomicI32 = AtomicI32::new(0);

    /// Signals no longer end this process. The program gets the default handling when it starts; signals that this process was
    /// told to ignore (`nohup`) are ignored by both.
    pub(super) fn catch() {
        for signal in ENDING {
            // SAFETY: both structures are plain data for which zeros are valid (no flags, an empty mask), and outlive the
            // calls; the handler has the signature for SA_SIGINFO, and is async-signal-safe.
            unsafe {
                let mut old: libc::sigaction = MaybeUninit::zeroed().assume_init();
                let mut new: libc::sigaction = MaybeUninit::zeroed().assume_init();
                new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                new.sa_sigaction = handler as *const () as libc::sighandler_t;
                if libc::sigaction(signal, null_mut(), &mut old) == 0 && old.sa_sigaction != libc::SIG_IGN {
                    libc::sigaction(signal, &new, null_mut());
                }
            }
        }
    }

    extern "C" fn handler(signal: c_int, info: *mut siginfo_t, _: *mut libc::c_void) {
        // SAFETY: only `catch` installs this, with SA_SIGINFO, for which the system passes the address of an initialised structure.
        let code = unsafe { (*info).si_code };
        // On Linux, the code is above 0 for signals that no process has sent. On other systems the program gets some
        // signals twice.
        let is_of_terminal = cfg!(target_os = "linux") && code > 0;
        let program = PROGRAM.load(Ordering::SeqCst);
        if program == 0 {
            EARLY.store(signal, Ordering::SeqCst);
        } else if !is_of_terminal {
            send(program, signal);
        }
    }

    fn send(program: pid_t, signal: c_int) {
        // SAFETY: the function takes two numbers; the process number is that of the child until it is waited for, which does
        // not happen while `PROGRAM` contains it.
        unsafe { libc::kill(program, signal) };
    }

    /// Forwards signals until the program has ended; its status can be queried afterwards.
    pub(super) fn hand_on_to(child: &Child) {
        let Ok(program) = pid_t::try_from(child.id()) else { return };
        PROGRAM.store(program, Ordering::SeqCst);
        // A signal that the handler received before the line above.
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            send(program, early);
        }
        let mut info = MaybeUninit::<siginfo_t>::zeroed();
        loop {
            // SAFETY: the call writes the structure, which outlives it, and has no other requirement. WNOWAIT does not reap the child, so
            // its number is not reused.
            let answer = unsafe {
                libc::waitid(libc::P_PID, child.id(), info.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT)
            };
            if answer == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
                break;
            }
        }
        PROGRAM.store(0, Ordering::SeqCst);
    }
}
