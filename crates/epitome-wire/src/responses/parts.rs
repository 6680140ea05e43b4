//! Content parts of Responses items, both ways.

use epitome_core::{Block, Fields, Media, MediaSource, Role, Text};

use crate::content::{Content, Parsed};
use crate::draft::{Draft, array};
use crate::error::WireError;
use crate::json::quote;
use crate::media::{data_url, source_of_url};
use crate::node::{Node, Object};

/// The type of a text part in a message of this role.
pub(super) fn text_type(role: Role) -> &'static str {
    match role {
        Role::Assistant => "output_text",
        _ => "input_text",
    }
}

/// Content as a string, an array of parts or `null`; `None` if it is none of these.
pub(super) fn content(role: Role, node: Node<'_>) -> Result<Option<Content>, WireError> {
    Content::read(node, |element| part(role, element))
}

pub(super) fn part(role: Role, node: Node<'_>) -> Result<Parsed, WireError> {
    if let Some(mut object) = node.object()? {
        let kind = object.string("type")?.unwrap_or_default();
        let at = object.get("text").map(|text| text.span);
        let parsed = match &*kind {
            "input_text" | "output_text" | "text" => object.string("text")?.map(|text| {
                let extra = object.rest_typed(&kind, text_type(role));
                (Block::Text(Text { text: text.into_owned(), extra }), at)
            }),
            "input_image" | "computer_screenshot" => {
                Some((Block::Image(media(node, &mut object, &kind, "input_image")?), None))
            }
            "input_file" => Some((Block::Document(media(node, &mut object, &kind, "input_file")?), None)),
            _ => None,
        };
        if let Some(parsed) = parsed {
            return Ok(parsed);
        }
    }
    Ok((Block::Unknown(node.opaque()?), None))
}

fn media(node: Node<'_>, object: &mut Object<'_>, kind: &str, usual: &str) -> Result<Media, WireError> {
    for key in ["image_url", "file_url", "file_data", "file_id"] {
        object.null(key);
    }
    let sources = [
        object.string("image_url")?.map(|url| source_of_url(&url)),
        object.string("file_url")?.map(|url| MediaSource::Url(url.into_owned())),
        object.string("file_data")?.map(|data| source_of_url(&data)),
        object.string("file_id")?.map(|id| MediaSource::File(id.into_owned())),
    ];
    let bare_data = matches!(sources[2], Some(MediaSource::Url(_)));
    let mut known = sources.into_iter().flatten();
    Ok(match (known.next(), known.next()) {
        (Some(source), None) if !bare_data => {
            let detail = object.string("detail")?.map(|detail| detail.into_owned());
            Media { source, detail, extra: object.rest_typed(kind, usual) }
        }
        _ => Media { source: MediaSource::Other(node.raw_json()), detail: None, extra: Fields::new() },
    })
}

/// Blocks as content: a string where that says it all, else an array; `Err` is the block that is no part.
pub(super) fn encode_content(role: Role, blocks: &[Block]) -> Result<String, &Block> {
    match blocks {
        [Block::Text(text)] if text.extra.is_empty() => Ok(quote(&text.text)),
        _ => Ok(array(&blocks.iter().map(|block| encode_part(role, block)).collect::<Result<Vec<_>, _>>()?)),
    }
}

pub(super) fn encode_part(role: Role, block: &Block) -> Result<String, &Block> {
    Ok(match block {
        Block::Text(text) => {
            Draft::typed(text_type(role), &text.extra).string("text", &text.text).fields(&text.extra).end()
        }
        Block::Image(image) => encode_media(image, "input_image", "image_url", "image_url"),
        Block::Document(document) => encode_media(document, "input_file", "file_url", "file_data"),
        Block::Unknown(opaque) => opaque.raw.as_str().to_owned(),
        other => return Err(other),
    })
}

fn encode_media(media: &Media, kind: &str, url_key: &str, data_key: &str) -> String {
    let draft = Draft::typed(kind, &media.extra);
    let draft = match &media.source {
        MediaSource::Base64 { media_type, data } => draft.string(data_key, &data_url(media_type, data)),
        MediaSource::Url(url) => draft.string(url_key, url),
        MediaSource::File(id) => draft.string("file_id", id),
        MediaSource::Other(raw) => return raw.as_str().to_owned(),
    };
    draft.optional("detail", media.detail.as_deref()).fields(&media.extra).end()
}
