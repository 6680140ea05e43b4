//! The size of a picture, read from the head of its file: PNG, JPEG, GIF and WebP.

use super::base64;

/// Bytes of a JPEG that are looked at. Its size stands after its metadata, which a camera fills with a
/// thumbnail of up to 64 KiB a segment.
const JPEG_HEAD: usize = 256 << 10;
/// All other formats say their size in the first bytes.
const HEAD: usize = 64;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelSize {
    /// Pixels in a row.
    pub width: u32,
    /// Pixels in a column.
    pub height: u32,
}

impl PixelSize {
    /// The size of the image whose file is given as base64, if its format and its head are known.
    pub fn of_base64(data: &str) -> Option<Self> {
        let head = base64::head(data, HEAD);
        let is_jpeg = head.starts_with(&[0xff, 0xd8]);
        Self::of_file(&if is_jpeg { base64::head(data, JPEG_HEAD) } else { head })
    }

    /// The size of the image in a file that starts with these bytes.
    pub fn of_file(head: &[u8]) -> Option<Self> {
        let size = match head {
            [0x89, b'P', b'N', b'G', ..] => Self { width: be32(head, 16)?, height: be32(head, 20)? },
            [b'G', b'I', b'F', b'8', ..] => Self { width: le16(head, 6)?, height: le16(head, 8)? },
            [b'R', b'I', b'F', b'F', ..] if head.get(8..12)? == b"WEBP" => webp(head)?,
            [0xff, 0xd8, ..] => jpeg(head)?,
            _ => return None,
        };
        (size.width > 0 && size.height > 0).then_some(size)
    }
}

fn webp(head: &[u8]) -> Option<PixelSize> {
    match head.get(12..16)? {
        b"VP8 " => Some(PixelSize { width: le16(head, 26)? & 0x3fff, height: le16(head, 28)? & 0x3fff }),
        b"VP8L" => {
            let bits = le16(head, 21)? | le16(head, 23)? << 16;
            Some(PixelSize { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
        }
        b"VP8X" => Some(PixelSize { width: le24(head, 24)? + 1, height: le24(head, 27)? + 1 }),
        _ => None,
    }
}

/// Walks the segments of a JPEG to the one that starts the frame.
fn jpeg(head: &[u8]) -> Option<PixelSize> {
    let mut at = 2;
    loop {
        let (marker, kind) = (*head.get(at)?, *head.get(at + 1)?);
        match (marker, kind) {
            (0xff, 0xff) => at += 1,
            (0xff, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) => {
                return Some(PixelSize { width: be16(head, at + 7)?, height: be16(head, at + 5)? });
            }
            (0xff, 0x01 | 0xd0..=0xd8) => at += 2,
            (0xff, _) => at += 2 + usize::try_from(be16(head, at + 2)?).ok()?.max(2),
            _ => return None,
        }
    }
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    chunk(bytes, at).map(u32::from_be_bytes)
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    chunk(bytes, at).map(|pair| u32::from(u16::from_be_bytes(pair)))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    chunk(bytes, at).map(|pair| u32::from(u16::from_le_bytes(pair)))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    chunk(bytes, at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_format() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 4, 0, 0, 0, 3, 0, 8, 6]].concat();
        let gif = [b"GIF89a".as_slice(), &[0x40, 0x01, 0xc8, 0x00, 0xf7]].concat();
        let lossy = [b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a".as_slice(), &[0x20, 0x03, 0x58, 0x02]]
            .concat();
        let bits: u32 = (640 - 1) | (480 - 1) << 14;
        let lossless = [b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".as_slice(), &bits.to_le_bytes()].concat();
        let extended =
            [b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0".as_slice(), &[0xff, 0x04, 0, 0xcf, 0x02, 0]].concat();
        let jpeg = [
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xdb\0\x03x\xff\xff\xc2\0\x11\x08".as_slice(),
            &[0x03, 0x00, 0x04, 0x00, 3],
        ]
        .concat();
        let cases = [
            (png, Some((1024, 768))),
            (gif, Some((320, 200))),
            (lossy, Some((800, 600))),
            (lossless, Some((640, 480))),
            (extended, Some((1280, 720))),
            (jpeg, Some((1024, 768))),
            (b"\x89PNG\r\n".to_vec(), None),
            (b"\xff\xd8\xff\xe0\xff\xff".to_vec(), None),
            (b"<svg/>".to_vec(), None),
            (vec![], None),
        ];
        for (file, size) in cases {
            let expected = size.map(|(width, height)| PixelSize { width, height });
            assert_eq!(PixelSize::of_file(&file), expected, "{file:x?}");
        }
    }
}
