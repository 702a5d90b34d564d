//! The key that was probably meant.

use crate::{KeySpec, Layer, env_name, layer::variable_key};

/// Most characters of a key that are shown: it comes from a file, which may hold anything.
const SHOWN_CHARS: usize = 80;

/// Says that a key is unknown, and which one is near.
pub(crate) fn unknown(specs: &[KeySpec], key: &[String], origin: &str) -> String {
    let written = shown(&key.join("."));
    let below = children(specs, key);
    if !below.is_empty() {
        return format!(
            "{origin}: `{written}` is a table of keys\nhint: `{written}` takes {}",
            below.join(", ")
        );
    }
    let message = format!("{origin}: unknown key `{written}`");
    if let Some(near) = nearest(specs, key) {
        return format!("{message}\nhint: did you mean `{near}`?");
    }
    let section = &key[..key.len().saturating_sub(1)];
    let siblings = children(specs, section);
    if siblings.is_empty() || section.is_empty() {
        let mut sections = children(specs, &[]);
        sections.sort_unstable();
        return format!("{message}\nhint: there are {}", sections.join(", "));
    }
    format!(
        "{message}\nhint: `{}` takes {}",
        shown(&section.join(".")),
        siblings.join(", ")
    )
}

/// Names the variables that begin with `prefix` and set no key, each with the variable that was probably meant.
pub fn unknown_variables<'a>(
    prefix: &str,
    specs: &[KeySpec],
    below: &[Layer],
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<(&'a str, Option<String>)> {
    names
        .into_iter()
        .filter(|name| name.starts_with(prefix))
        .filter(|name| variable_key(prefix, specs, below, name).is_none())
        .map(|name| (name, nearest_variable(prefix, specs, name)))
        .collect()
}

fn nearest_variable(prefix: &str, specs: &[KeySpec], name: &str) -> Option<String> {
    let limit = (name.chars().count() / 4).clamp(1, 3);
    let rest = &name[prefix.len()..];
    specs
        .iter()
        .filter(|spec| !spec.path.contains('*'))
        .filter_map(|spec| {
            let candidate = env_name(prefix, spec.path);
            let slips = distance(name, &candidate);
            if slips <= limit {
                return Some((slips, candidate));
            }
            // The right name without its section, or in another one.
            let last = spec.path.rsplit('.').next().unwrap_or_default();
            let last = env_name("", last);
            let section = rest.strip_suffix(&format!("_{last}"));
            let same_name = rest == last
                || section.is_some_and(|section| !section.contains('_') && last.len() > 3);
            same_name.then_some((limit + 1, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns what may stand directly below a key, in the order of the specs; a name that is free is written `NAME`.
fn children(specs: &[KeySpec], key: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for spec in specs {
        let Some(segment) = spec.path.split('.').nth(key.len()) else {
            continue;
        };
        let name = if segment == "*" { "NAME" } else { segment };
        if spec.covers_start(key) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn shown(key: &str) -> String {
    let mut shown: String = key.chars().take(SHOWN_CHARS).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    shown
}

/// Returns the known key nearest to `key`, if one is near enough to be a slip.
fn nearest(specs: &[KeySpec], key: &[String]) -> Option<String> {
    let written = key.join(".");
    let last = key.last()?;
    let limit = (written.chars().count() / 4).clamp(1, 3);
    specs
        .iter()
        .filter(|spec| !spec.path.ends_with('*'))
        .filter_map(|spec| {
            let candidate = with_names(spec, key);
            let in_full = distance(&written, &candidate);
            if in_full <= limit {
                return Some((in_full, candidate));
            }
            // The right name in the wrong section. Too short a name is in many sections.
            let same_name = candidate.rsplit('.').next() == Some(last) && last.len() > 3;
            (same_name && !candidate.contains('*')).then_some((limit + 1, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the path of a spec with each `*` replaced by what `key` has in its place.
fn with_names(spec: &KeySpec, key: &[String]) -> String {
    let segments = spec.path.split('.').enumerate();
    let names: Vec<&str> = segments
        .map(|(at, segment)| {
            if segment == "*" {
                key.get(at).map_or("*", String::as_str)
            } else {
                segment
            }
        })
        .collect();
    names.join(".")
}

/// Counts the insertions, deletions, replacements and swaps of neighbours between two texts.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(200).collect();
    let b: Vec<char> = b.chars().take(200).collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Project, Source, Trust};

    #[test]
    fn a_swap_of_neighbours_is_one_slip() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("model", "mdoel", 1),
            ("model", "modle", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    const SPECS: &[KeySpec] = &[
        KeySpec {
            path: "core.max_turns",
            kind: Kind::Text,
            project: Project::Yes,
        },
        KeySpec {
            path: "core.model",
            kind: Kind::Text,
            project: Project::Yes,
        },
        KeySpec {
            path: "providers.*.base_url",
            kind: Kind::Text,
            project: Project::Yes,
        },
        KeySpec {
            path: "providers.*.model",
            kind: Kind::Text,
            project: Project::Yes,
        },
    ];

    #[test]
    fn an_unknown_key_names_what_was_meant_or_what_there_is() {
        #[track_caller]
        fn check(key: &str, expect: &str) {
            let key: Vec<String> = key.split('.').map(str::to_owned).collect();
            assert_eq!(unknown(SPECS, &key, "f:1"), expect);
        }
        check(
            "core.modle",
            "f:1: unknown key `core.modle`\nhint: did you mean `core.model`?",
        );
        check(
            "core",
            "f:1: `core` is a table of keys\nhint: `core` takes max_turns, model",
        );
        check(
            "providers",
            "f:1: `providers` is a table of keys\nhint: `providers` takes NAME",
        );
        check(
            "providers.big",
            "f:1: `providers.big` is a table of keys\nhint: `providers.big` takes base_url, model",
        );
        check(
            "nothing",
            "f:1: unknown key `nothing`\nhint: there are core, providers",
        );
        let long = "x".repeat(5_000);
        check(
            &long,
            &format!(
                "f:1: unknown key `{}…`\nhint: there are core, providers",
                "x".repeat(SHOWN_CHARS)
            ),
        );
    }

    #[test]
    fn a_variable_that_sets_nothing_names_the_one_that_was_meant() {
        let text = "[providers.z-ai]\nmodel = \"m\"\n";
        let below = [Layer::parse(Source::Default, Trust::Full, text).unwrap()];
        let check = |name: &str, expect: Option<Option<&str>>| {
            let found = unknown_variables("COX_", SPECS, &below, [name]);
            let found = found.into_iter().next().map(|(_, near)| near);
            assert_eq!(found, expect.map(|near| near.map(str::to_owned)), "{name}");
        };
        check("COX_CORE_MODEL", None);
        check("COX_PROVIDERS_Z_AI_MODEL", None);
        check("COX_PROVIDERS_NEW_MODEL", None);
        check("OTHER", None);
        check("COX_CORE_MODLE", Some(Some("COX_CORE_MODEL")));
        check("COX_MAX_TURNS", Some(Some("COX_CORE_MAX_TURNS")));
        check("COX_CORES_MAX_TURNS", Some(Some("COX_CORE_MAX_TURNS")));
        check("COX_PROVIDERS_NOT_THERE_MODEL", Some(None));
        check("COX_ELSE", Some(None));
    }
}
