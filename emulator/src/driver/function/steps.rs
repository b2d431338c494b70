//! The state of a function between the steps of a launch (`launch::steps`).

/// The parameters of the next launch.
pub(in crate::driver) struct Steps {
    pub(in crate::driver) block: [u32; 3],
    pub(in crate::driver) shared: u32,
    /// How many of the bytes are parameters; the others wait for a larger number.
    pub(in crate::driver) size: usize,
    bytes: Vec<u8>,
}

impl Steps {
    pub(in crate::driver) const NONE: Steps = Steps { block: [1; 3], shared: 0, size: 0, bytes: Vec::new() };

    /// Stores bytes of parameters at an offset that need not be aligned.
    pub(in crate::driver) fn put(&mut self, offset: usize, values: &[u8]) {
        let end = offset + values.len();
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[offset..end].copy_from_slice(values);
    }

    /// The parameter bytes; bytes that were never set are zero.
    pub(in crate::driver) fn parameters(&self) -> Box<[u8]> {
        let mut bytes = self.bytes.clone();
        bytes.resize(self.size, 0);
        bytes.into()
    }
}
