//! What `cuda-launch emulate` puts in front of a program's own run-time compilers, so that they give PTX where the program asks for a
//! cubin.
//!
//! Two shared libraries are made of it, one with the functions of each compiler, as programs look for these in everything that is
//! loaded. They pass every call on to the library that the program found, but for the few that make cubins. One of them is an auditor
//! of the loader (`LD_AUDIT`), too: it sees every library that the program looks for, however it names it, and hands out `libcuda.so.1`,
//! `libnvidia-ml.so.1` and the stand-ins.
//!
//! | file | part |
//! |---|---|
//! | `audit` | which file the loader gets for a name |
//! | `real` | the program's own compilers |
//! | `nvrtc`, `nvjitlink` | the functions in front of them |
//! | `link_map` | what the loader keeps of a library |
//! | `kept` | functions that only PTX calls |
//! | `linked` | several pieces of PTX made one |
//! | `registers` | the limit of registers |
//! | `version` | the `.version` of PTX |
//!
//! `CUDA_LAUNCH_EMULATE_FOLDER` names the folder in which the tool and the copies of the libraries leave each other word.
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "C functions")]

pub mod registers;
pub mod version;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod audit;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod kept;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod link_map;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod linked;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod nvjitlink;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod nvrtc;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod real;

/// The variable that names the folder.
pub const FOLDER: &str = "CUDA_LAUNCH_EMULATE_FOLDER";

/// The variable with the path of a library that programs get for `libcuda.so.1` before the folder's: the recorder, of a command that
/// `emulate` starts.
pub const INTERPOSER: &str = "CUDA_LAUNCH_EMULATE_INTERPOSER";

/// In the folder: the names of the libraries that were loaded, one in a line, if the file is there.
pub const LOADED: &str = "loaded";

/// In the folder: the stand-ins, by the names of [`COMPILERS`].
pub const STAND_INS: &str = "stand-ins";

/// In the folder of the stand-ins, behind a compiler's name: the program looked for it, by the name in the file; it was found, as the path in the
/// file.
pub const ASKED: &str = ".asked";
/// See [`ASKED`].
pub const FOUND: &str = ".found";

/// The beginnings of the names of the libraries that this one stands in for.
pub const COMPILERS: [&str; 2] = ["libnvrtc.so", "libnvJitLink.so"];
