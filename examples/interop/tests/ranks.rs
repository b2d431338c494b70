//! The program `ranks`: several processes over the emulator, with a library that stands in for NCCL. On machines with GPUs and NCCL
//! run the program itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use support::{built, stand_in};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ranks");
const PAUSE: Duration = Duration::from_millis(5);
/// Something must happen, and this is when a test gives up waiting for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a launcher of the machine that runs the tests may have set.
const OF_LAUNCHERS: &[&str] = &[
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "MASTER_ADDR",
    "MASTER_PORT",
    "CUDA_LAUNCH_RANKS_PORT",
    "TORCHELASTIC_USE_AGENT_STORE",
];

/// A port that nothing listens at, of those that connections are not given by themselves.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (std::process::id() as u16).wrapping_mul(37).wrapping_add(number) % 10_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The libraries of one run.
struct Libraries {
    nccl: OsString,
    driver: OsString,
}

impl Libraries {
    fn new() -> Option<Self> {
        let nccl = stand_in()?.into();
        Some(Self { nccl, driver: built("emulated_cuda")?.into() })
    }

    fn program(&self, options: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        OF_LAUNCHERS.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.args(options).env("CUDA_LAUNCH_NCCL", &self.nccl).env("CUDA_LAUNCH_DRIVER", &self.driver);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// One of `world` ranks.
    fn rank(&self, rank: u32, world: u32, port: u16, options: &[&str]) -> Rank {
        let mut command = self.program(options);
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        for (name, value) in [("RANK", rank), ("WORLD_SIZE", world), ("LOCAL_RANK", rank)] {
            command.env(name, value.to_string());
        }
        Rank::start(command)
    }

    /// All of them.
    fn ranks(&self, world: u32, port: u16, options: &[&str]) -> Vec<Rank> {
        (0..world).map(|rank| self.rank(rank, world, port, options)).collect()
    }
}

/// A process; killed if a test ends before it.
struct Rank {
    child: Child,
    /// Its standard output, which another thread reads: a rank may hang.
    lines: Receiver<String>,
    output: String,
}

/// How a process ended, and what it said.
struct Ended {
    status: ExitStatus,
    output: String,
    errors: String,
}

impl Rank {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { child, lines, output: String::new() }
    }

    /// Waits for this line of its output.
    fn reaches(&mut self, wanted: &str) {
        while self.lines.recv_timeout(PATIENCE).expect(wanted) != wanted {}
    }

    fn end(mut self) -> Ended {
        // Until the end of its output, which is that of the process.
        let end = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.output += &(line + "\n");
        }
        assert!(Instant::now() < end, "still running: {}", self.output);
        let status = self.child.wait().unwrap();
        // Standard error is short: it fits the pipe.
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        Ended { status, output: std::mem::take(&mut self.output), errors }
    }

    /// It failed by itself, for this reason.
    fn fails(self, why: &str) -> Ended {
        let ended = self.end();
        assert_eq!(ended.status.code(), Some(1), "{}{}", ended.output, ended.errors);
        assert!(ended.errors.contains(why), "{why:?} is not in {:?}", ended.errors);
        ended
    }

    fn succeeds(self) -> Ended {
        let ended = self.end();
        assert!(ended.status.success(), "{}{}", ended.output, ended.errors);
        ended
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        // Most have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects as soon as somebody listens.
fn connected(port: u16) -> TcpStream {
    let end = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(reason) => assert!(Instant::now() < end, "{reason}"),
        }
        sleep(PAUSE);
    }
}

#[test]
fn two_ranks_sum_their_gradients() {
    let Some(libraries) = Libraries::new() else { return };
    for (rank, process) in libraries.ranks(2, port(), &[]).into_iter().enumerate() {
        let ended = process.succeeds();
        assert!(
            ended.output.contains(&format!("rank {rank}: the sums over 2 ranks are right")),
            "{}",
            ended.output
        );
        let calls: Vec<_> = ended.errors.lines().filter_map(|line| line.strip_prefix("nccl ")).collect();
        assert_eq!(calls, [&*format!("CommInitRankConfig {rank} of 2"), "CommFinalize", "CommDestroy"]);
    }
}

#[test]
fn ranks_start_without_a_launcher() {
    let Some(libraries) = Libraries::new() else { return };
    let ended = Rank::start(libraries.program(&["--local", "3", "--elements", "1000"])).succeeds();
    assert_eq!(ended.output.matches("the sums over 3 ranks are right").count(), 3, "{}", ended.output);
}

