//! Whether a text is well-formed XML, as far as this tool writes it.

/// The names of the elements, in the order in which they begin.
pub(crate) fn elements(text: &str) -> Result<Vec<&str>, String> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        words(&rest[..at])?;
        rest = &rest[at + 1..];
        let end = rest.find('>').ok_or("a tag without an end")?;
        let (tag, empty) = match rest[..end].strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (&rest[..end], false),
        };
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let begun = open.pop();
            if begun != Some(name) {
                return Err(format!("</{name}> ends {begun:?}"));
            }
            continue;
        }
        let (name, rest_of_tag) = tag.split_once(' ').unwrap_or((tag, ""));
        attributes(rest_of_tag).map_err(|why| format!("<{tag}>: {why}"))?;
        all.push(name);
        if !empty {
            open.push(name);
        }
    }
    words(rest)?;
    if open.is_empty() { Ok(all) } else { Err(format!("{open:?} do not end")) }
}

fn attributes(mut rest: &str) -> Result<(), String> {
    let mut names = Vec::new();
    while !rest.trim().is_empty() {
        let (name, after) = rest.split_once("=\"").ok_or("an attribute without a value")?;
        let (value, after) = after.split_once('"').ok_or("a value without an end")?;
        let name = name.trim();
        if names.contains(&name) || name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
            return Err(format!("the attribute {name}"));
        }
        names.push(name);
        words(value)?;
        rest = after;
    }
    Ok(())
}

fn words(text: &str) -> Result<(), String> {
    for after in text.split('&').skip(1) {
        let entity = after.split(';').next().unwrap_or_default();
        if !["amp", "lt", "gt", "quot", "#39"].contains(&entity) {
            return Err(format!("&{after}"));
        }
    }
    match text.chars().find(|c| c.is_control() && *c != '\n' || *c == '>') {
        Some(c) => Err(format!("{c:?} in {text}")),
        None => Ok(()),
    }
}
