//! Answers to approvals and questions, as lines of JSON on stdin.
//!
//! `{"approve": id}` (with `"for_session": true` for the rest of the session), `{"deny": id, "reason": text}` and
//! `{"answer": id, "text": text}`. A line that cannot be read is reported and ignored.

use std::io::{self, BufRead as _, Read as _};

use cox_protocol::{CallId, Command, Decision};
use serde::Deserialize;
use tokio::sync::mpsc;

/// Longest line that is read, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// What a line should be.
const EXPECTED: &str = "expected {\"approve\": id}, {\"deny\": id, \"reason\": text} or {\"answer\": id, \"text\": text}";

/// What stdin said.
#[derive(Debug, PartialEq)]
pub(crate) enum Input {
    /// An answer, as the command that gives it.
    Answer(Command),
    /// A line that is no answer, and why.
    Unreadable(String),
    /// Stdin ended: nobody answers any more.
    End,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    approve: Option<String>,
    #[serde(default)]
    for_session: bool,
    deny: Option<String>,
    reason: Option<String>,
    answer: Option<String>,
    text: Option<String>,
}

/// Reads stdin on a thread of its own, which ends with the process: a read from a terminal cannot be cancelled.
/// The channel holds 16 lines; then the reader waits, and with it whoever writes.
pub(crate) fn read_stdin() -> mpsc::Receiver<Input> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = stdin.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            let input = match read {
                Ok(0) | Err(_) => Input::End,
                Ok(_) if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") => {
                    // The rest of it is no line of its own.
                    match skip_line(&mut stdin) {
                        Ok(()) => Input::Unreadable(format!("it has more than {MAX_LINE} bytes")),
                        Err(_) => Input::End,
                    }
                }
                Ok(_) => {
                    let text = String::from_utf8_lossy(&line);
                    if text.trim().is_empty() {
                        continue;
                    }
                    read_line(text.trim())
                }
            };
            let ended = input == Input::End;
            if sender.blocking_send(input).is_err() || ended {
                return;
            }
        }
    });
    receiver
}

/// Reads past the end of a line, keeping nothing.
fn skip_line(stdin: &mut impl io::BufRead) -> io::Result<()> {
    loop {
        let bytes = stdin.fill_buf()?;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(bytes.len(), |at| at + 1);
        let is_over = end.is_some() || bytes.is_empty();
        stdin.consume(used);
        if is_over {
            return Ok(());
        }
    }
}

fn read_line(text: &str) -> Input {
    // Not read into the struct at once: that would take a list of its fields too.
    let fields = match serde_json::from_str(text) {
        Ok(serde_json::Value::Object(fields)) => fields,
        Ok(_) => return Input::Unreadable(format!("not a JSON object: {EXPECTED}")),
        Err(error) => return Input::Unreadable(format!("not JSON ({error}): {EXPECTED}")),
    };
    let line: Line = match serde_json::from_value(serde_json::Value::Object(fields)) {
        Ok(line) => line,
        Err(error) => return Input::Unreadable(format!("{error}: {EXPECTED}")),
    };
    let (id, make): (&str, Box<dyn FnOnce(CallId) -> Command>) = match &line {
        Line {
            approve: Some(id),
            deny: None,
            answer: None,
            ..
        } => {
            let decision = if line.for_session {
                Decision::AllowForSession
            } else {
                Decision::Allow
            };
            (id, Box::new(|call| Command::Approve { call, decision }))
        }
        Line {
            approve: None,
            deny: Some(id),
            answer: None,
            reason,
            ..
        } => {
            let decision = Decision::Deny {
                reason: reason.clone(),
            };
            (id, Box::new(|call| Command::Approve { call, decision }))
        }
        Line {
            approve: None,
            deny: None,
            answer: Some(id),
            text,
            ..
        } => {
            let text = text.clone();
            (id, Box::new(|call| Command::Answer { call, text }))
        }
        _ => {
            return Input::Unreadable(format!(
                "it has not exactly one of `approve`, `deny` and `answer`: {EXPECTED}"
            ));
        }
    };
    match id.parse() {
        Ok(call) => Input::Answer(make(call)),
        Err(error) => Input::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01K9ZQ3T7N8V5W2X4Y6A8B0C1D";

    #[test]
    fn each_kind_of_answer_becomes_its_command() {
        #[track_caller]
        fn check(line: &str, expect: Command) {
            assert_eq!(read_line(&line.replace("ID", ID)), Input::Answer(expect));
        }
        let call: CallId = ID.parse().unwrap();
        check(
            r#"{"approve": "ID"}"#,
            Command::Approve {
                call,
                decision: Decision::Allow,
            },
        );
        check(
            r#"{"approve": "ID", "for_session": true}"#,
            Command::Approve {
                call,
                decision: Decision::AllowForSession,
            },
        );
        check(
            r#"{"deny": "ID"}"#,
            Command::Approve {
                call,
                decision: Decision::Deny { reason: None },
            },
        );
        check(
            r#"{"deny": "ID", "reason": "no"}"#,
            Command::Approve {
                call,
                decision: Decision::Deny {
                    reason: Some("no".to_owned()),
                },
            },
        );
        check(
            r#"{"answer": "ID", "text": "blue"}"#,
            Command::Answer {
                call,
                text: Some("blue".to_owned()),
            },
        );
        check(r#"{"answer": "ID"}"#, Command::Answer { call, text: None });
    }

    #[test]
    fn what_follows_a_line_that_is_too_long_is_read() {
        let mut input: &[u8] = b"xxxx{\"approve\": 1}\nnext\n";
        skip_line(&mut input).unwrap();
        assert_eq!(input, b"next\n");
        skip_line(&mut input).unwrap();
        skip_line(&mut input).unwrap();
        assert_eq!(input, b"");
    }

    #[test]
    fn a_line_that_is_no_answer_says_why() {
        #[track_caller]
        fn check(line: &str) {
            assert!(matches!(read_line(line), Input::Unreadable(_)), "{line}");
        }
        check("yes");
        check("{}");
        check("[]");
        check(r#"["01K9ZQ3T7N8V5W2X4Y6A8B0C1D", false, null, null, null, null]"#);
        check(r#"{"approve": 7}"#);
        check(r#"{"approve": "short"}"#);
        check(r#"{"aprove": "01K9ZQ3T7N8V5W2X4Y6A8B0C1D"}"#);
        check(r#"{"approve": "01K9ZQ3T7N8V5W2X4Y6A8B0C1D", "deny": "01K9ZQ3T7N8V5W2X4Y6A8B0C1D"}"#);
    }
}
