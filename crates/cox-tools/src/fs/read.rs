//! `read`: a file's lines with their numbers, its outline, one definition of it, or an image.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use base64::Engine as _;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Access, Confined, ReadError,
    file::{LineLimits, LineRange, Lines, Opened, open_with_head},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    outline::{Definition, Found, How, outline},
    place::{MAX_EDIT_BYTES, binary, blocking, from_read, reads},
};
use crate::{
    Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolImage, ToolOutput, ToolSpec,
    image::{self, Checked},
    parse_input,
};

/// Bytes of lines that one call returns; more is had by another range.
const MAX_BYTES: usize = 64 * 1024;

/// Bytes shown of one line.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// How long the lines of a file are counted. It is enough for many gigabytes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Largest file that is outlined. One over the limit of the parser is told by its first words.
const MAX_OUTLINE_BYTES: u64 = 16 << 20;

/// Levels that an outline is indented by at most.
const MAX_INDENT: usize = 12;

/// Definitions that are listed when a name means several.
const MAX_CANDIDATES: usize = 30;

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
            let file = open_with_head(&at).map_err(from_read)?;
            if let Some(media_type) = image::media_type(&file.head) {
                let ignored = wanted != Wanted::Lines(ALL);
                return read_image(&at, file, media_type, ignored);
            }
            if file.is_binary() {
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

fn read_text(
    cx: &ToolCx,
    at: &Confined,
    file: Opened,
    wanted: LineRange,
) -> Result<ToolOutput, ToolError> {
    let started = Instant::now();
    let stop = || cx.cancel.is_cancelled() || started.elapsed() > PATIENCE;
    let limits = LineLimits {
        bytes: MAX_BYTES,
        line_bytes: MAX_LINE_BYTES,
    };
    let lines = file
        .read_lines(wanted, limits, MAX_EDIT_BYTES, &stop)
        .map_err(from_read)?;
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    if let Some(digest) = lines.digest {
        cx.workspace.remember_seen(&at.real, digest);
    }
    if lines.total == 0 && !lines.stopped {
        return Ok(ToolOutput::text("[the file is empty]"));
    }
    if lines.lines.is_empty() && lines.stopped {
        return Ok(ToolOutput::error(format!(
            "`{}` is so large that line {} was not reached in {PATIENCE:?}; {} lines were passed\nhint: `grep`, or `tail` in `bash`",
            at.written, wanted.first, lines.total
        )));
    }
    if lines.lines.is_empty() {
        return Ok(ToolOutput::error(format!(
            "`lines` asks for line {} on, but `{}` has {} lines",
            wanted.first, at.written, lines.total
        )));
    }
    let mut text = String::new();
    let mut is_utf8 = true;
    for line in &lines.lines {
        let shown = String::from_utf8_lossy(&line.bytes);
        is_utf8 &= matches!(shown, std::borrow::Cow::Borrowed(_));
        let _ = write!(text, "{}\t{shown}", line.number);
        if line.cut > 0 {
            let _ = write!(text, " … ({} bytes of this line left out)", line.cut);
        }
        text.push('\n');
    }
    text.push_str(&footer(&lines, is_utf8));
    Ok(ToolOutput::text(text))
}

/// One line in brackets: which lines these are, and what about the file's bytes the lines do not show.
fn footer(lines: &Lines, is_utf8: bool) -> String {
    let first = lines.lines.first().map_or(0, |line| line.number);
    let last = lines.lines.last().map_or(0, |line| line.number);
    let mut notes = Vec::new();
    if first == 1 && last == lines.total && !lines.stopped {
        notes.push(format!("{} lines", lines.total));
    } else {
        let least = if lines.stopped { "at least " } else { "" };
        notes.push(format!("lines {first}-{last} of {least}{}", lines.total));
    }
    if lines.stopped {
        notes.push(format!("the file was not read to its end in {PATIENCE:?}"));
    }
    if lines.changed {
        notes.push("the file was changed while it was read; read it again".to_owned());
    }
    if let Some(next) = lines.left_out_from {
        notes.push(format!(
            "cut at {MAX_BYTES} bytes, go on with `lines: \"{next}-…\"` or use `grep`"
        ));
    }
    if lines.crlf > 0 && lines.lf == 0 {
        notes.push("CRLF line endings".to_owned());
    } else if lines.crlf > 0 {
        notes.push(format!(
            "mixed line endings: {} CRLF, {} LF",
            lines.crlf, lines.lf
        ));
    }
    if lines.has_bom {
        notes.push("UTF-8 byte order mark".to_owned());
    }
    if !is_utf8 {
        notes.push("not UTF-8, bytes that do not decode show as \u{FFFD}".to_owned());
    }
    if !lines.has_final_newline && !lines.stopped {
        notes.push("no newline at the end of the file".to_owned());
    }
    format!("[{}]", notes.join("; "))
}

fn read_outline(at: &Confined, file: Opened) -> Result<ToolOutput, ToolError> {
    let bytes = file.read_all(MAX_OUTLINE_BYTES).map_err(too_large)?;
    let text = String::from_utf8_lossy(&bytes);
    let total = text.lines().count();
    let outline = outline(&at.written, &text);
    let how = how_found(&outline.how);
    if outline.definitions.is_empty() {
        return Ok(ToolOutput::text(format!(
            "[no definitions found{how}; {total} lines]"
        )));
    }
    let mut out = String::new();
    for definition in &outline.definitions {
        let indent = 2 * definition.depth.min(MAX_INDENT);
        let _ = writeln!(
            out,
            "{}: {:indent$}{}",
            definition.line, "", definition.signature
        );
    }
    let _ = write!(
        out,
        "[{} definitions{how}; {total} lines]",
        outline.definitions.len()
    );
    Ok(ToolOutput::text(out))
}

/// Says what to do with a file that is too large for an outline.
fn too_large(error: ReadError) -> ToolError {
    match from_read(error) {
        ToolError::TooLarge {
            what, bytes, cap, ..
        } => ToolError::TooLarge {
            what,
            bytes,
            cap,
            hint: " for an outline; `grep` finds a name, `lines` reads around it".into(),
        },
        other => other,
    }
}

fn how_found(how: &How) -> String {
    match how {
        How::Parsed(_, false) | How::Headings => String::new(),
        How::Parsed(language, true) => {
            format!(
                "; some of the file is no {language} that can be parsed, so some may be missing"
            )
        }
        How::FirstWords(why) => format!(" by the first words of lines, because {why}"),
    }
}

fn read_symbol(
    cx: &ToolCx,
    at: &Confined,
    file: Opened,
    symbol: &str,
) -> Result<ToolOutput, ToolError> {
    let bytes = file.read_all(MAX_OUTLINE_BYTES).map_err(too_large)?;
    let text = String::from_utf8_lossy(&bytes);
    let outline = outline(&at.written, &text);
    let symbol: String = symbol.chars().take(200).collect();
    if let How::FirstWords(why) = outline.how {
        return Ok(ToolOutput::error(format!(
            "`symbol` needs a file that can be parsed: `{}` cannot, because {why}\nhint: `grep` finds the name, `lines` reads around it",
            at.written
        )));
    }
    let rows = |of: &[&Definition]| -> String {
        let shown = of.iter().take(MAX_CANDIDATES).map(|definition| {
            format!(
                "\nlines {}-{}: {} ({})",
                definition.first,
                definition.last,
                definition.signature,
                definition.path.join("::")
            )
        });
        let more = of.len().saturating_sub(MAX_CANDIDATES);
        let more = (more > 0).then(|| format!("\n[{more} more; `outline` lists all]"));
        shown.chain(more).collect()
    };
    match outline.find(&symbol) {
        Found::One(definition, beside) => {
            let range = LineRange {
                first: definition.first as u64,
                last: definition.last as u64,
            };
            let file = open_with_head(at).map_err(from_read)?;
            let mut output = read_text(cx, at, file, range)?;
            if !beside.is_empty() {
                output
                    .text
                    .push_str(&format!("\nof the same name:{}", rows(&beside)));
            }
            Ok(output)
        }
        Found::Several(several) => Ok(ToolOutput::error(format!(
            "`{symbol}` is defined {} times in `{}`; name one by its path, or read its `lines`:{}",
            several.len(),
            at.written,
            rows(&several)
        ))),
        Found::Nothing(nearest) => {
            let hint = if nearest.is_empty() {
                "`outline` lists what there is".to_owned()
            } else {
                format!("the nearest names are {}", quoted(&nearest))
            };
            Ok(ToolOutput::error(format!(
                "`{}` does not define `{symbol}`; {hint}{}",
                at.written,
                how_found(&outline.how)
            )))
        }
    }
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn read_image(
    at: &Confined,
    file: Opened,
    media_type: &str,
    ignored: bool,
) -> Result<ToolOutput, ToolError> {
    let bytes = file
        .read_all(image::MAX_BYTES)
        .map_err(|error| match from_read(error) {
            ToolError::TooLarge {
                what, bytes, cap, ..
            } => ToolError::TooLarge {
                what,
                bytes,
                cap,
                hint: "; make a smaller copy with `bash` and read that".into(),
            },
            other => other,
        })?;
    let Checked { width, height, .. } = image::check(&bytes)
        .map_err(|problem| ToolError::Binary(format!("`{}` {problem}", at.written)))?;
    let mut output = ToolOutput::text(format!(
        "{media_type}, {width}×{height} pixels, {} bytes",
        bytes.len()
    ));
    if ignored {
        output
            .text
            .push_str(" (`lines`, `mode` and `symbol` do not apply to images)");
    }
    output.images.push(ToolImage {
        media_type: media_type.to_owned(),
        base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
    });
    Ok(output)
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
