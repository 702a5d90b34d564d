//! From a method and a path to an operation of the table.

use std::sync::LazyLock;

use mcpx_api::caller::decode;
use mcpx_api::operation::Operation;

enum Segment {
    Word(&'static str),
    Hole(&'static str),
}

struct Route {
    operation: &'static Operation,
    segments: Vec<Segment>,
}

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut routes: Vec<Route> = mcpx_api::operations::all()
        .map(|operation| Route {
            operation,
            segments: operation
                .path
                .split('/')
                .skip(1)
                .map(|part| {
                    part.strip_prefix('{')
                        .and_then(|part| part.strip_suffix('}'))
                        .map_or(Segment::Word(part), Segment::Hole)
                })
                .collect(),
        })
        .collect();
    // A word is meant before a hole.
    routes.sort_by_key(|route| {
        route
            .segments
            .iter()
            .filter(|segment| matches!(segment, Segment::Hole(_)))
            .count()
    });
    routes
});

/// What a path leads to.
pub enum Found {
    /// An operation, and what the path says.
    One(&'static Operation, Vec<(&'static str, String)>),
    /// Operations of other methods: these, as `Allow` lists them.
    OtherMethod(String),
    /// Nothing.
    None,
}

/// Finds the operation of a method and a path. Where there is GET there is HEAD: the same, and the answer's body is left
/// out by who sends it.
#[must_use]
pub fn find(method: &http::Method, path: &str) -> Found {
    let method = if *method == http::Method::HEAD {
        &http::Method::GET
    } else {
        method
    };
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut others: Vec<&'static str> = Vec::new();
    for route in ROUTES.iter() {
        let Some(holes) = fits(route, &parts) else {
            continue;
        };
        if route.operation.method.as_str() == method.as_str() {
            return Found::One(route.operation, holes);
        }
        others.push(route.operation.method.as_str());
    }
    if others.is_empty() {
        return Found::None;
    }
    if let Some(at) = others.iter().position(|other| *other == "GET") {
        others.insert(at + 1, "HEAD");
    }
    others.push("OPTIONS");
    Found::OtherMethod(others.join(", "))
}

/// The path that was meant, when a `/` at its end is all that is wrong with it.
#[must_use]
pub fn without_slash(path: &str) -> Option<&str> {
    let meant = path.strip_suffix('/')?;
    let parts: Vec<&str> = meant.split('/').skip(1).collect();
    ROUTES
        .iter()
        .any(|route| fits(route, &parts).is_some())
        .then_some(meant)
}

fn fits(route: &Route, parts: &[&str]) -> Option<Vec<(&'static str, String)>> {
    if route.segments.len() != parts.len() {
        return None;
    }
    let mut holes = Vec::new();
    for (segment, part) in route.segments.iter().zip(parts) {
        match segment {
            Segment::Word(word) if word == part => {}
            Segment::Hole(name) if !part.is_empty() => holes.push((*name, decode(part))),
            _ => return None,
        }
    }
    Some(holes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpx_api::Op;

    #[test]
    fn each_operation_is_found_by_its_own_path() {
        for operation in mcpx_api::operations::all() {
            let method =
                http::Method::from_bytes(operation.method.as_str().as_bytes()).expect("a method");
            let path = operation.path.replace('{', "x").replace('}', "");
            match find(&method, &path) {
                Found::One(found, _) => assert_eq!(found.id, operation.id, "{path}"),
                _ => panic!("{path} leads nowhere"),
            }
        }
    }

    #[test]
    fn what_the_path_says_is_decoded_and_a_wrong_method_names_the_right_ones() {
        match find(&http::Method::POST, "/v1/call/a%20b/c%2Fd") {
            Found::One(operation, holes) => {
                assert_eq!(operation.id, Op::CallPath);
                assert_eq!(
                    holes,
                    [("server", "a b".to_owned()), ("tool", "c/d".to_owned())]
                );
            }
            _ => panic!("not found"),
        }
        assert!(
            matches!(find(&http::Method::PATCH, "/v1/servers"), Found::OtherMethod(methods) if methods == "GET, HEAD, POST, OPTIONS")
        );
        assert!(
            matches!(find(&http::Method::OPTIONS, "/v1/call"), Found::OtherMethod(methods) if methods == "POST, OPTIONS")
        );
        assert!(
            matches!(find(&http::Method::HEAD, "/v1/health"), Found::One(operation, _) if operation.id == Op::Health)
        );
        assert!(matches!(
            find(&http::Method::GET, "/v1/tasks//result"),
            Found::None
        ));
        assert!(matches!(find(&http::Method::GET, "/"), Found::None));
        assert_eq!(without_slash("/v1/servers/"), Some("/v1/servers"));
        for path in ["/v1/servers", "/v1/nope/", "/", "", "/v1/tasks//"] {
            assert_eq!(without_slash(path), None, "{path}");
        }
    }
}
