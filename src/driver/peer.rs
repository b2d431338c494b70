//! Devices that access each other's memory.

#![allow(unsafe_code)] // Calls of the driver with devices that it named and contexts that their handles keep.

use cuda_driver_sys::{CUdevice_P2PAttribute, CUresult};
use std::sync::Arc;

use super::context::CudaContext;
use super::device::CudaDevice;
use crate::error::{Error, check};
use crate::open_number::open_number;

open_number! {
    /// A property of a pair of devices: the key of [`CudaDevice::peer_attribute`].
    ///
    /// The names are the driver's without their prefix. It is non-exhaustive: later numbers can be made with
    /// `From<CUdevice_P2PAttribute>`.
    ///
    /// ```
    /// use cuda_launch::device::PeerAttribute;
    /// use cuda_launch::CudaDevice;
    /// let devices = CudaDevice::all()?;
    /// if let [first, second, ..] = devices.as_slice() {
    ///     let reaches = first.peer_attribute(PeerAttribute::ACCESS_SUPPORTED, second)? == 1;
    ///     assert_eq!(first.can_access_peer(second)?, reaches);
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "CUdevice_P2PAttribute")]
    pub struct PeerAttribute(CUdevice_P2PAttribute);

    /// The relative speed of the link among all pairs; 0 is the fastest.
    PERFORMANCE_RANK = CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
    /// 1 if kernels on the device can access the other's memory.
    ACCESS_SUPPORTED = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    /// 1 if the link supports native atomics.
    NATIVE_ATOMIC_SUPPORTED = CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    /// 1 if the device can access the other's arrays.
    CUDA_ARRAY_ACCESS_SUPPORTED = CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED;
    /// 1 if the link supports only some native atomics.
    ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED;
}

impl CudaDevice {
    /// Whether kernels on this device can be granted access to the memory of `peer`. A device is not a peer of itself.
    ///
    /// Driver call: `cuDeviceCanAccessPeer`; none if the two belong to different drivers: the result is then false.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access_peer(&self, peer: &CudaDevice) -> Result<bool, Error> {
        if !Arc::ptr_eq(self.driver(), peer.driver()) {
            return Ok(false);
        }
        let mut can = 0;
        // SAFETY: the driver returned both device handles (`CudaDevice::raw`), and both belong to this driver, as was checked; `can`
        // is a local that outlives the call.
        let code = unsafe { self.driver().cuDeviceCanAccessPeer(&mut can, self.raw(), peer.raw()) };
        check(code, "cuDeviceCanAccessPeer", || self.pair(peer))?;
        Ok(can != 0)
    }

    /// A property of the link from this device to `peer`.
    ///
    /// Driver call: `cuDeviceGetP2PAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` if both are the same device; [`Error::is_context_mismatch`] if they belong to different drivers.
    #[doc(alias = "cuDeviceGetP2PAttribute")]
    pub fn peer_attribute(
        &self,
        attribute: impl Into<PeerAttribute>,
        peer: &CudaDevice,
    ) -> Result<i32, Error> {
        self.same_driver(peer, "the peer", "this device")?;
        let (attribute, mut value) = (attribute.into(), 0);
        // SAFETY: the driver returned both device handles (`CudaDevice::raw`), and both belong to this driver, as was checked; `value` is a
        // local that outlives the call.
        let code = unsafe {
            self.driver().cuDeviceGetP2PAttribute(&mut value, attribute.raw(), self.raw(), peer.raw())
        };
        check(code, "cuDeviceGetP2PAttribute", || format!("{attribute}, {}", self.pair(peer)))?;
        Ok(value)
    }

    fn pair(&self, peer: &CudaDevice) -> String {
        format!("device {} to device {}", self.ordinal(), peer.ordinal())
    }
}

impl CudaContext {
    /// Lets kernels in this context access the memory of `peer`'s device; returns false if they already could.
    ///
    /// It works in one direction: the other needs its own call. Memory from pools is not affected; a pool has an access
    /// list. Copies between devices do not need it, though they are faster with it. It ends with either context.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// let devices = CudaDevice::all()?;
    /// if let [first, second, ..] = devices.as_slice() {
    ///     if first.can_access_peer(second)? {
    ///         let (here, there) = (first.context()?, second.context()?);
    ///         here.enable_peer_access(&there)?;
    ///         assert!(!here.enable_peer_access(&there)?, "it is on");
    ///         assert!(here.disable_peer_access(&there)?);
    ///     }
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuCtxEnablePeerAccess`.
    ///
    /// # Errors
    /// `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED` if there is no link (see [`CudaDevice::can_access_peer`]), or both belong
    /// to the same device; [`is_context_mismatch`](Error::is_context_mismatch) if they belong to different drivers.
    #[doc(alias = "cuCtxEnablePeerAccess")]
    pub fn enable_peer_access(&self, peer: &CudaContext) -> Result<bool, Error> {
        self.one_driver(peer)?;
        self.bind()?;
        // SAFETY: `bind` made this context current; both live as long as their handles (`ContextInner::raw`), and are of one driver, as
        // was compared; 0 is the only value of the flags.
        match unsafe { self.driver().cuCtxEnablePeerAccess(peer.raw(), 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(false),
            code => self.check(code, "cuCtxEnablePeerAccess", || self.to(peer)).map(|()| true),
        }
    }

    /// Revokes the access granted by [`enable_peer_access`](Self::enable_peer_access); returns whether it was granted.
    ///
    /// Kernels in this context that still use the peer's memory fault: wait for them first.
    ///
    /// Driver call: `cuCtxDisablePeerAccess`.
    ///
    /// # Errors
    /// [`is_context_mismatch`](Error::is_context_mismatch) if they belong to different drivers; otherwise any error
    /// returned by the driver.
    #[doc(alias = "cuCtxDisablePeerAccess")]
    pub fn disable_peer_access(&self, peer: &CudaContext) -> Result<bool, Error> {
        self.one_driver(peer)?;
        self.bind()?;
        // SAFETY: `bind` made this context current; both live as long as their handles (`ContextInner::raw`), and are of one driver, as
        // was compared. Kernels that still use the other context's memory fault, which is an error, not undefined behaviour.
        match unsafe { self.driver().cuCtxDisablePeerAccess(peer.raw()) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => Ok(false),
            code => self.check(code, "cuCtxDisablePeerAccess", || self.to(peer)).map(|()| true),
        }
    }

    /// A handle of one driver means nothing to another.
    fn one_driver(&self, peer: &CudaContext) -> Result<(), Error> {
        self.same_driver(peer, "the peer", "this context")
    }

    fn to(&self, peer: &CudaContext) -> String {
        format!("from device {} to device {}", self.ordinal(), peer.ordinal())
    }
}
