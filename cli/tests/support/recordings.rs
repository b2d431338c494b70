//! What tests of `record` and `replay` use: a folder for recordings, and programs to record.
#![allow(dead_code)] // each test file uses a part of it

use crate::support::{Run, TOOL, compiled, finished, scratch, tool};
use cuda_harness::record::Recording;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder for recordings, gone at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        Self(scratch(test))
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("launch.record")
    }

    /// Records a launch of a program on the emulator.
    pub(crate) fn record(&self, recorder: &Path, options: &[&str], program: &[&str]) -> (Run, Value) {
        let mut command = tool();
        command
            .args(["record", "--json", "--driver", "emulator"])
            .args(options)
            .arg("--recorder")
            .arg(recorder);
        command.arg("-o").arg(self.file()).arg("--").args(program);
        answered(finished(&command.output().unwrap()))
    }

    /// The same where there are so many devices.
    pub(crate) fn record_on(&self, recorder: &Path, devices: &str, program: &[&str]) -> (Run, Value) {
        let mut command = tool();
        command.env("CUDA_EMULATOR_DEVICES", devices);
        command.args(["record", "--json", "--driver", "emulator", "--recorder"]).arg(recorder);
        command.arg("-o").arg(self.file()).arg("--").args(program);
        answered(finished(&command.output().unwrap()))
    }

    pub(crate) fn replay(&self) -> (Run, Value) {
        answered(finished(&tool().args(["replay", "--json"]).arg(self.file()).output().unwrap()))
    }

    pub(crate) fn recording(&self) -> Recording {
        Recording::read(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    pub(crate) fn write(&self, recording: &Recording) {
        std::fs::write(self.file(), recording.to_bytes()).unwrap();
    }

    /// A C program over the driver API, with a kernel in PTX.
    pub(crate) fn program(&self, name: &str, ptx: &str, main: &str) -> Option<PathBuf> {
        let lines: String = ptx.lines().map(|line| format!("    \"{line}\\n\"\n")).collect();
        let source = format!("{OPENS}static const char *ptx =\n{lines};\nint main(void)\n{{\n{main}\n}}\n");
        compiled(&self.0, name, &source, &[])
    }
}

pub(crate) fn answered(run: Run) -> (Run, Value) {
    let answer = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}{}", run.out, run.err));
    (run, answer)
}

/// saxpy's arguments are count, factor, x, y.
pub(crate) fn saxpy(count: &str) -> Vec<&str> {
    let mut program = vec![TOOL, "run", "examples/kernels/saxpy.ptx", "saxpy", "--print", "0"];
    let arguments = [count, "f32:2", "in:f32:0..100", "inout:f32:100*1"];
    program.extend(arguments.iter().flat_map(|argument| ["--arg", argument]));
    program
}

/// Finds the functions of the driver, and has `OK` for calls that have to succeed.
pub(crate) const OPENS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
typedef unsigned long long ptr;
typedef unsigned int u32;
typedef void *handle;
#define OK(name, ...)                                                                                                              \
    do {                                                                                                                           \
        int code = ((int (*)())dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name))(__VA_ARGS__);                                       \
        if (code) {                                                                                                                \
            fprintf(stderr, "%s: %d\n", #name, code);                                                                              \
            return 9;                                                                                                              \
        }                                                                                                                          \
    } while (0)
#define BEGIN(kernel)                                                                                                              \
    handle context, module, function;                                                                                              \
    OK(cuInit, 0);                                                                                                                 \
    OK(cuDevicePrimaryCtxRetain, &context, 0);                                                                                     \
    OK(cuCtxSetCurrent, context);                                                                                                  \
    OK(cuModuleLoadData, &module, ptx);                                                                                            \
    OK(cuModuleGetFunction, &function, module, kernel);
#define LAUNCH(threads, stream, ...)                                                                                               \
    do {                                                                                                                           \
        void *arguments[] = {__VA_ARGS__};                                                                                         \
        OK(cuLaunchKernel, function, 1, 1, 1, threads, 1, 1, 0, stream, arguments, (void *)0);                                     \
    } while (0)
"#;

/// `add(u32 *number, u32 value)`
pub(crate) const ADD: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 number, .param .u32 value)
{
    .reg .u64 %p;
    .reg .u32 %r<3>;
    ld.param.u64 %p, [number];
    ld.param.u32 %r0, [value];
    ld.global.u32 %r1, [%p];
    add.u32 %r2, %r0, %r1;
    st.global.u32 [%p], %r2;
    ret;
}";
