//! Attributes of functions that can be queried and set.

use cuda_driver_sys::CUfunction_attribute;
use std::fmt;

use super::CudaFunction;
use crate::error::Error;
use crate::open_number::open_number;

open_number! {
    /// An attribute of a function: one of the constants, or any other number that a newer driver knows.
    ///
    /// ```standalone_crate
    /// use cuda_launch::module::FunctionAttribute;
    /// use cuda_launch::sys::CUfunction_attribute;
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// assert_eq!(f.attribute(FunctionAttribute::MAX_THREADS_PER_BLOCK)?, 1024);
    /// assert!(f.attribute(FunctionAttribute::from_raw(CUfunction_attribute(9999))).is_err());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "CUfunction_attribute")]
    pub struct FunctionAttribute(CUfunction_attribute);

    /// The maximum number of threads per block for this function.
    MAX_THREADS_PER_BLOCK = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    /// Static shared memory per block, in bytes.
    SHARED_SIZE_BYTES = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    /// Constant memory of the program, in bytes.
    CONST_SIZE_BYTES = CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
    /// Local memory per thread, in bytes.
    LOCAL_SIZE_BYTES = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
    /// Registers per thread.
    NUM_REGS = CU_FUNC_ATTRIBUTE_NUM_REGS;
    /// The virtual architecture it was compiled for: 10 times the major version, plus the minor.
    PTX_VERSION = CU_FUNC_ATTRIBUTE_PTX_VERSION;
    /// The architecture of its machine code: 10 times the major version, plus the minor.
    BINARY_VERSION = CU_FUNC_ATTRIBUTE_BINARY_VERSION;
    /// 1 if it was compiled to cache global loads in L1.
    CACHE_MODE_CA = CU_FUNC_ATTRIBUTE_CACHE_MODE_CA;
    /// Dynamic shared memory that a launch may request, in bytes. Can be set.
    MAX_DYNAMIC_SHARED_SIZE_BYTES = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    /// Percentage of the L1 memory that should be shared memory; -1 leaves it to the driver. Can be set.
    PREFERRED_SHARED_MEMORY_CARVEOUT = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    /// 1 if a launch must specify the cluster shape.
    CLUSTER_SIZE_MUST_BE_SET = CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET;
    /// Blocks along x of the clusters that it requires, 0 for none. Can be set if it was not compiled in.
    REQUIRED_CLUSTER_WIDTH = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    /// The same along y.
    REQUIRED_CLUSTER_HEIGHT = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT;
    /// The same along z.
    REQUIRED_CLUSTER_DEPTH = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH;
    /// 1 if clusters larger than every device with clusters can run are allowed. Can be set.
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    /// How blocks of a cluster are distributed over multiprocessors. Can be set.
    CLUSTER_SCHEDULING_POLICY_PREFERENCE = CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
    /// 1 if a graph's kernel node for it can be updated from the device (CUDA 13.3).
    DEVICE_NODE_UPDATE_SUPPORTED = CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED;
    /// How much dynamic shared memory a launch may use (CUDA 13.4). Can be set.
    SHARED_MEMORY_MODE = CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE;
}

/// How multiprocessors should divide their memory between L1 cache and shared memory.
///
/// A preference: a block that needs more shared memory gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "CUshared_carveout")]
#[non_exhaustive]
pub enum SharedCarveout {
    /// Left to the driver.
    #[default]
    Default,
    /// As much L1 cache as possible.
    MaxL1,
    /// As much shared memory as possible.
    MaxShared,
    /// This percentage of it as shared memory, 0 to 100.
    Percent(u8),
}

impl SharedCarveout {
    fn raw(self) -> i32 {
        match self {
            Self::Default => -1,
            Self::MaxL1 => 0,
            Self::MaxShared => 100,
            Self::Percent(percent) => percent.into(),
        }
    }

    fn from_raw(value: i32) -> Self {
        match value {
            0 => Self::MaxL1,
            100 => Self::MaxShared,
            _ => u8::try_from(value).map_or(Self::Default, Self::Percent),
        }
    }
}

