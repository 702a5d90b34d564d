//! The edges between our crates are those that `ARCHITECTURE.md` lists, in both directions.
//!
//! The list is the fenced block that opens with ` ```edges `: a line for each crate, `name: what it uses, …`, and `name:`
//! alone for one that uses nothing of ours. `testkit` as a development dependency needs no line.

use std::collections::BTreeMap;

use super::{Finding, finding};
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

/// Finds edges that stand only in a manifest or only in the map.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let map = match tree.get(MAP).map(listed) {
        Some(Ok(map)) => map,
        Some(Err(finding)) => return vec![*finding],
        None => {
            return vec![finding(
                MAP,
                1,
                "there is no map",
                "write it, with a block ` ```edges `",
            )];
        }
    };
    let ours = tree.crates();
    let mut findings = Vec::new();

    for name in &ours {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest = tree.get(&path).unwrap_or_default();
        let used = match used(manifest, &ours) {
            Ok(used) => used,
            Err(problem) => {
                findings.push(finding(&path, 1, problem, "mend the manifest"));
                continue;
            }
        };
        let Some((line, listed)) = map.get(*name) else {
            findings.push(finding(
                &path,
                1,
                format!("the crate `{name}` is not in the map"),
                format!("add the line `{name}: {}` to the edges in {MAP}, and say there what it forbids", used.join(", ")),
            ));
            continue;
        };
        for other in used.iter().filter(|other| !listed.contains(other)) {
            findings.push(finding(
                &path,
                line_of(manifest, other),
                format!("`{name}` uses `{other}`, which the map does not list"),
                format!("a new edge is a change of the architecture: avoid it, or add it in {MAP}:{line} and say why in the commit"),
            ));
        }
        for other in listed.iter().filter(|other| !used.contains(other)) {
            findings.push(finding(
                MAP,
                *line,
                format!("`{name}` is said to use `{other}`, but {path} does not name it"),
                "strike it from the map, or add the dependency",
            ));
        }
    }
    for (name, (line, _)) in map
        .iter()
        .filter(|(name, _)| !ours.contains(&name.as_str()))
    {
        findings.push(finding(
            MAP,
            *line,
            format!("there is no crate `{name}`"),
            "strike the line; what is planned goes into the section on what is planned",
        ));
    }
    findings
}

type Edges = BTreeMap<String, (usize, Vec<String>)>;

/// Reads the list from the map.
fn listed(text: &str) -> Result<Edges, Box<Finding>> {
    let mut edges = Edges::new();
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        match line.trim() {
            "```edges" => is_inside = true,
            "```" if is_inside => return Ok(edges),
            "" => {}
            line if is_inside => {
                let Some((name, used)) = line.split_once(':') else {
                    return Err(Box::new(finding(
                        MAP,
                        index + 1,
                        format!("`{line}` is not an edge line"),
                        "write `name: what it uses, …`",
                    )));
                };
                let used = used
                    .split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty());
                edges.insert(
                    name.trim().to_owned(),
                    (index + 1, used.map(str::to_owned).collect()),
                );
            }
            _ => {}
        }
    }
    Err(Box::new(finding(
        MAP,
        1,
        "the block ` ```edges ` is missing or does not end",
        "list the edges, one crate a line",
    )))
}

/// Returns which of our crates a manifest names, in its order.
fn used(manifest: &str, ours: &[&str]) -> Result<Vec<String>, String> {
    let table: toml::Table = manifest
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut used: Vec<String> = Vec::new();
    let mut take = |table: Option<&toml::Value>, is_dev: bool| {
        for name in table
            .and_then(toml::Value::as_table)
            .into_iter()
            .flat_map(toml::Table::keys)
        {
            if ours.contains(&name.as_str())
                && !(is_dev && name == "testkit")
                && !used.contains(name)
            {
                used.push(name.clone());
            }
        }
    };
    let mut tables = vec![&table];
    if let Some(targets) = table.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    for table in tables {
        take(table.get("dependencies"), false);
        take(table.get("build-dependencies"), false);
        take(table.get("dev-dependencies"), true);
    }
    Ok(used)
}

fn line_of(manifest: &str, name: &str) -> usize {
    manifest
        .lines()
        .position(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        })
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_with(map: &str, manifest: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (MAP, map),
            ("crates/a/Cargo.toml", manifest),
            ("crates/b/Cargo.toml", "[package]\n"),
            ("crates/testkit/Cargo.toml", "[package]\n"),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| format!("{}:{}", finding.file, finding.line))
            .collect()
    }

    #[test]
    fn edges_agree_with_the_map_in_both_directions() {
        let cases: &[(&str, &str, &[&str])] = &[
            (
                "```edges\na: b\nb:\ntestkit:\n```",
                "[dependencies]\nb.workspace = true\n",
                &[],
            ),
            (
                "```edges\na:\nb:\ntestkit:\n```",
                "[dependencies]\nserde = \"1\"\nb.workspace = true\n",
                &["crates/a/Cargo.toml:3"],
            ),
            (
                "```edges\na: b\nb:\ntestkit:\n```",
                "[dependencies]\n",
                &["ARCHITECTURE.md:2"],
            ),
            (
                "```edges\na:\nb:\ntestkit:\n```",
                "[dev-dependencies]\ntestkit.workspace = true\n",
                &[],
            ),
            (
                "```edges\na:\nb:\ntestkit:\n```",
                "[dev-dependencies]\nb.workspace = true\n",
                &["crates/a/Cargo.toml:2"],
            ),
            (
                "```edges\na:\nb:\ntestkit:\n```",
                "[target.'cfg(unix)'.dependencies]\nb = { path = \"../b\" }\n",
                &["crates/a/Cargo.toml:2"],
            ),
            (
                "```edges\na:\ntestkit:\n```",
                "[dependencies]\n",
                &["crates/b/Cargo.toml:1"],
            ),
            (
                "```edges\na:\nb:\nc:\ntestkit:\n```",
                "[dependencies]\n",
                &["ARCHITECTURE.md:4"],
            ),
            ("no list", "[dependencies]\n", &["ARCHITECTURE.md:1"]),
            (
                "```edges\na -> b\n```",
                "[dependencies]\n",
                &["ARCHITECTURE.md:2"],
            ),
        ];
        for (map, manifest, places) in cases {
            assert_eq!(check_with(map, manifest), *places, "{map}\n{manifest}");
        }
    }
}
