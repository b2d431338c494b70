//! The summary of a timeline.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

use crate::program::Ended;
use crate::signature::demangled;
use crate::style;
use crate::table::{Columns, Table, count};

/// Kernels that are listed.
const LISTED: usize = 12;
/// The heading of that list.
pub(super) const HEADING: [&str; 4] = ["times", "total us", "each us", "work"];

/// The row of an event, by its index among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Track {
    Thread(usize),
    Stream(usize),
}

/// A stream: handles are unique only in a process, and each context has its own default streams.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stream {
    process: u64,
    device: u64,
    context: u64,
    handle: u64,
}

#[derive(Default)]
pub(super) struct Summary {
    events: usize,
    calls: usize,
    waits: f64,
    bytes: u64,
    /// Processes and the numbers of their threads, in the order in which they were first seen.
    threads: Vec<(u64, u64)>,
    /// Streams in the order of their first use.
    streams: Vec<Stream>,
    /// For each kernel or kind of copy: how often, and microseconds.
    work: BTreeMap<String, (usize, f64)>,
    unfinished: usize,
    /// Why there is no call, if there is none.
    why_no_call: String,
    /// Work whose end was not observed yet, by its row and the time of its call: the event to write if it never is.
    begun: BTreeMap<(u64, u64), Value>,
}

impl Summary {
    /// Of no event; why, if there is none.
    pub(super) fn new(why_no_call: String) -> Self {
        Self { why_no_call, ..Self::default() }
    }

    /// Counts an event, and finds its row. Rows get small numbers, because viewers do not accept handles.
    pub(super) fn add(&mut self, event: &mut Value) -> Track {
        self.events += 1;
        let handle = event["tid"].as_u64().unwrap_or(0);
        let took = event["dur"].as_f64().unwrap_or(0.0);
        let category = event["cat"].as_str().unwrap_or_default().to_owned();
        let [process, device, context] = ["process", "device", "context"].map(|key| taken(event, key));
        if event["pid"] == 1 {
            let number = place(&mut self.threads, (process, handle));
            event["tid"] = (number + 1).into();
            self.calls += 1;
            if category == "wait" {
                self.waits += took;
            }
            if category == "copy" {
                self.bytes += event["args"]["bytes"].as_u64().unwrap_or(0);
            }
            self.begin(event);
            return Track::Thread(number);
        }
        self.begun.remove(&moment(&event["args"]["called_us"], handle));
        let number = place(&mut self.streams, Stream { process, device, context, handle });
        event["tid"] = (number + 1).into();
        event["args"]["device"] = device.into();
        event["args"]["context"] = format!("{context:#x}").into();
        event["args"]["stream"] = format!("{handle:#x}").into();
        // The arguments still contain the driver's name.
        if let Some(name) = event["name"].as_str().and_then(demangled) {
            event["name"] = name.into();
        }
        if event["ph"] != "X" {
            self.unfinished += 1;
            return Track::Stream(number);
        }
        self.bytes += if category == "copy" { event["args"]["bytes"].as_u64().unwrap_or(0) } else { 0 };
        let work = self.work.entry(event["name"].as_str().unwrap_or_default().to_owned()).or_default();
        *work = (work.0 + 1, work.1 + took);
        Track::Stream(number)
    }

    /// Records the work that a call submitted to a stream.
    fn begin(&mut self, call: &mut Value) {
        let Some(Value::Object(mut work)) = call.as_object_mut().and_then(|call| call.remove("work")) else {
            return;
        };
        let track = work.get("tid").and_then(Value::as_u64).unwrap_or(0);
        let name = work.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = demangled(name).unwrap_or_else(|| name.to_owned());
        work.insert("name".into(), format!("{name}: end not seen").into());
        let mut event = json!({ "ph": "i", "s": "p", "pid": 2, "ts": call["ts"], "args": call["args"] });
        event.as_object_mut().into_iter().for_each(|event| event.append(&mut work));
        self.begun.insert(moment(&call["ts"], track), event);
    }

