//! The file of a recorded launch: `docs/recording.md` describes the format.

use super::hash::Hash;
use super::image;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};

/// What a recording begins with. The end of a line of DOS shows a file that was sent as text.
const MAGIC: [u8; 8] = *b"cu-rec\r\n";
/// The version of the form.
const VERSION: u32 = 1;
/// Zero bytes of memory are left out in units of this.
const PAGE: usize = 4096;
/// So many bytes that stayed as they were end a change.
const GRAIN: usize = 64;
/// Bytes of the value of an attribute.
pub const ATTRIBUTE: usize = 64;
/// The result of a launch that was not over: `CUDA_ERROR_NOT_READY`, which no launch returns.
pub(super) const UNFINISHED: u32 = 600;
/// Bytes that describe how a texture is read: a `CUDA_TEXTURE_DESC`.
pub const SAMPLING: usize = 104;
/// The sections that a file has once.
const ONCE: [&[u8; 4]; 6] = [b"kern", b"conf", b"para", b"args", b"imag", b"hash"];
/// Of these, the ones without which there is no launch.
const NEEDED: [&[u8; 4]; 3] = [b"kern", b"conf", b"imag"];

/// One launch, with everything that it needs, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// As the driver knows it, mangled.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The result of the launch, or of the wait after it: a `CUresult`; `CUDA_ERROR_NOT_READY` if the launch was not over when
    /// this was written.
    pub code: u32,
    /// The driver's version.
    pub driver: u32,
    /// Id (`CUlimit`) and value of the context's limits on which a kernel may depend: its stack, its heap, the buffer of `printf`.
    pub limits: Vec<(u32, u64)>,
    /// Id and value of each attribute.
    pub attributes: Vec<(u32, [u8; ATTRIBUTE])>,
    /// Offset and size of each parameter.
    pub parameters: Vec<(u32, u32)>,
    /// The arguments at their offsets.
    pub arguments: Vec<u8>,
    /// The textures among the arguments.
    pub textures: Vec<Texture>,
    /// What the program loaded: PTX, a cubin or a fatbin.
    pub image: Vec<u8>,
    /// The memory that the arguments reach, and the variables of the module.
    pub regions: Vec<Region>,
}

/// A texture object of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Where its handle is among the arguments.
    pub offset: u32,
    /// The memory, which is in a region.
    pub address: u64,
    /// A `CUarray_format`.
    pub format: u32,
    /// Numbers per element.
    pub channels: u32,
    /// Bytes of linear memory, or elements of a row.
    pub width: u64,
    /// Rows; 0 for linear memory.
    pub height: u64,
    /// Bytes from row to row; 0 for linear memory.
    pub pitch: u64,
    /// How it is read: a `CUDA_TEXTURE_DESC`.
    pub sampling: [u8; SAMPLING],
}

/// An allocation, or a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The name of the variable (mangled); none for an allocation.
    pub variable: Option<String>,
    /// Where it was.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// Before the launch; bytes not in it were zero.
    pub before: Contents,
    /// After the launch; bytes not in it were unchanged. Empty if the launch failed.
    pub after: Contents,
}

/// Pieces of memory, each with its offset, in order and apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents(Vec<(u64, Vec<u8>)>);

/// Why a file is not a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It does not begin like one.
    #[error("it is not a recording of a launch: `cuda-launch record` creates them")]
    Other,
    /// It has a later version.
    #[error("it has version {0}, but this program reads version {VERSION}: use a newer program")]
    Version(u32),
    /// It is damaged.
    #[error("it is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where.
        offset: usize,
        /// What is wrong.
        what: String,
    },
}

impl Contents {
    /// All of a memory that is not zero.
    pub fn of(bytes: &[u8]) -> Contents {
        let is_kept = |page: &&[u8]| page.iter().any(|byte| *byte != 0);
        Contents::pieces(bytes, PAGE, |_, page| is_kept(&page))
    }

