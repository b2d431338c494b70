use std::fmt;

use crate::error::ParseError;

/// The class of an [`ImageError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageErrorKind {
    /// Neither PTX text nor a cubin nor a fatbin.
    Unrecognized,
    /// Source code, or LLVM IR, which a compiler turns into an image.
    Source,
    /// The bytes end before the image does; the offset is where the bytes end.
    Truncated,
    /// A field has a value that is invalid for this kind of image; the offset is that of the field.
    Corrupt,
    /// The image is valid, but the requested part is compressed.
    Compressed,
    /// A compressed entry would exceed [`MAX_CONTENT`](super::MAX_CONTENT), or all entries of a fatbin together
    /// [`MAX_CONTENTS`](super::MAX_CONTENTS); or another limit of the reader, which the message names.
    TooLarge,
    /// The PTX text does not follow the grammar; see [`ImageError::parse_error`].
    Ptx,
}

/// Why the bytes are not a usable kernel image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageError {
    kind: ImageErrorKind,
    offset: usize,
    message: String,
    parse: Option<Box<ParseError>>,
}

impl ImageError {
    pub(crate) fn new(kind: ImageErrorKind, offset: usize, message: impl Into<String>) -> Self {
        Self { kind, offset, message: message.into(), parse: None }
    }

    /// The image has `length` bytes, and `what` needs `need`.
    pub(crate) fn truncated(length: usize, need: u64, what: &str) -> Self {
        let message = format!("the image ends here, but its {what} reaches to byte {need}");
        Self::new(ImageErrorKind::Truncated, length, message)
    }

    pub(crate) fn corrupt(offset: usize, message: impl Into<String>) -> Self {
        Self::new(ImageErrorKind::Corrupt, offset, message)
    }

    /// A text that exceeds a limit of its reader.
    #[must_use]
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(ImageErrorKind::TooLarge, 0, message)
    }

    /// The same error, for an image that lies `base` bytes inside another.
    pub(crate) fn inside(mut self, base: usize) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }

    /// The class of the error, for programs.
    #[must_use]
    pub fn kind(&self) -> ImageErrorKind {
        self.kind
    }

    /// The offset of the wrong or missing byte, from the start of the image.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What is wrong, without the offset.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The parser's error, if the image is PTX that does not parse.
    #[must_use]
    pub fn parse_error(&self) -> Option<&ParseError> {
        self.parse.as_deref()
    }
}

impl From<ParseError> for ImageError {
    fn from(error: ParseError) -> Self {
        Self {
            kind: ImageErrorKind::Ptx,
            offset: 0,
            message: error.to_string(),
            parse: Some(Box::new(error)),
        }
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ImageErrorKind::Ptx => write!(f, "PTX {}", self.message),
            _ => write!(f, "byte {0} ({0:#x}): {1}", self.offset, self.message),
        }
    }
}

impl std::error::Error for ImageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.parse.as_deref().map(|e| e as _)
    }
}