/// Everything that limits a function's launches, in one table; print it with `{}`.
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let f = ctx.load_module(include_str!("../../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let limits = f.limits()?;
/// assert_eq!(limits.max_threads_per_block, 1024);
/// assert!(limits.to_string().contains("registers"));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionLimits {
    /// Threads per block.
    pub max_threads_per_block: u32,
    /// Registers per thread; on the emulator an estimate ([`CudaFunction::registers`]).
    pub registers: u32,
    /// Static shared memory per block, in bytes.
    pub static_shared_memory: u32,
    /// Dynamic shared memory that a launch may currently request, in bytes.
    pub max_dynamic_shared_memory: u32,
    /// Constant memory of the program, in bytes.
    pub const_memory: u32,
    /// Local memory per thread, in bytes.
    pub local_memory: u32,
    /// The virtual architecture it was compiled for, as (major, minor).
    pub ptx_version: (u32, u32),
    /// The architecture of its machine code, as (major, minor).
    pub binary_version: (u32, u32),
    /// The cluster shape that it requires, in blocks; `None` if it requires none, or the driver does not support
    /// clusters.
    pub required_cluster: Option<(u32, u32, u32)>,
    /// Whether a launch must specify the cluster shape.
    pub cluster_size_must_be_set: bool,
}

impl fmt::Display for FunctionLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ptx, binary) = (self.ptx_version, self.binary_version);
        writeln!(f, "threads per block          {}", self.max_threads_per_block)?;
        writeln!(f, "registers per thread       {}", self.registers)?;
        writeln!(f, "static shared memory       {} bytes", self.static_shared_memory)?;
        writeln!(f, "dynamic shared memory      up to {} bytes", self.max_dynamic_shared_memory)?;
        writeln!(f, "constants                  {} bytes", self.const_memory)?;
        writeln!(f, "local memory per thread    {} bytes", self.local_memory)?;
        writeln!(f, "compiled for               compute_{}{}, sm_{}{}", ptx.0, ptx.1, binary.0, binary.1)?;
        match self.required_cluster {
            Some((x, y, z)) => write!(f, "cluster                    {x} x {y} x {z} blocks"),
            None if self.cluster_size_must_be_set => {
                write!(f, "cluster                    the launch must say")
            }
            None => write!(f, "cluster                    none needed"),
        }
    }
}

impl CudaFunction {
    /// Any attribute of the function.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// use cuda_launch::module::FunctionAttribute;
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert!(f.attribute(FunctionAttribute::NUM_REGS)? > 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that this driver does not know.
    #[doc(alias = "cuFuncGetAttribute")]
    pub fn attribute(&self, attribute: impl Into<FunctionAttribute>) -> Result<i32, Error> {
        self.kernel().attribute(attribute.into().raw())
    }

    /// Sets an attribute of the function, for every launch of it in its context.
    ///
    /// Driver call: `cuFuncSetAttribute`, which waits for copies that are under way.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that cannot be set, or not to this value.
    #[doc(alias = "cuFuncSetAttribute")]
    pub fn set_attribute(&self, attribute: impl Into<FunctionAttribute>, value: i32) -> Result<(), Error> {
        self.kernel().set_attribute(attribute.into().raw(), value)
    }

    fn number(&self, attribute: FunctionAttribute) -> Result<u32, Error> {
        self.attribute(attribute).map(|value| value.max(0) as u32)
    }

    fn architecture(&self, attribute: FunctionAttribute) -> Result<(u32, u32), Error> {
        self.number(attribute).map(|version| (version / 10, version % 10))
    }

    /// Registers per thread.
    ///
    /// The emulator does not compile PTX: its number is an estimate, the maximum of 32-bit values that are live at once, which may differ
    /// by a few from the count of a GPU's compiler. So may what depends on it: occupancy, and whether a large block fits.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// println!("{} registers per thread", f.registers()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn registers(&self) -> Result<u32, Error> {
        self.number(FunctionAttribute::NUM_REGS)
    }