    /// Events for work of a program that was killed: whether it ended is unknown.
    pub(super) fn left_behind(&mut self) -> Vec<(Track, Value)> {
        let events = std::mem::take(&mut self.begun).into_values();
        events.map(|mut event| (self.add(&mut event), event)).collect()
    }

    /// Events that name the tracks.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |kind: &str, process: u32, track: usize, name: String| {
            json!({ "ph": "M", "pid": process, "tid": track, "name": kind, "args": { "name": name } })
                .to_string()
        };
        let mut names = vec![
            name("process_name", 1, 0, "host: driver calls".into()),
            name("process_name", 2, 0, "device: streams".into()),
        ];
        let threads = 0..self.threads.len();
        names.extend(threads.map(|i| name("thread_name", 1, i + 1, self.name(Track::Thread(i)))));
        let streams = 0..self.streams.len();
        names.extend(streams.map(|i| name("thread_name", 2, i + 1, self.name(Track::Stream(i)))));
        names
    }

    /// The name of a row, with its process, device and context if there are several.
    pub(super) fn name(&self, track: Track) -> String {
        let (process, mut name) = match track {
            Track::Thread(at) => {
                let Some((process, number)) = self.threads.get(at) else { return String::new() };
                (*process, format!("thread {number}"))
            }
            Track::Stream(at) => {
                let Some(one) = self.streams.get(at) else { return String::new() };
                (one.process, stream(one.handle) + &self.context(one))
            }
        };
        if self.processes() > 1 {
            name += &format!(", process {process}");
        }
        name
    }

    /// The number of processes that made calls: the times of each begin with its first call.
    pub(super) fn processes(&self) -> usize {
        distinct(self.threads.iter().map(|(process, _)| *process)).len()
    }

    fn context(&self, one: &Stream) -> String {
        let mut words = String::new();
        if distinct(self.streams.iter().map(|stream| stream.device)).len() > 1 {
            words += &format!(", device {}", one.device);
        }
        let contexts = self.streams.iter().filter(|stream| stream.process == one.process);
        let contexts = distinct(contexts.map(|stream| stream.context));
        match contexts.iter().position(|context| *context == one.context) {
            Some(number) if contexts.len() > 1 => words + &format!(", context {}", number + 1),
            _ => words,
        }
    }

    /// The summary without a table: the numbers, and unusual facts.
    pub(super) fn facts(&self, ended: Ended) -> (String, Vec<String>) {
        let facts = format!(
            "{}, {} on {}, {} bytes copied, {:.1} ms waited",
            count(self.calls, "call"),
            count(self.work.values().map(|(times, _)| times).sum(), "piece") + " of work",
            count(self.streams.len(), "stream"),
            self.bytes,
            self.waits / 1e3
        );
        let mut more = Vec::new();
        if let Some(signal) = ended.signal {
            more.push(format!("signal {signal} ended the program"));
        }
        if self.events == 0 {
            more.push(self.why_no_call.clone());
        }
        if self.unfinished > 0 {
            more.push(count(self.unfinished, "piece") + " of work not finished");
        }
        (facts, more)
    }

    /// The rows of the table, longest time first.
    pub(super) fn sums(&self) -> Vec<[String; 4]> {
        let row = |(name, (times, us)): &(&String, &(usize, f64))| {
            let each = us / *times as f64;
            [times.to_string(), format!("{us:.1}"), format!("{each:.1}"), name.to_string()]
        };
        self.longest().iter().take(LISTED).map(row).collect()
    }

    fn longest(&self) -> Vec<(&String, &(usize, f64))> {
        let mut work: Vec<(&String, &(usize, f64))> = self.work.iter().collect();
        work.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        work
    }

    pub(super) fn show(&self, file: &Path, ended: Ended) -> (String, Value) {
        let file = file.display().to_string();
        let json = self.json(&file, ended, &self.longest());
        let (facts, more) = self.facts(ended);
        // Standard output is the program's.
        let columns = Columns::err();
        let mut text = columns.wrap(&format!("{} {facts}", style::strong(&format!("{file}:"))), "");
        more.iter().for_each(|line| text += &columns.wrap(line, "  "));
        let sums = self.sums();
        if !sums.is_empty() {
            let mut table = Table::new(&HEADING, &[0, 1, 2]);
            sums.into_iter().for_each(|row| table.row(row.into()));
            text += &table.print_in("  ", columns);
        }
        (text, json)
    }

    fn json(&self, file: &str, ended: Ended, work: &[(&String, &(usize, f64))]) -> Value {
        let work = work.iter().map(|(name, (times, us))| json!({ "name": name, "times": times, "us": us }));
        json!({
            "schema": "cuda-launch.trace.1",
            "file": file,
            "program_code": ended.code,
            "program_signal": ended.signal,
            "events": self.events,
            "calls": self.calls,
            "streams": self.streams.len(),
            "bytes_copied": self.bytes,
            "waited_us": self.waits,
            "unfinished": self.unfinished,
            "work": work.collect::<Vec<_>>(),
        })
    }
}

