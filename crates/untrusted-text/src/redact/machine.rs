//! The scanner behind both doors: whole texts and streams.
//!
//! Everything it decides, it decides from a bounded stretch of bytes, and it waits as long as more bytes could change the
//! decision. That is why a stream cut anywhere gives the same result as the whole text.

use std::ops::Range;

use super::{
    SecretKind, Secrets,
    shapes::{self, Look, Swallow},
};

/// How far a look back may go, in bytes.
const CONTEXT_BYTES: usize = 24;

/// Longest private key that is swallowed without having seen its end, in bytes. RSA-16384 needs 13,000.
const MAX_PEM_BYTES: usize = 32 * 1024;

/// A private key whose end is missing stops after as many bytes that do not look like one.
const MAX_PEM_GAP_BYTES: usize = 200;

/// A piece of the result; ranges are of the buffer.
pub(super) enum Piece {
    /// Bytes that stay.
    Keep(Range<usize>),
    /// A secret begins at `from`: its marker goes here.
    Hide { kind: SecretKind, from: usize },
    /// Bytes of a secret.
    Drop(Range<usize>),
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// Inside a token: its bytes go, however many come.
    Token(Swallow),
    /// Inside a private key.
    Pem {
        /// Bytes swallowed so far.
        bytes: usize,
        /// Bytes since the last stretch that looked like a key.
        gap: usize,
        /// Length of the stretch of base64 that ends here.
        stretch: usize,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    state: State,
    /// Where the last marker was written: what stood before is not looked at.
    context_start: usize,
}

impl Machine {
    /// Reads `buffer` from `at` and returns how far it got. Unless `at_end`, it stops where more bytes are needed.
    pub(super) fn run(
        &mut self,
        secrets: &Secrets,
        buffer: &[u8],
        at: usize,
        at_end: bool,
        emit: &mut impl FnMut(Piece),
    ) -> usize {
        let mut at = at;
        // Where the bytes begin that stay and were not emitted yet.
        let mut kept = at;
        loop {
            match self.state {
                State::Text => {
                    at = secrets.begins.next(buffer, at);
                    if at == buffer.len() {
                        break;
                    }
                    match self.look(&secrets.values, buffer, at, at_end) {
                        Look::No => at += 1,
                        Look::More => break,
                        Look::Secret {
                            kind,
                            keep,
                            len,
                            then,
                        } => {
                            emit(Piece::Keep(kept..at + keep));
                            emit(Piece::Hide {
                                kind,
                                from: at + keep,
                            });
                            emit(Piece::Drop(at + keep..at + len));
                            at += len;
                            kept = at;
                            self.context_start = at;
                            self.state = match then {
                                Swallow::Nothing => State::Text,
                                Swallow::Pem => State::Pem {
                                    bytes: 0,
                                    gap: 0,
                                    stretch: 0,
                                },
                                then => State::Token(then),
                            };
                        }
                    }
                }
                State::Token(swallow) => {
                    let (end, is_over) = swallow.end(buffer, at, at_end);
                    emit(Piece::Drop(at..end));
                    at = end;
                    kept = at;
                    self.context_start = at;
                    if !is_over {
                        break;
                    }
                    self.state = State::Text;
                }
                State::Pem {
                    bytes,
                    gap,
                    stretch,
                } => {
                    let (end, state) = pem(buffer, at, at_end, bytes, gap, stretch);
                    emit(Piece::Drop(at..end));
                    at = end;
                    kept = at;
                    self.context_start = at;
                    match state {
                        Some(state) => {
                            self.state = state;
                            break;
                        }
                        None => self.state = State::Text,
                    }
                }
            }
        }
        if kept < at {
            emit(Piece::Keep(kept..at));
        }
        if at_end && at < buffer.len() {
            emit(Piece::Keep(at..buffer.len()));
            at = buffer.len();
        }
        at
    }

    /// Returns how many bytes at the beginning of the buffer are needed no more, when everything up to `done` was read.
    /// The caller drops them.
    pub(super) fn forget(&mut self, done: usize) -> usize {
        let surplus = self
            .context_start
            .max(done.saturating_sub(CONTEXT_BYTES))
            .min(done);
        self.context_start = 0;
        surplus
    }

    fn look(&self, values: &[Box<[u8]>], buffer: &[u8], at: usize, at_end: bool) -> Look {
        let rest = &buffer[at..];
        let mut needs_more = false;
        for value in values {
            if rest.starts_with(value) {
                // A longer value may still win over this one.
                return match needs_more {
                    true => Look::More,
                    false => Look::Secret {
                        kind: SecretKind::Registered,
                        keep: 0,
                        len: value.len(),
                        then: Swallow::Nothing,
                    },
                };
            }
            needs_more |= !at_end && value.starts_with(rest);
        }
        if needs_more {
            return Look::More;
        }
        let context = &buffer[self.context_start.max(at.saturating_sub(CONTEXT_BYTES))..at];
        shapes::look(rest, context, at_end)
    }
}

/// Swallows a private key. Returns where it stopped, and the state to go on with unless the key is over.
fn pem(
    buffer: &[u8],
    at: usize,
    at_end: bool,
    mut bytes: usize,
    mut gap: usize,
    mut stretch: usize,
) -> (usize, Option<State>) {
    let mut at = at;
    while let Some(&byte) = buffer.get(at) {
        if byte == b'-' {
            match shapes::pem::end(&buffer[at..], at_end) {
                shapes::pem::End::Here(len) => return (at + len, None),
                shapes::pem::End::More => break,
                shapes::pem::End::No => {}
            }
        }
        if !byte.is_ascii() || bytes >= MAX_PEM_BYTES || gap >= MAX_PEM_GAP_BYTES {
            return (at, None);
        }
        let is_base64 = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        stretch = if is_base64 { stretch + 1 } else { 0 };
        gap = if stretch >= shapes::pem::STRETCH {
            0
        } else {
            gap + 1
        };
        bytes += 1;
        at += 1;
    }
    (
        at,
        Some(State::Pem {
            bytes,
            gap,
            stretch,
        }),
    )
}
