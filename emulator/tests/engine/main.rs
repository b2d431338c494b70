//! The engine through its own interface: PTX in, results and faults out. No driver is involved.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod again;
mod atomics;
mod barriers;
mod bulk;
mod by_hand;
mod by_hand_accesses;
mod checks;
mod checks_asynchronous;
mod checks_order;
mod control;
mod faults;
mod heap;
mod indexed;
mod invalid;
mod kernels;
mod load;
mod matrix;
mod memory;
mod partial;
mod payloads;
mod print;
mod profile;
mod schedules;
mod schedules_planted;
mod stack;
mod support;
mod sync;
mod tensor;
mod tensor_faults;
mod tensor_maps;
mod tensor_watched;
mod textures;
mod textures_all;
mod wgmma;
