//! The driver's linker.

#![allow(unsafe_code)] // Calls of the driver with a link that this value owns, and inputs that were checked.

use cuda_driver_sys::{CUjitInputType, CUlinkState, CUresult, Driver};
use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use super::context::CudaContext;
use super::host_call;
use super::image::{Image, compiler_error};
use super::jit::slots::Slots;
use super::jit::{JitOptions, JitReport};
use super::kernel::kernel_name;
use super::kernel_image::KernelImage;
use super::module::CudaModule;
use crate::error::{Error, ErrorKind};

/// The kind of code of a link input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUjitInputType")]
pub enum LinkInput {
    /// Machine code for one architecture.
    Cubin,
    /// PTX text.
    Ptx,
    /// A container of several of these.
    Fatbin,
    /// A host object file with embedded device code.
    Object,
    /// An archive of such object files.
    Library,
    /// Intermediate code for optimisation at link time (LTO-IR, NVVM).
    Nvvm,
    /// A kind that this crate does not know, by its number.
    Other(u32),
}

impl LinkInput {
    fn raw(self) -> CUjitInputType {
        match self {
            Self::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
            Self::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
            Self::Fatbin => CUjitInputType::CU_JIT_INPUT_FATBINARY,
            Self::Object => CUjitInputType::CU_JIT_INPUT_OBJECT,
            Self::Library => CUjitInputType::CU_JIT_INPUT_LIBRARY,
            Self::Nvvm => CUjitInputType::CU_JIT_INPUT_NVVM,
            Self::Other(number) => CUjitInputType(number),
        }
    }
}

/// Links device code into one image: resolves what one input declares `.extern` and another defines.
///
/// ```
/// use cuda_launch::module::{JitOptions, Linker};
/// use cuda_launch::CudaContext;
/// let head = ".version 7.0\n.target sm_52\n.address_size 64\n";
/// let ctx = CudaContext::new(0)?;
/// let mut linker = Linker::new(&ctx, &JitOptions::new())?;
/// linker.add(format!("{head}.visible .func helper() {{ ret; }}"), "helper.ptx")?;
/// linker.add(format!("{head}.extern .func helper();\n.visible .entry k() {{ call helper; ret; }}"), "kernel.ptx")?;
/// let module = linker.complete()?.load(&ctx)?;
/// assert_eq!(module.load_function("k")?.name(), "k");
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUlinkState")]
pub struct Linker {
    /// Null before the link is created and after it has been destroyed; otherwise live.
    raw: CUlinkState,
    context: CudaContext,
    /// The driver writes into them until the link is destroyed.
    slots: Slots,
    inputs: Vec<String>,
}

// SAFETY: a CUlinkState may be used from every thread: of what a driver makes, its documents except graphs alone
// ("Graph object thread safety"). Of the methods those that take `&mut self` or `self` use it, and `raw` only tells its
// number. The rest is Send.
unsafe impl Send for Linker {}

/// A linked image, copied from the driver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkedImage {
    /// The image, as [`CudaContext::load_module`] takes it: a cubin, or PTX with the emulator.
    pub bytes: Vec<u8>,
    /// What the compiler and the linker reported.
    pub report: JitReport,
    /// The names of the inputs.
    pub inputs: Vec<String>,
}

impl Linker {
    /// A link with no inputs yet.
    ///
    /// Driver call: `cuLinkCreate`.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] for an option that is newer than the driver, or any error returned by the driver.
    #[doc(alias = "cuLinkCreate")]
    pub fn new(context: &CudaContext, options: &JitOptions) -> Result<Self, Error> {
        let slots = Slots::new(options, context.driver_version())?;
        // Constructed before the call, so that the link is destroyed before the options even if a `tracing` subscriber
        // unwinds out of it.
        let mut link =
            Self { raw: std::ptr::null_mut(), context: context.clone(), slots, inputs: Vec::new() };
        let (count, ids, values) = link.slots.parts();
        let raw = &mut link.raw;
        context.call(
            "cuLinkCreate",
            || format!("{options:?}"),
            // SAFETY: `call` made the context current; options and values are as many as said, and what they point to
            // lives as long as the link: in `slots`, which `destroy` lets go behind it, or by duty 2 of
            // `JitOptions::raw`; the output outlives the call.
            |driver| unsafe {
                let code = driver.cuLinkCreate(count, ids, values, raw);
                if code != CUresult::SUCCESS {
                    // Whatever was written there, it is no link.
                    *raw = std::ptr::null_mut();
                }
                code
            },
        )?;
        Ok(link)
    }

