//! The `www-authenticate` header: what a server wants before it answers.

/// What the `Bearer` challenges of an answer say together; the first value of each parameter counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the protected resource's metadata is.
    pub resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub scopes: Option<Vec<String>>,
    /// An error code of RFC 6750, such as `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads header values, each of which may hold several challenges of several schemes. What cannot be read is left out.
    pub(crate) fn parse(headers: &[String]) -> Self {
        let mut found = Self::default();
        for header in headers {
            let mut is_bearer = false;
            for part in parts(header) {
                match part {
                    Part::Scheme(name) => is_bearer = name.eq_ignore_ascii_case("bearer"),
                    Part::Param(name, value) if is_bearer => found.take(&name, value),
                    Part::Param(..) => {}
                }
            }
        }
        found
    }

    fn take(&mut self, name: &str, value: String) {
        if name.eq_ignore_ascii_case("scope") {
            self.scopes.get_or_insert_with(|| scopes(&value));
        } else if name.eq_ignore_ascii_case("error") {
            self.error.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("resource_metadata") {
            self.resource_metadata.get_or_insert(value);
        }
    }
}

/// Splits a list of scopes, each once, in order.
pub(crate) fn scopes(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for scope in text.split_ascii_whitespace() {
        if !found.iter().any(|known| known == scope) {
            found.push(scope.to_owned());
        }
    }
    found
}

enum Part {
    Scheme(String),
    Param(String, String),
}

/// Reads `Scheme name=value, name="value", Scheme …`. A word with `=` behind it is a parameter, one without a scheme.
fn parts(header: &str) -> Vec<Part> {
    let mut found = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() && after.is_empty() {
            return found;
        }
        let Some(value) = after.trim_start().strip_prefix('=') else {
            found.push(Part::Scheme(word.to_owned()));
            rest = after;
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = value.find([' ', '\t', ',']).unwrap_or(value.len());
                (value[..end].to_owned(), &value[end..])
            }
        };
        found.push(Part::Param(word.to_owned(), value));
        rest = after;
    }
}

/// Reads up to the closing quote; returns the text without escapes, and what is behind.
fn unquote(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (out, &text[at + 1..]),
            '\\' => out.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => out.push(char),
        }
    }
    (out, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers; what is found of the address, the scopes and the error.
    type Case<'a> = (
        &'a [&'a str],
        Option<&'a str>,
        Option<&'a [&'a str]>,
        Option<&'a str>,
    );

    #[test]
    fn challenges_are_read_however_they_are_written() {
        let url = "https://a.example/.well-known/x?y=1,2";
        let quoted = format!("Bearer resource_metadata=\"{url}\", scope=\"a b  a\"");
        let cases: [Case<'_>; 8] = [
            (&[], None, None, None),
            (&["Bearer"], None, None, None),
            (&[&quoted], Some(url), Some(&["a", "b"]), None),
            (
                &["Basic realm=\"Bearer error=no\", bearer error=insufficient_scope,scope=x"],
                None,
                Some(&["x"]),
                Some("insufficient_scope"),
            ),
            (
                &[
                    "DPoP resource_metadata=\"https://no\"",
                    "BEARER Resource_Metadata = https://yes",
                ],
                Some("https://yes"),
                None,
                None,
            ),
            (
                &["Bearer realm=\"a \\\"q\\\", error=\\\"x\", error=\"invalid_token\""],
                None,
                None,
                Some("invalid_token"),
            ),
            (&["Bearer scope=\"\""], None, Some(&[]), None),
            (
                &["Negotiate a87421000492aa874209af8bc028==, Bearer error=\"é"],
                None,
                None,
                Some("é"),
            ),
        ];
        for (headers, metadata, scopes, error) in cases {
            let headers: Vec<String> = headers.iter().map(|text| (*text).to_owned()).collect();
            let expected = Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scopes: scopes.map(|all| all.iter().map(|scope| (*scope).to_owned()).collect()),
                error: error.map(str::to_owned),
            };
            assert_eq!(Challenge::parse(&headers), expected, "{headers:?}");
        }
    }
}
