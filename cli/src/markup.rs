//! Common parts of pages and pictures for a browser: escaping, colours, the frame of a page, text in a picture.

/// The style of every page, in light and dark.
const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --faint: #6b6b70; --line: #e4e4e7; --heat: 213, 94, 0; --bar: #0072b2; --bad: #c0392b }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --paper: #18181b; --faint: #9a9aa2; --line: #34343a; --heat: 230, 159, 0; --bar: #56b4e9; --bad: #ff7b6b } }
body { margin: 1.2rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
h1 { font-size: 1.25rem; margin: 0 0 .3rem; overflow-wrap: anywhere }
p { margin: .2rem 0 .8rem; overflow-wrap: anywhere } .faint { color: var(--faint) } .bad { color: var(--bad) }
.scroll { overflow-x: auto } table { border-collapse: collapse; font: 13px/1.35 ui-monospace, monospace }
th { text-align: right; font-weight: 600; border-bottom: 1px solid var(--line) }
td, th { padding: 0 .6rem } td { text-align: right; white-space: pre } td.code, th.code { text-align: left }
@media (max-width: 600px) { body { margin: .6rem } td, th { padding: 0 .3rem } }
";

/// How opaque the colour of heat is behind the hottest line, at most: its text stays readable.
pub(crate) const HOTTEST: f64 = 0.45;

/// Distinguishable with colour-blindness (Okabe and Ito).
pub(crate) mod colour {
    pub(crate) const BLUE: &str = "#0072b2";
    pub(crate) const SKY: &str = "#56b4e9";
    pub(crate) const GREEN: &str = "#009e73";
    pub(crate) const ORANGE: &str = "#e69f00";
    pub(crate) const YELLOW: &str = "#f0e442";
    pub(crate) const VERMILION: &str = "#d55e00";
    pub(crate) const PURPLE: &str = "#cc79a7";
}

/// A self-contained page. `title` is text, `style` is added to that of every page, `body` is the markup after the
/// heading.
pub(crate) fn page(title: &str, style: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// Text of a picture.
pub(crate) fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

/// A name in an image may contain anything.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            // A tooltip may have lines.
            '\n' => safe.push('\n'),
            // XML has no way to write these two, nor control characters.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{HOTTEST, STYLE, escaped};

    /// A colour of the style, in light or dark.
    fn colour(name: &str, dark: bool) -> [f64; 3] {
        let text = STYLE.lines().filter(|line| line.contains("--ink:")).nth(usize::from(dark)).unwrap();
        let (_, value) = text.split_once(&format!("--{name}: ")).unwrap();
        let value = value.split([';', ' ', '}']).next().unwrap();
        if let Some(digits) = value.strip_prefix('#') {
            let wide = if digits.len() == 3 {
                digits.chars().flat_map(|c| [c, c]).collect()
            } else {
                digits.to_owned()
            };
            return [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()));
        }
        let (_, list) = text.split_once(&format!("--{name}: ")).unwrap();
        let list = list.split([';', '}']).next().unwrap().split(',').map(|part| part.trim().parse().unwrap());
        list.collect::<Vec<f64>>().try_into().unwrap()
    }

    /// The contrast ratio of WCAG 2: 4.5 is enough for text.
    fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
        let luminance = |colour: [f64; 3]| {
            let linear = colour.map(|part| {
                let part = part / 255.0;
                if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        (one / other).max(other / one)
    }

    #[test]
    fn text_is_readable_in_light_and_dark_on_the_hottest_line_too() {
        for dark in [false, true] {
            let [ink, paper, faint, bad, heat] =
                ["ink", "paper", "faint", "bad", "heat"].map(|name| colour(name, dark));
            let blended = [0, 1, 2].map(|at| heat[at] * HOTTEST + paper[at] * (1.0 - HOTTEST));
            for (text, behind, what) in [
                (ink, paper, "text"),
                (faint, paper, "faint"),
                (bad, paper, "bad"),
                (ink, blended, "hottest line"),
            ] {
                let ratio = contrast(text, behind);
                assert!(ratio >= 4.5, "{what}, dark {dark}: {ratio}");
            }
        }
    }

    #[test]
    fn names_cannot_be_markup() {
        assert_eq!(escaped("<b a=\"1\" c='2'>&\x1b"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}");
    }
}
