//! The errors that can end a rank, each with what to do about it.

use std::fmt::{Display, Formatter};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a rank ends before its work is done.
#[derive(Debug)]
pub(crate) enum RankError {
    /// No launcher's variables are all there, or not those of the meeting.
    Variables { looked_for: String, found: Vec<&'static str> },
    /// A variable or an option has a value that is no such number.
    Value { name: String, value: String, wanted: &'static str },
    /// This process sees fewer devices than its node has ranks.
    Device { local_rank: u32, devices: u32 },
    /// The library is not there, or is not what it should be.
    Library(String),
    /// A call of NCCL failed.
    Nccl { call: &'static str, text: String, code: i32 },
    /// Rank 0 cannot listen.
    Listen { address: String, reason: io::Error },
    /// Not all ranks came.
    Missing { ranks: Vec<u32>, within: Duration, strangers: Vec<SocketAddr> },
    /// Two processes do not agree on who takes part.
    Disagree { rank: u32, world: u32, why: String },
    /// Rank 0 cannot be reached.
    Unreachable { address: String, within: Duration, reason: String },
    /// What listens there is not rank 0 of this program.
    NotRankZero { address: SocketAddr, reason: String },
    /// Rank 0 does not take this rank.
    Refused(String),
    /// Another rank is gone.
    Dead { rank: u32, how: String },
    /// A number on the device is not what the host computed.
    Wrong { what: &'static str, layer: usize, index: usize, found: f32, wanted: f32 },
    /// A call of CUDA failed.
    Cuda(cuda_launch::Error),
    /// A process could not be started.
    Start(io::Error),
}

impl Display for RankError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variables { looked_for, found } => write!(
                f,
                "which rank this is, and where rank 0 listens, is not said: looked for {looked_for}; of these, set: {found:?}. Start \
                 it by torchrun, mpirun or srun, or try it with --local 2"
            ),
            Self::Value { name, value, wanted } => write!(f, "{name} is {value:?}, not {wanted}"),
            Self::Device { local_rank, devices } => write!(
                f,
                "local rank {local_rank} has no device: this process sees {devices}. Start one process for each GPU of a node, and see \
                 CUDA_VISIBLE_DEVICES"
            ),
            Self::Library(reason) => write!(
                f,
                "NCCL: {reason}. `pip install nvidia-nccl-cu13`, then set CUDA_LAUNCH_NCCL to its libnccl.so.2"
            ),
            Self::Nccl { call, text, code } => {
                write!(f, "{call}: {text} ({code}); NCCL_DEBUG=WARN has it say more")
            }
            Self::Listen { address, reason } => write!(
                f,
                "rank 0 cannot listen at {address}: {reason}. Another port: CUDA_LAUNCH_RANKS_PORT, the same for all ranks"
            ),
            Self::Missing { ranks, within, strangers } => {
                write!(
                    f,
                    "no ranks {ranks:?} within {within:?}: they did not start, or do not reach MASTER_ADDR:MASTER_PORT"
                )?;
                if !strangers.is_empty() {
                    write!(f, "; others that connected are no ranks: {strangers:?}")?;
                }
                Ok(())
            }
            Self::Disagree { rank, world, why } => {
                write!(f, "rank {rank} of {world} cannot take part: {why}")
            }
            Self::Unreachable { address, within, reason } => {
                write!(
                    f,
                    "no rank 0 at {address} within {within:?}: {reason}; see MASTER_ADDR and MASTER_PORT"
                )
            }
            Self::NotRankZero { address, reason } => write!(
                f,
                "what listens at {address} is not rank 0 of this program: {reason}. Another port: CUDA_LAUNCH_RANKS_PORT, the same for all ranks"
            ),
            Self::Refused(why) => write!(f, "rank 0 says: {why}"),
            Self::Dead { rank, how } => write!(f, "rank {rank} is gone: {how}"),
            Self::Wrong { what, layer, index, found, wanted } => {
                write!(f, "{what} {index} of layer {layer} is {found}, not {wanted}")
            }
            Self::Cuda(error) => error.fmt(f),
            Self::Start(reason) => write!(f, "a rank cannot be started: {reason}"),
        }
    }
}

impl std::error::Error for RankError {}

impl From<cuda_launch::Error> for RankError {
    fn from(error: cuda_launch::Error) -> Self {
        Self::Cuda(error)
    }
}
