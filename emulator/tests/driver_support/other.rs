//! Another process: a test of the same file again, which is told what to do by lines.
#![allow(unsafe_code, dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)] // Not every file needs all of it.

use cuda_driver_sys::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::ptr::null_mut;

/// The variable that says which part the other process plays.
pub const PART: &str = "DRIVER_IPC_PART";
const MARK: &str = "other process: ";

/// Another process, which is killed when this is dropped.
pub struct Other {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Other {
    pub fn start(part: &str) -> Other {
        Other::start_by(Command::new(std::env::current_exe().unwrap()), part, Stdio::inherit())
    }

    /// With what it writes as errors.
    pub fn start_heard(part: &str) -> Other {
        Other::start_by(Command::new(std::env::current_exe().unwrap()), part, Stdio::piped())
    }

    /// With a limit, as the shell's `ulimit` takes it.
    pub fn start_limited(part: &str, limit: &str) -> Other {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")])
            .arg(std::env::current_exe().unwrap());
        Other::start_by(shell, part, Stdio::inherit())
    }

    fn start_by(mut command: Command, part: &str, errors: Stdio) -> Other {
        let mut child = command
            .args(["--exact", "the_other_process", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Other { child, lines }
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "the other process has ended");
            if let Some((_, told)) = line.split_once(MARK) {
                return told.trim_end().to_owned();
            }
        }
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn told() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

pub fn tell(line: &str) {
    println!("{MARK}{line}");
}

pub type Bytes = [u8; 64];

pub fn to_hex(bytes: Bytes) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex(text: &str) -> Bytes {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

pub fn handle_of(cuda: &Driver, address: CUdeviceptr) -> Result<Bytes, CUresult> {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    match unsafe { cuda.cuIpcGetMemHandle(&mut handle, address) } {
        CUresult::SUCCESS => Ok(handle.reserved.map(|byte| byte as u8)),
        code => Err(code),
    }
}

pub fn open(cuda: &Driver, handle: Bytes, flags: u32) -> Result<CUdeviceptr, CUresult> {
    let (mut address, handle) = (0, CUipcMemHandle { reserved: handle.map(|byte| byte as _) });
    match unsafe { cuda.cuIpcOpenMemHandle(&mut address, handle, flags) } {
        CUresult::SUCCESS => Ok(address),
        code => Err(code),
    }
}

pub fn event_handle(cuda: &Driver, event: CUevent) -> Result<Bytes, CUresult> {
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    match unsafe { cuda.cuIpcGetEventHandle(&mut handle, event) } {
        CUresult::SUCCESS => Ok(handle.reserved.map(|byte| byte as u8)),
        code => Err(code),
    }
}

pub fn open_event(cuda: &Driver, handle: Bytes) -> Result<CUevent, CUresult> {
    let (mut event, handle) = (null_mut(), CUipcEventHandle { reserved: handle.map(|byte| byte as _) });
    match unsafe { cuda.cuIpcOpenEventHandle(&mut event, handle) } {
        CUresult::SUCCESS => Ok(event),
        code => Err(code),
    }
}