    /// Like [`of`](Self::of), for bytes that are no longer needed: if none of them is left out, they are not copied.
    pub fn of_vec(bytes: Vec<u8>) -> Contents {
        let is_zero = |page: &[u8]| page.iter().all(|byte| *byte == 0);
        match bytes.is_empty() || bytes.chunks(PAGE).any(is_zero) {
            true => Contents::of(&bytes),
            false => Contents(vec![(0, bytes)]),
        }
    }

    /// What is different now.
    pub fn changes(before: &[u8], after: &[u8]) -> Contents {
        Contents::pieces(after, GRAIN, |at, grain| before.get(at..at + grain.len()) != Some(grain))
    }

    /// The units for which `is_kept` is true, side by side in one piece.
    fn pieces(bytes: &[u8], unit: usize, mut is_kept: impl FnMut(usize, &[u8]) -> bool) -> Contents {
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, chunk) in bytes.chunks(unit).enumerate() {
            let at = number * unit;
            if !is_kept(at, chunk) {
                continue;
            }
            match pieces.last_mut().filter(|(start, piece)| *start as usize + piece.len() == at) {
                Some((_, piece)) => piece.extend_from_slice(chunk),
                None => pieces.push((at as u64, chunk.to_vec())),
            }
        }
        Contents(pieces)
    }

    /// The pieces.
    pub fn list(&self) -> &[(u64, Vec<u8>)] {
        &self.0
    }

    /// Puts what is known of the bytes from `start` on into a place.
    fn put(&self, start: u64, place: &mut [u8]) {
        let end = start.saturating_add(place.len() as u64);
        let first = self.0.partition_point(|(at, piece)| at + piece.len() as u64 <= start);
        for (at, piece) in self.0.iter().skip(first).take_while(|(at, _)| *at < end) {
            let (from, to) = ((*at).max(start), (at + piece.len() as u64).min(end));
            let (source, target) =
                ((from - at) as usize..(to - at) as usize, (from - start) as usize..(to - start) as usize);
            if let (Some(target), Some(source)) = (place.get_mut(target), piece.get(source)) {
                target.copy_from_slice(source);
            }
        }
    }
}

impl Region {
    /// The bytes from `start` on, as they were before the launch.
    pub fn before(&self, start: u64, place: &mut [u8]) {
        place.fill(0);
        self.before.put(start, place);
    }

    /// The same after it.
    pub fn after(&self, start: u64, place: &mut [u8]) {
        self.before(start, place);
        self.after.put(start, place);
    }

    /// What is different now, in bytes that are as many as the region's.
    pub(super) fn changes(&self, now: &[u8]) -> Contents {
        let mut page = [0; PAGE];
        Contents::pieces(now, GRAIN, |at, grain| {
            if at % PAGE == 0 {
                self.before(at as u64, &mut page);
            }
            page.get(at % PAGE..at % PAGE + grain.len()) != Some(grain)
        })
    }
}

impl Region {
    /// The same memory with other words of eight bytes, at multiples of eight, where `new` has one, before the launch and after it; and how
    /// many of before.
    pub fn with_words(&self, new: impl Fn(u64) -> Option<u64>) -> (Region, usize) {
        let (before, changed) = self.before.with_words(self.address, &new);
        let (after, _) = self.after.with_words(self.address, &new);
        (Region { before, after, variable: self.variable.clone(), ..*self }, changed)
    }
}

impl Contents {
    fn with_words(&self, address: u64, new: &dyn Fn(u64) -> Option<u64>) -> (Contents, usize) {
        let (mut contents, mut changed) = (self.clone(), 0);
        for (at, piece) in &mut contents.0 {
            let first = address.wrapping_add(*at).wrapping_neg() % 8;
            for word in piece.get_mut(first as usize..).unwrap_or_default().as_chunks_mut::<8>().0 {
                if let Some(new) = new(u64::from_le_bytes(*word)) {
                    *word = new.to_le_bytes();
                    changed += 1;
                }
            }
        }
        (contents, changed)
    }
}

impl Recording {
    /// Whether the launch was not over when this was written: it has inputs, and no outputs.
    pub fn is_unfinished(&self) -> bool {
        self.code == UNFINISHED
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = Vec::new();
        // Memory takes all that it is given.
        let _ = self.write_to(&mut file);
        file
    }

