//! What differs between two snapshots of a tool.
//!
//! Only what both readings knew is compared, and never the order in which a server spells its members. What is below a
//! place that was added, removed, renamed or retyped is part of that one difference.

use std::collections::BTreeSet;

use untrusted_text::terminal;

use super::change::{Difference, Kind, is_within};
use super::rename::renamings;
use super::snapshot::{Aspect, HINTS, Snapshot};
use crate::shape::{Allowed, Cut, Field, Shape, parent};

/// What differs: first what can break a call, last what are only words.
#[must_use]
pub fn diff(old: &Snapshot, new: &Snapshot) -> Vec<Difference> {
    let both_know = |aspect| old.knows(aspect) && new.knows(aspect);
    let mut differences = Vec::new();
    if both_know(Aspect::Types) {
        shapes(&old.input, &new.input, &both_know, &mut differences);
    }
    if both_know(Aspect::Output) {
        outputs(old, new, &both_know, &mut differences);
    }
    if both_know(Aspect::Description) && old.description != new.description {
        differences.push(plain(
            Kind::DescriptionChanged,
            "the description changed".to_owned(),
        ));
    }
    if both_know(Aspect::Hints) {
        for (index, name) in HINTS.into_iter().enumerate() {
            let (was, is) = (old.hints[index], new.hints[index]);
            if was != is {
                differences.push(plain(
                    Kind::AnnotationChanged,
                    format!("`{name}` went from {was} to {is}"),
                ));
            }
        }
    }
    differences.sort_by_key(|difference| rank(&difference.kind));
    differences
}

/// What breaks a call comes first, words come last.
fn rank(kind: &Kind) -> u8 {
    match kind {
        Kind::ArgumentOptional
        | Kind::ArgumentWidened
        | Kind::AnnotationChanged
        | Kind::OutputChanged => 1,
        Kind::ArgumentDetail => 2,
        Kind::DescriptionChanged => 3,
        _ => 0,
    }
}

fn plain(kind: Kind, what: String) -> Difference {
    Difference {
        kind,
        field: None,
        from: None,
        what,
    }
}

fn about(kind: Kind, path: &str, what: String) -> Difference {
    Difference {
        kind,
        field: Some(path.to_owned()),
        from: None,
        what,
    }
}

/// A name or value from outside as it stands in a phrase.
fn shown(text: &str) -> String {
    format!("`{}`", terminal::one_line(text, 80))
}

fn outputs(
    old: &Snapshot,
    new: &Snapshot,
    both_know: &dyn Fn(Aspect) -> bool,
    differences: &mut Vec<Difference>,
) {
    let what = match (&old.output, &new.output) {
        (None, None) => return,
        (None, Some(_)) => "an output schema was added".to_owned(),
        (Some(_), None) => "the output schema was removed".to_owned(),
        (Some(old), Some(new)) => {
            let mut found = Vec::new();
            shapes(old, new, both_know, &mut found);
            differences.extend(found.into_iter().map(|difference| Difference {
                what: format!("in the result, {}", difference.what),
                kind: Kind::OutputChanged,
                // The path is one of the result; an argument may have the same.
                field: None,
                from: None,
            }));
            return;
        }
    };
    differences.push(plain(Kind::OutputChanged, what));
}

fn shapes(
    old: &Shape,
    new: &Shape,
    both_know: &dyn Fn(Aspect) -> bool,
    differences: &mut Vec<Difference>,
) {
    if let Some(reason) = &new.unread {
        if old.unread.is_none() {
            let what = format!(
                "the schema can no longer be read: {}",
                terminal::one_line(reason, 120)
            );
            differences.push(plain(Kind::SchemaUnreadable, what));
        }
        return;
    }
    if old.unread.is_some() && old.fields.is_empty() {
        return;
    }
    let (gone, come) = one_sided(old, new);
    let renamed = renamings(old, new, &gone, &come);
    let mut settled: Vec<&str> = Vec::new();
    for field in &old.fields {
        let Some(same) = new.get(&field.path) else {
            continue;
        };
        if settled.iter().any(|above| is_within(&field.path, above)) {
            continue;
        }
        if compare(field, same, both_know, differences) {
            settled.push(&field.path);
        }
    }
    for (from, to) in &renamed {
        let required = both_know(Aspect::Required) && to.required && !from.required;
        let tail = if required { " and is required" } else { "" };
        differences.push(Difference {
            kind: Kind::ArgumentRenamed,
            field: Some(to.path.clone()),
            from: Some(from.path.clone()),
            what: format!(
                "{} was renamed to {}{tail}",
                shown(&from.path),
                shown(&to.path)
            ),
        });
    }
    for field in topmost(&gone, &settled).filter(|field| {
        !renamed
            .iter()
            .any(|(from, _)| is_within(&field.path, &from.path))
    }) {
        differences.push(about(
            Kind::ArgumentRemoved,
            &field.path,
            format!("{} was removed", shown(&field.path)),
        ));
    }
    for field in topmost(&come, &settled).filter(|field| {
        !renamed
            .iter()
            .any(|(_, to)| is_within(&field.path, &to.path))
    }) {
        let required = both_know(Aspect::Required) && field.required;
        let tail = if required { " and is required" } else { "" };
        differences.push(about(
            Kind::ArgumentAdded,
            &field.path,
            format!("{} was added{tail}", shown(&field.path)),
        ));
    }
}

