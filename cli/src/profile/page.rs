//! A profile as a page of its own for a browser.

use super::text::{active, cells, summary};
use super::{Answer, ratio};

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --faint: #6b6b70; --line: #e4e4e7; --heat: 213, 94, 0; --bar: #0072b2; --bad: #c0392b }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --paper: #18181b; --faint: #9a9aa2; --line: #34343a; --heat: 230, 159, 0; --bar: #56b4e9; --bad: #ff7b6b } }
body { margin: 1.2rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
h1 { font-size: 1.25rem; margin: 0 0 .3rem; overflow-wrap: anywhere }
p { margin: .2rem 0 .8rem } dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem }
dt { font-weight: 600 } dd { margin: 0 } .faint { color: var(--faint) } .bad { color: var(--bad) }
.scroll { overflow-x: auto } table { border-collapse: collapse; font: 13px/1.35 ui-monospace, monospace }
th { position: sticky; top: 0; background: var(--paper); text-align: right; font-weight: 600; border-bottom: 1px solid var(--line) }
td, th { padding: 0 .6rem } td { text-align: right; white-space: pre } td.code, th.code { text-align: left }
tr.gap td { border-top: 1px solid var(--line); height: .3rem } tr.never td.code { color: var(--bad) }
td.part { min-width: 4rem } .bar { display: inline-block; height: .7em; background: var(--bar); vertical-align: baseline }
@media (max-width: 600px) { body { margin: .6rem } dl { grid-template-columns: 1fr } dd { margin-bottom: .3rem } td, th { padding: 0 .3rem } }
";

pub(super) fn draw(answer: &Answer) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Profile of {name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>Profile of {name}</h1>\n<p>{heading}</p>\n",
        name = escaped(&answer.profile.kernel),
        heading = escaped(&answer.heading),
    );
    if let Some(fault) = &answer.fault {
        page += &format!("<p class=\"bad\">The kernel was stopped: {}</p>\n", escaped(fault));
    }
    page += "<dl>\n";
    for (name, told) in summary(answer) {
        page += &format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(&told));
    }
    page += "</dl>\n<p class=\"faint\">The darker a line, the more of all warp instructions it is. Active threads are drawn as a bar, a full one \
             is 32. Sectors of 32 bytes per access to global memory, and passes over the banks per access to shared memory, stand before \
             the number that would do.</p>\n";
    page += &table(answer);
    page + "</body>\n</html>\n"
}

fn table(answer: &Answer) -> String {
    let most = answer.listing.most(|counts| counts.warps);
    let mut text = String::from("<div class=\"scroll\"><table>\n");
    let mut file = None;
    for line in &answer.listing.lines {
        if file != Some(&line.file) {
            let title = line.file.as_deref().unwrap_or("PTX");
            text += &format!(
                "<tr><th>line</th><th>warps</th><th>threads</th><th></th><th>sectors</th><th>banks</th><th class=\"code\">{}</th></tr>\n",
                escaped(title)
            );
            file = Some(&line.file);
            continue;
        }
        if line.number == 0 {
            text += "<tr class=\"gap\"><td colspan=\"7\"></td></tr>\n";
            continue;
        }
        let [warps, threads, sectors, banks] = cells(line.counts.as_ref());
        let counts = line.counts.unwrap_or_default();
        let never = line.counts.is_some_and(|counts| !counts.ran());
        let heat = ratio(counts.warps, most).unwrap_or(0.0) * 0.45;
        let bar = active(&counts) / 32.0 * 4.0;
        text += &format!(
            "<tr{class}><td class=\"faint\">{number}</td><td>{warps}</td><td>{threads}</td><td class=\"part\" style=\"text-align:left\">{bar}</td><td>{sectors}</td><td>{banks}</td><td class=\"code\" style=\"background:rgba(var(--heat),{heat:.3})\">{code}</td></tr>\n",
            class = if never { " class=\"never\"" } else { "" },
            number = line.number,
            bar = if bar > 0.0 {
                format!("<span class=\"bar\" style=\"width:{bar:.2}rem\"></span>")
            } else {
                String::new()
            },
            code = escaped(&line.text),
        );
    }
    text + "</table></div>\n"
}

/// A name in an image may say anything.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_cannot_be_markup() {
        assert_eq!(escaped("<b a=\"1\">&\x1b"), "&lt;b a=&quot;1&quot;&gt;&amp;\u{fffd}");
    }
}