    /// Writes the file in pieces, without a copy of it in memory.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_to(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut file = Writer { writer, hash: Hash::default() };
        file.put(&MAGIC)?;
        file.put(&VERSION.to_le_bytes())?;
        file.section(b"kern", self.kernel.as_bytes())?;
        let numbers = self.grid.iter().chain(&self.block).chain([&self.shared, &self.code, &self.driver]);
        file.section(b"conf", &numbers.flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())?;
        for (id, value) in &self.limits {
            file.section(b"limi", &[&id.to_le_bytes()[..], &value.to_le_bytes()].concat())?;
        }
        for (id, value) in &self.attributes {
            file.section(b"attr", &[&id.to_le_bytes(), value.as_slice()].concat())?;
        }
        let parameters = self.parameters.iter().flat_map(|(offset, size)| [*offset, *size]);
        file.section(b"para", &parameters.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())?;
        file.section(b"args", &self.arguments)?;
        for texture in &self.textures {
            file.section(b"text", &texture.to_bytes())?;
        }
        file.section(b"imag", &self.image)?;
        self.regions.iter().try_for_each(|region| region.write_to(&mut file))?;
        let hash = file.hash.value().to_le_bytes();
        file.section(b"hash", &hash)?;
        file.section(b"done", &[])
    }

    /// Reads a file, which may come from an untrusted source.
    ///
    /// # Errors
    ///
    /// [`FormatError`]: not a recording, one of a later version, or a damaged one.
    pub fn read(file: &[u8]) -> Result<Recording, FormatError> {
        let mut reader = Reader { file, at: 0 };
        if reader.take(MAGIC.len()).ok() != Some(&MAGIC) {
            return Err(FormatError::Other);
        }
        let version = reader.u32()?;
        if version != VERSION {
            return Err(FormatError::Version(version));
        }
        let (mut recording, mut seen) = (Recording::default(), BTreeSet::new());
        loop {
            let start = reader.at;
            let tag = reader.take(4)?;
            let length = reader.length()?;
            let mut section =
                Reader { file: file.get(..reader.at + length).unwrap_or_default(), at: reader.at };
            reader.at += length;
            if !seen.insert(tag) && ONCE.iter().any(|once| *once == tag) {
                return Err(damaged(start, format!("a second section `{}`", tag.escape_ascii())));
            }
            match tag {
                b"done" => return recording.whole(start, &seen),
                b"hash" => unchanged(file.get(..start).unwrap_or_default(), section.u64()?)?,
                _ => recording.add(tag, &mut section)?,
            }
        }
    }

    fn add(&mut self, tag: &[u8], section: &mut Reader<'_>) -> Result<(), FormatError> {
        match tag {
            b"kern" => {
                let at = section.at;
                self.kernel = name(section.rest()).ok_or_else(|| damaged(at, "not the name of a kernel"))?;
            }
            b"conf" => {
                self.grid = [section.u32()?, section.u32()?, section.u32()?];
                self.block = [section.u32()?, section.u32()?, section.u32()?];
                (self.shared, self.code, self.driver) = (section.u32()?, section.u32()?, section.u32()?);
            }
            b"attr" => {
                let (id, mut value) = (section.u32()?, [0; ATTRIBUTE]);
                value.copy_from_slice(section.take(ATTRIBUTE)?);
                self.attributes.push((id, value));
            }
            b"limi" => self.limits.push((section.u32()?, section.u64()?)),
            b"para" => {
                while !section.is_over() {
                    self.parameters.push((section.u32()?, section.u32()?));
                }
            }
            b"text" => self.textures.push(Texture::read(section)?),
            b"args" => self.arguments = section.rest().to_vec(),
            b"imag" => {
                let at = section.at;
                self.image = section.rest().to_vec();
                let (length, end) = (self.image.len(), image::length(&self.image));
                if end.is_none_or(|end| end > length as u64) {
                    let end = end.map_or("no length".to_owned(), |end| format!("{end} bytes"));
                    return Err(damaged(at, format!("an image of {length} bytes, whose headers say {end}")));
                }
            }
            b"memo" => self.regions.push(Region::read(section)?),
            b"vari" => {
                let (at, length) = (section.at, section.length()?);
                let name =
                    name(section.take(length)?).ok_or_else(|| damaged(at, "not the name of a variable"))?;
                self.regions.push(Region { variable: Some(name), ..Region::read(section)? });
            }
            // A later program may have added something that can be left out.
            _ => {}
        }
        Ok(())
    }

    /// What belongs together is there and fits.
    fn whole(self, offset: usize, seen: &BTreeSet<&[u8]>) -> Result<Recording, FormatError> {
        if let Some(missing) = NEEDED.iter().find(|tag| !seen.contains(tag.as_slice())) {
            return Err(damaged(offset, format!("the end, but no section `{}`", missing.escape_ascii())));
        }
        let end = |(offset, size): &(u32, u32)| u64::from(*offset) + u64::from(*size);
        let (needed, bytes) = (self.parameters.iter().map(end).max().unwrap_or(0), self.arguments.len());
        if needed > bytes as u64 {
            let what = format!("{bytes} bytes of arguments, but the parameters take {needed}");
            return Err(damaged(offset, what));
        }
        match self.textures.iter().find(|texture| u64::from(texture.offset) + 8 > bytes as u64) {
            None => Ok(self),
            Some(Texture { offset: at, .. }) => {
                Err(damaged(offset, format!("a texture at {at}, but {bytes} bytes of arguments")))
            }
        }
    }
}

