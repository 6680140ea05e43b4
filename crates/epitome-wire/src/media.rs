//! Data URLs: how OpenAI's dialects carry what Anthropic's carries as base64 with a media type.

use epitome_core::MediaSource;

/// The source that `url` names: content of its own where it is a base64 data URL.
pub(crate) fn source_of_url(url: &str) -> MediaSource {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((media_type, data)) if !media_type.contains([',', ';']) => {
            MediaSource::Base64 { media_type: media_type.to_owned(), data: data.to_owned() }
        }
        _ => MediaSource::Url(url.to_owned()),
    }
}

/// The data URL of base64 content.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_base64_data_urls_are_content() {
        let content = MediaSource::Base64 { media_type: "image/png".into(), data: "AAAA".into() };
        assert_eq!(source_of_url("data:image/png;base64,AAAA"), content);
        assert_eq!(data_url("image/png", "AAAA"), "data:image/png;base64,AAAA");
        for url in
            ["https://x.test/a.png", "data:image/png,AAAA", "data:text/plain;charset=utf-8;base64,AAAA", ""]
        {
            assert_eq!(source_of_url(url), MediaSource::Url(url.into()));
        }
    }
}