    /// Local memory per thread, in bytes.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert_eq!(f.local_memory()?, 0, "nothing is spilled");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn local_memory(&self) -> Result<u32, Error> {
        self.number(FunctionAttribute::LOCAL_SIZE_BYTES)
    }

    /// Constant memory of the program, in bytes.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn const_memory(&self) -> Result<u32, Error> {
        self.number(FunctionAttribute::CONST_SIZE_BYTES)
    }

    /// Opts in to `bytes` of dynamic shared memory; together with the static part, at most what the device allows
    /// ([`DeviceLimits::max_shared_memory_optin`](crate::device::DeviceLimits)).
    ///
    /// Driver call: `cuFuncSetAttribute`, which waits for copies that are under way.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// f.set_max_dynamic_shared_memory(64 << 10)?; // more than 48 KiB have to be asked for
    /// assert_eq!(f.max_dynamic_shared_memory(), 64 << 10);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if the sum exceeds the device's limit.
    pub fn set_max_dynamic_shared_memory(&self, bytes: u32) -> Result<(), Error> {
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.set_attribute(FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, value)
    }

    /// How L1 memory should be divided while it runs.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// println!("{:?}", f.shared_carveout()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn shared_carveout(&self) -> Result<SharedCarveout, Error> {
        self.attribute(FunctionAttribute::PREFERRED_SHARED_MEMORY_CARVEOUT).map(SharedCarveout::from_raw)
    }

    /// Sets how L1 memory should be divided while it runs; a launch attribute can override it.
    ///
    /// Driver call: `cuFuncSetAttribute`, which waits for copies that are under way.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// use cuda_launch::module::SharedCarveout;
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// f.set_shared_carveout(SharedCarveout::Percent(50))?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for more than 100 percent.
    pub fn set_shared_carveout(&self, carveout: SharedCarveout) -> Result<(), Error> {
        self.set_attribute(FunctionAttribute::PREFERRED_SHARED_MEMORY_CARVEOUT, carveout.raw())
    }

    /// Whether a launch must specify the cluster shape.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` on drivers before 11.8, which do not support clusters.
    pub fn cluster_size_must_be_set(&self) -> Result<bool, Error> {
        self.number(FunctionAttribute::CLUSTER_SIZE_MUST_BE_SET).map(|value| value != 0)
    }

    /// The cluster shape that was compiled in, in blocks; `None` if there is none. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert_eq!(f.required_cluster(), None);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn required_cluster(&self) -> Option<(u32, u32, u32)> {
        self.kernel().required_cluster
    }

    /// Whether clusters larger than every device with clusters can run (8 blocks) are allowed.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` on drivers before 11.8, which do not support clusters.
    pub fn non_portable_cluster_size_allowed(&self) -> Result<bool, Error> {
        self.number(FunctionAttribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED).map(|value| value != 0)
    }

    /// Allows clusters larger than 8 blocks, or forbids them.
    ///
    /// Driver call: `cuFuncSetAttribute`, which waits for copies that are under way.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` on drivers before 11.8, which do not support clusters.
    pub fn set_non_portable_cluster_size_allowed(&self, allowed: bool) -> Result<(), Error> {
        self.set_attribute(FunctionAttribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED, allowed.into())
    }

    /// Everything that limits its launches.
    ///
    /// Driver call: `cuFuncGetAttribute`, once for each attribute that can change or was not queried yet.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// println!("{}", f.limits()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn limits(&self) -> Result<FunctionLimits, Error> {
        Ok(FunctionLimits {
            max_threads_per_block: self.max_threads_per_block(),
            registers: self.registers()?,
            static_shared_memory: self.static_shared_memory(),
            max_dynamic_shared_memory: self.max_dynamic_shared_memory(),
            const_memory: self.const_memory()?,
            local_memory: self.local_memory()?,
            ptx_version: self.architecture(FunctionAttribute::PTX_VERSION)?,
            binary_version: self.architecture(FunctionAttribute::BINARY_VERSION)?,
            required_cluster: self.required_cluster(),
            // Unknown to drivers before 11.8: then there are none.
            cluster_size_must_be_set: self.cluster_size_must_be_set().unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carveouts_come_back_as_they_went() {
        for carveout in [SharedCarveout::Default, SharedCarveout::MaxL1, SharedCarveout::MaxShared] {
            assert_eq!(SharedCarveout::from_raw(carveout.raw()), carveout);
        }
        assert_eq!(SharedCarveout::from_raw(SharedCarveout::Percent(40).raw()), SharedCarveout::Percent(40));
        assert_eq!(SharedCarveout::Percent(100).raw(), SharedCarveout::MaxShared.raw());
    }
}