impl Texture {
    fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.offset, self.format, self.channels];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let numbers = [self.address, self.width, self.height, self.pitch];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(self.sampling);
        bytes
    }

    fn read(section: &mut Reader<'_>) -> Result<Texture, FormatError> {
        let (offset, format, channels) = (section.u32()?, section.u32()?, section.u32()?);
        let (address, width, height, pitch) =
            (section.u64()?, section.u64()?, section.u64()?, section.u64()?);
        let sampling = section.array()?;
        Ok(Texture { offset, address, format, channels, width, height, pitch, sampling })
    }
}

/// Writes, and hashes what is written.
struct Writer<'file> {
    writer: &'file mut dyn Write,
    hash: Hash,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.add(bytes);
        self.writer.write_all(bytes)
    }

    fn numbers(&mut self, numbers: &[u64]) -> io::Result<()> {
        numbers.iter().try_for_each(|number| self.put(&number.to_le_bytes()))
    }

    /// The start of a section, whose content follows.
    fn begin(&mut self, tag: &[u8; 4], length: u64) -> io::Result<()> {
        self.put(tag)?;
        self.numbers(&[length])
    }

    fn section(&mut self, tag: &[u8; 4], content: &[u8]) -> io::Result<()> {
        self.begin(tag, content.len() as u64)?;
        self.put(content)
    }
}

impl Region {
    fn write_to(&self, file: &mut Writer<'_>) -> io::Result<()> {
        let contents = [&self.before, &self.after];
        let lengths: u64 = contents.iter().map(|contents| contents.length()).sum();
        match &self.variable {
            None => file.begin(b"memo", 16 + lengths)?,
            Some(name) => {
                file.begin(b"vari", 8 + name.len() as u64 + 16 + lengths)?;
                file.numbers(&[name.len() as u64])?;
                file.put(name.as_bytes())?;
            }
        }
        file.numbers(&[self.address, self.bytes])?;
        contents.into_iter().try_for_each(|contents| contents.write_to(file))
    }
}

impl Contents {
    /// In the file.
    fn length(&self) -> u64 {
        8 + self.0.iter().map(|(_, piece)| 16 + piece.len() as u64).sum::<u64>()
    }

    fn write_to(&self, file: &mut Writer<'_>) -> io::Result<()> {
        file.numbers(&[self.0.len() as u64])?;
        self.0.iter().try_for_each(|(at, piece)| {
            file.numbers(&[*at, piece.len() as u64])?;
            file.put(piece)
        })
    }
}

