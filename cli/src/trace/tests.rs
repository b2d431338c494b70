//! Pictures of made-up events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::rows::Kind;
use super::*;

#[path = "../../tests/support/xml.rs"]
mod xml;

/// The drawings of some events, as a picture and as a page.
struct Pictures {
    svg: String,
    html: String,
}

fn pictures(events: impl IntoIterator<Item = Value>) -> Pictures {
    let why_no_call = crate::interpose::NO_CALL.to_owned();
    let (mut summary, mut rows) = (Summary::new(why_no_call), Rows::default());
    for mut event in events {
        let track = summary.add(&mut event);
        rows.add(track, &event);
    }
    for (track, event) in summary.left_behind() {
        rows.add(track, &event);
    }
    let ended = Ended { code: Some(0), signal: None };
    let program = "a \"<program>\" & 'more'".to_owned();
    let timeline = Timeline { program, summary: &summary, ended, rows: rows.sorted() };
    Pictures { svg: timeline.svg(), html: page::draw(&timeline) }
}

impl Pictures {
    /// The number of bars of this class in the picture, after a check that it is valid XML.
    fn bars(&self, class: &str) -> usize {
        let elements = xml::elements(&self.svg).unwrap();
        assert_eq!((elements[0], elements.contains(&"script")), ("svg", false));
        // The picture in the page too, which ends before the script.
        let start = self.html.find("<svg").unwrap();
        xml::elements(&self.html[start..self.html.find("</svg>\n</div>").unwrap() + 6]).unwrap();
        let of = |class: &str| self.svg.matches(&format!("<rect class=\"b {class}")).count();
        of(class)
    }
}

fn kernel(stream: u64, start: f64, took: f64, name: &str) -> Value {
    json!({
        "ph": "X", "pid": 2, "tid": stream, "ts": start, "dur": took, "name": name, "cat": "kernel",
        "args": { "kernel": name, "grid": [4, 1, 1], "called_us": start },
    })
}

fn call(start: f64, took: f64, name: &str, category: &str) -> Value {
    json!({ "ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": took, "name": name, "cat": category, "args": {} })
}

#[test]
fn nothing_and_one_event_are_pictures() {
    let none = pictures([]);
    assert!(none.bars("") == 0 && none.svg.contains("made no driver call") && none.svg.contains("no calls"));
    for took in [0.0, 5.0] {
        let one = pictures([kernel(0, 100.0, took, "only")]);
        assert_eq!((one.bars("kernel"), one.bars("")), (1, 1));
        assert!(one.svg.contains("<title>only\n") && one.svg.contains("default stream"), "{}", one.svg);
        assert!(!one.svg.contains("NaN") && !one.svg.contains("inf"), "{}", one.svg);
    }
    let odd = json!({ "ph": "X", "pid": 2, "ts": null, "dur": -4.0, "args": {} });
    assert_eq!(pictures([odd, json!({ "pid": 1, "args": { "arguments": [1, "a"] } })]).bars(""), 2);
}

#[test]
fn each_kind_has_a_bar_and_a_word() {
    let copy = |name: &str| {
        let mut event = kernel(0, 10.0, 1.0, name);
        event["cat"] = "copy".into();
        event["args"] = json!({ "bytes": 4000, "called_us": 9.0 });
        event
    };
    let other = |category: &str| {
        let mut event = kernel(0, 10.0, 1.0, category);
        event["cat"] = category.into();
        event
    };
    let mut left = call(30.0, 1.0, "cuLaunchKernel", "call");
    left["work"] = json!({ "tid": 0, "name": "spin", "cat": "kernel" });
    let all = pictures([
        kernel(0, 10.0, 1.0, "k"),
        copy("host to device"),
        copy("device to host"),
        copy("device to device"),
        other("fill"),
        other("graph"),
        other("host function"),
        call(12.0, 1.0, "cuInit", "call"),
        call(14.0, 1.0, "cuCtxSynchronize", "wait"),
        call(16.0, 1.0, "cuMemcpyDtoH_v2", "copy"),
        left,
    ]);
    for (class, times) in [
        ("kernel", 1),
        ("h2d", 1),
        ("d2h", 2),
        ("d2d", 1),
        ("fill", 1),
        ("graph", 1),
        ("hostfn", 1),
        ("call", 2),
        ("wait", 1),
        ("unfinished", 1),
    ] {
        assert_eq!(all.bars(class), times, "{class}");
    }
    for kind in Kind::ALL {
        assert!(all.svg.contains(&format!(">{}</text>", kind.words())), "{kind:?}");
    }
    assert!(all.svg.contains("4000 bytes\n4.00 GB/s"), "{}", all.svg);
    assert!(all.svg.contains("spin: end not seen\ncalled after"), "{}", all.svg);
    assert!(all.svg.contains("prefers-color-scheme:dark") && all.html.contains("prefers-color-scheme: dark"));
}

