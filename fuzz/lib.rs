//! What must hold for every input, whoever wrote it.

use std::collections::{BTreeMap, BTreeSet};

use epitome_wire::check::check;
use epitome_wire::files::{Damage, Format, ReadOptions, read_all};
use epitome_wire::{Body, Dialect, Piece, decode_message, encode_message};

/// A body that scans is written back byte for byte; a message that decodes encodes, and decodes to itself again.
pub fn body(dialect: Dialect, text: &str) {
    let Ok(body) = Body::scan(dialect, text) else { return };
    let keep: Vec<Piece<'_>> = (0..body.messages().len()).map(Piece::Keep).collect();
    assert_eq!(body.encode(&keep).as_deref(), Ok(text));
    let _ = (body.system(), body.model(), body.max_tokens(), body.stream(), body.tools_text());
    let mut messages = Vec::new();
    for index in 0..body.messages().len() {
        let Ok((message, layout)) = decode_message(dialect, body.message(index)) else { continue };
        assert_eq!(message.blocks.len(), layout.blocks.len());
        let _ = encode_message(dialect, &message);
        messages.push(message);
    }
    check(dialect, None, &messages);
}

/// A file is read or refused; what was read is written back byte for byte.
pub fn file(format: Option<Format>, bytes: &[u8]) {
    for damage in [Damage::Stop, Damage::KeepGoing] {
        let options = ReadOptions { format, damage, max_bytes: 1 << 20, ..ReadOptions::default() };
        let Ok(transcripts) = read_all(bytes, options) else { continue };
        for transcript in transcripts {
            let same = transcript.rewrite(&BTreeMap::new(), &BTreeSet::new());
            assert_eq!(same.as_deref().ok(), Some(transcript.text.as_str()));
            for thread in &transcript.threads {
                let messages: Vec<_> =
                    transcript.path(thread).into_iter().map(|at| transcript.messages[at].clone()).collect();
                check(transcript.dialect, transcript.system.as_ref(), &messages);
                transcript.context(thread);
            }
            if let Some(last) = transcript.main().last() {
                let _ = transcript.rewrite(&BTreeMap::new(), &BTreeSet::from([*last]));
            }
        }
    }
}
