//! Walks a schema level by level, so that what a limit cuts is the deepest.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::level::{Level, Part, Reader};
use super::value_types::Types;
use super::{Cut, Field, MAX_BYTES, MAX_DEPTH, MAX_FIELDS, MAX_NODES, Shape, segment};
use crate::canonical;
use crate::reference::Trail;

/// A place that is still to be read.
struct Place<'a> {
    path: String,
    part: Part<'a>,
    required: bool,
    depth: usize,
}

/// The rows of `schema`.
pub(super) fn flatten(schema: &Value) -> Shape {
    let mut reader = Reader {
        root: schema,
        left: MAX_NODES,
    };
    let mut shape = Shape {
        open: true,
        ..Shape::default()
    };
    let Some(top) = reader.read(&Part::One(schema, Trail::default().with(schema))) else {
        shape.cut = Some(Cut::Top);
        return shape;
    };
    shape.open = !top.closed;
    let mut places = VecDeque::new();
    let mut skipped = usize::MAX;
    let mut left = MAX_BYTES;
    push_children(&mut places, &mut skipped, &top, "", 0);
    while let Some(place) = places.pop_front() {
        let level = if shape.fields.len() < MAX_FIELDS {
            reader.read(&place.part)
        } else {
            None
        };
        let Some(level) = level else {
            skipped = skipped.min(place.depth);
            break;
        };
        if level.cycle.is_none() {
            push_children(
                &mut places,
                &mut skipped,
                &level,
                &place.path,
                place.depth + 1,
            );
        }
        let depth = place.depth;
        let row = row(place, &level);
        let Some(rest) = left.checked_sub(bytes(&row)) else {
            skipped = skipped.min(depth);
            break;
        };
        left = rest;
        shape.fields.push(row);
    }
    shape.cut = match skipped {
        usize::MAX => None,
        0 => Some(Cut::Top),
        _ => Some(Cut::Below),
    };
    shape.fields.sort_by(|a, b| a.path.cmp(&b.path));
    shape
}

/// Queues what `level` holds. `skipped` becomes the depth of what was not queued.
fn push_children<'a>(
    places: &mut VecDeque<Place<'a>>,
    skipped: &mut usize,
    level: &Level<'a>,
    path: &str,
    depth: usize,
) {
    let anything = || Part::One(&Value::Bool(true), Trail::default());
    let dot = if path.is_empty() { "" } else { "." };
    let mut children: Vec<(String, Part<'a>, bool)> = Vec::new();
    for (name, part) in &level.members {
        children.push((
            format!("{dot}{}", segment(name)),
            part.clone(),
            level.required.contains(name),
        ));
    }
    for name in level
        .required
        .iter()
        .filter(|name| !level.members.contains_key(*name))
    {
        children.push((format!("{dot}{}", segment(name)), anything(), true));
    }
    for (pattern, part) in &level.patterns {
        children.push((
            format!("{dot}~{}", Value::from(*pattern)),
            part.clone(),
            false,
        ));
    }
    children.extend(
        level
            .others
            .clone()
            .map(|part| (format!("{dot}*"), part, false)),
    );
    for (index, part) in level.tuple.iter().enumerate() {
        children.push((format!("[{index}]"), part.clone(), false));
    }
    children.extend(
        level
            .elements
            .clone()
            .map(|part| ("[]".to_owned(), part, false)),
    );
    for (step, part, required) in children {
        // What is queued beyond the limit would never be read.
        if depth > MAX_DEPTH || places.len() >= MAX_FIELDS {
            *skipped = (*skipped).min(depth);
            return;
        }
        places.push_back(Place {
            path: format!("{path}{step}"),
            part,
            required,
            depth,
        });
    }
}

fn row(place: Place<'_>, level: &Level<'_>) -> Field {
    Field {
        path: place.path,
        types: level.cycle.clone().unwrap_or_else(|| level.types.names()),
        required: place.required,
        nullable: level.types.has(Types::NULL) && !matches!(level.types, Types::ALL | Types::NULL),
        allowed: level.allowed(),
        default: level.default.map(canonical::spell),
        format: level.format.map(|format| canonical::shorten(format, 80)),
        limits: level.limits.iter().cloned().collect(),
        description: level
            .description
            .filter(|text| !text.is_empty())
            .map(canonical::digest),
        rest: Map::new(),
    }
}

/// About how much text a row holds.
fn bytes(row: &Field) -> usize {
    let values = row
        .allowed
        .iter()
        .flat_map(|allowed| &allowed.values)
        .chain(&row.limits);
    60 + row.path.len() + values.map(String::len).sum::<usize>()
}