#[test]
fn names_are_no_markup() {
    let names = ["a<b>&\"c'", "</title><script>alert(1)</script>", "\u{1b}[31m\u{0}\u{ffff}", "]]>"];
    let events = names.iter().enumerate().map(|(i, name)| kernel(0, i as f64 * 10.0, 9.0, name));
    let drawn = pictures(events);
    assert_eq!(drawn.bars("kernel"), 4);
    assert!(drawn.svg.contains("<title>a&lt;b&gt;&amp;&quot;c&#39;\n"), "{}", drawn.svg);
    for text in [&drawn.svg, &drawn.html] {
        assert!(!text.contains("<script>alert") && !text.contains("<b>") && !text.contains('\u{1b}'));
    }
    assert_eq!(drawn.html.matches("<script>").count(), 1);
    assert!(drawn.html.starts_with("<!DOCTYPE html>") && drawn.html.ends_with("</html>\n"));
    // Self-contained: the only URL is the SVG namespace.
    let addresses = drawn.html.matches("http").count();
    assert_eq!(addresses, drawn.html.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn streams_and_what_overlaps_have_lines_of_their_own() {
    let drawn = pictures([
        kernel(0x80, 0.0, 10.0, "first"),
        kernel(0x80, 5.0, 10.0, "second"),
        kernel(0x90, 0.0, 10.0, "third"),
        call(0.0, 1.0, "cuInit", "call"),
    ]);
    let y = |name: &str| {
        let (before, _) = drawn.svg.split_once(&format!("<title>{name}\n")).unwrap();
        let y = before.rsplit_once(" y=\"").unwrap().1;
        y.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(y("cuInit") < y("first") && y("first") < y("second") && y("second") < y("third"));
    assert!(drawn.svg.contains(">stream 0x80</text>") && drawn.svg.contains(">thread 1</text>"));
}

#[test]
fn a_hundred_thousand_events_are_a_small_file() {
    let name = "a kernel with a long name, ".repeat(8);
    let events = (0..100_000_u32).map(|i| {
        let (stream, start) = (u64::from(i % 50) * 16, f64::from(i / 50) * 10.0);
        match i {
            99_999 => kernel(stream, start, 30_000.0, "the long one"),
            _ if i % 50 == 0 => call(start, 5.0, "cuLaunchKernel", "call"),
            _ => kernel(stream, start, 8.0, &name),
        }
    });
    let drawn = pictures(events);
    let bars = drawn.bars("");
    assert!((1_000..=12_000).contains(&bars), "{bars}");
    assert!(drawn.svg.len() < 10 << 20 && drawn.html.len() < 10 << 20, "{}", drawn.svg.len());
    assert!(drawn.svg.contains("<title>the long one\n30 ms after 20 ms"), "what is long is told alone");
    assert!(
        drawn.svg.contains(" of 100000 events are drawn together") && drawn.svg.contains(" events within ")
    );
    assert!(
        drawn.svg.contains(">97999</text>") && drawn.html.contains("<td>97999</td>"),
        "the sums are of all"
    );
}

#[test]
fn no_more_rows_than_can_be_read() {
    let drawn = pictures((0..3000_u64).map(|stream| kernel(stream * 16, stream as f64, 1.0, "k")));
    assert!(drawn.svg.contains("2900 rows with fewer events are not drawn"));
    assert!(drawn.bars("kernel") == 100 && drawn.svg.len() < 1 << 20);
}

#[test]
fn the_end_of_the_name_says_what_is_written() {
    let of = |name: &str| Format::of(Path::new(name)).ok();
    assert_eq!(
        ["a.json", "b/c.SVG", "d.e.html"].map(of),
        [Format::Json, Format::Svg, Format::Html].map(Some)
    );
    assert_eq!(["trace", "trace.txt", "trace.htm", ".svg", "svg"].map(of), [None; 5]);
    if cfg!(unix) {
        assert_eq!(of("/dev/null"), Some(Format::Json));
    }
}
