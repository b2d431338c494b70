//! `cargo xtask pictures`: the pictures in `docs/images/` of what the tool shows, made by running it. Those of pages need Chromium.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cargo::root;
use crate::failure::Result;

/// Columns of a terminal.
const COLUMNS: usize = 88;
/// Pixels of a page.
const PAGE: [u32; 2] = [860, 1012];

/// Arguments of a product of two matrices of 56 x 56, whose last blocks stick out.
const PRODUCT: &[&str] = &[
    "matmul",
    "--arg",
    "in:f32:3136*1",
    "--arg",
    "in:f32:3136*2",
    "--arg",
    "out:f32:3136",
    "--arg",
    "u32:56",
    "--arg",
    "u32:56",
    "--arg",
    "u32:56",
    "--grid",
    "4,4",
    "--block",
    "16,16",
];
/// Those of the kernel without a fence in `docs/schedules.md`.
const FORGETS: &[&str] = &[
    "run",
    "cli/tests/schedules.ptx",
    "forgets",
    "--schedules",
    "20",
    "--print",
    "0",
    "--arg",
    "in:u32:0..256",
    "--arg",
    "inout:u32:8*0",
    "--arg",
    "inout:u32:1*0",
    "--arg",
    "out:u32:1",
    "--grid",
    "8",
    "--block",
    "32",
];

pub(crate) fn make() -> Result<()> {
    let root = root()?;
    let built = Command::new("cargo")
        .args(["build", "--release", "-p", "cuda-launch-cli"])
        .current_dir(root)
        .status()?;
    if !built.success() {
        return Err("the tool was not built".into());
    }
    let folder = root.join("target/pictures");
    fs::create_dir_all(&folder)?;
    // The source beside the image, where the tool finds it.
    let image = folder.join("matmul.ptx");
    fs::copy(root.join("tests/kernels/lineinfo/matmul.ptx"), &image)?;
    fs::copy(root.join("examples/kernels/matmul.cu"), folder.join("matmul.cu"))?;
    let (image, page) = (image.display().to_string(), folder.join("page.html").display().to_string());
    let profile = [&["profile", &image], PRODUCT, &["--html", &page]].concat();
    let images = root.join("docs/images");
    let shown = run(root, &profile)?;
    // The name of a folder of this machine says nothing.
    let name = |text: String| text.replace(&format!("{}/", folder.display()), "");
    terminal(
        &images.join("profile.svg"),
        &["profile", "matmul.ptx", "matmul", "--arg .."].join(" "),
        &name(shown),
    )?;
    terminal(
        &images.join("schedules.svg"),
        "run schedules.ptx forgets --schedules 20 --arg ..",
        &run(root, FORGETS)?,
    )?;
    let timeline = images.join("timeline.svg").display().to_string();
    let tool = tool(root);
    let launch = ["run", "examples/kernels/matmul.ptx"];
    run(root, &[&["trace", "-o", &timeline, "--", &tool], &launch[..], PRODUCT, &["--print", "0"]].concat())?;
    // Where the tool lies is not worth telling.
    let text = fs::read_to_string(&timeline)?.replace(&tool, "cuda-launch");
    fs::write(&timeline, text)?;
    for scheme in ["light", "dark"] {
        photograph(&folder, Path::new(&page), scheme, &images.join(format!("profile-page-{scheme}.png")))?;
    }
    Ok(())
}

fn tool(root: &Path) -> String {
    root.join("target/release/cuda-launch").display().to_string()
}

/// What the tool prints on a terminal; it may have found something.
fn run(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(tool(root));
    command.args(arguments).current_dir(root).env("CUDA_LAUNCH_DRIVER", "emulator");
    let output = command.env("CLICOLOR_FORCE", "1").env("COLUMNS", COLUMNS.to_string()).output()?;
    if output.status.code().is_none_or(|code| code > 1) {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A picture of a terminal, in the colours of the reader's setting.
fn terminal(path: &Path, command: &str, text: &str) -> Result<()> {
    let lines: Vec<String> =
        [format!("$ cuda-launch {command}")].into_iter().chain(text.lines().map(str::to_owned)).collect();
    let height = 17 * lines.len() + 24;
    let width = 24 + COLUMNS * 79 / 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<style>\n\
         rect {{ fill: #fff; stroke: #d4d4d8 }} text {{ fill: #1c1c1e; font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; \
         white-space: pre }} .strong {{ font-weight: 700 }} .faint {{ fill: #6b6b70 }} .bad {{ fill: #c0392b }}\n\
         @media (prefers-color-scheme: dark) {{ rect {{ fill: #18181b; stroke: #34343a }} text {{ fill: #e8e8ea }} .faint {{ fill: #9a9aa2 }} \
         .bad {{ fill: #ff7b6b }} }}\n</style>\n<rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n",
        width - 1,
        height - 1
    );
    let mut style = "";
    for (number, line) in lines.iter().enumerate() {
        let mut spans = String::new();
        for (at, part) in line.split("\u{1b}[").enumerate() {
            let text = match part.split_once('m') {
                Some((codes, rest)) if at > 0 => {
                    style = class(codes);
                    rest
                }
                _ => part,
            };
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            if !text.is_empty() {
                spans += &match style {
                    "" => text,
                    style => format!("<tspan class=\"{style}\">{text}</tspan>"),
                };
            }
        }
        svg += &format!("<text x=\"12\" y=\"{}\" xml:space=\"preserve\">{spans}</text>\n", 24 + 17 * number);
    }
    fs::write(path, svg + "</svg>\n")?;
    Ok(())
}

/// How the style of a terminal is called in the picture.
fn class(codes: &str) -> &'static str {
    match codes.split(';').next_back() {
        Some("1") => "strong",
        Some("2") => "faint",
        Some("31" | "33" | "91") => "bad",
        _ => "",
    }
}

/// The page as a browser shows it to readers with that setting.
fn photograph(folder: &Path, page: &Path, scheme: &str, path: &Path) -> Result<()> {
    let text = fs::read_to_string(page)?.replace('&', "&amp;").replace('"', "&quot;");
    let [width, height] = PAGE;
    let frame = folder.join("frame.html");
    let style = format!("border: 0; width: {width}px; height: {height}px; color-scheme: {scheme}");
    fs::write(
        &frame,
        format!(
            "<!DOCTYPE html><body style=\"margin: 0\"><iframe style=\"{style}\" srcdoc=\"{text}\"></iframe></body>"
        ),
    )?;
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    browser.arg(format!("--user-data-dir={}", folder.join("settings").display()));
    browser.arg(format!("--window-size={width},{height}")).arg(format!("--screenshot={}", path.display()));
    let output = browser.arg(format!("file://{}", frame.display())).output()?;
    if !output.status.success() || !path.exists() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn styles_of_a_terminal_are_those_of_the_picture() {
        let path = std::env::temp_dir().join(format!("terminal-{}.svg", std::process::id()));
        terminal(&path, "run", "\u{1b}[1ma < b\u{1b}[0m & c\u{1b}[31m\nred\u{1b}[0m").unwrap();
        let svg = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(svg.contains("<tspan class=\"strong\">a &lt; b</tspan> &amp; c</text>"), "{svg}");
        assert!(svg.contains("><tspan class=\"bad\">red</tspan></text>"), "{svg}");
    }
}
