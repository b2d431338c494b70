//! libclang, and the headers of C's library that it is given.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::cargo::write_changed;
use crate::wheels::{Wheels, python, run};

/// The headers of CUDA include these two and need no more of them; with its own copies the result depends on no system.
const STDLIB: &str = "typedef __SIZE_TYPE__ size_t;\n";
const STDINT: &str = "\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
";

/// The folder with these headers.
pub(crate) fn headers(wheels: &Wheels) -> Result<PathBuf> {
    let folder = wheels.work.join("include");
    fs::create_dir_all(&folder)?;
    write_changed(&folder.join("stdlib.h"), STDLIB)?;
    write_changed(&folder.join("stdint.h"), STDINT)?;
    Ok(folder)
}

/// The folder of libclang: the one that `LIBCLANG_PATH` names, else the pinned one, fetched where it is not there yet.
pub(crate) fn library(wheels: &Wheels) -> Result<OsString> {
    if let Some(path) = std::env::var_os("LIBCLANG_PATH") {
        return Ok(path);
    }
    let version = wheels.setting("tools", "libclang")?;
    let folder = wheels.work.join(format!("libclang-{version}"));
    let native = folder.join("clang/native");
    if !native.exists() {
        let mut install = python(&["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]);
        run(install.arg(format!("libclang=={version}")).arg("--target").arg(&folder))?;
    }
    Ok(native.into())
}
