//! A web address that a server wants a person to open.
//!
//! Nothing is looked up or opened here. What a person sees is what is opened, character by character: the normal form,
//! which reads back as itself and which the opener passes on unchanged. An address for which that is not certain is
//! refused. To accept an offer is to agree to open it, and says nothing of what happens there.
//!
//! The normal form of `untrusted-text` is another one: for fetching, so without user and fragment.

mod host;

use url::{Host, Url};

use crate::form::MAX_MESSAGE;
use crate::shown::Shown;
use crate::text::has_whole_escapes;

/// How an address is handed to the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// As one argument of a program, without a shell: `xdg-open`, `open`.
    Argument,
    /// Inside a command line that is read again: `cmd /c start` of Windows, which expands `%NAME%` and ends at `&`.
    CommandLine,
}

impl Opener {
    /// Returns the opener of this operating system.
    pub fn of_this_system() -> Self {
        if cfg!(windows) {
            Self::CommandLine
        } else {
            Self::Argument
        }
    }

    /// Longest address in bytes. A browser and a person's patience hold more; a command line of Windows hardly does.
    fn max_bytes(self) -> usize {
        match self {
            Self::Argument => 4_096,
            Self::CommandLine => 2_048,
        }
    }

    /// Says whether a character of a normal form may reach the browser as another one, or as none.
    fn would_change(self, char: char, next: Option<char>) -> bool {
        let is_plain = char.is_ascii_alphanumeric() || "-._~:/?#[]@!$&()*+,;=%".contains(char);
        // Openers that are shell scripts of themselves have expanded this in their arguments.
        let is_substitution = char == '$' && next == Some('(');
        !is_plain || is_substitution || (self == Self::CommandLine && "&()%!".contains(char))
    }
}

/// What a person should know before an address is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlWarning {
    /// The host is written with letters beyond ASCII, shown as punycode.
    Punycode,
    /// A part of the host mixes alphabets.
    MixedScripts,
    /// `http:` to another computer.
    PlainHttp,
    /// A user name or a password stands before the host.
    UserInfo,
    /// The host is a number.
    IpAddress,
    /// The port is not the one of the scheme.
    UnusualPort,
    /// It leads to this computer.
    ThisComputer,
}

impl UrlWarning {
    /// Returns the warning in words for a person.
    pub fn text(self) -> &'static str {
        match self {
            Self::Punycode => "the host name has letters that may look like others",
            Self::MixedScripts => "the host name mixes letters of several alphabets",
            Self::PlainHttp => "the connection is not encrypted",
            Self::UserInfo => "what stands before the @ is not the host",
            Self::IpAddress => "the host is an IP address, not a name",
            Self::UnusualPort => "the port is unusual for a web page",
            Self::ThisComputer => "it leads to a program on this computer",
        }
    }
}

/// Why an address is not offered. The server's fault; the request is declined, and nobody was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is no absolute address.
    #[error("`{url}` is no web address; expected `https://host/…`")]
    NotAnAddress {
        /// The address, cut.
        url: Shown,
    },
    /// Its scheme is not that of a web page.
    #[error("the scheme is `{scheme}`; expected `https` or `http`")]
    Scheme {
        /// The scheme.
        scheme: Shown,
    },
    /// It names no host.
    #[error("the address names no host")]
    NoHost,
    /// It holds white space, a control or hidden character, a quote, a bracket of HTML or a backslash.
    #[error("the address holds {found}, which belongs to no address")]
    OddCharacter {
        /// The character, made visible.
        found: Shown,
    },
    /// It is longer than what is passed on whole.
    #[error("the address has {bytes} bytes, the most is {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// It might be opened as another address than the one that was shown.
    #[error("the address would not reach the browser unchanged")]
    NotUnchanged,
}

/// An address that may be offered to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlOffer {
    message: Shown,
    url: String,
    host: String,
    host_in_letters: Option<String>,
    warnings: Vec<UrlWarning>,
}

impl UrlOffer {
    /// Reads an offer for the opener of this system.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the address is none that can be shown and opened as the same thing.
    pub fn parse(message: &str, url: &str) -> Result<Self, Refusal> {
        Self::parse_for(Opener::of_this_system(), message, url)
    }

