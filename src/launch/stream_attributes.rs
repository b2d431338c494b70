//! Attributes of streams, with the types of launch attributes: they are the defaults of every launch on the stream.

#![allow(unsafe_code)] // Calls of the driver with live streams; reading the union member that the id names.

use cuda_driver_sys::{self as sys, CUlaunchAttributeID as Id, CUlaunchAttributeValue};

use super::attributes::{
    AccessPolicyWindow, AccessProperty, Attribute, MemSyncDomain, SynchronizationPolicy,
};
use crate::driver::CudaStream;
use crate::error::{AttributeError, Error, ErrorKind};

/// The word for a stream in messages that otherwise name the kernel of a launch.
const STREAM: &str = "the stream";

impl CudaStream {
    /// Sets an attribute of the stream, for work submitted to it from now on.
    ///
    /// Streams take `access_policy_window`, `synchronization_policy`, `priority`, `mem_sync_domain_map` and
    /// `mem_sync_domain`. Driver call: `cuStreamSetAttribute`.
    ///
    /// ```
    /// use cuda_launch::launch::SynchronizationPolicy;
    /// use cuda_launch::{Attribute, CudaContext};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// stream.set_attribute(Attribute::synchronization_policy(SynchronizationPolicy::BlockingSync))?;
    /// assert_eq!(stream.synchronization_policy()?, Some(SynchronizationPolicy::BlockingSync));
    /// assert!(stream.set_attribute(Attribute::cooperative(true)).is_err());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`AttributeError`]: an attribute that only launches have, or that needs a newer driver. Otherwise any error returned by
    /// the driver: `CUDA_ERROR_INVALID_VALUE` for an invalid value.
    #[doc(alias = "cuStreamSetAttribute")]
    pub fn set_attribute(&self, attribute: Attribute<'_>) -> Result<(), Error> {
        let (raw, name, since) = (attribute.raw(), attribute.name(), attribute.since());
        let driver = self.context().driver_version();
        if since > driver {
            let kernel = STREAM.into();
            return Err(
                ErrorKind::from(AttributeError::TooNew { kernel, attribute: name, since, driver }).into()
            );
        }
        if since != 0 && !is_of_streams(raw.id) {
            return Err(ErrorKind::from(AttributeError::LaunchOnly { attribute: name }).into());
        }
        let asked = || format!("attribute {name}");
        // SAFETY: the stream lives as long as this handle (`StreamInner`); the id says which member of the value is set, and the driver
        // copies that. What an attribute of streams points to is not followed (a window), or outlives the work, by duty 1 of
        // `Attribute::from_raw`.
        self.context().call("cuStreamSetAttribute", asked, |driver| unsafe {
            driver.cuStreamSetAttribute(self.raw(), raw.id, &raw.value)
        })
    }

    /// Copies all attributes of `other` to this stream.
    ///
    /// Driver call: `cuStreamCopyAttributes`.
    ///
    /// # Errors
    /// The streams belong to different contexts, or any error returned by the driver.
    #[doc(alias = "cuStreamCopyAttributes")]
    pub fn copy_attributes_from(&self, other: &CudaStream) -> Result<(), Error> {
        self.same_context(other.context(), "the other stream")?;
        // SAFETY: both streams live as long as their handles (`StreamInner`), and are of one context, as `same_context` compared.
        self.context().call("cuStreamCopyAttributes", String::new, |driver| unsafe {
            driver.cuStreamCopyAttributes(self.raw(), other.raw())
        })
    }

    /// How threads wait for this stream; `None` if that was never set, or is a policy unknown to this crate.
    ///
    /// Driver call: `cuStreamGetAttribute`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn synchronization_policy(&self) -> Result<Option<SynchronizationPolicy>, Error> {
        use SynchronizationPolicy::{Auto, BlockingSync, Spin, Yield};
        let value = self.raw_attribute(Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)?;
        // SAFETY: the driver wrote the member that this id names, into bytes that were all zero; any bits are its numbers.
        let policy = unsafe { value.syncPolicy }.0;
        Ok([Auto, Spin, Yield, BlockingSync].into_iter().find(|known| *known as u32 == policy))
    }

    /// The range of memory whose accesses the L2 cache treats specially; `None` if it is empty.
    ///
    /// Driver call: `cuStreamGetAttribute`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn access_policy_window(&self) -> Result<Option<AccessPolicyWindow>, Error> {
        let value = self.raw_attribute(Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)?;
        // SAFETY: the driver wrote the member that this id names, into bytes that were all zero; any bits are its numbers.
        let window = unsafe { value.accessPolicyWindow };
        Ok((window.num_bytes != 0).then(|| AccessPolicyWindow {
            base: window.base_ptr.addr() as u64,
            bytes: window.num_bytes,
            hit_ratio: window.hitRatio,
            hit: property(window.hitProp),
            miss: property(window.missProp),
        }))
    }

    /// The logical memory synchronisation domain of work on the stream.
    ///
    /// Driver call: `cuStreamGetAttribute`; drivers since CUDA 12.0 know the attribute.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn mem_sync_domain(&self) -> Result<MemSyncDomain, Error> {
        let value = self.raw_attribute(Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN)?;
        // SAFETY: the driver wrote the member that this id names, into bytes that were all zero; any bits are its numbers.
        let domain = unsafe { value.memSyncDomain };
        let remote = domain == sys::CUlaunchMemSyncDomain::CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
        Ok(if remote { MemSyncDomain::Remote } else { MemSyncDomain::Default })
    }

    /// Which hardware domains the logical memory synchronisation domains mean: `(default, remote)`.
    ///
    /// Driver call: `cuStreamGetAttribute`; drivers since CUDA 12.0 know the attribute.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn mem_sync_domain_map(&self) -> Result<(u8, u8), Error> {
        let value = self.raw_attribute(Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)?;
        // SAFETY: the driver wrote the member that this id names, into bytes that were all zero; any bits are its numbers.
        let map = unsafe { value.memSyncDomainMap };
        Ok((map.default_, map.remote))
    }

    /// Any attribute in the driver's form, including those unknown to this version of the crate.
    ///
    /// Driver call: `cuStreamGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is not an attribute of streams, or any other error returned by the driver.
    #[doc(alias = "cuStreamGetAttribute")]
    pub fn raw_attribute(&self, id: Id) -> Result<CUlaunchAttributeValue, Error> {
        let mut value = CUlaunchAttributeValue::default();
        let asked = || format!("attribute {}", id.0);
        // SAFETY: the stream lives as long as this handle (`StreamInner`); `value`, a local, outlives the call and has the size of the
        // union of all attributes.
        self.context().call("cuStreamGetAttribute", asked, |driver| unsafe {
            driver.cuStreamGetAttribute(self.raw(), id, &mut value)
        })?;
        Ok(value)
    }
}

fn is_of_streams(id: Id) -> bool {
    [
        Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
        Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
        Id::CU_LAUNCH_ATTRIBUTE_PRIORITY,
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    ]
    .contains(&id)
}

/// A property that this crate does not know counts as nothing special: it can only have been set by other code.
fn property(raw: sys::CUaccessProperty) -> AccessProperty {
    let known = [AccessProperty::Streaming, AccessProperty::Persisting];
    known.into_iter().find(|known| *known as u32 == raw.0).unwrap_or(AccessProperty::Normal)
}
