//! The bytes of an entry of the cache.
//!
//! Magic, the key, the length of what follows the checksum, its checksum; then the kind, and each text and the code with its
//! length before it.

use super::sha256::hash;
use crate::compile::code::{CacheUse, CodeKind, CompiledCode};

/// Changes with the format.
const MAGIC: &[u8; 16] = b"cuda-launch c 1\n";

pub(super) fn write(code: &CompiledCode, key: &[u8; 32]) -> Vec<u8> {
    let mut body = vec![match code.kind {
        CodeKind::Ptx => 0,
        CodeKind::Cubin => 1,
        CodeKind::LtoIr => 2,
    }];
    put(&mut body, code.origin.as_bytes());
    put(&mut body, code.log.as_bytes());
    put(&mut body, &code.bytes);
    for (expression, name) in &code.names {
        put(&mut body, expression.as_bytes());
        put(&mut body, name.as_bytes());
    }
    let length = (body.len() as u64).to_le_bytes();
    [&MAGIC[..], key, &length, &hash(&body), &body].concat()
}

/// The code, if every byte is as it was written, for this key.
pub(super) fn read(bytes: &[u8], key: &[u8; 32]) -> Option<CompiledCode> {
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(key)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (checksum, body) = rest.split_first_chunk::<32>()?;
    if u64::from_le_bytes(*length) != body.len() as u64 || hash(body) != *checksum {
        return None;
    }
    let (kind, mut rest) = body.split_first()?;
    let kind = match kind {
        0 => CodeKind::Ptx,
        1 => CodeKind::Cubin,
        2 => CodeKind::LtoIr,
        _ => return None,
    };
    let origin = text(&mut rest)?;
    let log = text(&mut rest)?;
    let bytes = take(&mut rest)?.to_vec();
    let mut names = Vec::new();
    while !rest.is_empty() {
        names.push((text(&mut rest)?, text(&mut rest)?));
    }
    Some(CompiledCode { kind, bytes, log, names, origin, cache: CacheUse::Hit })
}

fn put(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    body.extend_from_slice(bytes);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let (bytes, after) = after.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(bytes)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(rest)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry() -> Vec<u8> {
        let code = CompiledCode {
            kind: CodeKind::Cubin,
            bytes: vec![1, 2, 3],
            log: "log".into(),
            names: vec![("k<int>".into(), "_Z1kIiEvv".into())],
            origin: "k.cu".into(),
            cache: CacheUse::Stored,
        };
        write(&code, &[7; 32])
    }

    #[test]
    fn an_entry_comes_back_as_it_was_written() {
        let code = read(&entry(), &[7; 32]).unwrap();
        assert_eq!(
            (code.kind, &code.bytes[..], &code.log[..], &code.origin[..]),
            (CodeKind::Cubin, &[1, 2, 3][..], "log", "k.cu")
        );
        assert_eq!(code.lowered_name("k<int>").unwrap(), "_Z1kIiEvv");
        assert!(matches!(code.cache, CacheUse::Hit));
    }

    #[test]
    fn a_cut_a_flipped_bit_or_another_key_is_no_entry() {
        let entry = entry();
        assert!(read(&entry, &[8; 32]).is_none());
        for cut in 0..entry.len() {
            assert!(read(&entry[..cut], &[7; 32]).is_none(), "{cut}");
        }
        for bit in 0..entry.len() * 8 {
            let mut damaged = entry.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged, &[7; 32]).is_none(), "{bit}");
        }
    }
}
