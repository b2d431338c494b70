//! The bars of a picture: one for each event, or for several that are too narrow to be drawn apart.

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::axis::time;
use super::summary::Track;
use crate::table::shorten;

/// The maximum number of rows, and of lines per row, which are needed if bars overlap.
const MOST_ROWS: usize = 100;
const MOST_LINES: usize = 4;
/// The maximum number of characters of a name, and of the details.
const NAME: usize = 300;
const DETAIL: usize = 240;
/// How many names are shown for a bar of several events.
const NAMES: usize = 3;

/// The kind of a bar, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Kernel,
    ToDevice,
    ToHost,
    OnDevice,
    Fill,
    Graph,
    HostFunction,
    Call,
    Wait,
    Unfinished,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Kernel,
        Self::ToDevice,
        Self::ToHost,
        Self::OnDevice,
        Self::Fill,
        Self::Graph,
        Self::HostFunction,
        Self::Call,
        Self::Wait,
        Self::Unfinished,
    ];

    /// A call that queues work is a call; one that copies is a copy.
    fn of(event: &Value) -> Self {
        let name = event["name"].as_str().unwrap_or_default();
        match event["cat"].as_str().unwrap_or_default() {
            _ if event["ph"] != "X" => Self::Unfinished,
            "kernel" => Self::Kernel,
            "graph" => Self::Graph,
            "host function" => Self::HostFunction,
            "wait" => Self::Wait,
            "fill" => Self::Fill,
            "copy" if name == "host to device" || name.contains("HtoD") => Self::ToDevice,
            "copy" if name == "device to host" || name.contains("DtoH") => Self::ToHost,
            "copy" => Self::OnDevice,
            _ => Self::Call,
        }
    }
}

/// An event, in microseconds.
#[derive(Clone, Debug)]
struct Event {
    start: f64,
    end: f64,
    kind: Kind,
    /// Its number among the names.
    name: u32,
    detail: Box<str>,
}

/// A drawn bar.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) kind: Kind,
    /// The label in the bar, if there is room.
    pub(super) name: String,
    /// The complete description.
    pub(super) title: String,
}

/// A line of bars that do not overlap; a row can have several.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) track: Track,
    pub(super) lines: Vec<Vec<Bar>>,
}

