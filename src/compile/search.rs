//! Where the compilers' libraries are searched for.

#![allow(unsafe_code)] // Loads libraries from where the user, the environment or the system's administrator put them.

use cuda_driver_sys::{Compiler, Table};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{CompileError, Error, ErrorKind, SearchAttempt};

/// One of the libraries.
#[derive(Debug)]
pub(super) struct Library {
    /// As people call it.
    pub(super) name: &'static str,
    /// The variable that names its file, or the folder that it is in.
    pub(super) variable: &'static str,
    /// The file's name without version and ending: `libnvrtc`, and `nvrtc64_` on Windows.
    pub(super) stem: &'static str,
    /// What the system's loader is asked for, newest first.
    pub(super) names: &'static [&'static str],
    /// The package on PyPI.
    pub(super) wheel: &'static str,
}

/// What is in `place`, put there by the first call that finds it; after a failure it is looked for again.
pub(super) fn once<T: Clone>(
    place: &Mutex<Option<T>>,
    find: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    // A panic leaves the place empty.
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = &*place {
        return Ok(found.clone());
    }
    let found = find()?;
    *place = Some(found.clone());
    Ok(found)
}

impl Library {
    /// Finds and loads it.
    pub(super) fn load<T: Table>(&self) -> Result<Compiler<T>, Error> {
        let mut tried = Vec::new();
        let set = std::env::var_os(self.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let asked = set.is_some();
        let files = match set {
            // A caller that names a library wants that library or an error.
            Some(path) if path.is_dir() => self.in_folder(&path, &mut tried),
            Some(path) => vec![path],
            None => self.candidates(&mut tried),
        };
        for path in files {
            // SAFETY: 1, 2: the file has the name of NVIDIA's library and was found by the system's loader or in a
            // toolkit that the administrator installed; or an environment variable names it or its folder, and whoever
            // sets those can run any code in the process.
            match unsafe { Compiler::open(&path) } {
                Ok(library) => return Ok(library),
                Err(reason) => {
                    let reason = reason.to_string();
                    // The message of the system's loader begins with the name, which the attempt has already.
                    let alone = reason.strip_prefix(&format!("{}: ", path.display()));
                    let reason = alone.unwrap_or(&reason).to_string();
                    tried.push(SearchAttempt { path, reason });
                }
            }
        }
        let help = match asked {
            true => format!(
                "{} names it: correct the variable, or unset it to have the usual places searched",
                self.variable
            ),
            false => format!(
                "install the CUDA toolkit, or `pip install {}` in a virtual environment and activate it; {} names the \
                 library's file or folder otherwise",
                self.wheel, self.variable
            ),
        };
        Err(ErrorKind::Compile(CompileError::NotFound { library: self.name, tried, help }).into())
    }

    fn candidates(&self, tried: &mut Vec<SearchAttempt>) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            folders().iter().flat_map(|folder| self.in_folder(folder, tried)).collect();
        files.extend(self.names.iter().map(PathBuf::from));
        files
    }

    /// The files of a folder that may be it, newest version first. A folder without one was tried too.
    fn in_folder(&self, folder: &Path, tried: &mut Vec<SearchAttempt>) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut found: Vec<(Vec<u32>, PathBuf)> =
            paths.filter_map(|path| Some((self.version(path.file_name()?.to_str()?)?, path))).collect();
        found.sort_by(|a, b| b.cmp(a));
        if found.is_empty() {
            let what =
                if folder.is_dir() { format!("no {}*", self.stem) } else { "no such folder".to_string() };
            tried.push(SearchAttempt { path: folder.to_path_buf(), reason: what });
        }
        found.into_iter().map(|(_, path)| path).collect()
    }

    /// The numbers in a file's name, if it is a name of this library.
    fn version(&self, file: &str) -> Option<Vec<u32>> {
        let rest = file.strip_prefix(self.stem)?;
        let version = if cfg!(windows) { rest.strip_suffix(".dll")? } else { rest.strip_prefix(".so")? };
        let numbers = version.split(['.', '_']).filter(|part| !part.is_empty()).map(|part| part.parse().ok());
        numbers.collect()
    }
}

