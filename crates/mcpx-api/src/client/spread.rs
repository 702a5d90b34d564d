//! Where each parameter of a request travels: path, query or body.

use mcp_wire::{Object, Raw};

use crate::operation::{Operation, Place};

/// Puts each parameter where it travels: the path with its query, and the body.
#[must_use]
pub fn spread(operation: &Operation, params: &Object) -> (String, Option<String>) {
    let mut path = operation.path.to_owned();
    let mut query = String::new();
    let mut body = Object::new();
    let mut whole = None;
    let mut has_body = false;
    for (name, value) in params.iter() {
        let place = operation
            .params
            .iter()
            .find(|param| param.name == name)
            .map_or(Place::Body, |param| param.place);
        match place {
            Place::Path => {
                path = path.replace(&format!("{{{name}}}"), &encode_segment(&plain(value)));
            }
            // As if it was not there.
            Place::Query if value.is_null() => {}
            Place::Query => {
                query.push(if query.is_empty() { '?' } else { '&' });
                query.push_str(name);
                query.push('=');
                query.push_str(&encode_segment(&plain(value)));
            }
            Place::Body => {
                has_body = true;
                body.set(name, value.clone());
            }
            Place::Whole => whole = Some(value.as_str().to_owned()),
        }
    }
    let takes_body = operation
        .params
        .iter()
        .any(|param| matches!(param.place, Place::Body | Place::Whole));
    let body =
        whole.or_else(|| (has_body || takes_body).then(|| Raw::from(body).as_str().to_owned()));
    (path + &query, body)
}

/// A value as it is written into a path or a query.
fn plain(value: &Raw) -> String {
    if let Some(text) = value.string() {
        return text;
    }
    match value.read::<Vec<String>>() {
        Ok(list) => list.join(","),
        Err(_) => value.as_str().to_owned(),
    }
}

/// Percent-encoded, with what is plain in a path and in a query left as it is.
fn encode_segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | ',' | ':') {
            out.push(c);
        } else {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _never_fails = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, operation};

    #[test]
    fn each_parameter_is_put_where_it_travels() {
        let (uri, body) = spread(
            operation(Op::CallPath),
            &Object::new()
                .with("server", "a/b c")
                .with("tool", "x")
                .with("session", "s&1")
                .with("args", Object::new().with("n", 1)),
        );
        assert_eq!(uri, "/v1/call/a%2Fb%20c/x?session=s%261");
        assert_eq!(body.as_deref(), Some("{\"n\":1}"));

        let (uri, body) = spread(
            operation(Op::Types),
            &Object::new()
                .with("ns", Raw::of(&["a", "b.c"]))
                .with("instructions", false),
        );
        assert_eq!(uri, "/v1/types?ns=a,b.c&instructions=false");
        assert_eq!(body, None);

        let (uri, body) = spread(operation(Op::Reload), &Object::new());
        assert_eq!((uri.as_str(), body), ("/v1/reload", None));
        let (_, body) = spread(operation(Op::Restart), &Object::new());
        assert_eq!(body.as_deref(), Some("{}"));
    }
}
