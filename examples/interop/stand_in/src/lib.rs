//! Stands in for libraries that a machine of CI does not have: each says on standard error how it is called.
//!
//! - [`nvtx`]: a tool for NVTX, as Nsight Systems brings one;
//! - [`nccl`]: NCCL, as far as the examples call it; [`ranks`] is its part for several processes.

pub mod nccl;
pub mod nvtx;
mod ranks;
