//! Takes what a call produces: redacted first, then archived whole, then shown in part.
//!
//! Memory stays bounded whatever a command prints: the archive takes every byte, the model's view keeps a head and a tail,
//! and people see the first part while it runs. What a command prints is shown as text ([`CommandText`]): without escape
//! sequences, with repeated lines folded, and not at all when it is binary.

use std::sync::{Mutex, PoisonError};

use cox_protocol::{ArchiveId, CallId, Event};
use cox_store::{Archive, ArchiveWriter, StoreError};
use cox_tools::OutputSink;
use tokio::sync::mpsc;
use untrusted_text::{
    Untrusted,
    cap::{HeadTail, Shape},
    command_text::CommandText,
    redact::{Redactor, StreamRedactor},
    terminal::TerminalStream,
};

use crate::inbox::Wake;

/// How much of a running call's output people see while it runs, in bytes. The archive has the rest.
const SHOWN_BYTES: usize = 64 * 1024;

/// Records one call's output.
pub(super) struct Recorder {
    call: CallId,
    inbox: mpsc::Sender<Wake>,
    shape: Shape,
    redactor: Redactor,
    inner: Mutex<Inner>,
}

struct Inner {
    redactor: StreamRedactor,
    archive: Result<ArchiveWriter, StoreError>,
    view: HeadTail,
    /// Makes the view of what a command prints; none for a tool whose text is its own.
    command: Option<CommandText>,
    /// What the archive was given, in bytes.
    bytes: u64,
    /// Makes safe what people see: a sequence may be split between two pieces.
    people: TerminalStream,
    shown: usize,
    /// Output that the inbox had no room for yet; at most what may still be shown.
    unshown: Vec<u8>,
    /// Set when the call is recorded: what a dropped call still prints is not of this turn any more.
    closed: bool,
}

/// What was recorded.
pub(super) struct Recorded {
    /// What the model sees: capped, with its pointer.
    pub(super) visible: String,
    /// Size of the whole output in bytes.
    pub(super) bytes: u64,
    /// Where the whole output lies, or why it lies nowhere.
    pub(super) archive: Result<ArchiveId, StoreError>,
    /// Secrets that were replaced.
    pub(super) secrets: usize,
}

impl Recorder {
    pub(super) fn new(
        call: CallId,
        archive: &Archive,
        redactor: &Redactor,
        inbox: mpsc::Sender<Wake>,
        shape: Shape,
        is_command: bool,
    ) -> Self {
        Self {
            call,
            inbox,
            shape,
            redactor: redactor.clone(),
            inner: Mutex::new(Inner {
                redactor: redactor.stream(),
                archive: archive.writer(),
                view: HeadTail::new(shape.max_bytes),
                command: is_command.then(CommandText::new),
                bytes: 0,
                people: TerminalStream::new(),
                shown: 0,
                unshown: Vec::new(),
                closed: false,
            }),
        }
    }

    /// Adds the text a call returned, ends the archive entry and returns what the model sees.
    pub(super) fn finish(&self, text: &str) -> Recorded {
        let mut inner = self.lock();
        let mut clean = inner.redactor.push(text.as_bytes());
        clean.extend(inner.redactor.finish());
        inner.keep(&clean);
        let command = inner.end_command();
        let secrets = inner.redactor.count();
        inner.closed = true;
        let view = std::mem::replace(&mut inner.view, HeadTail::new(self.shape.max_bytes));
        let archive = std::mem::replace(
            &mut inner.archive,
            Err(StoreError::NotFound(
                "the output is already recorded".to_owned(),
            )),
        );
        let bytes = inner.bytes;
        drop(inner);
        let archived = archive.and_then(ArchiveWriter::finish);
        let capped = view.finish(&self.shape);
        let omitted = capped.omitted;
        let mut visible = capped.text;
        let is_folded = command.as_ref().is_some_and(CommandText::is_folded);
        let is_binary = command.as_ref().is_some_and(CommandText::is_binary);
        if is_binary {
            let place = archived.as_ref().map_or_else(
                |_| String::new(),
                |id| format!("; all of it is archived as {id}"),
            );
            let ending = self.redactor.redact(text);
            visible = format!(
                "[binary output of {} bytes, not shown{place}]\n{}",
                bytes.saturating_sub(text.len() as u64),
                ending.text.trim_start_matches('\n')
            );
        } else if let (Ok(id), true) = (&archived, is_folded) {
            let what = match omitted {
                Some(_) => {
                    "shortened, and repeated lines folded: line numbers above are not those of the archive"
                }
                None => "repeated lines are folded",
            };
            visible.push_str(&format!(
                "\n[{what}; `expand` {id} shows all {bytes} bytes or a range]"
            ));
        } else if let (Ok(id), Some(omitted)) = (&archived, omitted) {
            visible.push_str(&format!(
                "\n[shortened: lines {}-{} left out, {} of {bytes} bytes; `expand` {id} shows the whole output or a range]",
                omitted.first_line, omitted.last_line, omitted.bytes
            ));
        }
        if let Err(error) = &archived {
            visible.push_str(&format!("\n[the whole output could not be kept: {error}]"));
        }
        Recorded {
            visible,
            bytes,
            archive: archived,
            secrets,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what may be shown, if the inbox has room; a surface that is slow sees it a little later.
    fn show(&self, inner: &mut Inner) {
        if inner.unshown.is_empty() {
            return;
        }
        let whole = complete_utf8(&inner.unshown);
        if whole == 0 {
            return;
        }
        // Room first: what went through the filter cannot be taken back.
        let Ok(room) = self.inbox.try_reserve() else {
            return;
        };
        let text = inner
            .people
            .push(&String::from_utf8_lossy(&inner.unshown[..whole]));
        inner.unshown.drain(..whole);
        if !text.is_empty() {
            room.send(Wake::Call(Event::ToolOutput {
                call: self.call,
                text: Untrusted::new(text),
            }));
        }
    }
}

impl OutputSink for Recorder {
    fn write(&self, bytes: &[u8]) {
        let mut inner = self.lock();
        if inner.closed {
            return;
        }
        let clean = inner.redactor.push(bytes);
        inner.keep(&clean);
        if inner.command.as_ref().is_some_and(CommandText::is_binary) {
            inner.shown = SHOWN_BYTES;
            inner.unshown.clear();
        }
        let room = SHOWN_BYTES.saturating_sub(inner.shown).min(clean.len());
        inner.unshown.extend_from_slice(&clean[..room]);
        inner.shown += room;
        self.show(&mut inner);
    }
}

impl Inner {
    fn end_command(&mut self) -> Option<CommandText> {
        let mut command = self.command.take()?;
        let mut text = String::new();
        command.finish(&mut text);
        self.view.push(text.as_bytes());
        Some(command)
    }

    fn keep(&mut self, clean: &[u8]) {
        self.bytes += clean.len() as u64;
        match &mut self.command {
            Some(command) => {
                let mut text = String::new();
                command.push(clean, &mut text);
                self.view.push(text.as_bytes());
            }
            None => self.view.push(clean),
        }
        if let Ok(writer) = &mut self.archive
            && let Err(error) = writer.write(clean)
        {
            self.archive = Err(error);
        }
    }
}

/// Returns how many bytes of `bytes` end on a character boundary. Bytes that can never become a character count as whole.
fn complete_utf8(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() && bytes.len() - error.valid_up_to() < 4 => {
            error.valid_up_to()
        }
        Err(_) => bytes.len(),
    }
}