    /// Adds PTX text, a cubin or a fatbin, detecting which it is; `name` is its name in logs. Compile cubins and
    /// fatbins for it with `-rdc=true` (`--compile-only` with `ptxas`).
    ///
    /// The bytes are checked before they reach the driver. Driver call: `cuLinkAddData`.
    ///
    /// # Errors
    /// [`ErrorKind::Image`] for bytes that are not a complete image, [`ErrorKind::Compiler`] with the log if the driver
    /// rejects them: `CUDA_ERROR_NO_BINARY_FOR_GPU` for a fatbin without code for the linker.
    #[doc(alias = "cuLinkAddData")]
    pub fn add(&mut self, image: impl AsRef<[u8]>, name: &str) -> Result<(), Error> {
        let image = Image::new(image.as_ref(), name)?;
        // SAFETY: 1: pointer and length are the image's own, which `Image::new` found to be whole and of this kind; PTX it has as a
        // `CString`, whose NUL `len` counts.
        unsafe { self.add_data(image.link_input(), image.as_ptr(), image.len(), name, Some(&image)) }
    }

    /// Adds a file of PTX text, a cubin or a fatbin. It is read here, and checked like any image.
    ///
    /// Driver call: `cuLinkAddData`.
    ///
    /// # Errors
    /// [`ErrorKind::File`] if it cannot be read, and those of [`Linker::add`].
    pub fn add_file(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
        self.add(bytes, &path.display().to_string())
    }

    /// Adds code of any kind, unchecked: including object files, archives and LTO-IR, which this crate cannot check.
    ///
    /// Driver call: `cuLinkAddData`.
    ///
    /// # Errors
    /// [`ErrorKind::Compiler`] with the log if the driver rejects them.
    ///
    /// # Safety
    /// 1. The bytes are a complete input of this kind; PTX ends in NUL. Drivers read past the end of truncated ones.
    #[doc(alias = "cuLinkAddData")]
    pub unsafe fn add_unchecked(&mut self, kind: LinkInput, bytes: &[u8], name: &str) -> Result<(), Error> {
        // SAFETY: 1: the slice has so many bytes; that they are a whole input of this kind is the caller's duty 1.
        unsafe { self.add_data(kind, bytes.as_ptr().cast(), bytes.len(), name, None) }
    }

    /// Like [`Linker::add_unchecked`], from a file that the driver reads.
    ///
    /// Driver call: `cuLinkAddFile`.
    ///
    /// # Errors
    /// As for [`Linker::add_unchecked`]; [`ErrorKind::Name`] for a path that is not UTF-8 or contains a NUL byte.
    ///
    /// # Safety
    /// 1. The file is a complete input of this kind, and stays so during the call.
    #[doc(alias = "cuLinkAddFile")]
    pub unsafe fn add_file_unchecked(
        &mut self,
        kind: LinkInput,
        path: impl AsRef<Path>,
    ) -> Result<(), Error> {
        let name = path.as_ref().display().to_string();
        let text = path.as_ref().to_str();
        let c_path: CString = text.map(kernel_name).transpose()?.ok_or_else(|| {
            Error::from(ErrorKind::Name { name: name.clone(), reason: "the path is not UTF-8" })
        })?;
        let (raw, none) = (self.raw, std::ptr::null_mut);
        let code = self.ask(&name, |driver| {
            // SAFETY: the file is a whole input of this kind, by the caller's duty 1; this value has the link (`Linker::raw`), and `&mut
            // self` is the only use of it; the path is a `CString`, which ends in NUL and outlives the call; there are no options.
            unsafe { driver.cuLinkAddFile(raw, kind.raw(), c_path.as_ptr(), 0, none(), std::ptr::null_mut()) }
        })?;
        self.added(code, "cuLinkAddFile", &name, None)
    }

    /// # Safety
    /// 1. At `data` stand `len` bytes, a whole input of this kind; PTX ends in NUL.
    unsafe fn add_data(
        &mut self,
        kind: LinkInput,
        data: *const c_void,
        len: usize,
        name: &str,
        image: Option<&Image<'_>>,
    ) -> Result<(), Error> {
        let c_name = kernel_name(name)?;
        let raw = self.raw;
        let code = self.ask(name, |driver| {
            // SAFETY: the input is whole and has `len` bytes, by the caller's duty 1; the driver neither writes to it nor keeps it. This
            // value has the link (`Linker::raw`), and `&mut self` is the only use of it; the name is a `CString`, which ends in NUL and
            // outlives the call; there are no options.
            unsafe {
                driver.cuLinkAddData(
                    raw,
                    kind.raw(),
                    data.cast_mut(),
                    len,
                    c_name.as_ptr(),
                    0,
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                )
            }
        })?;
        self.added(code, "cuLinkAddData", name, image)
    }

