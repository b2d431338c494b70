//! What a warm launch compares to know that its arguments fit the kernel and that the stream is one of the kernel's context.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Kernel, biased};
use crate::driver::context::CudaContext;
use crate::driver::stream::queue::StreamQueue;

/// The last argument signature found to match a kernel, and the kernel's context, in one word: the address of the signature, which is
/// static, with the number of the context in the upper bits. A launch computes the same word from its own signature and the number in
/// its stream; the words are equal only if both parts are.
///
/// A number belongs to one context as long as that context is open, and may be reused for another one later. The two cannot be
/// confused: kernel and stream keep their contexts open, and the word is dropped with the kernel. A signature that matched once always
/// matches, so it does not matter which of two threads stores its word last, or when another thread sees it.
///
/// Stays 0, which is no launch's word, for kernels with rules besides the limits, so that all their launches are
/// examined.
#[derive(Debug)]
pub(crate) struct Verified {
    /// Of a kernel that allows all that [`USUAL_DIMS`] and [`USUAL_THREADS`] do: these are compared without being read.
    usual: AtomicU64,
    /// Of another one, whose own limits are to be compared.
    other: AtomicU64,
    is_usual: bool,
}

/// What every device allows so far, biased: grid x, y, z, block x, y, z.
pub(crate) const USUAL_DIMS: [i32; 6] = [
    biased(i32::MAX.cast_unsigned()),
    biased(65_535),
    biased(65_535),
    biased(1024),
    biased(1024),
    biased(64),
];

/// The threads per block that every device allows so far, and each kernel that does not need too many registers.
pub(crate) const USUAL_THREADS: u32 = 1024;

/// Addresses are below; the numbers of contexts, and what is added while a stream is held, are above. Of two static values one address
/// also differs from the other below: a program and its libraries are not so large.
const ADDRESS_BITS: u32 = 48;

/// Of a kernel whose context has no number. No stream has this: the lower bits of a context's are 0.
const NO_NUMBER: u64 = u64::MAX;

/// What a kernel of this context has as its number.
pub(super) fn context_number(context: &CudaContext) -> u64 {
    match context.owner() {
        0 => NO_NUMBER,
        number => number,
    }
}

/// What a verdict is about.
pub(crate) enum Limits {
    Usual,
    Own,
}

impl Verified {
    /// Of a kernel with these limits, the dimensions biased.
    pub(super) fn of(max_dims: [i32; 6], max_threads: u32) -> Self {
        let is_usual = max_threads >= USUAL_THREADS
            && max_dims.iter().zip(USUAL_DIMS).all(|(most, usual)| *most >= usual);
        Self { usual: AtomicU64::new(0), other: AtomicU64::new(0), is_usual }
    }
}

impl Kernel {
    /// Which limits are left to compare for a launch with the signature at this address on this stream; `None` where more is.
    #[inline(always)]
    pub(crate) fn verified(&self, signature: usize, queue: &StreamQueue) -> Option<Limits> {
        let word = queue.warm() | signature as u64;
        if self.verified.usual.load(Ordering::Relaxed) == word {
            return Some(Limits::Usual);
        }
        (self.verified.other.load(Ordering::Relaxed) == word).then_some(Limits::Own)
    }

    /// Whether the signature at this address was the last one found to fit.
    pub(crate) fn has_verified(&self, signature: usize) -> bool {
        let word = self.context_number | signature as u64;
        let verified = &self.verified;
        [&verified.usual, &verified.other].iter().any(|known| known.load(Ordering::Relaxed) == word)
    }

    /// The arguments that the signature at this address describes fit, and there are no rules beyond the limits.
    #[cold]
    pub(crate) fn verify(&self, signature: usize) {
        let address = signature as u64;
        // Else the word could be that of another context, or of another signature.
        if self.context_number != NO_NUMBER && address >> ADDRESS_BITS == 0 {
            let verified = &self.verified;
            let word = if verified.is_usual { &verified.usual } else { &verified.other };
            word.store(self.context_number | address, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
#[allow(unsafe_code)] // A kernel of a module that is loaded.
mod tests {
    use super::*;
    use crate::driver::context::CudaContext;
    use crate::error::Error;

    const PTX: &str = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";

    /// The usual limits are compared only for a kernel that allows all that they do.
    #[test]
    fn a_kernel_with_any_lower_limit_has_its_own() {
        assert!(Verified::of(USUAL_DIMS, USUAL_THREADS).is_usual);
        assert!(Verified::of([i32::MAX; 6], u32::MAX).is_usual);
        assert!(!Verified::of(USUAL_DIMS, USUAL_THREADS - 1).is_usual);
        assert!(!Verified::of(USUAL_DIMS.map(|most| most - 1), USUAL_THREADS).is_usual);
        for which in 0..USUAL_DIMS.len() {
            let mut dims = USUAL_DIMS;
            dims[which] -= 1;
            assert!(!Verified::of(dims, USUAL_THREADS).is_usual, "dimension {which}");
        }
    }

    /// The word is that of one signature and one context: with any other bit it is another one.
    #[test]
    fn what_was_verified_is_one_signature_in_one_context() -> Result<(), Error> {
        let context = CudaContext::new(0)?;
        let (module, stream) = (context.load_module(PTX)?, context.new_stream()?);
        let queue = stream.queue();
        // SAFETY: 1: the module was loaded in the context, and outlives the kernel.
        let mut kernel = unsafe { Kernel::look_up(&context, module.raw(), "k", None) }?;
        let signature = 0x5555_5555_5555;
        let is_verified = |kernel: &Kernel, signature| {
            let warm = kernel.verified(signature, queue).is_some();
            assert_eq!(kernel.has_verified(signature), warm);
            warm
        };
        let (number, max_dims) = (kernel.context_number, kernel.max_dims);
        for max_threads in [USUAL_THREADS, USUAL_THREADS / 2] {
            kernel.verified = Verified::of(max_dims, max_threads);
            assert!(!is_verified(&kernel, signature));
            kernel.verify(signature);
            assert!(is_verified(&kernel, signature));
            for bit in 0..ADDRESS_BITS {
                assert!(!is_verified(&kernel, signature ^ 1 << bit), "bit {bit}");
            }
            // What has bits where the number is, is remembered by nobody.
            kernel.verify(signature | 1 << ADDRESS_BITS);
            assert!(is_verified(&kernel, signature) && !is_verified(&kernel, signature | 1 << ADDRESS_BITS));
            for bit in ADDRESS_BITS..u64::BITS {
                kernel.context_number = number ^ 1 << bit;
                kernel.verify(signature);
                assert!(kernel.verified(signature, queue).is_none(), "bit {bit}");
            }
            kernel.context_number = NO_NUMBER;
            kernel.verify(signature);
            assert!(!kernel.has_verified(signature) && kernel.verified(signature, queue).is_none());
            kernel.context_number = number;
        }
        Ok(())
    }
}