/// The rows that only one of the shapes has, as far as a limit allows to say so.
fn one_sided<'a>(old: &'a Shape, new: &'a Shape) -> (Vec<&'a Field>, Vec<&'a Field>) {
    let certain = |field: &Field| match (old.cut, new.cut) {
        (None, None) => true,
        (Some(Cut::Top), _) | (_, Some(Cut::Top)) => false,
        _ => parent(&field.path).is_none(),
    };
    let only = |mine: &'a Shape, other: &Shape| {
        mine.fields
            .iter()
            .filter(|field| other.get(&field.path).is_none() && certain(field))
            .collect()
    };
    (only(old, new), only(new, old))
}

/// Those that stand below no other of them, and below nothing that is settled.
fn topmost<'a>(fields: &'a [&'a Field], settled: &'a [&'a str]) -> impl Iterator<Item = &'a Field> {
    let paths: BTreeSet<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    fields.iter().copied().filter(move |field| {
        let mut above = parent(&field.path);
        while let Some(path) = above {
            if paths.contains(path) || settled.contains(&path) {
                return false;
            }
            above = parent(path);
        }
        true
    })
}

/// Compares one place; whether it was retyped, so that what is below belongs to it.
fn compare(
    old: &Field,
    new: &Field,
    both_know: &dyn Fn(Aspect) -> bool,
    differences: &mut Vec<Difference>,
) -> bool {
    let name = shown(&new.path);
    let mut add = |kind, what| differences.push(about(kind, &new.path, what));
    if both_know(Aspect::Required) && old.required != new.required {
        let (kind, word) = match new.required {
            true => (Kind::ArgumentRequired, "required"),
            false => (Kind::ArgumentOptional, "optional"),
        };
        add(kind, format!("{name} became {word}"));
    }
    if old.types != new.types {
        let (was, is) = (
            terminal::one_line(&old.types, 80),
            terminal::one_line(&new.types, 80),
        );
        add(
            Kind::ArgumentRetyped,
            format!("{name} went from {was} to {is}"),
        );
        return true;
    }
    if both_know(Aspect::Nullable) && old.nullable != new.nullable {
        let word = if new.nullable {
            "takes null too"
        } else {
            "no longer takes null"
        };
        add(Kind::ArgumentRetyped, format!("{name} {word}"));
    }
    if both_know(Aspect::Allowed)
        && old.allowed != new.allowed
        && let Some((kind, what)) = values(old.allowed.as_ref(), new.allowed.as_ref())
    {
        add(kind, format!("{name} {what}"));
    }
    for (aspect, word, was, is) in [
        (Aspect::Default, "default", &old.default, &new.default),
        (Aspect::Format, "format", &old.format, &new.format),
    ] {
        if both_know(aspect) && was != is {
            let show =
                |value: &Option<String>| value.as_deref().map_or_else(|| "none".to_owned(), shown);
            add(
                Kind::ArgumentDetail,
                format!(
                    "the {word} of {name} went from {} to {}",
                    show(was),
                    show(is)
                ),
            );
        }
    }
    if both_know(Aspect::Limits) && old.limits != new.limits {
        let show = |limits: &[String]| match limits {
            [] => "none".to_owned(),
            limits => shown(&limits.join(", ")),
        };
        add(
            Kind::ArgumentDetail,
            format!(
                "the limits of {name} went from {} to {}",
                show(&old.limits),
                show(&new.limits)
            ),
        );
    }
    if both_know(Aspect::FieldDescription) && old.description != new.description {
        add(
            Kind::DescriptionChanged,
            format!("the description of {name} changed"),
        );
    }
    false
}

fn values(old: Option<&Allowed>, new: Option<&Allowed>) -> Option<(Kind, String)> {
    let list = |values: &[&String]| {
        let shown: Vec<_> = values
            .iter()
            .take(5)
            .map(|value| terminal::one_line(value, 40))
            .collect();
        let more = if values.len() > 5 { " and others" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    match (old, new) {
        (None, Some(new)) => Some((
            Kind::ArgumentNarrowed,
            format!(
                "takes only {}",
                list(&new.values.iter().collect::<Vec<_>>())
            ),
        )),
        (Some(_), None) => Some((
            Kind::ArgumentWidened,
            "takes any value of its type".to_owned(),
        )),
        (Some(old), Some(new)) if old.more.is_none() && new.more.is_none() => {
            let minus = |a: &'_ Allowed, b: &Allowed| -> Vec<String> {
                a.values
                    .iter()
                    .filter(|value| !b.values.contains(value))
                    .cloned()
                    .collect()
            };
            let (gone, come) = (minus(old, new), minus(new, old));
            let (gone, come): (Vec<_>, Vec<_>) = (gone.iter().collect(), come.iter().collect());
            match (gone.is_empty(), come.is_empty()) {
                (false, true) => Some((
                    Kind::ArgumentNarrowed,
                    format!("no longer takes {}", list(&gone)),
                )),
                (true, false) => {
                    Some((Kind::ArgumentWidened, format!("takes {} too", list(&come))))
                }
                (false, false) => Some((
                    Kind::ArgumentNarrowed,
                    format!("no longer takes {}, takes {} too", list(&gone), list(&come)),
                )),
                (true, true) => None,
            }
        }
        // Too many to tell which: the careful answer.
        (Some(_), Some(_)) => Some((Kind::ArgumentNarrowed, "takes other values".to_owned())),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
