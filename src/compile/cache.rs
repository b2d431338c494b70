//! Compiled code, kept on disk.

/// What a cache had to do with compiled code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CacheUse {
    /// There is no cache.
    Off,
    /// The code was in it.
    Hit,
    /// The code was compiled, and is in it now.
    Stored,
    /// The code was compiled, and is not kept; why.
    NotStored(String),
}
