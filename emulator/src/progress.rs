//! The progress of a kernel that runs for long: one line on the terminal, on request.
//!
//! A launch costs nothing if it was not requested, and nothing is written if standard error is not a terminal. A separate thread looks
//! at the launches, so that a block that never ends has its line too. The line is gone before anything else of the emulator's is written.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// When a launch gets its line, and how often that changes.
const LONG: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(250);
/// Characters of a kernel's name.
const NAME: usize = 32;
/// To the start of the line, and clears it.
const ERASE: &str = "\r\x1b[K";

static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether there is a line on the terminal now. It changes with `BOARD` locked.
static SHOWN: AtomicBool = AtomicBool::new(false);
static BOARD: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// The progress of a launch.
#[derive(Debug, Default)]
pub struct Progress {
    /// Blocks that have begun, and that have ended: those between are under way in turn.
    pub begun: AtomicU64,
    /// See `begun`.
    pub done: AtomicU64,
    /// Other orders of warps and blocks that were begun.
    pub orders: AtomicU64,
}

/// A kernel that runs.
struct Running {
    id: u64,
    kernel: String,
    blocks: u64,
    started: Instant,
    progress: Arc<Progress>,
}

/// Its place on the board, until this is dropped.
pub(crate) struct Entry {
    id: u64,
    pub(crate) progress: Arc<Progress>,
}

/// From now on, a kernel that runs for more than a second on the emulator shows its progress on one line of the terminal, which is
/// erased when the kernel ends. A library should not call this: the terminal belongs to the program.
///
/// Nothing is written if standard error is not a terminal, or the variable `CUDA_LAUNCH_QUIET` is set.
/// `CUDA_LAUNCH_EMULATOR_PROGRESS` does the same from outside.
///
/// ```
/// cuda_emulator::show_progress();
/// ```
pub fn show_progress() {
    ASKED.store(true, Relaxed);
}

/// Puts a launch on the board, if someone asked for it: `wanted`, or by the function above.
pub(crate) fn begin(wanted: bool, kernel: &str, blocks: u64) -> Option<Entry> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if !(wanted || ASKED.load(Relaxed)) || !is_watched() {
        return None;
    }
    let (id, progress) = (NEXT.fetch_add(1, Relaxed), Arc::new(Progress::default()));
    let entry = Entry { id, progress: Arc::clone(&progress) };
    let kernel = if kernel.chars().count() > NAME {
        kernel.chars().take(NAME - 1).chain(['…']).collect()
    } else {
        kernel.to_owned()
    };
    board().push(Running { id, kernel, blocks, started: Instant::now(), progress });
    Some(entry)
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut board = board();
        board.retain(|running| running.id != self.id);
        erase(&board);
    }
}

/// Takes the line off the terminal, before something else is written there; it comes back.
pub(crate) fn hide() {
    if SHOWN.load(Relaxed) {
        erase(&board());
    }
}

fn board() -> MutexGuard<'static, Vec<Running>> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn erase(_locked: &MutexGuard<'_, Vec<Running>>) {
    if SHOWN.swap(false, Relaxed) {
        write(ERASE);
    }
}

/// Past the lock of the standard library's handle, which the program may hold while it waits for the kernel.
fn write(text: &str) {
    static TERMINAL: OnceLock<Option<File>> = OnceLock::new();
    #[cfg(unix)]
    let open = || {
        use std::os::fd::AsFd;
        std::io::stderr().as_fd().try_clone_to_owned().ok().map(File::from)
    };
    #[cfg(not(unix))]
    let open = || None;
    let _ = match TERMINAL.get_or_init(open) {
        Some(terminal) => {
            let mut terminal: &File = terminal;
            terminal.write_all(text.as_bytes())
        }
        None => std::io::stderr().write_all(text.as_bytes()),
    };
}

/// Whether there is a terminal, and a thread that looks at the board.
fn is_watched() -> bool {
    static WATCHED: OnceLock<bool> = OnceLock::new();
    *WATCHED.get_or_init(|| {
        let quiet = std::env::var_os("CUDA_LAUNCH_QUIET").is_some();
        let thread = std::thread::Builder::new().name("cuda-emulator-progress".into());
        !quiet && std::io::stderr().is_terminal() && thread.spawn(watch).is_ok()
    })
}

fn watch() {
    loop {
        std::thread::sleep(PAUSE);
        let board = board();
        // The oldest, where several run.
        let Some(running) = board.first().filter(|running| running.started.elapsed() >= LONG) else {
            continue;
        };
        let line = running.line(running.started.elapsed());
        SHOWN.store(true, Relaxed);
        // A line that is longer than the terminal is wide must not begin another: that would not be erased.
        write(&format!("{ERASE}\x1b[?7l{line}\x1b[?7h"));
    }
}

impl Running {
    fn line(&self, elapsed: Duration) -> String {
        let (kernel, blocks) = (&self.kernel, self.blocks);
        let done = self.progress.done.load(Relaxed).min(blocks);
        let took = time(elapsed);
        let orders = self.progress.orders.load(Relaxed);
        if orders > 0 {
            return format!("{kernel}: order {orders} of its warps and blocks, {took}");
        }
        let mut line = format!("{kernel}: {done} of {blocks} blocks, {took}");
        // Those under way are half done on average, but the first of them all begin together.
        let under_way = self.progress.begun.load(Relaxed).saturating_sub(done).min(blocks - done);
        if done > 2 * under_way {
            let all = done as f64 + under_way as f64 / 2.0;
            let left = elapsed.as_secs_f64() * (blocks as f64 - all) / all;
            line +=
                &format!(", about {} left", time(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)));
        }
        line
    }
}

/// `7 s`, `3 min 20 s`, `2 h 5 min`.
fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_a_kernel_is() {
        let running = Running {
            id: 0,
            kernel: "k".into(),
            blocks: 400,
            started: Instant::now(),
            progress: Arc::default(),
        };
        let after = |seconds| running.line(Duration::from_secs(seconds));
        assert_eq!(after(7), "k: 0 of 400 blocks, 7 s");
        running.progress.done.store(100, Relaxed);
        running.progress.begun.store(200, Relaxed);
        assert_eq!(after(7), "k: 100 of 400 blocks, 7 s", "too early to tell");
        running.progress.begun.store(100, Relaxed);
        assert_eq!(after(70), "k: 100 of 400 blocks, 1 min 10 s, about 3 min 30 s left");
        assert_eq!(after(7200), "k: 100 of 400 blocks, 2 h 0 min, about 6 h 0 min left");
        running.progress.begun.store(140, Relaxed);
        assert_eq!(after(12), "k: 100 of 400 blocks, 12 s, about 28 s left");
        running.progress.orders.store(3, Relaxed);
        assert_eq!(after(7), "k: order 3 of its warps and blocks, 7 s");
    }
}