/// As drivers take it, and as it can be shown.
fn name(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

fn damaged(offset: usize, what: impl Into<String>) -> FormatError {
    FormatError::Damaged { offset, what: what.into() }
}

/// Compares what was written before the hash with what is there.
fn unchanged(before: &[u8], recorded: u64) -> Result<(), FormatError> {
    match Hash::of(before) {
        same if same == recorded => Ok(()),
        other => {
            let what = format!("what is before has the hash {other:#x}, but {recorded:#x} was written");
            Err(damaged(before.len(), what))
        }
    }
}

impl Region {
    fn read(section: &mut Reader<'_>) -> Result<Region, FormatError> {
        let (address, bytes) = (section.u64()?, section.u64()?);
        if bytes == 0 || address.checked_add(bytes).is_none() {
            return Err(section.damaged(format!("memory of {bytes} bytes at {address:#x}")));
        }
        let (before, after) = (Contents::read(section, bytes)?, Contents::read(section, bytes)?);
        Ok(Region { variable: None, address, bytes, before, after })
    }
}

impl Contents {
    fn read(section: &mut Reader<'_>, bytes: u64) -> Result<Contents, FormatError> {
        let (mut pieces, mut end) = (Vec::new(), 0);
        for _ in 0..section.u64()? {
            let at = section.u64()?;
            let length = section.length()?;
            let next = at.checked_add(length as u64).filter(|next| at >= end && *next <= bytes && length > 0);
            end = next.ok_or_else(|| {
                let piece = format!("a piece of {length} bytes at offset {at}");
                section
                    .damaged(format!("{piece}, in memory of {bytes} bytes whose pieces so far end at {end}"))
            })?;
            pieces.push((at, section.take(length)?.to_vec()));
        }
        Ok(Contents(pieces))
    }
}

/// Reads numbers, and never more than there is.
struct Reader<'file> {
    file: &'file [u8],
    at: usize,
}

impl<'file> Reader<'file> {
    fn damaged(&self, what: impl Into<String>) -> FormatError {
        damaged(self.at, what)
    }

    fn left(&self) -> usize {
        self.file.len().saturating_sub(self.at)
    }

    fn take(&mut self, count: usize) -> Result<&'file [u8], FormatError> {
        let bytes = self.at.checked_add(count).and_then(|end| self.file.get(self.at..end));
        let what = || format!("{count} bytes are expected, and {} are left", self.left());
        let bytes = bytes.ok_or_else(|| self.damaged(what()))?;
        self.at += count;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, FormatError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of bytes that follow.
    fn length(&mut self) -> Result<usize, FormatError> {
        let length = self.u64()?;
        let left = self.left();
        usize::try_from(length)
            .ok()
            .filter(|length| *length <= left)
            .ok_or_else(|| self.damaged(format!("a length of {length} bytes, and {left} are left")))
    }

    fn is_over(&self) -> bool {
        self.at >= self.file.len()
    }

    fn rest(&mut self) -> &'file [u8] {
        let rest = self.file.get(self.at..).unwrap_or_default();
        self.at = self.file.len();
        rest
    }
}

/// `saxpy, grid: (1, 1, 1), block: (32, 1, 1), 3 arguments, 2 allocations`
impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([gx, gy, gz], [bx, by, bz]) = (self.grid, self.block);
        let (variables, allocations): (Vec<&Region>, Vec<&Region>) =
            self.regions.iter().partition(|region| region.variable.is_some());
        let bytes = |regions: &[&Region]| regions.iter().map(|region| u128::from(region.bytes)).sum::<u128>();
        write!(
            f,
            "{}, grid: ({gx}, {gy}, {gz}), block: ({bx}, {by}, {bz}), arguments: {}, allocations: {} of {} bytes in all",
            self.kernel,
            self.parameters.len(),
            allocations.len(),
            bytes(&allocations)
        )?;
        match variables.len() {
            0 => Ok(()),
            count => write!(f, ", variables: {count} of {} bytes in all", bytes(&variables)),
        }
    }
}