/// The index of an item in a list, to which it is appended if it is new.
fn place<T: PartialEq>(list: &mut Vec<T>, one: T) -> usize {
    list.iter().position(|known| *known == one).unwrap_or_else(|| {
        list.push(one);
        list.len() - 1
    })
}

fn distinct(all: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut list = Vec::new();
    all.for_each(|one| _ = place(&mut list, one));
    list
}

/// Removes a number that the recorder writes only for this tool.
fn taken(event: &mut Value, key: &str) -> u64 {
    event.as_object_mut().and_then(|event| event.remove(key)).and_then(|value| value.as_u64()).unwrap_or(0)
}

/// A call's time and row. Times are compared bit for bit, without arithmetic.
fn moment(time: &Value, track: u64) -> (u64, u64) {
    (time.as_f64().unwrap_or_default().to_bits(), track)
}

/// Handles 0 and 1 are the default streams; the recorder numbers those of the threads.
fn stream(id: u64) -> String {
    match id {
        0 | 1 => "default stream".into(),
        // Handles are addresses of something aligned.
        id if id % 8 == 2 => format!("default stream of thread {}", id >> 16),
        id => format!("stream {id:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_tells_them_apart() {
        let mut summary = Summary::default();
        let mut stream = |process: u64, device: u64, context: u64, handle: u64| {
            summary.add(&mut json!({
                "ph": "X", "pid": 2, "tid": handle, "dur": 1.0, "process": process, "device": device, "context": context, "args": {},
            }))
        };
        let first = stream(7, 0, 0x10, 0);
        assert_eq!(stream(7, 0, 0x10, 0), first);
        let others = [stream(7, 1, 0x20, 0), stream(7, 1, 0x20, 0x80)];
        let name = |track| summary.name(track);
        assert_eq!(name(first), "default stream, device 0, context 1");
        assert_eq!(
            others.map(name),
            ["default stream, device 1, context 2", "stream 0x80, device 1, context 2"]
        );
    }

    #[test]
    fn kernels_are_named_as_in_the_source() {
        let mut summary = Summary::default();
        let of = |name: &str| json!({ "ph": "X", "pid": 2, "tid": 0, "dur": 2.0, "name": name, "args": { "kernel": name } });
        let mut event = of("_Z5tiledIfLi16EEvPKT_PS0_i");
        summary.add(&mut event);
        summary.add(&mut of("_Z5tiledIfLi16EEvPKT_PS0_i"));
        summary.add(&mut of("vecadd"));
        let name = "tiled<float, 16>(float const*, float*, int)";
        assert_eq!(
            (&event["name"], &event["args"]["kernel"]),
            (&name.into(), &"_Z5tiledIfLi16EEvPKT_PS0_i".into())
        );
        assert_eq!(summary.work.keys().collect::<Vec<_>>(), [name, "vecadd"]);
        assert_eq!(summary.work[name], (2, 4.0));
    }
}
