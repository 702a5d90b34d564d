//! `read`: a file's lines with their numbers, its outline, one definition of it, or an image.

mod definitions;
mod picture;
mod text;

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Access,
    file::{LineRange, open_with_head},
};
use serde::Deserialize;
use serde_json::{Value, json};

use self::{
    definitions::{read_outline, read_symbol},
    picture::read_image,
    text::read_text,
};
use super::place::{binary, blocking, from_read, reads};
use crate::{
    Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, image, parse_input,
};

/// The tool.
pub struct Read {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Input {
    path: String,
    lines: Option<String>,
    mode: Option<String>,
    symbol: Option<String>,
}

impl Read {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "read",
                description: "Reads a text file as `N<TAB>line`, or an image (PNG, JPEG, GIF, WebP). `outline` lists definitions only, `symbol` reads one.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "lines": {"type": "string", "description": "`a-b`, 1-based, inclusive"},
                        "mode": {"type": "string", "enum": ["text", "outline"]},
                        "symbol": {"type": "string", "description": "one definition, such as `Foo::bar`"}
                    },
                    "required": ["path"]
                }),
                deferred: false,
                risk: Risk::ReadOnly,
                concurrency: Concurrency::Parallel,
            },
        }
    }
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        reads(self.spec.name, &input.path, cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&self.spec, &input)?;
        let wanted = wanted(&input)?;
        blocking(cx, move |cx| {
            let at = cx.workspace.confine(&input.path, Access::Read)?;
            // A link may lead elsewhere than when the call was judged.
            if !(cx.may_read)(&at.real) {
                return Err(ToolError::Refused(format!(
                    "a rule denies reading `{}`",
                    at.written
                )));
            }
            let file = open_with_head(&at).map_err(from_read)?;
            if let Some(media_type) = image::media_type(&file.head) {
                let ignored = wanted != Wanted::Lines(ALL);
                return read_image(&at, file, media_type, ignored);
            }
            if file.is_binary() && file.utf16().is_none() {
                return Err(binary(&at.written, file.size, &file.head));
            }
            match &wanted {
                Wanted::Lines(range) => read_text(cx, &at, file, *range),
                Wanted::Outline => read_outline(&at, file),
                Wanted::Symbol(symbol) => read_symbol(cx, &at, file, symbol),
            }
        })
        .await
    }
}

/// What of a file a call asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Lines(LineRange),
    Outline,
    Symbol(String),
}

/// Every line.
const ALL: LineRange = LineRange {
    first: 1,
    last: u64::MAX,
};

fn wanted(input: &Input) -> Result<Wanted, ToolError> {
    let bad = |problem: String| ToolError::BadInput {
        tool: "read".to_owned(),
        problem,
    };
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let lines = given(&input.lines);
    if let Some(symbol) = given(&input.symbol) {
        if lines.is_some() {
            return Err(bad(
                "`symbol` and `lines` are both given, expected one of them".to_owned(),
            ));
        }
        return Ok(Wanted::Symbol(symbol));
    }
    match input.mode.as_deref() {
        None | Some("" | "text") => {}
        Some("outline") => return Ok(Wanted::Outline),
        Some(other) => {
            let other: String = other.chars().take(60).collect();
            return Err(bad(format!(
                "`mode` is `{other}`, expected `text` or `outline`"
            )));
        }
    }
    Ok(Wanted::Lines(lines.as_deref().map_or(Ok(ALL), range)?))
}

/// Reads `a-b`, `a-` or `a`.
fn range(text: &str) -> Result<LineRange, ToolError> {
    let bad = || ToolError::BadInput {
        tool: "read".to_owned(),
        problem: format!(
            "`lines` is `{}`, expected `a-b` with 1 ≤ a ≤ b, such as `10-40`",
            text.chars().take(60).collect::<String>()
        ),
    };
    let (first, last) = match text.trim().split_once('-') {
        Some((first, last)) => (first.trim(), Some(last.trim())),
        None => (text.trim(), None),
    };
    let first: u64 = first.parse().map_err(|_| bad())?;
    let last: u64 = match last {
        None => first,
        Some("") => u64::MAX,
        Some(last) => last.parse().map_err(|_| bad())?,
    };
    if first == 0 || last < first {
        return Err(bad());
    }
    Ok(LineRange { first, last })
}
