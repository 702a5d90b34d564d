//! Who asks, and the headers in which that travels.

use std::path::PathBuf;

/// Who asks. What is unknown isolates: a caller that says nothing of itself shares no state with anybody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The folder it works in.
    pub cwd: Option<PathBuf>,
    /// Its session, such as that of an agent.
    pub session: Option<String>,
    /// The session that started its session.
    pub parent_session: Option<String>,
    /// Its process.
    pub pid: Option<i32>,
    /// What it calls this call; made up when it says nothing.
    pub call: Option<String>,
    /// Whether it ends after this call: what was started for it alone ends with it.
    pub ephemeral: bool,
    /// The span that this call belongs to, for the log.
    pub trace_parent: Option<String>,
    /// Settings for this call, as JSON: path to text.
    pub settings: Option<String>,
}

/// The names of the headers.
pub mod header {
    /// The caller's folder.
    pub const CWD: &str = "x-mcpx-cwd";
    /// The caller's session.
    pub const SESSION: &str = "x-mcpx-session";
    /// The session that started it.
    pub const PARENT_SESSION: &str = "x-mcpx-parent-session";
    /// The caller's process.
    pub const PID: &str = "x-mcpx-pid";
    /// The caller's name for the call.
    pub const CALL: &str = "x-mcpx-call";
    /// `1`: the caller ends after this call.
    pub const EPHEMERAL: &str = "x-mcpx-ephemeral";
    /// The span this call belongs to.
    pub const TRACE_PARENT: &str = "x-mcpx-trace-parent";
    /// Settings for this call.
    pub const SETTINGS: &str = "x-mcpx-settings";
}

impl Caller {
    /// As headers. Text that a header cannot hold is percent-encoded.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let cwd = self.cwd.as_ref().map(|cwd| encode(&cwd.to_string_lossy()));
        let pairs = [
            (header::CWD, cwd),
            (header::SESSION, self.session.as_deref().map(encode)),
            (
                header::PARENT_SESSION,
                self.parent_session.as_deref().map(encode),
            ),
            (header::PID, self.pid.map(|pid| pid.to_string())),
            (header::CALL, self.call.as_deref().map(encode)),
            (header::EPHEMERAL, self.ephemeral.then(|| "1".to_owned())),
            (
                header::TRACE_PARENT,
                self.trace_parent.as_deref().map(encode),
            ),
            (header::SETTINGS, self.settings.as_deref().map(encode)),
        ];
        pairs
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// From the headers of a request.
    #[must_use]
    pub fn from_headers(headers: &http::HeaderMap) -> Self {
        let text = |name: &str| {
            let value = headers.get(name)?.to_str().ok()?;
            (!value.is_empty()).then(|| decode(value))
        };
        Self {
            cwd: text(header::CWD).map(PathBuf::from),
            session: text(header::SESSION),
            parent_session: text(header::PARENT_SESSION),
            pid: text(header::PID)
                .and_then(|pid| pid.parse().ok())
                .filter(|pid| *pid > 0),
            call: text(header::CALL),
            ephemeral: text(header::EPHEMERAL).as_deref() == Some("1"),
            trace_parent: text(header::TRACE_PARENT),
            settings: text(header::SETTINGS),
        }
    }
}

/// Percent-encodes what is not visible ASCII, and `%`.
#[must_use]
pub fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            out.push(char::from(byte));
        } else {
            let _never_fails = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The inverse of [`encode`]. What is no encoding stays as it is; bytes that are no UTF-8 are replaced.
#[must_use]
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_comes_out_of_its_headers_as_it_went_in() {
        let caller = Caller {
            cwd: Some("/tmp/häuser 100%/\n".into()),
            session: Some("s 1".to_owned()),
            parent_session: Some("p".to_owned()),
            pid: Some(42),
            call: Some("c".to_owned()),
            ephemeral: true,
            trace_parent: Some("cal-1".to_owned()),
            settings: Some("{\"a\":\"ü\"}".to_owned()),
        };
        let mut headers = http::HeaderMap::new();
        for (name, value) in caller.headers() {
            headers.insert(name, value.parse().expect("a header's value"));
        }
        assert_eq!(Caller::from_headers(&headers), caller);
        assert_eq!(
            Caller::from_headers(&http::HeaderMap::new()),
            Caller::default()
        );
    }

    #[test]
    fn what_is_no_encoding_stays_as_it_is() {
        for (text, expected) in [
            ("a%2Fb%2fc", "a/b/c"),
            ("%", "%"),
            ("%4", "%4"),
            ("%+1%-1% 1", "%+1%-1% 1"),
            ("%zz%é", "%zz%é"),
            ("%C3%BC", "ü"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_caller_comes_out_of_its_headers_as_it_went_in(
            cwd in ".{1,40}", session in ".{1,40}", pid in 1..i32::MAX, settings in ".{1,40}", ephemeral: bool,
        ) {
            let caller = Caller {
                cwd: Some(cwd.into()),
                session: Some(session.clone()),
                parent_session: Some(session),
                pid: Some(pid),
                call: None,
                ephemeral,
                trace_parent: None,
                settings: Some(settings),
            };
            let mut headers = http::HeaderMap::new();
            for (name, value) in caller.headers() {
                headers.insert(name, value.parse().expect("a header's value"));
            }
            proptest::prop_assert_eq!(Caller::from_headers(&headers), caller);
        }

        #[test]
        fn whatever_the_headers_hold_a_caller_comes_out(
            values in proptest::collection::vec(proptest::prelude::any::<Vec<u8>>(), 8),
        ) {
            let names = [
                header::CWD, header::SESSION, header::PARENT_SESSION, header::PID, header::CALL,
                header::EPHEMERAL, header::TRACE_PARENT, header::SETTINGS,
            ];
            let mut headers = http::HeaderMap::new();
            for (name, value) in names.into_iter().zip(values) {
                if let Ok(value) = http::HeaderValue::from_bytes(&value) {
                    headers.insert(name, value);
                }
            }
            let caller = Caller::from_headers(&headers);
            // What is empty says nothing, and a process has a number.
            proptest::prop_assert!(caller.session.is_none_or(|session| !session.is_empty()));
            proptest::prop_assert!(caller.pid.is_none_or(|pid| pid > 0));
        }
    }
}
