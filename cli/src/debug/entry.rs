//! Reads one DWARF entry at a time, within a budget.

use gimli::{
    Abbreviation, Abbreviations, Attribute, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DwAte, DwTag,
    EndianSlice, EntriesRaw, LittleEndian, Reader, UnitHeader, UnitOffset, constants as dw,
};

use super::Sections;

pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Value<'a> = AttributeValue<Slice<'a>>;

/// The maximum budget for one file.
const MOST: usize = 16 << 20;
/// The number of bytes that can be searched for the end of a string in the time of one attribute.
const BYTES_A_STEP: usize = 8;
/// Bytes of the longest table of abbreviations.
const LONGEST_TABLE: usize = 32 << 10;
/// Bytes of the longest name.
const LONGEST_NAME: usize = 4096;

/// The attributes of an entry that are read.
pub(super) struct Entry<'a> {
    pub(super) tag: DwTag,
    pub(super) depth: isize,
    pub(super) name: Option<&'a [u8]>,
    pub(super) linkage_name: Option<&'a [u8]>,
    pub(super) ty: Option<UnitOffset>,
    /// The entry with its other attributes: its declaration, or the inlined function.
    pub(super) origin: Option<UnitOffset>,
    pub(super) size: Option<usize>,
    pub(super) encoding: Option<DwAte>,
    pub(super) is_declaration: bool,
    /// The number of bytes that were searched for the ends of its strings.
    searched: usize,
}

/// Limits the work of reading.
pub(super) struct Budget(usize);

/// A unit with its abbreviations.
pub(super) struct Unit<'u, 'a> {
    pub(super) sections: &'a Sections<'a>,
    pub(super) header: &'u UnitHeader<Slice<'a>>,
    pub(super) abbreviations: &'u Abbreviations,
}

impl Budget {
    /// Proportional to the sections, so that many small images cost no more than a large one. Compilers write an attribute
    /// in one or more bytes; the rest is for types, which are looked up again for each parameter.
    pub(super) fn of(sections: &Sections<'_>) -> Self {
        let bytes = sections.info.len() + sections.abbreviations.len() + sections.strings.len();
        Self(bytes.saturating_mul(4).min(MOST))
    }

    /// `None` if there is not that much left.
    pub(super) fn spend(&mut self, amount: usize) -> Option<()> {
        let left = self.0.checked_sub(amount);
        self.0 = left.unwrap_or(0);
        left.map(drop)
    }
}

/// The table of abbreviations at this offset.
pub(super) fn abbreviations(
    section: &[u8],
    offset: DebugAbbrevOffset,
    budget: &mut Budget,
) -> Option<Abbreviations> {
    let rest = section.get(offset.0..)?;
    let rest = rest.get(..LONGEST_TABLE.min(budget.0)).unwrap_or(rest);
    // A hostile file can have as many tables as bytes, all with the same end.
    let length = table_length(rest);
    budget.spend(length.unwrap_or(rest.len()))?;
    DebugAbbrev::new(rest.get(..length?)?, LittleEndian).abbreviations(DebugAbbrevOffset(0)).ok()
}

/// Bytes up to the end of the table.
fn table_length(table: &[u8]) -> Option<usize> {
    let mut rest = EndianSlice::new(table, LittleEndian);
    // The code, the tag, and whether there are children.
    while rest.read_uleb128().ok()? != 0 {
        rest.read_uleb128().ok()?;
        rest.read_u8().ok()?;
        loop {
            let (name, form) = (rest.read_uleb128().ok()?, rest.read_uleb128().ok()?);
            if form == u64::from(dw::DW_FORM_implicit_const.0) {
                rest.read_sleb128().ok()?;
            }
            if name == 0 && form == 0 {
                break;
            }
        }
    }
    table.len().checked_sub(rest.len())
}

impl<'a> Unit<'_, 'a> {
    /// The entry at an offset of the unit.
    pub(super) fn at(&self, place: UnitOffset, budget: &mut Budget) -> Option<Entry<'a>> {
        let mut entries = self.header.entries_raw(self.abbreviations, Some(place)).ok()?;
        self.next(&mut entries, budget)?
    }

    /// The next entry; `None` if the data is broken or the budget is spent, `Some(None)` at the end of a list.
    pub(super) fn next(
        &self,
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        budget: &mut Budget,
    ) -> Option<Option<Entry<'a>>> {
        let depth = entries.next_depth();
        // The end of a list is an entry too.
        budget.spend(1)?;
        let Some(abbreviation) = entries.read_abbreviation().ok()? else { return Some(None) };
        // Attributes may occupy no bytes, so every entry can have as many as the table has bytes.
        budget.spend(abbreviation.attributes().len())?;
        let start = entries.next_offset().0;
        let entry = self.attributes(entries, abbreviation, depth);
        let searched = match &entry {
            Some(entry) => entries.next_offset().0.saturating_sub(start).saturating_add(entry.searched),
            // A string without an end was searched to the end of the unit.
            None => self.header.length_including_self().saturating_sub(start),
        };
        budget.spend(searched / BYTES_A_STEP)?;
        entry.map(Some)
    }

    fn attributes(
        &self,
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        abbreviation: &Abbreviation,
        depth: isize,
    ) -> Option<Entry<'a>> {
        let mut entry = Entry::new(abbreviation.tag(), depth);
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification).ok()?;
            self.take(&mut entry, &attribute);
        }
        Some(entry)
    }

    fn take(&self, entry: &mut Entry<'a>, attribute: &Attribute<Slice<'a>>) {
        let value = attribute.value();
        match attribute.name() {
            dw::DW_AT_name => entry.name = self.text(&value, &mut entry.searched),
            dw::DW_AT_linkage_name | dw::DW_AT_MIPS_linkage_name => {
                entry.linkage_name = self.text(&value, &mut entry.searched)
            }
            dw::DW_AT_type => entry.ty = place(&value),
            dw::DW_AT_specification | dw::DW_AT_abstract_origin => entry.origin = place(&value),
            dw::DW_AT_byte_size => {
                entry.size = value.udata_value().and_then(|size| usize::try_from(size).ok());
            }
            dw::DW_AT_encoding => {
                if let AttributeValue::Encoding(encoding) = value {
                    entry.encoding = Some(encoding);
                }
            }
            dw::DW_AT_declaration => entry.is_declaration = true,
            _ => {}
        }
    }

    fn text(&self, value: &Value<'a>, searched: &mut usize) -> Option<&'a [u8]> {
        let (table, place) = match value {
            AttributeValue::String(text) => {
                return Some(text.slice()).filter(|text| text.len() <= LONGEST_NAME);
            }
            AttributeValue::DebugStrRef(place) => (&self.sections.strings, place.0),
            AttributeValue::DebugLineStrRef(place) => (&self.sections.line_strings, place.0),
            _ => return None,
        };
        let rest = table.get(place..)?;
        let length = rest.iter().take(LONGEST_NAME).position(|&byte| byte == 0);
        *searched += length.unwrap_or(LONGEST_NAME);
        rest.get(..length?)
    }
}

impl Entry<'_> {
    fn new(tag: DwTag, depth: isize) -> Self {
        Self {
            tag,
            depth,
            name: None,
            linkage_name: None,
            ty: None,
            origin: None,
            size: None,
            encoding: None,
            is_declaration: false,
            searched: 0,
        }
    }
}

/// An offset in the same unit; types of other units are not followed.
fn place(value: &Value<'_>) -> Option<UnitOffset> {
    match value {
        AttributeValue::UnitRef(place) => Some(*place),
        _ => None,
    }
}