    /// Returns the driver's result code, because a refusal is reported with the linker's logs.
    fn ask(&self, name: &str, call: impl FnOnce(&Driver) -> CUresult) -> Result<CUresult, Error> {
        let mut code = CUresult::SUCCESS;
        self.context.call(
            "cuLinkAddData",
            || name.to_string(),
            |driver| {
                code = call(driver);
                if code.is_sticky() { code } else { CUresult::SUCCESS }
            },
        )?;
        Ok(code)
    }

    fn added(
        &mut self,
        code: CUresult,
        call: &'static str,
        name: &str,
        image: Option<&Image<'_>>,
    ) -> Result<(), Error> {
        if code != CUresult::SUCCESS {
            let report = self.slots.report();
            return Err(match image {
                Some(image) => image.refused(call, code, Some(&self.context), name, report),
                None => compiler_error(call, code, name, report),
            });
        }
        self.inputs.push(name.to_string());
        Ok(())
    }

    /// Links, and copies the image out.
    ///
    /// Driver calls: `cuLinkComplete`, `cuLinkDestroy`.
    ///
    /// # Errors
    /// [`ErrorKind::Compiler`] with the log for a symbol that is undefined, or defined twice.
    #[doc(alias = "cuLinkComplete")]
    pub fn complete(mut self) -> Result<LinkedImage, Error> {
        let (mut data, mut len) = (std::ptr::null_mut(), 0);
        let origin = format!("link of {}", self.inputs.join(", "));
        let code = self.ask(&origin, |driver| {
            // SAFETY: this value has the link (`Linker::raw`), and `complete` takes it, so that this is the only use of
            // it; both outputs are locals, which outlive the call.
            unsafe { driver.cuLinkComplete(self.raw, &mut data, &mut len) }
        })?;
        let report = self.slots.report();
        if code != CUresult::SUCCESS {
            return Err(compiler_error("cuLinkComplete", code, &origin, report));
        }
        let bytes = if data.is_null() {
            Vec::new()
        } else {
            // SAFETY: not null, and so the driver's image with that many bytes, which lives, and is not written, until
            // the link is destroyed: `close` does so below, after the copy.
            unsafe { std::slice::from_raw_parts(data.cast::<u8>().cast_const(), len) }.to_vec()
        };
        let inputs = std::mem::take(&mut self.inputs);
        self.close()?;
        Ok(LinkedImage { bytes, report, inputs })
    }

    /// The raw link, valid as long as this value lives.
    pub fn raw(&self) -> CUlinkState {
        self.raw
    }

    /// Abandons the link without an image, and reports any error.
    ///
    /// Driver call: `cuLinkDestroy`.
    ///
    /// # Errors
    /// Any error returned by the driver; the link is released in any case.
    #[doc(alias = "cuLinkDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.destroy()
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if self.raw.is_null() {
            return Ok(());
        }
        // Still owned: the drop that follows passes it on.
        host_call::refuse("cuLinkDestroy")?;
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        // Let go behind the link alone: one that stays has pointers into it.
        let slots = ManuallyDrop::new(std::mem::take(&mut self.slots));
        // SAFETY: this value owned the link, and destroys it once, as `raw` was replaced by null above; `&mut self` is
        // the only use of it.
        let destroy = |driver: &Driver| unsafe { driver.cuLinkDestroy(raw) };
        self.context.give_back("cuLinkDestroy", String::new, destroy)?;
        drop(ManuallyDrop::into_inner(slots));
        Ok(())
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        if !self.raw.is_null() && host_call::is_running() {
            let rest = Self {
                raw: std::mem::replace(&mut self.raw, std::ptr::null_mut()),
                context: self.context.clone(),
                slots: std::mem::take(&mut self.slots),
                inputs: Vec::new(),
            };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `drop` cannot report the error; `close` does.
        let _ = self.destroy();
    }
}

impl LinkedImage {
    /// Loads the image; see [`CudaContext::load_module`].
    ///
    /// # Errors
    /// Those of [`CudaContext::load_module`].
    pub fn load(&self, context: &CudaContext) -> Result<CudaModule, Error> {
        context.load_module(&self.bytes)
    }
}

impl AsRef<[u8]> for LinkedImage {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl KernelImage for LinkedImage {
    const IS_TEXT: bool = false;

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
