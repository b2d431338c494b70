//! Processes, told apart from later ones of the same number.

use cuda_driver_sys::process;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Process {
    /// Its number, which another one may have when it has ended.
    pub(in crate::driver) id: u32,
    /// When it started, in ticks since the machine did.
    pub(in crate::driver) start: u64,
}

/// What the system tells of a process.
struct Status {
    state: u8,
    threads: u64,
    start: u64,
}

impl Process {
    /// This one.
    pub(in crate::driver) fn own() -> Process {
        let id = process::id();
        Process { id, start: Status::of(id).map_or(0, |status| status.start) }
    }

    /// Whether it has not ended. One that has, and whose parent has not asked how, does no more work.
    pub(in crate::driver) fn is_alive(self) -> bool {
        let Some(status) = Status::of(self.id) else { return false };
        status.start == self.start && !status.has_ended()
    }
}

impl Status {
    fn of(process: u32) -> Option<Status> {
        Status::read(&std::fs::read(format!("/proc/{process}/stat")).ok()?)
    }

    /// A thread that has ended before the others is in that state too, if it is the first.
    fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }

    /// The third, the twentieth and the twenty-second word; the second is a name in parentheses, in which anything may be.
    fn read(text: &[u8]) -> Option<Status> {
        let name_ends = text.iter().rposition(|byte| *byte == b')')?;
        let words = std::str::from_utf8(text.get(name_ends + 1..)?).ok()?;
        let mut words = words.split_ascii_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let threads = words.nth(16)?.parse().ok()?;
        let start = words.nth(1)?.parse().ok()?;
        Some(Status { state, threads, start })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_may_have_anything_in_it() {
        let text = b"7 (a) Z (\xff) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 33 0 4711 9\n";
        let status = Status::read(text).unwrap();
        assert_eq!((status.state, status.threads, status.start), (b'S', 33, 4711));
        assert!(Status::read(b"7 (a) S 1 2").is_none());
    }

    #[test]
    fn a_process_ends_with_its_last_thread() {
        let has_ended = |state, threads| Status { state, threads, start: 1 }.has_ended();
        assert!(has_ended(b'Z', 1) && has_ended(b'X', 0));
        assert!(!has_ended(b'Z', 2) && !has_ended(b'S', 1));
    }

    #[test]
    fn processes_live_until_they_end() {
        let own = Process::own();
        assert!(own.is_alive() && own.start > 0);
        assert!(!Process { start: own.start + 1, ..own }.is_alive());
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let id = child.id();
        let other = Process { id, start: Status::of(id).unwrap().start };
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