    /// Reads an offer for the given opener.
    ///
    /// # Errors
    ///
    /// As [`UrlOffer::parse`].
    pub fn parse_for(opener: Opener, message: &str, url: &str) -> Result<Self, Refusal> {
        let too_long = |bytes: usize| Refusal::TooLong {
            bytes,
            most: opener.max_bytes(),
        };
        if url.len() > opener.max_bytes() {
            return Err(too_long(url.len()));
        }
        if let Some(odd) = url.chars().find(|char| is_odd(*char)) {
            let found = match odd {
                ' ' => Shown::line("a space", 20),
                // A mark around it, because white space at the ends of a line is dropped.
                _ => Shown::line(&format!("`{odd}`"), 20),
            };
            return Err(Refusal::OddCharacter { found });
        }
        let parsed = Url::parse(url).map_err(|error| match error {
            url::ParseError::EmptyHost => Refusal::NoHost,
            _ => Refusal::NotAnAddress {
                url: Shown::line(url, 80),
            },
        })?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(Refusal::Scheme {
                scheme: Shown::line(parsed.scheme(), 20),
            });
        }
        let host = parsed.host().ok_or(Refusal::NoHost)?;
        if matches!(host, Host::Domain(name) if name.trim_matches('.').is_empty()) {
            return Err(Refusal::NoHost);
        }
        let normal = parsed.as_str();
        if normal.len() > opener.max_bytes() {
            return Err(too_long(normal.len()));
        }
        if !survives(opener, &parsed) {
            return Err(Refusal::NotUnchanged);
        }
        Ok(Self {
            message: Shown::paragraph(message, MAX_MESSAGE),
            host: host.to_string(),
            host_in_letters: parsed.domain().and_then(host::in_letters),
            warnings: warnings(&parsed),
            url: normal.to_owned(),
        })
    }

    /// Returns what the server says about it.
    pub fn message(&self) -> &Shown {
        &self.message
    }

    /// Returns the whole address, to be shown and to be opened: ASCII, without white space, quotes and controls.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the host as in the address: lower case, punycode; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host in its own letters, if it has others than ASCII and they cannot be taken for others.
    pub fn host_in_letters(&self) -> Option<&str> {
        self.host_in_letters.as_deref()
    }

    /// Returns what a person should know first.
    pub fn warnings(&self) -> &[UrlWarning] {
        &self.warnings
    }
}

fn is_odd(char: char) -> bool {
    let text = char.to_string();
    char.is_control()
        || char.is_whitespace()
        || matches!(char, '"' | '\'' | '`' | '<' | '>' | '\\')
        || untrusted_text::terminal::for_terminal(&text) != text
}

fn survives(opener: Opener, parsed: &Url) -> bool {
    let normal = parsed.as_str();
    let changes = normal
        .chars()
        .zip(normal.chars().skip(1).map(Some).chain([None]))
        .any(|(char, next)| opener.would_change(char, next));
    let reads_back =
        Url::parse(normal).is_ok_and(|again| again == *parsed && again.as_str() == normal);
    !changes && reads_back && has_whole_escapes(normal)
}

fn warnings(parsed: &Url) -> Vec<UrlWarning> {
    let is_loopback = match parsed.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => {
            address.to_canonical().is_loopback() || address.is_unspecified()
        }
        None => false,
    };
    let domain = parsed.domain().unwrap_or_default();
    let cases = [
        (host::is_punycode(domain), UrlWarning::Punycode),
        (host::mixes_scripts(domain), UrlWarning::MixedScripts),
        (
            parsed.scheme() == "http" && !is_loopback,
            UrlWarning::PlainHttp,
        ),
        (
            !parsed.username().is_empty() || parsed.password().is_some(),
            UrlWarning::UserInfo,
        ),
        (
            parsed.domain().is_none() && !is_loopback,
            UrlWarning::IpAddress,
        ),
        (
            parsed.port().is_some() && !is_loopback,
            UrlWarning::UnusualPort,
        ),
        (is_loopback, UrlWarning::ThisComputer),
    ];
    cases
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, warning)| warning)
        .collect()
}

#[cfg(test)]
mod tests;
