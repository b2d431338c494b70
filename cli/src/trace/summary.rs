//! What a timeline holds, in a few lines.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::interpose::Ended;
use crate::signature::demangled;
use crate::style;
use crate::table::{Columns, Table, count};

/// Kernels that are listed.
const LISTED: usize = 12;

#[derive(Default)]
pub(super) struct Summary {
    events: usize,
    calls: usize,
    waits: f64,
    bytes: u64,
    threads: BTreeSet<u64>,
    /// Handles, in the order in which they were first used.
    streams: Vec<u64>,
    /// For each kernel or kind of copy: how often, and microseconds.
    work: BTreeMap<String, (usize, f64)>,
    unfinished: usize,
    /// Work whose end was not seen yet, by its row and the moment of its call: what to write if it never is.
    begun: BTreeMap<(u64, u64), Value>,
}

impl Summary {
    /// Counts an event. Streams get small numbers: viewers take no handles.
    pub(super) fn add(&mut self, event: &mut Value) {
        self.events += 1;
        let track = event["tid"].as_u64().unwrap_or(0);
        let took = event["dur"].as_f64().unwrap_or(0.0);
        let category = event["cat"].as_str().unwrap_or_default().to_owned();
        if event["pid"] == 1 {
            self.threads.insert(track);
            self.calls += 1;
            if category == "wait" {
                self.waits += took;
            }
            if category == "copy" {
                self.bytes += event["args"]["bytes"].as_u64().unwrap_or(0);
            }
            self.begin(event);
            return;
        }
        self.begun.remove(&moment(&event["args"]["called_us"], track));
        let number = self.streams.iter().position(|known| *known == track).unwrap_or_else(|| {
            self.streams.push(track);
            self.streams.len() - 1
        });
        event["tid"] = (number + 1).into();
        event["args"]["stream"] = format!("{track:#x}").into();
        // The arguments still have the name that a driver knows.
        if let Some(name) = event["name"].as_str().and_then(demangled) {
            event["name"] = name.into();
        }
        if event["ph"] != "X" {
            self.unfinished += 1;
            return;
        }
        self.bytes += if category == "copy" { event["args"]["bytes"].as_u64().unwrap_or(0) } else { 0 };
        let work = self.work.entry(event["name"].as_str().unwrap_or_default().to_owned()).or_default();
        *work = (work.0 + 1, work.1 + took);
    }

    /// Keeps what a call put on a stream.
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

    /// Events for work that a program which was killed left behind: whether it ended, nobody saw.
    pub(super) fn left_behind(&mut self) -> Vec<Value> {
        let mut events: Vec<Value> = std::mem::take(&mut self.begun).into_values().collect();
        events.iter_mut().for_each(|event| self.add(event));
        events
    }

    /// Events that name the tracks.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |kind: &str, process: u32, track: u64, name: String| {
            json!({ "ph": "M", "pid": process, "tid": track, "name": kind, "args": { "name": name } })
                .to_string()
        };
        let mut names = vec![
            name("process_name", 1, 0, "host: driver calls".into()),
            name("process_name", 2, 0, "device: streams".into()),
        ];
        names.extend(self.threads.iter().map(|id| name("thread_name", 1, *id, format!("thread {id}"))));
        let streams = self.streams.iter().zip(1..);
        names.extend(streams.map(|(id, number)| name("thread_name", 2, number, stream(*id))));
        names
    }

    pub(super) fn show(&self, file: &Path, ended: Ended) -> (String, Value) {
        let file = file.display().to_string();
        let mut work: Vec<(&String, &(usize, f64))> = self.work.iter().collect();
        work.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        let json = self.json(&file, ended, &work);
        let facts = format!(
            "{} {}, {} on {}, {} bytes copied, {:.1} ms waited",
            style::strong(&format!("{file}:")),
            count(self.calls, "call"),
            count(self.work.values().map(|(times, _)| times).sum(), "piece") + " of work",
            count(self.streams.len(), "stream"),
            self.bytes,
            self.waits / 1e3
        );
        // Standard output is the program's.
        let columns = Columns::err();
        let mut text = columns.wrap(&facts, "");
        if let Some(signal) = ended.signal {
            text += &columns.wrap(&format!("signal {signal} ended the program"), "  ");
        }
        if self.events == 0 {
            let why = "the program made no driver call, or does not load libcuda.so.1";
            text += &columns.wrap(why, "  ");
        }
        if self.unfinished > 0 {
            text += &columns.wrap(&(count(self.unfinished, "piece") + " of work not finished"), "  ");
        }
        if !work.is_empty() {
            let mut table = Table::new(&["times", "total us", "each us", "work"], &[0, 1, 2]);
            for (name, (times, us)) in work.iter().take(LISTED) {
                let each = us / *times as f64;
                table.row(vec![
                    times.to_string(),
                    format!("{us:.1}"),
                    format!("{each:.1}"),
                    name.to_string(),
                ]);
            }
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

/// A call's time and row. Times are compared as they are written, and never computed with.
fn moment(time: &Value, track: u64) -> (u64, u64) {
    (time.as_f64().unwrap_or_default().to_bits(), track)
}

/// Handles 0 and 1 are the default streams, and the recorder gives that of each thread a number.
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
