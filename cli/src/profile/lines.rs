//! The counts by line: of the source if the PTX names it, otherwise of the PTX.

use cuda_emulator::{Counts, InstructionProfile, KernelProfile, Operations};
use std::collections::BTreeMap;
use std::path::Path;

/// The maximum size of a source file in bytes.
const MOST_BYTES: u64 = 4 << 20;
/// Lines shown around those that have instructions.
const AROUND: usize = 1;

/// A line of a listing.
pub(super) struct Line {
    /// The source file; `None` for a line of the PTX.
    pub(super) file: Option<String>,
    /// From 1; 0 between two parts that are apart.
    pub(super) number: u32,
    /// The function whose first instruction is here.
    pub(super) function: Option<String>,
    pub(super) text: String,
    /// `None` for a line without instructions.
    pub(super) counts: Option<Counts>,
    /// Their arithmetic.
    pub(super) operations: Operations,
}

/// All lines that are reported.
pub(super) struct Listing {
    pub(super) lines: Vec<Line>,
    /// Whether the lines are those of the source.
    pub(super) is_source: bool,
    /// Source files whose lines cannot be shown.
    pub(super) missing: Vec<Missing>,
}

/// A source file that cannot be shown.
pub(super) struct Missing {
    pub(super) file: String,
    pub(super) why: String,
}

/// The instructions of a line.
#[derive(Default)]
struct At<'p> {
    counts: Counts,
    operations: Operations,
    function: Option<&'p str>,
}

impl Listing {
    /// Sources are searched at the compiler's path, and beside the image.
    pub(super) fn of(profile: &KernelProfile, ptx: bool, image: &Path) -> Listing {
        let is_source = !ptx && profile.instructions.iter().any(|instruction| instruction.source.is_some());
        let mut files: BTreeMap<Option<&str>, BTreeMap<u32, At<'_>>> = BTreeMap::new();
        let mut last = None;
        for instruction in &profile.instructions {
            let Some((file, line)) = place(instruction, is_source) else { continue };
            let at = files.entry(file).or_default().entry(line).or_default();
            at.counts += instruction.counts;
            at.operations += instruction.operations();
            if last != Some(&instruction.function) {
                at.function = Some(&instruction.function);
                last = Some(&instruction.function);
            }
        }
        let (mut lines, mut missing) = (Vec::new(), Vec::new());
        for (file, counted) in files {
            let text = match file {
                Some(file) => read(Path::new(file), image).unwrap_or_else(|why| {
                    missing.push(Missing { file: file.to_owned(), why });
                    Vec::new()
                }),
                None => profile.text.lines().map(str::to_owned).collect(),
            };
            add(&mut lines, file, &counted, &text);
        }
        Listing { lines, is_source, missing }
    }

    /// The maximum of a count over all lines.
    pub(super) fn most(&self, of: impl Fn(&Counts) -> u64) -> u64 {
        self.lines.iter().filter_map(|line| line.counts.as_ref()).map(of).max().unwrap_or(0)
    }
}

pub(super) fn place(instruction: &InstructionProfile, is_source: bool) -> Option<(Option<&str>, u32)> {
    match &instruction.source {
        Some((file, line)) if is_source => Some((Some(file), *line)),
        _ if is_source => None,
        _ => Some((None, instruction.ptx_line)),
    }
}

/// The lines of a source, or why there are none.
fn read(file: &Path, image: &Path) -> Result<Vec<String>, String> {
    let folder = image.parent().unwrap_or(Path::new(""));
    let places =
        [Some(file.to_owned()), Some(folder.join(file)), file.file_name().map(|name| folder.join(name))];
    let found = places.into_iter().flatten().find(|path| path.is_file());
    let path = found.ok_or_else(|| "not found".to_owned())?;
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    if bytes > MOST_BYTES {
        return Err(format!("over the limit of {MOST_BYTES} bytes"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    // Sources may be in another encoding: what is not UTF-8 is shown as such.
    Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

/// The lines that have instructions, and a few around these.
fn add(lines: &mut Vec<Line>, file: Option<&str>, counted: &BTreeMap<u32, At<'_>>, text: &[String]) {
    let mut next = 1;
    for number in counted.keys() {
        let first = (*number as usize).saturating_sub(AROUND).max(next);
        if first > next || next == 1 {
            lines.push(between(file));
        }
        let last = (*number as usize + AROUND).min(text.len().max(*number as usize));
        for number in first..=last {
            let at = counted.get(&(number as u32));
            let line = text.get(number - 1).map_or("", |line| line.trim_end());
            // Without the source there are no surrounding lines to show.
            if at.is_none() && (line.is_empty() || text.is_empty()) {
                continue;
            }
            lines.push(Line {
                file: file.map(str::to_owned),
                number: number as u32,
                function: at.and_then(|at| at.function).map(str::to_owned),
                text: line.replace('\t', "    "),
                counts: at.map(|at| at.counts),
                operations: at.map(|at| at.operations).unwrap_or_default(),
            });
        }
        next = next.max(last + 1);
    }
}

fn between(file: Option<&str>) -> Line {
    Line {
        file: file.map(str::to_owned),
        number: 0,
        function: None,
        text: String::new(),
        counts: None,
        operations: Operations::default(),
    }
}
