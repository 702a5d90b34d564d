//! URLs from outside: the normal form, the host, and what a person should be warned of.
//!
//! The normal form is that of the WHATWG URL standard: lower-case scheme and host, international names in punycode, dot
//! segments resolved, default ports dropped. Nothing is looked up.

use crate::terminal::one_line;

/// A URL of the web in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl {
    /// The normal form, without user, password and fragment.
    pub normal: String,
    /// The host in lower case, without a dot at its end; an IPv6 address without brackets.
    pub host: String,
    /// The port, written or implied by the scheme.
    pub port: u16,
    /// What a person should know before it is opened.
    pub warnings: Vec<UrlWarning>,
}

/// What is odd about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlWarning {
    /// `http:`: neither private nor safe from change.
    PlainHttp,
    /// The host has letters beyond ASCII and may look like another one.
    International,
    /// It carried a user name or a password; they were dropped.
    UserInfo,
    /// It had control characters or white space inside; they were dropped or escaped.
    Controls,
}

impl UrlWarning {
    /// Returns the warning in words for a person.
    pub fn text(self) -> &'static str {
        match self {
            Self::PlainHttp => "the connection is not encrypted",
            Self::International => "the host name has letters that may look like others",
            Self::UserInfo => "it carried a user name or password, which was dropped",
            Self::Controls => "it had control characters or white space inside",
        }
    }
}

/// Why a text is no URL of the web. Displayed with the text, cut and safe to print.
#[derive(Debug, PartialEq, Eq)]
pub struct UrlError {
    text: String,
    problem: String,
}

impl std::fmt::Display for UrlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` is no web address: {}; expected `https://host/…`",
            self.text, self.problem
        )
    }
}

impl std::error::Error for UrlError {}

/// Returns the normal form of a web address.
///
/// # Errors
///
/// [`UrlError`] if `text` is no absolute `http` or `https` URL with a host; the fault of whoever wrote it.
pub fn web_url(text: &str) -> Result<WebUrl, UrlError> {
    let trimmed = text.trim();
    let error = |problem: String| UrlError {
        text: one_line(trimmed, 80),
        problem,
    };
    let mut url = url::Url::parse(trimmed).map_err(|source| error(source.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(error(format!(
            "the scheme is `{}`",
            one_line(url.scheme(), 20)
        )));
    }
    let mut warnings = Vec::new();
    if url.scheme() == "http" {
        warnings.push(UrlWarning::PlainHttp);
    }
    let host = match url.host() {
        Some(url::Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
        Some(url::Host::Ipv4(address)) => address.to_string(),
        Some(url::Host::Ipv6(address)) => address.to_string(),
        None => String::new(),
    };
    if host.is_empty() {
        return Err(error("it has no host".into()));
    }
    if host.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push(UrlWarning::International);
    }
    if !url.username().is_empty() || url.password().is_some() {
        warnings.push(UrlWarning::UserInfo);
        // Setting fails only for URLs without a host.
        let _ = (url.set_username(""), url.set_password(None));
    }
    if trimmed
        .chars()
        .any(|char| char.is_control() || char.is_whitespace())
    {
        warnings.push(UrlWarning::Controls);
    }
    url.set_fragment(None);
    let port = url.port_or_known_default().unwrap_or(0);
    Ok(WebUrl {
        normal: url.into(),
        host,
        port,
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::{UrlWarning, web_url};

    #[test]
    fn web_addresses_have_one_form() {
        use UrlWarning::{Controls, International, PlainHttp, UserInfo};
        let cases: [(&str, &str, &str, u16, &[UrlWarning]); 9] = [
            (
                "https://Example.COM",
                "https://example.com/",
                "example.com",
                443,
                &[],
            ),
            (
                " HTTPS://example.com.:443/a/../b?q=1#f ",
                "https://example.com./b?q=1",
                "example.com",
                443,
                &[],
            ),
            (
                "http://example.com:8080/x",
                "http://example.com:8080/x",
                "example.com",
                8080,
                &[PlainHttp],
            ),
            (
                "https://user:secret@example.com/",
                "https://example.com/",
                "example.com",
                443,
                &[UserInfo],
            ),
            (
                "https://еxample.com/",
                "https://xn--xample-2of.com/",
                "xn--xample-2of.com",
                443,
                &[International],
            ),
            (
                "https://exa\tmple.com/a\nb",
                "https://example.com/ab",
                "example.com",
                443,
                &[Controls],
            ),
            (
                "http://0x7f.1/",
                "http://127.0.0.1/",
                "127.0.0.1",
                80,
                &[PlainHttp],
            ),
            (
                "https://[::1]:8443/",
                "https://[::1]:8443/",
                "::1",
                8443,
                &[],
            ),
            (
                "https:example.com",
                "https://example.com/",
                "example.com",
                443,
                &[],
            ),
        ];
        for (text, normal, host, port, warnings) in cases {
            let url = web_url(text).unwrap();
            let got = (
                url.normal.as_str(),
                url.host.as_str(),
                url.port,
                url.warnings.as_slice(),
            );
            assert_eq!(got, (normal, host, port, warnings), "from {text:?}");
        }
    }

    #[test]
    fn other_addresses_are_refused_with_what_was_expected() {
        let cases = [
            (
                "",
                "`` is no web address: relative URL without a base; expected `https://host/…`",
            ),
            (
                "example.com",
                "`example.com` is no web address: relative URL without a base; expected `https://host/…`",
            ),
            (
                "file:///etc/passwd",
                "`file:///etc/passwd` is no web address: the scheme is `file`; expected `https://host/…`",
            ),
            (
                "https://",
                "`https://` is no web address: empty host; expected `https://host/…`",
            ),
            (
                "data:text/plain,\u{1b}[31m",
                "`data:text/plain,␛[31m` is no web address: the scheme is `data`; expected `https://host/…`",
            ),
        ];
        for (text, expect) in cases {
            assert_eq!(web_url(text).unwrap_err().to_string(), expect);
        }
    }
}
