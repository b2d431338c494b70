//! Compiled code, cached on disk.
//!
//! An entry is one file, named by the hash of everything that its code depends on. It is written next to its final
//! place and moved there in one step, so that a reader sees a whole entry or none, and processes need no lock. Nothing
//! in it is believed before its checksum is right.

mod entry;
mod sha256;
mod trust;

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use self::sha256::Sha256;
use self::trust::may_trust;
use super::code::{CacheUse, CompiledCode};
use crate::error::Error;

/// The folder of the user's cache; set and empty: no cache.
pub(super) const FOLDER_VARIABLE: &str = "CUDA_LAUNCH_CACHE_DIR";
/// Bytes that it may have.
const LIMIT_VARIABLE: &str = "CUDA_LAUNCH_CACHE_BYTES";
const DEFAULT_LIMIT: u64 = 256 << 20;
const ENDING: &str = "code";
const TEMPORARY: &str = "tmp";
/// Digits of the names: what is called otherwise is not the cache's.
const KEY_DIGITS: usize = 64;
const TEMPORARY_DIGITS: usize = 32;
/// What a process that ended in the middle left behind is swept away after this time.
const STALE: Duration = Duration::from_secs(3600);

/// A folder of compiled code, so that the same code is compiled only once.
///
/// The key of an entry is made of the source, every header that it may include, the options, the compiler (its version,
/// and the size and time of its library) and the driver's version. Code that may depend on more than that is compiled
/// each time, and not cached: with raw options, `__DATE__` or `__TIME__`, `#embed`, or an `#include` whose name is a
/// macro. Processes of one user may share a folder. A folder that a user other than this one or root owns or may write
/// is not used: its contents would run in this user's name. When it exceeds its limit, the least recently used entries
/// are removed first.
///
/// A compiler has no cache unless it is given one ([`Nvrtc::with_cache`](super::Nvrtc::with_cache)): a library that is
/// asked to compile should not write to the user's disk on its own. [`load_kernel_module`](crate::load_kernel_module),
/// which is a convenience, uses [`CompileCache::user`].
///
/// ```
/// use cuda_launch::compile::CompileCache;
/// let folder = std::env::temp_dir().join("cuda-launch-doc");
/// let cache = CompileCache::at(&folder).limit(64 << 20);
/// assert_eq!(cache.size()?, 0);
/// cache.clear()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// [`CompiledCode::cache`] reports what happened:
///
/// ```no_run
/// # #[cfg(feature = "nvrtc")] {
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::compile::{CacheUse, CompileCache, CudaSource, Nvrtc, NvrtcOptions};
/// let nvrtc = Nvrtc::load()?.with_cache(CompileCache::at("kernels-cache"));
/// let code = nvrtc.compile(&CudaSource::from_file("k.cu")?, &NvrtcOptions::new(JitTarget::sm(80)))?;
/// if let CacheUse::NotStored(reason) = code.cache() {
///     println!("the next run compiles again: {reason}");
/// }
/// # }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompileCache {
    folder: PathBuf,
    limit: u64,
}

impl CompileCache {
    /// The user's cache; `None` if it is disabled or there is no place for it.
    ///
    /// The variable `CUDA_LAUNCH_CACHE_DIR` names its folder, and disables the cache if it is empty; otherwise it is
    /// `cuda-launch` in the user's folder for caches (`XDG_CACHE_HOME`, `~/.cache`, `~/Library/Caches`,
    /// `LOCALAPPDATA`). The variable `CUDA_LAUNCH_CACHE_BYTES` sets its limit; 256 MiB by default.
    pub fn user() -> Option<Self> {
        let folder = match std::env::var_os(FOLDER_VARIABLE) {
            Some(folder) if folder.is_empty() => return None,
            Some(folder) => PathBuf::from(folder),
            None => caches()?.join("cuda-launch"),
        };
        let limit = std::env::var(LIMIT_VARIABLE).ok().and_then(|bytes| bytes.trim().parse().ok());
        Some(Self::at(folder).limit(limit.unwrap_or(DEFAULT_LIMIT)))
    }