#[test]
fn a_killed_rank_is_named_by_the_others() {
    let Some(libraries) = Libraries::new() else { return };
    for (world, victim) in [(2, 0), (2, 1), (3, 2)] {
        let mut ranks = libraries.ranks(
            world,
            port(),
            &["--steps", "100000000", "--elements", "1000", "--silence", "60"],
        );
        for (rank, process) in ranks.iter_mut().enumerate() {
            process.reaches(&format!("rank {rank}: step 2"));
        }
        ranks.remove(victim).child.kill().unwrap();
        for rank in ranks {
            let ended = rank.fails(&format!("rank {victim} is gone"));
            assert!(ended.errors.contains("nccl CommAbort"), "{}", ended.errors);
        }
    }
}

#[test]
fn a_rank_that_fails_tells_the_others() {
    let Some(libraries) = Libraries::new() else { return };
    let port = port();
    let zero = libraries.rank(0, 2, port, &["--steps", "100000000", "--elements", "1000"]);
    // It takes the sums of two layers for those of one, and finds them wrong.
    libraries.rank(1, 2, port, &["--steps", "1", "--elements", "2000"]).fails("of layer 0 is ");
    zero.fails("rank 1 is gone: it has failed");
}

#[test]
fn a_rank_that_falls_silent_is_named() {
    let Some(libraries) = Libraries::new() else { return };
    let port = port();
    let zero = libraries.rank(0, 2, port, &["--silence", "2"]);
    let mut silent = connected(port);
    silent.write_all(&[&b"CLRANKS1"[..], &[1, 0, 0, 0, 2, 0, 0, 0]].concat()).unwrap();
    zero.fails("rank 1 is gone: no sign of life for 2s");
}

#[test]
fn ranks_that_do_not_agree_end_with_the_same_words() {
    let Some(libraries) = Libraries::new() else { return };
    let port = port();
    let (zero, one) = (libraries.rank(0, 2, port, &[]), libraries.rank(1, 3, port, &[]));
    let why = "rank 1 of 3 cannot take part: rank 0 was started as one of 2";
    zero.fails(why);
    one.fails(&format!("rank 0 says: {why}"));
    let [zero, one, again] = [0, 1, 1].map(|rank| libraries.rank(rank, 3, port, &[]));
    for rank in [zero, one, again] {
        rank.fails("rank 1 of 3 cannot take part: there is another rank 1");
    }
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let Some(libraries) = Libraries::new() else { return };
    let port = port();
    libraries.rank(0, 3, port, &["--within", "1"]).fails("no ranks [1, 2] within 1s");
    libraries.rank(1, 3, port, &["--within", "1"]).fails(&format!("no rank 0 at 127.0.0.1:{port} within 1s"));
}

#[test]
fn whoever_else_connects_is_passed_over() {
    let Some(libraries) = Libraries::new() else { return };
    let port = port();
    let zero = libraries.rank(0, 2, port, &[]);
    connected(port).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let one = libraries.rank(1, 2, port, &[]);
    zero.succeeds();
    one.succeeds();
}

#[test]
fn what_is_not_rank_zero_is_told_apart() {
    let Some(libraries) = Libraries::new() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It listens, and no more.
    libraries.rank(1, 2, port, &["--within", "1"]).fails("accepts and does not answer");
    drop(listener.accept().unwrap());
    let one = libraries.rank(1, 2, port, &[]);
    let mut stream = listener.accept().unwrap().0;
    stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    one.fails("is not rank 0 of this program: its answer has another form");
    let two = libraries.rank(1, 2, port, &[]);
    // The whole hello is read: else the connection would be reset instead of closed.
    let mut stream = listener.accept().unwrap().0;
    stream.read_exact(&mut [0; 16]).unwrap();
    drop(stream);
    two.fails("is not rank 0 of this program");
}

#[test]
fn what_is_missing_is_said() {
    let Some(libraries) = Libraries::new() else { return };
    let ended = Rank::start(libraries.program(&[]))
        .fails("which rank this is, and where rank 0 listens, is not said");
    for variable in ["LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "SLURM_PROCID", "MASTER_ADDR"] {
        assert!(ended.errors.contains(variable), "{}", ended.errors);
    }
    Rank::start(libraries.program(&["--step", "1"])).fails("an argument is \"--step\", not one of");
    Rank::start(libraries.program(&["--steps", "few"])).fails("--steps is \"few\", not a number");
    let without = Libraries { nccl: "/nowhere/libnccl.so.2".into(), ..libraries };
    without.rank(0, 2, port(), &[]).fails("pip install nvidia-nccl-cu13");
}
