//! Variables that take as much shared or constant memory as there is, or a little more or less.

use super::Random;
use cuda_ptx::{Linkage, Space, Statement, Variable};

/// Bytes of `.const` of a module, and bytes of `.shared` of a kernel on `sm_90`.
const MOST: [(Space, u64); 2] = [(Space::Const, 65_536), (Space::Shared, 232_448)];

/// A text in which one variable is larger, or one more is there.
pub(super) fn change(text: &str, random: &mut Random) -> Option<(&'static str, String)> {
    let module = cuda_ptx::parse(text).ok()?;
    let mut nested = Vec::new();
    for function in module.functions.iter().filter(|function| function.body.is_some()) {
        collect(function.statements().ok()?, &mut nested);
    }
    let (space, most) = MOST[random.below(MOST.len())];
    let of_space = |variable: &&Variable<'_>| variable.space == space && variable.linkage != Linkage::Extern;
    let there: Vec<&Variable<'_>> = module.variables.iter().chain(&nested).filter(of_space).collect();
    let bytes: u64 = there.iter().map(|variable| variable.size()).sum();
    let room = most.checked_sub(bytes)? + [0, 0, 1, 1, 2, 16, 17, 128, 4096][random.below(9)];
    let room = room.checked_sub([0, 0, 0, 1, 15, 300][random.below(6)])?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let larger: Vec<_> = there.iter().filter(|variable| matches!(variable.dims[..], [Some(1..)])).collect();
    if !larger.is_empty() && random.below(2) == 0 {
        enlarge(&mut lines, larger[random.below(larger.len())], room)?;
        return Some(("larger variable", lines.join("\n") + "\n"));
    }
    let align = random.of(&["", ".align 1 ", ".align 16 ", ".align 256 "]);
    // Outside functions, or first in the body of one.
    let outside = random.below(2) == 0;
    let is_start = |at: &usize| match outside {
        true => lines[*at].trim().starts_with(".address_size"),
        false => lines[*at].trim() == "{" && !lines[at.saturating_sub(1)].contains(".section"),
    };
    let starts: Vec<usize> = (0..lines.len()).filter(is_start).collect();
    let line = lines.get_mut(*starts.get(random.below(starts.len()))?)?;
    line.push_str(&format!(
        "\n.{} {align}.b8 too_much[{room}];",
        if space == Space::Const { "const" } else { "shared" }
    ));
    Some(("variable too many", lines.join("\n") + "\n"))
}

/// Adds so many bytes to an array.
fn enlarge(lines: &mut [String], variable: &Variable<'_>, bytes: u64) -> Option<()> {
    let extent = variable.dims.first().copied().flatten()?;
    let more = bytes / (variable.size() / extent);
    let line = lines.get_mut(variable.line as usize - 1)?;
    let start = line.find(&format!("{}[", variable.name))? + variable.name.len() + 1;
    let end = start + line[start..].find(']')?;
    line.replace_range(start..end, &(extent + more).to_string());
    Some(())
}

fn collect<'a>(statements: Vec<Statement<'a>>, found: &mut Vec<Variable<'a>>) {
    for statement in statements {
        match statement {
            Statement::Variable(variable) => found.push(variable),
            Statement::Block(inner) => collect(inner, found),
            _ => {}
        }
    }
}