/// Folders with CUDA's libraries: of the toolkit that variables name, of the active virtual environment, of the usual toolkit.
fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(variable)
        .flat_map(|home| of_toolkit(&home))
        .collect();
    for environment in ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable) {
        folders.extend(of_environment(&environment));
    }
    for home in ["/usr/local/cuda", "/opt/cuda"].map(Path::new) {
        folders.extend(of_toolkit(home).into_iter().filter(|folder| folder.is_dir()));
    }
    folders.dedup();
    folders
}

/// The folders of a toolkit or of a wheel that have libraries.
fn of_toolkit(home: &Path) -> Vec<PathBuf> {
    let parts: &[&str] = match cfg!(windows) {
        true => &["bin/x64", "bin", "nvvm/bin/x64", "nvvm/bin"],
        false => &["lib64", "lib", "nvvm/lib64"],
    };
    parts.iter().map(|part| home.join(part)).collect()
}

/// The folders of a Python environment in which NVIDIA's wheels have libraries: `nvidia/cu13/lib`, `nvidia/cuda_nvrtc/lib`.
fn of_environment(environment: &Path) -> Vec<PathBuf> {
    let children = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort_by(|a, b| b.cmp(a));
        paths
    };
    let mut folders = vec![];
    let pythons = children(&environment.join("lib")).into_iter().filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"))
    });
    for packages in pythons.chain([environment.join("Lib")]) {
        let mut parts = children(&packages.join("site-packages").join("nvidia"));
        // `cu13` has all libraries of CUDA 13, and comes before the folders of single ones from CUDA 12.
        parts.sort_by_key(|part| std::cmp::Reverse(generation(part)));
        folders.extend(parts.iter().flat_map(|part| of_toolkit(part)).filter(|folder| folder.is_dir()));
    }
    // Where conda puts them.
    folders.push(environment.join(if cfg!(windows) { "Library/bin" } else { "lib" }));
    folders
}

/// 13 of `nvidia/cu13`; 0 of other folders.
fn generation(folder: &Path) -> u32 {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("cu")?.parse().ok()).unwrap_or(0)
}

#[cfg(all(test, not(windows)))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The wheels of CUDA 13 share a folder, those of CUDA 12 have one each.
    #[test]
    fn an_environment_has_the_folders_of_its_wheels_and_the_newest_library_comes_first() {
        let environment = std::env::temp_dir().join(format!("cuda-launch-search-{}", std::process::id()));
        let packages = environment.join("lib/python3.12/site-packages/nvidia");
        for (part, file) in
            [("cu13", "libnvrtc.so.13"), ("cuda_nvrtc", "libnvrtc.so.12"), ("cublas", "libcublas.so.12")]
        {
            std::fs::create_dir_all(packages.join(part).join("lib")).unwrap();
            std::fs::write(packages.join(part).join("lib").join(file), "").unwrap();
        }
        let folders = of_environment(&environment);
        let library = Library { name: "X", variable: "X", stem: "libnvrtc", names: &[], wheel: "x" };
        let mut tried = Vec::new();
        let found: Vec<PathBuf> =
            folders.iter().flat_map(|folder| library.in_folder(folder, &mut tried)).collect();
        std::fs::remove_dir_all(&environment).unwrap();
        let expected =
            ["cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"].map(|file| packages.join(file));
        assert_eq!(found, expected);
        assert_eq!(tried.len(), 2, "cublas has none, and the environment's own: {tried:?}");
    }

    #[test]
    fn names_tell_versions() {
        let library = Library { name: "X", variable: "X", stem: "libnvrtc", names: &[], wheel: "x" };
        assert_eq!(library.version("libnvrtc.so.13"), Some(vec![13]));
        assert_eq!(library.version("libnvrtc.so.12.9.86"), Some(vec![12, 9, 86]));
        assert_eq!(library.version("libnvrtc.so"), Some(vec![]));
        for other in
            ["libnvrtc.alt.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc_static.a", "libnvrtc.so.13.bak"]
        {
            assert_eq!(library.version(other), None, "{other}");
        }
    }
}
