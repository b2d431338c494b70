//! Processes, told apart from later ones of the same number.

use cuda_driver_sys::process;
use std::io::{Error, ErrorKind, Result};
use std::sync::OnceLock;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Process {
    /// Its number, which another one may have when it has ended.
    pub(in crate::driver) id: u32,
    /// When it started, in ticks since the machine did, and above [`TICKS`] bits where its stack starts: `execve` keeps number and time.
    pub(in crate::driver) start: u64,
}

/// Bits of a time: three hundred years of hundredths of a second.
const TICKS: u32 = 40;
/// No process, or it ended just now.
const ESRCH: i32 = 3;

/// What the system tells of a process.
struct Status {
    state: u8,
    threads: u64,
    ticks: u64,
    /// Where the stack of its program starts; 0 where the system does not tell: the process's first thread has ended, or it is one that
    /// may not be looked into.
    stack: u64,
}

impl Process {
    /// This one.
    pub(in crate::driver) fn own() -> Process {
        static OWN: OnceLock<Process> = OnceLock::new();
        let id = process::id();
        // A fork has another number.
        if let Some(own) = OWN.get().filter(|own| own.id == id) {
            return *own;
        }
        match Status::of(id) {
            Ok(status) => *OWN.get_or_init(|| Process { id, start: status.start() }),
            Err(_) => Process { id, start: 0 },
        }
    }

    /// Whether it has not ended. One that has, and whose parent has not asked how, does no more work. Where the system does not tell,
    /// for lack of a descriptor, it is there.
    pub(in crate::driver) fn is_alive(self) -> bool {
        match Status::of(self.id) {
            Ok(status) => status.is_of(self) && !status.has_ended(),
            Err(error) => error.kind() != ErrorKind::NotFound && error.raw_os_error() != Some(ESRCH),
        }
    }
}

impl Status {
    fn of(process: u32) -> Result<Status> {
        let text = std::fs::read(format!("/proc/{process}/stat"))?;
        Status::read(&text).ok_or_else(|| Error::from(ErrorKind::InvalidData))
    }

    /// A thread that has ended before the others is in that state too, if it is the first.
    fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }

    /// When it started, and with which stack. Stacks start at multiples of 16, in a place that is drawn for each program.
    fn start(&self) -> u64 {
        self.ticks | (self.stack >> 4) << TICKS
    }

    fn is_of(&self, process: Process) -> bool {
        let stack = |start: u64| start >> TICKS;
        let (here, there) = (self.start(), process.start);
        let same_time = (here ^ there).unbounded_shl(u64::BITS - TICKS) == 0;
        same_time && (stack(here) == stack(there) || stack(here) == 0 || stack(there) == 0)
    }

    /// The 3rd, 20th, 22nd and 28th word; the second is a name in parentheses, in which anything may be.
    fn read(text: &[u8]) -> Option<Status> {
        let name_ends = text.iter().rposition(|byte| *byte == b')')?;
        let words = std::str::from_utf8(text.get(name_ends + 1..)?).ok()?;
        let mut words = words.split_ascii_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let threads = words.nth(16)?.parse().ok()?;
        let ticks = words.nth(1)?.parse().ok()?;
        let stack = words.nth(5)?.parse().ok()?;
        Some(Status { state, threads, ticks, stack })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Read, Write};
    use std::process::Stdio;

    #[test]
    fn a_name_may_have_anything_in_it() {
        let text = b"7 (a) Z (\xff) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 33 0 4711 23 24 25 26 27 140737488355328 9\n";
        let status = Status::read(text).unwrap();
        assert_eq!((status.state, status.threads, status.ticks), (b'S', 33, 4711));
        assert_eq!(status.stack, 1 << 47);
        assert!(Status::read(b"7 (a) S 1 2").is_none());
    }

    #[test]
    fn a_process_ends_with_its_last_thread() {
        let has_ended = |state, threads| Status { state, threads, ticks: 1, stack: 0 }.has_ended();
        assert!(has_ended(b'Z', 1) && has_ended(b'X', 0));
        assert!(!has_ended(b'Z', 2) && !has_ended(b'S', 1));
    }

    #[test]
    fn a_program_that_replaced_another_is_another() {
        let status = |ticks, stack: u64| Status { state: b'S', threads: 1, ticks, stack: stack << 4 };
        let process = Process { id: 1, start: status(7, 9).start() };
        assert!(status(7, 9).is_of(process));
        assert!(!status(7, 10).is_of(process) && !status(8, 9).is_of(process));
        // Who does not know the stack compares the time alone.
        assert!(status(7, 0).is_of(process) && !status(8, 0).is_of(process));
        let unknown = Process { start: status(7, 0).start(), ..process };
        assert!(status(7, 9).is_of(unknown) && !status(8, 9).is_of(unknown));
    }

    #[test]
    fn processes_live_until_they_end() {
        let own = Process::own();
        assert!(own.is_alive() && own.start > 0);
        assert!(!Process { start: own.start + 1, ..own }.is_alive());
        let mut command = std::process::Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        // Its answer comes from the program, whose stack it has by then.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let other = Process { id, start: Status::of(id).unwrap().start() };
        assert!(other.is_alive());
        child.kill().unwrap();
        // It is there, but has ended, until it is waited for.
        while Status::of(id).unwrap().state != b'Z' {
            std::thread::yield_now();
        }
        assert!(!other.is_alive());
        child.wait().unwrap();
        assert!(!other.is_alive());
    }
}
