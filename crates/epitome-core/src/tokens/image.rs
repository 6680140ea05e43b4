//! What a picture costs, by the published formulas of the providers.

use serde::{Deserialize, Serialize};

use super::pixels::PixelSize;
use crate::units::Tokens;

/// How a family of models bills a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImagePricing {
    /// A token for each 750 pixels, of at most 1568 pixels an edge and 1.15 megapixels.
    Anthropic,
    /// As [`Anthropic`](Self::Anthropic), of at most 2576 pixels an edge and 3.75 megapixels (Claude Opus 4.7 on).
    AnthropicHighResolution,
    /// So much for the picture and so much for each tile of 512 pixels, with the shorter edge at 768.
    OpenAiTiles {
        /// Tokens of the picture; all of it at low detail.
        base: u32,
        /// Tokens of a tile.
        tile: u32,
    },
    /// Patches of 32 pixels, at most 1536 of them, times a factor.
    OpenAiPatches {
        /// The factor, in percent.
        percent: u32,
    },
    /// 258 tokens, or as many for each tile of two thirds of the shorter edge.
    Gemini,
}

/// OpenAI's `detail`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The picture as the model sees it at best, which is also what `auto` and nothing mean.
    #[default]
    Full,
    /// The picture scaled to 512 pixels.
    Low,
}

impl Detail {
    /// Reads the field as it stands in a request.
    pub fn of(field: Option<&str>) -> Self {
        match field {
            Some("low") => Detail::Low,
            _ => Detail::Full,
        }
    }
}

impl ImagePricing {
    /// GPT-4o, GPT-4.1 and GPT-4.5.
    pub const GPT_4O: Self = Self::OpenAiTiles { base: 85, tile: 170 };

    /// The largest square that Claude takes unscaled stands for a picture whose size is not known.
    const UNKNOWN: PixelSize = PixelSize { width: 1072, height: 1072 };

    /// The tokens of a picture of this size, or of a usual one where the size is not known.
    pub fn tokens(self, size: Option<PixelSize>, detail: Detail) -> Tokens {
        let size = size.unwrap_or(Self::UNKNOWN);
        Tokens(match self {
            Self::Anthropic => per_750_pixels(size, 1568.0, 1_150_000.0),
            Self::AnthropicHighResolution => per_750_pixels(size, 2576.0, 3_750_000.0),
            Self::OpenAiTiles { base, .. } if detail == Detail::Low => u64::from(base),
            Self::OpenAiTiles { base, tile } => u64::from(base) + u64::from(tile) * tiles(size),
            Self::OpenAiPatches { percent } => (patches(size, detail) * u64::from(percent)).div_ceil(100),
            Self::Gemini => 258 * crops(size),
        })
    }
}

/// Edges after scaling down by `scale`, where that is less than one.
fn scaled(size: PixelSize, scale: f64) -> (f64, f64) {
    let scale = scale.min(1.0);
    (f64::from(size.width) * scale, f64::from(size.height) * scale)
}

fn per_750_pixels(size: PixelSize, max_edge: f64, max_pixels: f64) -> u64 {
    let (width, height) = (f64::from(size.width), f64::from(size.height));
    let (width, height) =
        scaled(size, (max_edge / width.max(height)).min((max_pixels / (width * height)).sqrt()));
    // Scaling to the limit must not cost a token for the error in the last bit.
    (width * height / 750.0 - 1e-6).ceil() as u64
}

fn tiles(size: PixelSize) -> u64 {
    let (width, height) = scaled(size, 2048.0 / f64::from(size.width.max(size.height)));
    let shrink = (768.0 / width.min(height)).min(1.0);
    let along = |edge: f64| (edge * shrink / 512.0).ceil() as u64;
    along(width).max(1) * along(height).max(1)
}

fn patches(size: PixelSize, detail: Detail) -> u64 {
    const MOST: f64 = 1536.0;
    const EDGE: f64 = 32.0;
    let longest = if detail == Detail::Low { 512.0 } else { f64::INFINITY };
    let (width, height) = scaled(size, longest / f64::from(size.width.max(size.height)));
    let whole = |width: f64, height: f64| (width / EDGE).ceil() * (height / EDGE).ceil();
    let count = whole(width, height);
    if count <= MOST {
        return count as u64;
    }
    // Scale to the budget, then once more so that whole patches fit along an edge.
    let shrink = (EDGE * EDGE * MOST / (width * height)).sqrt();
    let (across, down) = (width * shrink / EDGE, height * shrink / EDGE);
    let shrink = shrink * (across.floor() / across).min(down.floor() / down);
    whole(width * shrink, height * shrink).min(MOST) as u64
}

fn crops(size: PixelSize) -> u64 {
    if size.width <= 384 && size.height <= 384 {
        return 1;
    }
    let unit = (size.width.min(size.height) * 2 / 3).max(1);
    u64::from(size.width.div_ceil(unit)) * u64::from(size.height.div_ceil(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_providers_document_it() {
        use Detail::{Full, Low};
        let mini = ImagePricing::OpenAiPatches { percent: 162 };
        let plain = ImagePricing::OpenAiPatches { percent: 100 };
        let cases = [
            (ImagePricing::Anthropic, 200, 200, Full, 54),
            (ImagePricing::Anthropic, 1000, 1000, Full, 1334),
            (ImagePricing::Anthropic, 4000, 4000, Full, 1534),
            (ImagePricing::Anthropic, 3136, 200, Full, 210),
            (ImagePricing::AnthropicHighResolution, 1000, 1000, Full, 1334),
            (ImagePricing::AnthropicHighResolution, 4000, 4000, Full, 5000),
            (ImagePricing::GPT_4O, 1024, 1024, Full, 765),
            (ImagePricing::GPT_4O, 2048, 4096, Full, 1105),
            (ImagePricing::GPT_4O, 4096, 8192, Low, 85),
            (ImagePricing::GPT_4O, 10, 10, Full, 255),
            (plain, 1024, 1024, Full, 1024),
            (plain, 1800, 2400, Full, 1452),
            (plain, 1024, 1024, Low, 256),
            (mini, 1024, 1024, Full, 1659),
            (ImagePricing::Gemini, 384, 384, Full, 258),
            (ImagePricing::Gemini, 960, 540, Full, 258 * 6),
        ];
        for (pricing, width, height, detail, tokens) in cases {
            let size = PixelSize { width, height };
            assert_eq!(pricing.tokens(Some(size), detail), Tokens(tokens), "{pricing:?} {size:?} {detail:?}");
        }
    }

    #[test]
    fn any_size_has_a_bounded_price() {
        let sizes = [(1, 1), (1, u32::MAX), (u32::MAX, u32::MAX), (u32::MAX, 1)];
        for (width, height) in sizes {
            for pricing in
                [ImagePricing::Anthropic, ImagePricing::GPT_4O, ImagePricing::OpenAiPatches { percent: 246 }]
            {
                let tokens = pricing.tokens(Some(PixelSize { width, height }), Detail::Full);
                assert!(tokens <= Tokens(5_000), "{pricing:?} {width}x{height}: {tokens}");
            }
        }
    }
}
