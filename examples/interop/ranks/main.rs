//! Training on several GPUs, one process per GPU, on one machine or on several: the ranks meet over TCP, and NCCL sums their gradients.
//!
//! `cargo run -p cuda-launch-interop -- --local 2` starts two ranks here. Otherwise a launcher starts them: torchrun, mpirun or srun
//! (`docs/interop.md` has the commands). A rank that dies ends the others, with an error that names it.

mod error;
mod launcher;
mod nccl;
mod rendezvous;
mod train;
mod watch;

use cuda_launch::{CudaContext, CudaDevice};
use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, ExitCode};
use std::time::Duration;

use error::RankError;
use launcher::{Place, parsed};
use nccl::{Comm, Nccl};
use train::Training;
use watch::Watch;

const USAGE: &str = "one of\n\
ranks [--local N] [--steps N] [--elements N] [--within SECONDS] [--silence SECONDS]
  --local     starts N ranks on this machine, without a launcher
  --steps     of the training (3)
  --elements  weights in each of the four layers (65536)
  --within    how long the ranks may take to meet (60)
  --silence   after which a rank counts as dead (15)";

struct Options {
    local: u32,
    steps: u64,
    elements: u32,
    within: Duration,
    silence: Duration,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, RankError> {
        let mut options = Self {
            local: 0,
            steps: 3,
            elements: 1 << 16,
            within: Duration::from_secs(60),
            silence: Duration::from_secs(15),
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_default();
            match name.as_str() {
                "--local" => options.local = parsed(&name, value)?,
                "--steps" => options.steps = parsed(&name, value)?,
                "--elements" => options.elements = parsed(&name, value)?,
                "--within" => options.within = seconds(&name, value)?,
                "--silence" => options.silence = seconds(&name, value)?,
                _ => return Err(RankError::Value { name: "an argument".into(), value: name, wanted: USAGE }),
            }
        }
        Ok(options)
    }
}

/// At least one: a limit of zero is none.
fn seconds(name: &str, value: String) -> Result<Duration, RankError> {
    Ok(Duration::from_secs(parsed::<u64>(name, value)?.max(1)))
}

fn main() -> ExitCode {
    let ended = Options::read(std::env::args().skip(1)).and_then(|options| match options.local {
        0 => as_launched(&options),
        count => local(count),
    });
    ended.unwrap_or_else(|error| failed(format!("{error}\n")))
}

/// Starts so many ranks of this program, and waits for them.
fn local(count: u32) -> Result<ExitCode, RankError> {
    // Free now, and most likely still when rank 0 listens there.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(RankError::Start)?;
    // The last one counts: no rank starts others.
    let arguments: Vec<_> = std::env::args_os().skip(1).chain(["--local".into(), "0".into()]).collect();
    let (mut ranks, mut code) = (Vec::new(), ExitCode::SUCCESS);
    for rank in 0..count {
        let mut command = Command::new(std::env::current_exe().map_err(RankError::Start)?);
        command
            .args(&arguments)
            .env("MASTER_ADDR", "127.0.0.1")
            .env("CUDA_LAUNCH_RANKS_PORT", port.port().to_string());
        for (name, value) in [("RANK", rank), ("WORLD_SIZE", count), ("LOCAL_RANK", rank)] {
            command.env(name, value.to_string());
        }
        ranks.push(command.spawn().map_err(RankError::Start)?);
    }
    for mut rank in ranks {
        if !rank.wait().map_err(RankError::Start)?.success() {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Runs the rank that the launcher made of this process.
fn as_launched(options: &Options) -> Result<ExitCode, RankError> {
    let place = Place::find(|name| std::env::var(name).ok())?;
    match rank(&place, options) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Ok(failed(format!("rank {}: {error}\n", place.rank))),
    }
}

/// Says so in one piece: other ranks write there, too.
fn failed(line: String) -> ExitCode {
    let _ = std::io::stderr().write_all(line.as_bytes());
    ExitCode::FAILURE
}

fn rank(place: &Place, options: &Options) -> Result<(), RankError> {
    let nccl = Nccl::load()?;
    let (id, peers) = match place.rank {
        0 => {
            let id = nccl.unique_id()?;
            (id, rendezvous::lead(place, &id, options.within)?)
        }
        _ => rendezvous::join(place, options.within).map(|(id, zero)| (id, vec![zero]))?,
    };
    let watch = Watch::start(place.rank, peers, options.silence).map_err(RankError::Start)?;
    let context = CudaContext::new(device(place)?)?;
    context.bind()?;
    let Place { launcher, rank, world, .. } = place;
    println!("rank {rank} of {world} ({launcher}): {}, NCCL {}", context.device_name()?, nccl.version()?);
    // Made first, dropped last: memory and modules are given back once NCCL has nothing on the device any more.
    let mut training = Training::new(&context, place, options.elements)?;
    let comm = Comm::join(&nccl, place, id, &watch)?;
    for step in 0..options.steps {
        training.step(&comm)?;
        println!("rank {rank}: step {step}");
    }
    training.check(options.steps)?;
    println!("rank {rank}: the sums over {world} ranks are right");
    comm.finish()?;
    watch.leave()
}

/// The device of this rank. A launcher may show each process one device alone, which is the first then.
fn device(place: &Place) -> Result<u32, RankError> {
    let (local_rank, devices) = (place.local_rank, CudaDevice::count()?);
    match devices {
        1 => Ok(0),
        _ if local_rank < devices => Ok(local_rank),
        _ => Err(RankError::Device { local_rank, devices }),
    }
}
