//! Sizes of types that only the compiler knows, compared while it compiles.

/// A message that is composed at compile time.
struct Message {
    text: [u8; CAPACITY],
    len: usize,
}

/// More than the names in a message need; a longer message is truncated.
const CAPACITY: usize = 1024;

impl Message {
    const fn new() -> Self {
        Self { text: [0; CAPACITY], len: 0 }
    }

    const fn text(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() && self.len < CAPACITY {
            self.text[self.len] = bytes[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    const fn number(self, n: usize) -> Self {
        let shorter = if n >= 10 { self.number(n / 10) } else { self };
        let digit = [b'0' + (n % 10) as u8];
        match std::str::from_utf8(&digit) {
            Ok(digit) => shorter.text(digit),
            Err(_) => shorter,
        }
    }

    const fn as_str(&self) -> &str {
        let (used, _) = self.text.split_at(self.len);
        match std::str::from_utf8(used) {
            Ok(text) => text,
            // Truncated inside a character.
            Err(_) => "this type does not fit the image",
        }
    }
}

/// The largest alignment that a field can have. A larger one, such as a tensor map's 64 or 128, is requested for the struct
/// as a whole and does not move its fields.
const FIELD: usize = 16;

/// Whether the fields of two structs with these alignments may have different offsets.
const fn places_differ(one: usize, other: usize) -> bool {
    one != other && (one < FIELD || other < FIELD)
}

/// Refuses a type whose size is not `size` bytes, or whose fields are aligned differently (unless `align` is 0).
///
/// `what` is what the image says, `given` the type's name in the source, `help` what to write instead.
#[track_caller]
#[allow(clippy::panic)] // In a constant, a panic is a compile error.
pub const fn expect<T>(what: &str, given: &str, size: usize, align: usize, help: &str) {
    let message = Message::new().text(what).text("; `").text(given);
    if size_of::<T>() != size {
        let unit = if size_of::<T>() == 1 { " byte" } else { " bytes" };
        let message = message.text("` has ").number(size_of::<T>()).text(unit).text(help);
        panic!("{}", message.as_str());
    }
    if align != 0 && places_differ(align_of::<T>(), align) {
        let message = message.text("` is aligned to ").number(align_of::<T>());
        let message = message.text(": its layout may differ").text(help).text(if align_of::<T>() < align {
            "; `#[repr(C, align(..))]` on the struct says the alignment"
        } else {
            ""
        });
        panic!("{}", message.as_str());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_alignments_below_that_of_any_field_move_fields() {
        for (one, other, differ) in [
            (8, 4, true),
            (4, 8, true),
            (8, 16, true),
            (16, 8, true),
            (16, 64, false),
            (64, 16, false),
            (8, 8, false),
        ] {
            assert_eq!(places_differ(one, other), differ, "{one} and {other}");
        }
    }

    #[test]
    fn messages_are_put_together() {
        assert_eq!(Message::new().text("a ").number(0).text(" b ").number(1090).as_str(), "a 0 b 1090");
        let long = "x".repeat(2 * CAPACITY);
        assert_eq!(Message::new().text(&long).as_str().len(), CAPACITY);
    }

    fn message(check: fn()) -> String {
        let payload = std::panic::catch_unwind(check).unwrap_err();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap().to_owned()
    }

    #[test]
    fn a_type_of_another_size_is_told_its_own() {
        let bytes = |check| message(check).contains("`T` has 4 bytes; use another");
        assert!(bytes(|| expect::<u32>("a parameter", "T", 8, 4, "; use another")));
        let byte = message(|| expect::<u8>("a parameter", "T", 8, 4, "; use another"));
        assert!(byte.contains("`T` has 1 byte; use another"), "{byte}");
    }

    #[test]
    fn a_type_whose_alignment_is_too_small_is_told_how_to_raise_it() {
        let small = message(|| expect::<u32>("a parameter", "u32", 4, 8, "; use another"));
        assert!(small.contains("`u32` is aligned to 4: its layout may differ; use another"), "{small}");
        assert!(small.contains("`#[repr(C, align(..))]`"), "{small}");
        let large = message(|| expect::<u64>("a parameter", "u64", 8, 4, ""));
        assert!(large.contains("is aligned to 8") && !large.contains("align(..)"), "{large}");
    }

    #[test]
    fn what_fits_is_accepted() {
        expect::<[u32; 3]>("", "", 12, 4, "");
        expect::<[u32; 3]>("", "", 12, 0, "");
    }
}