    /// A cache in this folder, which is created when it is needed. The limit is 256 MiB.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), limit: DEFAULT_LIMIT }
    }

    /// Sets the limit for the total size of the entries, in bytes; a larger entry is not cached.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The current total size of the entries, in bytes; 0 if the folder does not exist yet.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn size(&self) -> io::Result<u64> {
        Ok(u64::try_from(total(&self.entries()?)).unwrap_or(u64::MAX))
    }

    /// Removes all entries, and nothing else.
    ///
    /// # Errors
    /// The folder cannot be read, or an entry cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        self.entries()?.iter().try_for_each(|entry| gone(fs::remove_file(&entry.path)))
    }

    /// The code of this key from the cache, else from `compile`, which is kept then.
    pub(super) fn through(
        cache: Option<&Self>,
        key: impl Fn() -> Result<Key, String>,
        compile: impl FnOnce() -> Result<CompiledCode, Error>,
    ) -> Result<CompiledCode, Error> {
        let Some(cache) = cache else { return compile() };
        let found = match key() {
            Ok(found) => found,
            Err(reason) => return Ok(CompiledCode { cache: CacheUse::NotStored(reason), ..compile()? }),
        };
        if let Some(code) = cache.get(&found) {
            return Ok(code);
        }
        let mut code = compile()?;
        // A header that changed between the key and the compilation would leave the code under the wrong key.
        code.cache = match key() {
            Ok(now) if now == found => match cache.put(&found, &code) {
                Ok(()) => CacheUse::Stored,
                Err(error) => CacheUse::NotStored(format!("{}: {error}", cache.folder.display())),
            },
            _ => CacheUse::NotStored("a file that it includes changed meanwhile".into()),
        };
        Ok(code)
    }

    fn get(&self, key: &Key) -> Option<CompiledCode> {
        may_trust(&self.folder, &fs::metadata(&self.folder).ok()?).ok()?;
        let path = self.path(key);
        // A pipe would be waited for.
        fs::metadata(&path).ok().filter(|data| data.is_file())?;
        let mut file = File::open(&path).ok()?;
        // Of the file that is read: what has its name may be another one meanwhile.
        may_trust(&path, &file.metadata().ok()?).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        // One that is damaged is compiled again, and written over.
        let code = entry::read(&bytes, &key.0)?;
        // Used now; where that cannot be noted, it only goes earlier.
        let _ =
            File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(code)
    }

    fn put(&self, key: &Key, code: &CompiledCode) -> io::Result<()> {
        let bytes = entry::write(code, &key.0);
        if bytes.len() as u64 > self.limit {
            let text =
                format!("the code has {} bytes, more than the limit of {} bytes", bytes.len(), self.limit);
            return Err(io::Error::other(text));
        }
        make_folder(&self.folder)?;
        may_trust(&self.folder, &fs::metadata(&self.folder)?)?;
        let (mut file, temporary) = self.temporary(temporary_name)?;
        // No `sync`: what a crash of the machine damages, the checksum finds.
        let written = file.write_all(&bytes);
        drop(file);
        if let Err(error) = written.and_then(|()| fs::rename(&temporary, self.path(key))) {
            // This process made it.
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        self.shrink()
    }

    /// Creates a file next to the entries that no other user may write. A file that already has the name belongs to another
    /// process and is left alone.
    fn temporary(&self, name: impl Fn() -> String) -> io::Result<(File, PathBuf)> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        loop {
            let path = self.folder.join(name()).with_extension(TEMPORARY);
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return Ok((made?, path)),
            }
        }
    }

    /// Removes the entries used longest ago until the rest is within the limit.
    fn shrink(&self) -> io::Result<()> {
        let mut entries = self.entries()?;
        let mut size = total(&entries);
        entries.sort_by_key(|entry| entry.used);
        for entry in &entries {
            if size <= self.limit.into() {
                break;
            }
            gone(fs::remove_file(&entry.path))?;
            size -= u128::from(entry.size);
        }
        self.sweep();
        Ok(())
    }

    /// Removes what processes that ended in the middle left behind.
    fn sweep(&self) {
        let old = |path: &Path| {
            let modified = fs::metadata(path).and_then(|data| data.modified()).ok();
            modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > STALE)
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if is_named(&path, TEMPORARY_DIGITS, TEMPORARY) && old(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let list = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            list => list?,
        };
        let mut entries = Vec::new();
        for path in list.filter_map(|entry| Some(entry.ok()?.path())) {
            // One that another process removed meanwhile is none.
            let Ok(data) = fs::metadata(&path) else { continue };
            if data.is_file() && is_named(&path, KEY_DIGITS, ENDING) {
                entries.push(Entry {
                    path,
                    size: data.len(),
                    used: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                });
            }
        }
        Ok(entries)
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name).with_extension(ENDING)
    }
}

struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// The bytes of all: a file may say that it has any number, of which several exceed 64 bits.
fn total(entries: &[Entry]) -> u128 {
    entries.iter().map(|entry| u128::from(entry.size)).sum()
}

/// The hash of all that code depends on.
#[derive(PartialEq, Eq)]
pub(super) struct Key([u8; 32]);

/// A key that is being made of its parts.
pub(super) struct KeyParts(Sha256);

impl KeyParts {
    /// Begins with the compiler: its version alone does not tell one build from the next.
    pub(super) fn new(
        compiler: &str,
        version: (u32, u32),
        file: Option<&Path>,
        driver: u32,
    ) -> Result<Self, String> {
        let file = file.ok_or("the compiler's library has no file")?;
        let data = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let modified = data.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let numbers = format!("{version:?} {} {modified:?} {driver}", data.len());
        Ok(Self(Sha256::new()).part(compiler.as_bytes()).part(numbers.as_bytes()))
    }

    /// One more part. Its length goes before it, so that no two lists of parts look alike.
    pub(super) fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// A list of parts.
    pub(super) fn parts<'a>(
        self,
        parts: impl IntoIterator<Item = &'a [u8], IntoIter: ExactSizeIterator>,
    ) -> Self {
        let parts = parts.into_iter();
        let count = (parts.len() as u64).to_le_bytes();
        parts.fold(self.part(&count), Self::part)
    }

    pub(super) fn finish(self) -> Key {
        Key(self.0.finish())
    }
}

/// Whether a file's name is so many hexadecimal digits and this ending.
fn is_named(path: &Path, digits: usize, ending: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.len() == digits && stem.bytes().all(is_digit) && path.extension().is_some_and(|own| own == ending)
}

/// A name that no other process has: a process's number is another's in the next container, so it is made of random keys.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let part = |number: u64| RandomState::new().hash_one((std::process::id(), number, SystemTime::now()));
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}{:016x}", part(number), part(!number))
}

/// Something that is gone already was to go.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the folder, for this user alone: what is in it runs on the device in this user's name.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// The user's folder for caches.
fn caches() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    let home = || {
        folder("HOME")
            .map(|home| home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    };
    folder("XDG_CACHE_HOME").or_else(home)
}

#[cfg(test)]
mod tests;
