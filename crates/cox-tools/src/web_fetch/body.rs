//! Reads the body of an answer as text, under a cap.

use encoding_rs::Encoding;
use reqwest::{Response, header};
use url::Url;

use super::{MAX_BYTES, failed, html};
use crate::ToolError;

/// How much of the start is looked at to tell text from other data, in bytes.
const SNIFFED: usize = 1024;

/// A page as text.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    /// Bytes of the body that were read.
    pub(super) bytes: usize,
    /// What was cut, in words.
    pub(super) cut: Option<String>,
}

/// Reads a body. HTML is read up to [`MAX_BYTES`] to get at its text, other text up to `max_bytes`.
pub(super) async fn read(
    mut response: Response,
    url: &Url,
    max_bytes: usize,
) -> Result<Page, ToolError> {
    let content_type = response
        .headers()
        .get(header::CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .unwrap_or_default();
    let kind = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let length = response.content_length();
    let size = || {
        length.map_or("unknown size".to_owned(), |length| {
            format!("{length} bytes")
        })
    };
    let refused = |what: &str| ToolError::Binary(format!("{url} is {what} ({}), not text", size()));
    if let Some(coding) = response.headers().get(header::CONTENT_ENCODING)
        && coding != "identity"
    {
        return Err(refused("compressed although that was not asked for"));
    }
    if !kind.is_empty() && !is_text(&kind) {
        return Err(refused(&format!(
            "`{}`",
            kind.chars().take(80).collect::<String>()
        )));
    }
    let mut is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
    let mut bytes: Vec<u8> = Vec::new();
    let mut is_whole = true;
    let mut limit = None;
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failed(url, &error))?
    {
        bytes.extend_from_slice(&chunk);
        let limit = *limit.get_or_insert_with(|| {
            is_html |= kind.is_empty() && looks_like_html(&bytes);
            if is_html { MAX_BYTES } else { max_bytes }
        });
        if bytes.len() > limit {
            bytes.truncate(limit);
            is_whole = false;
            break;
        }
    }
    // UTF-16 has a mark at its start and zeros inside.
    let mark = Encoding::for_bom(&bytes).map(|(encoding, _)| encoding);
    if mark.is_none() && bytes.iter().take(SNIFFED).any(|&byte| byte == 0) {
        return Err(refused("binary data"));
    }
    let encoding = mark
        .or_else(|| charset(&content_type))
        .or_else(|| {
            is_html
                .then(|| charset(&String::from_utf8_lossy(&bytes[..bytes.len().min(SNIFFED)])))
                .flatten()
        })
        .unwrap_or(encoding_rs::UTF_8);
    let (decoded, _, _) = encoding.decode(&bytes);
    let decoded = if is_whole {
        &*decoded
    } else {
        decoded.trim_end_matches('\u{fffd}')
    };
    let mut text = if is_html {
        html::to_text(decoded, url)
    } else {
        decoded.to_owned()
    };
    let total = text.len();
    let is_cut = total > max_bytes;
    text.truncate(text.floor_char_boundary(max_bytes));
    let cut = match (is_whole, is_cut) {
        (true, false) => None,
        (true, true) => Some(format!("text cut at {} of {total} bytes", text.len())),
        (false, _) => Some(match length {
            Some(length) => format!("cut: the whole has {length} bytes"),
            None => "cut: there is more".to_owned(),
        }),
    };
    Ok(Page {
        text,
        bytes: bytes.len(),
        cut,
    })
}

fn is_text(kind: &str) -> bool {
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind,
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-javascript"
                | "application/ecmascript"
                | "application/typescript"
                | "application/x-ndjson"
                | "application/jsonlines"
                | "application/yaml"
                | "application/x-yaml"
                | "application/toml"
                | "application/x-sh"
                | "application/sql"
                | "application/graphql"
                | "application/x-httpd-php"
        )
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(SNIFFED)]).to_ascii_lowercase();
    let start = start.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Finds `charset=…` in a content type or in the start of a page.
fn charset(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let after = lower
        .split_once("charset=")?
        .1
        .trim_start_matches(['"', '\'', ' ']);
    let name: String = after
        .chars()
        .take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | ':' | '.'))
        .collect();
    Encoding::for_label(name.as_bytes())
}