/// Collects events.
#[derive(Default)]
pub(super) struct Rows {
    tracks: BTreeMap<Track, Vec<Event>>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Rows {
    pub(super) fn add(&mut self, track: Track, event: &Value) {
        let number = |key: &str| event[key].as_f64().filter(|number| number.is_finite());
        let start = number("ts").unwrap_or(0.0);
        let name = shorten(event["name"].as_str().unwrap_or_default(), NAME);
        let next = self.names.len() as u32;
        let name = *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
        self.tracks.entry(track).or_default().push(Event {
            start,
            end: start + number("dur").unwrap_or(0.0).max(0.0),
            kind: Kind::of(event),
            name,
            detail: detail(event),
        });
    }

    /// In rows and lines, in the order of time.
    pub(super) fn sorted(mut self) -> Sorted {
        let mut tracks: Vec<(Track, Vec<Event>)> = std::mem::take(&mut self.tracks).into_iter().collect();
        let left_out = tracks.len().saturating_sub(MOST_ROWS);
        if left_out > 0 {
            tracks.sort_by_key(|(_, events)| std::cmp::Reverse(events.len()));
            tracks.truncate(MOST_ROWS);
            tracks.sort_by_key(|(track, _)| *track);
        }
        let events = || tracks.iter().flat_map(|(_, events)| events);
        let begin = events().map(|event| event.start).min_by(f64::total_cmp).unwrap_or(0.0);
        let end = events().map(|event| event.end).max_by(f64::total_cmp).unwrap_or(0.0);
        let mut kinds: Vec<Kind> = Kind::ALL.into();
        kinds.retain(|kind| events().any(|event| event.kind == *kind));
        let events = events().count();
        let rows = tracks.into_iter().map(|(track, events)| (track, lines(events))).collect();
        // Something is shown of a program that took no time.
        Sorted { begin, span: (end - begin).max(1e-3), rows, names: self.names, kinds, events, left_out }
    }
}

/// The details of an event besides its name and times.
fn detail(event: &Value) -> Box<str> {
    let mut words: Vec<String> = Vec::new();
    for (key, value) in event["args"].as_object().into_iter().flatten() {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Array(list) => list
                .iter()
                .map(|one| one.as_str().map_or(one.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(", "),
            other => other.to_string(),
        };
        match key.as_str() {
            // Of the row.
            "called_us" | "stream" | "device" | "context" if event["pid"] == 2 => {}
            "kernel" if event["name"] == value => {}
            "bytes" => {
                words.push(format!("{value} bytes"));
                let (bytes, us) = (event["args"]["bytes"].as_f64(), event["dur"].as_f64());
                if let (Some(bytes), Some(us)) = (bytes, us.filter(|us| *us > 0.0)) {
                    words.push(format!("{:.2} GB/s", bytes / us / 1e3));
                }
            }
            key => words.push(format!("{}: {value}", key.replace('_', " "))),
        }
    }
    shorten(&words.join("\n"), DETAIL).into()
}

/// Puts each event into the first line whose last event has ended, or into the last line.
fn lines(mut events: Vec<Event>) -> Vec<Vec<Event>> {
    events.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut lines: Vec<Vec<Event>> = Vec::new();
    for event in events {
        // Both ends are rounded to a nanosecond.
        let is_free = |line: &Vec<Event>| line.last().is_none_or(|last| last.end <= event.start + 2e-3);
        let free = lines.iter().position(is_free);
        match free {
            Some(at) => lines[at].push(event),
            None if lines.len() < MOST_LINES => lines.push(vec![event]),
            None => lines[MOST_LINES - 1].push(event),
        }
    }
    lines
}

/// Everything that can be drawn.
pub(super) struct Sorted {
    /// When the first event begins.
    pub(super) begin: f64,
    /// The time from then to the end of the last event.
    pub(super) span: f64,
    rows: Vec<(Track, Vec<Vec<Event>>)>,
    names: Vec<String>,
    /// The kinds that occur.
    pub(super) kinds: Vec<Kind>,
    pub(super) events: usize,
    /// Rows that are not drawn.
    pub(super) left_out: usize,
}

/// The bars of a picture.
pub(super) struct Drawn {
    pub(super) rows: Vec<Row>,
    /// The number of events that are merged with others, and the duration below which they are.
    pub(super) merged: usize,
    pub(super) resolution: f64,
}

impl Sorted {
    /// Merges events that are shorter than `resolution` with neighbours within that distance. The resolution is chosen so that at
    /// most about `most` bars remain.
    pub(super) fn draw(&self, mut resolution: f64, most: usize) -> Drawn {
        let lines = || self.rows.iter().flat_map(|(_, lines)| lines);
        while lines().map(|line| groups(line, resolution).count()).sum::<usize>() > most
            && resolution < self.span
        {
            resolution *= 2.0;
        }
        let mut merged = 0;
        let mut bar = |line: &[Event], group: Range<usize>| {
            merged += if group.len() > 1 { group.len() } else { 0 };
            self.bar(&line[group])
        };
        let mut row = |(track, lines): &(Track, Vec<Vec<Event>>)| {
            let bars = |line: &Vec<Event>| groups(line, resolution).map(|group| bar(line, group)).collect();
            Row { track: *track, lines: lines.iter().map(bars).collect() }
        };
        let rows = self.rows.iter().map(&mut row).collect();
        Drawn { rows, merged, resolution }
    }

    fn name(&self, event: &Event) -> &str {
        self.names.get(event.name as usize).map_or("", String::as_str)
    }

    fn bar(&self, events: &[Event]) -> Bar {
        let start = events.first().map_or(0.0, |event| event.start);
        let end = events.iter().map(|event| event.end).fold(start, f64::max);
        let after = time(start - self.begin);
        if let [event] = events {
            let name = self.name(event).to_owned();
            let took = match event.kind {
                Kind::Unfinished => format!("called after {after}"),
                _ => format!("{} after {after}", time(end - start)),
            };
            let title = format!("{name}\n{took}\n{}", event.detail);
            return Bar { start, end, kind: event.kind, name, title: title.trim_end().to_owned() };
        }
        let mut kinds: BTreeMap<Kind, f64> = BTreeMap::new();
        let mut names: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
        for event in events {
            let took = event.end - event.start;
            *kinds.entry(event.kind).or_default() += took;
            let sum = names.entry(event.name).or_default();
            *sum = (sum.0 + 1, sum.1 + took);
        }
        // Unfinished work is what users look for.
        let longest = kinds.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(kind, _)| *kind);
        let has_unfinished = kinds.contains_key(&Kind::Unfinished);
        let kind = if has_unfinished { Kind::Unfinished } else { longest.unwrap_or(Kind::Call) };
        let mut names: Vec<(u32, (usize, f64))> = names.into_iter().collect();
        names.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        let mut title = format!("{} events within {} after {after}", events.len(), time(end - start));
        for (name, (times, took)) in names.iter().take(NAMES) {
            let name = shorten(self.names.get(*name as usize).map_or("", String::as_str), 80);
            title += &format!("\n{times} x {name}, {}", time(*took));
        }
        if names.len() > NAMES {
            title += &format!("\nand {} others", names.len() - NAMES);
        }
        Bar { start, end, kind, name: format!("{} events", events.len()), title }
    }
}

/// The events of a line that share a bar.
fn groups(line: &[Event], resolution: f64) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = line.get(at)?;
        let limit = first.start + resolution;
        let begin = at;
        at += 1;
        if first.end <= limit {
            at += line[at..].iter().take_while(|event| event.end <= limit).count();
        }
        Some(begin..at)
    })
}
