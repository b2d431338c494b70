//! NCCL.
