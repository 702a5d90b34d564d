//! The operations as a page for readers: how each is sent, what it takes, how it is typed and called.

use std::fmt::Write as _;

use crate::operation::{Effect, Operation, Output, Param, Place};
use crate::{Code, openapi, operations};

/// The page in Markdown.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(HEAD);
    page.push_str("\n## How it ends\n\n| status | code | meaning |\n|---|---|---|\n");
    page.push_str("| 200 | | it is done |\n| 202 | | it goes on as a task |\n");
    for code in Code::all() {
        let _never_fails = writeln!(
            page,
            "| {} | `{}` | {} |",
            code.status(),
            code.word(),
            openapi::meaning(code)
        );
    }
    for (family, about, rows) in families() {
        let _never_fails = write!(page, "\n## {family}\n\n{about}\n");
        for operation in rows {
            describe(operation, &mut page);
        }
    }
    page
}

const HEAD: &str = "# The interface of the hub

Generated from the program; do not edit.

The daemon answers HTTP on its Unix socket and, with a token, on a TCP port of this machine.
`mcpx openapi` prints the same as a document of OpenAPI 3.1, with a path for each tool that is known.

```sh
curl --unix-socket \"$(mcpx --json status | jq -r .socket)\" http://mcpx/v1/namespaces
```

Bodies and answers are JSON, but for what is text by nature.
What is not known to an operation is refused: names, kinds, numbers below 0 or beyond 2⁵³, nesting beyond 100 levels.
A switch in a query is `true`, `1`, `yes` or nothing at all, or `false`, `0`, `no`; a list has commas between its parts.
In a body, what need not be there may be `null`.
Each parameter is taken in its own place alone: what goes into the body is not read from the query.
HEAD answers as GET does, without the body; OPTIONS says what a path takes.

Who asks is told by headers, all of which may be left out; what is not told isolates.

| header | meaning |
|---|---|
| `X-Mcpx-Cwd` | the folder the caller works in |
| `X-Mcpx-Session` | its session |
| `X-Mcpx-Parent-Session` | the session that started its own |
| `X-Mcpx-Pid` | its process |
| `X-Mcpx-Call` | its name for the call |
| `X-Mcpx-Ephemeral` | `1`: it ends after this call, and what was started for it alone ends with it |
| `X-Mcpx-Trace-Parent` | the span the call belongs to, in the log |
| `X-Mcpx-Settings` | settings of a call, as a JSON object of path to text |

What a header cannot hold is percent-encoded.

An error is `{\"error\": …, \"code\": …, \"hint\"?: …}`, and has more members where more is known: `diagnostics` (why a call was wrong), `delivery` (`not_sent`, `outcome_unknown` or `answered`), `server`.
";

/// The families of the table, with a line about each.
fn families() -> impl Iterator<Item = (&'static str, &'static str, &'static [Operation])> {
    const ABOUT: [(&str, &str); 5] = [
        ("The daemon", "Its health, its events, its end."),
        (
            "What there is",
            "Servers, tools, signatures, resources, prompts, and how they changed.",
        ),
        ("Calls", "Calls of tools, and what they leave behind."),
        (
            "Servers and settings",
            "Which servers are configured, and the settings.",
        ),
        ("What happened", "The log, and calls counted."),
    ];
    ABOUT
        .into_iter()
        .zip(operations::OPERATIONS)
        .map(|((name, about), rows)| (name, about, *rows))
}

fn describe(operation: &Operation, page: &mut String) {
    let _never_fails = write!(
        page,
        "\n### `{} {}`\n\n{}\n",
        operation.method.as_str(),
        operation.path,
        operation.summary
    );
    let mut facts = Vec::new();
    if let Some(word) = operation.word {
        facts.push(format!("command `mcpx {word}`"));
    }
    if let Some(tool) = operation.tool {
        facts.push(format!("tool `{tool}`"));
    }
    facts.push(
        match operation.effect {
            Effect::Reads => "changes nothing",
            Effect::Changes => "changes something",
            Effect::Destroys => "may destroy something",
        }
        .to_owned(),
    );
    match operation.output {
        Output::Json => {}
        Output::Text(media_type) => facts.push(format!("answers `{media_type}`")),
        Output::Events => facts.push("answers server-sent events".to_owned()),
    }
    let mut line = facts.join("; ");
    if let Some(first) = line.get(..1) {
        let first = first.to_uppercase();
        line.replace_range(..1, &first);
    }
    let _never_fails = writeln!(page, "{line}.");
    if operation.params.is_empty() {
        return;
    }
    page.push_str("\n| parameter | in | kind | meaning |\n|---|---|---|---|\n");
    for param in operation.params {
        let _never_fails = writeln!(
            page,
            "| `{}`{} | {} | {} | {} |",
            param.name,
            if param.required { ", required" } else { "" },
            place(param),
            param.kind.word(),
            param.help
        );
    }
}

fn place(param: &Param) -> &'static str {
    match param.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Body => "body",
        Place::Whole => "the whole body",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_operation_and_no_cell_breaks_its_table() {
        let page = page();
        for operation in operations::all() {
            let heading = format!("### `{} {}`", operation.method.as_str(), operation.path);
            assert!(page.contains(&heading), "{heading}");
        }
        for line in page.lines().filter(|line| line.starts_with("| `")) {
            let bars = line.matches('|').count();
            assert!([3, 4, 5].contains(&bars), "{line}");
        }
    }
}
