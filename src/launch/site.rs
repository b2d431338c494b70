//! What one call site remembers, and what may stand for a module, a stream or a function there.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::{CudaFunction, CudaModule, CudaStream, Kernel};
use crate::error::{Error, ErrorKind};

/// The memory of one `cuda_launch!` that names its kernel: which module it saw last, and where the kernel is in it.
///
/// One word: the module's number, which is never reused, in the upper 48 bits, and an index into the module's append-only
/// table in the lower 16. So it stays right when the module is dropped and another takes its place.
#[derive(Debug, Default)]
pub struct Site(AtomicU64);

const INDEX_BITS: u32 = 16;

impl Site {
    /// A site that has seen nothing.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The kernel `name` of `module`; looked up the first time, then remembered.
    ///
    /// # Errors
    /// Those of [`CudaModule::load_function`].
    #[inline(always)]
    pub fn kernel<'m>(&self, module: &'m CudaModule, name: &str) -> Result<&'m Kernel, Error> {
        // The table behind the index is read with its own ordering; a stale word only means a look-up.
        let seen = self.0.load(Ordering::Relaxed);
        if seen >> INDEX_BITS == module.id()
            && let Some(kernel) = module.kernel_at(seen as u16)
        {
            return Ok(kernel);
        }
        self.look_up(module, name)
    }

    #[cold]
    fn look_up<'m>(&self, module: &'m CudaModule, name: &str) -> Result<&'m Kernel, Error> {
        let (_, index) = module.find(name)?;
        let found = index.and_then(|i| module.kernel_at(i).map(|kernel| (i, kernel)));
        let (index, kernel) = found.ok_or_else(|| {
            let reason = "the module has too many kernels in use by name: keep a CudaFunction and pass it as `function`";
            Error::from(ErrorKind::Name { name: name.to_string(), reason })
        })?;
        self.0.store(module.id() << INDEX_BITS | u64::from(index), Ordering::Relaxed);
        Ok(kernel)
    }
}

/// The kernel of a name that is not known before the launch; takes a lock, and asks the driver the first time.
///
/// # Errors
/// Those of [`CudaModule::load_function`].
pub fn kernel_by_name(module: &CudaModule, name: impl AsRef<str>) -> Result<Arc<Kernel>, Error> {
    module.find(name.as_ref()).map(|(kernel, _)| kernel)
}

macro_rules! handle_trait {
    ($(#[$doc:meta])* $name:ident, $method:ident -> $target:ty, $wanted:literal) => {
        $(#[$doc])*
        #[diagnostic::on_unimplemented(
            message = "`{Self}` cannot be used here",
            label = $wanted
        )]
        pub trait $name {
            /// The handle.
            fn $method(&self) -> &$target;
        }

        impl $name for $target {
            #[inline(always)]
            fn $method(&self) -> &$target {
                self
            }
        }

        handle_trait!(@forward $name, $method -> $target, &T, &mut T, Box<T>, Rc<T>, Arc<T>);
    };
    (@forward $name:ident, $method:ident -> $target:ty, $($pointer:ty),*) => {$(
        impl<T: $name + ?Sized> $name for $pointer {
            #[inline(always)]
            fn $method(&self) -> &$target {
                (**self).$method()
            }
        }
    )*};
}

handle_trait! {
    /// What may stand after `module:` in a launch: a [`CudaModule`], or a reference or smart pointer to one.
    ModuleRef, module_ref -> CudaModule, "`module:` takes a `CudaModule`, or a reference or `Arc` of one"
}

handle_trait! {
    /// What may stand after `stream:` in a launch: a [`CudaStream`], or a reference or smart pointer to one.
    StreamRef, stream_ref -> CudaStream, "`stream:` takes a `CudaStream`, or a reference or `Arc` of one"
}

handle_trait! {
    /// What may stand after `function:` in a launch: a [`CudaFunction`], or a reference or smart pointer to one.
    FunctionRef, function_ref -> CudaFunction, "`function:` takes a `CudaFunction`, or a reference or `Arc` of one"
}
