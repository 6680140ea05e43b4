//! Content encodings: bodies of requests and answers decoded for those who look at them. What is forwarded stays encoded.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// The most that a decoded body may have; a few kilobytes can be made to unfold into terabytes.
pub(crate) const MAX_DECODED: u64 = 64 << 20;

/// Bytes without their encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// As much as could be decoded.
    pub bytes: Bytes,
    /// Why that is not everything.
    pub problem: Option<String>,
}

impl Decoded {
    fn whole(bytes: Bytes) -> Self {
        Self { bytes, problem: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Whether a body with these headers is encoded.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    headers.contains_key(CONTENT_ENCODING) && !matches!(codings(headers), Ok(codings) if codings.is_empty())
}

/// Takes the encodings off that the headers name.
pub(crate) fn decode(headers: &HeaderMap, bytes: Bytes) -> Decoded {
    match codings(headers) {
        Ok(codings) if codings.is_empty() => Decoded::whole(bytes),
        Ok(codings) => unfold(&codings, bytes),
        Err(name) => {
            Decoded { bytes: Bytes::new(), problem: Some(format!("content-encoding {name} is not known")) }
        }
    }
}

pub(crate) fn decode_chunks(headers: &HeaderMap, chunks: &[Bytes]) -> Decoded {
    let joined = match chunks {
        [one] => one.clone(),
        many => many.concat().into(),
    };
    decode(headers, joined)
}

// In the order in which they were applied.
fn codings(headers: &HeaderMap) -> Result<Vec<Coding>, String> {
    let mut found = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = value.to_str().map_err(|_| "that is no text".to_owned())?;
        for name in value.split(',').map(|name| name.trim().to_ascii_lowercase()) {
            found.push(match name.as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                _ => return Err(name),
            });
        }
    }
    Ok(found)
}

fn unfold(codings: &[Coding], bytes: Bytes) -> Decoded {
    let mut decoded = Decoded::whole(bytes);
    for coding in codings.iter().rev() {
        let inner = once(*coding, &decoded.bytes);
        decoded = Decoded { bytes: inner.bytes, problem: decoded.problem.or(inner.problem) };
    }
    decoded
}

fn once(coding: Coding, bytes: &[u8]) -> Decoded {
    match coding {
        Coding::Gzip => read(MultiGzDecoder::new(bytes)),
        // Servers disagree on what deflate is; the first byte of a zlib header says which it is.
        Coding::Deflate if bytes.first().is_some_and(|first| first & 0x0f == 8) => {
            read(ZlibDecoder::new(bytes))
        }
        Coding::Deflate => read(DeflateDecoder::new(bytes)),
        Coding::Brotli => read(Decompressor::new(bytes, 64 << 10)),
        Coding::Zstd => match zstd::stream::read::Decoder::with_buffer(bytes) {
            Ok(decoder) => read(decoder),
            Err(error) => Decoded { bytes: Bytes::new(), problem: Some(error.to_string()) },
        },
    }
}

// What was decoded before an error is kept: of a stream that was cut, that is all there is.
fn read(decoder: impl Read) -> Decoded {
    let mut out = Vec::new();
    let result = pour(decoder.take(MAX_DECODED + 1), &mut out);
    let problem = match result {
        Err(error) => Some(error.to_string()),
        Ok(()) if out.len() as u64 > MAX_DECODED => {
            Some(format!("it unfolds to more than {} MB", MAX_DECODED >> 20))
        }
        Ok(()) => None,
    };
    out.truncate(MAX_DECODED as usize);
    Decoded { bytes: out.into(), problem }
}

fn pour(mut decoder: impl Read, out: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match decoder.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => out.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
