//! Content parts of Chat Completions, both ways.

use epitome_core::{Block, Fields, Media, MediaSource, Text};

use crate::content::{Content, Parsed};
use crate::draft::Draft;
use crate::error::WireError;
use crate::media::{data_url, source_of_url};
use crate::node::{Node, Object, field_string};

/// Content as a string, an array of parts or `null`; `None` if it is none of these.
pub(super) fn content(node: Node<'_>) -> Result<Option<Content>, WireError> {
    Content::read(node, part)
}

fn part(node: Node<'_>) -> Result<Parsed, WireError> {
    if let Some(mut object) = node.object()? {
        let kind = object.string("type")?.unwrap_or_default();
        let at = object.get("text").map(|text| text.span);
        let parsed = match &*kind {
            "text" => object
                .string("text")?
                .map(|text| (Block::Text(Text { text: text.into_owned(), extra: object.rest() }), at)),
            "image_url" => Some((Block::Image(image(node, &mut object)?), None)),
            "file" => Some((Block::Document(file(node, &mut object)?), None)),
            _ => None,
        };
        if let Some(parsed) = parsed {
            return Ok(parsed);
        }
    }
    Ok((Block::Unknown(node.opaque()?), None))
}

fn other(node: Node<'_>) -> Media {
    Media { source: MediaSource::Other(node.raw_json()), detail: None, extra: Fields::new() }
}

fn image(node: Node<'_>, object: &mut Object<'_>) -> Result<Media, WireError> {
    // Some look-alikes write the URL itself where OpenAI writes an object.
    if let Some(url) = object.string("image_url")? {
        return Ok(Media { source: source_of_url(&url), detail: None, extra: object.rest() });
    }
    let inner = match object.take("image_url") {
        Some(inner) => inner.object()?,
        None => None,
    };
    let Some(mut inner) = inner else { return Ok(other(node)) };
    let detail = inner.string("detail")?.map(|detail| detail.into_owned());
    Ok(match inner.string("url")? {
        Some(url) if inner.is_exhausted() => {
            Media { source: source_of_url(&url), detail, extra: object.rest() }
        }
        _ => other(node),
    })
}

fn file(node: Node<'_>, object: &mut Object<'_>) -> Result<Media, WireError> {
    let inner = match object.take("file") {
        Some(inner) => inner.object()?,
        None => None,
    };
    let Some(mut inner) = inner else { return Ok(other(node)) };
    let source = match (inner.string("file_id")?, inner.string("file_data")?) {
        (Some(id), None) => MediaSource::File(id.into_owned()),
        (None, Some(data)) => source_of_url(&data),
        _ => return Ok(other(node)),
    };
    let name = inner.take("filename");
    if !inner.is_exhausted() || matches!(source, MediaSource::Url(_)) {
        return Ok(other(node));
    }
    let mut extra = object.rest();
    extra.extend(name.map(|name| ("filename".to_owned(), name.raw_json())));
    Ok(Media { source, detail: None, extra })
}

/// A block as a content part; `None` if it is none.
pub(super) fn encode_part(block: &Block) -> Option<String> {
    Some(match block {
        Block::Text(text) => {
            Draft::typed("text", &text.extra).string("text", &text.text).fields(&text.extra).end()
        }
        Block::Image(image) => encode_image(image)?,
        Block::Document(document) => encode_file(document)?,
        Block::Unknown(opaque) => opaque.raw.as_str().to_owned(),
        _ => return None,
    })
}

fn encode_image(image: &Media) -> Option<String> {
    let url = match &image.source {
        MediaSource::Base64 { media_type, data } => data_url(media_type, data),
        MediaSource::Url(url) => url.clone(),
        MediaSource::File(_) => return None,
        MediaSource::Other(raw) => return Some(raw.as_str().to_owned()),
    };
    let inner = Draft::new().string("url", &url).optional("detail", image.detail.as_deref()).end();
    Some(Draft::new().string("type", "image_url").raw("image_url", &inner).fields(&image.extra).end())
}

fn encode_file(document: &Media) -> Option<String> {
    let inner = match &document.source {
        MediaSource::Base64 { media_type, data } => {
            Draft::new().string("file_data", &data_url(media_type, data))
        }
        MediaSource::File(id) => Draft::new().string("file_id", id),
        MediaSource::Url(_) => return None,
        MediaSource::Other(raw) => return Some(raw.as_str().to_owned()),
    };
    let inner = inner.optional("filename", field_string(&document.extra, "filename").as_deref()).end();
    let outer = document.extra.iter().filter(|(key, _)| key != "filename");
    Some(Draft::new().string("type", "file").raw("file", &inner).fields(outer).end())
}
