//! What was wrong with a call of a tool that there is.

use mcp_wire::{Raw, Tool};
use untrusted_text::terminal;

use super::{
    Call, Changed, Finding, Kind, MAX_LISTED, MAX_SHOWN, Refusal, changed, gate, minimal_call,
};
use crate::conformity::{self, Mismatch, Problem};
use crate::history::History;
use crate::reference::local;
use crate::shape::{Field, Shape};

/// What is known when a rejected call is explained.
pub(super) struct About<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) refusal: Refusal<'a>,
    pub(super) history: &'a History,
    pub(super) tool: &'a Tool,
    /// `namespace.function`.
    pub(super) path: String,
}

impl About<'_> {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let schema = self.tool.input_schema();
        let shape = Shape::of(&schema);
        let schema = schema.value().ok().map(local);
        let fix = schema
            .as_ref()
            .and_then(|schema| minimal_call(&self.path, schema));
        let finding = |field: Option<String>, said: String, fatal: bool| Finding {
            kind: Kind::InvalidParams,
            tool: self.path.clone(),
            changed: self.changed(field.as_deref()),
            field,
            message: said,
            written: None,
            fix: fix.clone(),
            fatal,
        };
        let sent = Raw::from(self.call.arguments.clone()).value();
        let mut found: Vec<Finding> = Vec::new();
        if let (Some(schema), Ok(sent)) = (&schema, &sent) {
            for mismatch in conformity::mismatches(schema, sent) {
                let mut said = format!("{} and {}", self.refusal.verb(), phrase(&mismatch));
                if let (Problem::Unknown, Some(near)) =
                    (&mismatch.problem, self.meant(&shape, &mismatch.path))
                {
                    said.push_str(&format!("; did you mean {near}?"));
                }
                let field = Some(mismatch.path).filter(|path| !path.is_empty());
                found.push(finding(field, said, true));
            }
        }
        for (name, said) in self.strangers(&shape) {
            found.push(finding(Some(name), said, false));
        }
        if found.iter().any(|finding| finding.fatal) {
            return found;
        }
        if let Some(named) = self.named(&shape) {
            let said = format!("{} and its message names {named}", self.refusal.verb());
            let field = named_path(&named).to_owned();
            let is_known = self.changed(Some(&field)).is_some();
            let is_told = found
                .iter()
                .any(|finding| finding.field.as_deref() == Some(&field));
            if !is_told && (is_known || matches!(self.refusal, Refusal::Error { .. })) {
                found.insert(0, finding(Some(field), said, true));
            }
        }
        if found.is_empty() && matches!(self.refusal, Refusal::Error { .. }) {
            let said = format!("{}; {}", self.refusal.verb(), takes(&shape));
            found.push(finding(None, said, true));
        }
        found
    }

    fn changed(&self, field: Option<&str>) -> Option<Changed> {
        let (server, tool) = (self.call.server, self.call.tool);
        self.history.explaining(server, tool, field).map(changed)
    }

    /// Arguments that were sent and are not declared where any are taken: worth a word when they were declared once, or
    /// are spelled nearly as one that is.
    fn strangers(&self, shape: &Shape) -> Vec<(String, String)> {
        if shape.unread.is_some() || shape.cut.is_some() || !shape.open {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (name, _) in self.call.arguments.iter() {
            let path = crate::shape::segment(name);
            if shape.get(&path).is_some() {
                continue;
            }
            let is_known = self.changed(Some(&path)).is_some();
            let shown = terminal::one_line(&path, MAX_SHOWN);
            if let Some(near) = self.meant(shape, name) {
                found.push((
                    path,
                    format!("{shown} is not an argument; did you mean {near}?"),
                ));
            } else if is_known {
                found.push((
                    path,
                    format!("{shown} is not an argument; {}", takes(shape)),
                ));
            }
        }
        found
    }

    /// The argument that was not sent and is spelled nearly as `name`.
    fn meant(&self, shape: &Shape, name: &str) -> Option<String> {
        let declared = shape
            .arguments()
            .map(|field| field.path.as_str())
            .filter(|known| !self.call.arguments.contains(known));
        let near = crate::names::nearest(name, declared, 1);
        near.first().map(|near| terminal::one_line(near, MAX_SHOWN))
    }

    /// The longest argument that the server's message names, with what it takes. Past names count too.
    fn named(&self, shape: &Shape) -> Option<String> {
        let text = self.refusal.text();
        let declared = shape
            .fields
            .iter()
            .map(|field| (field.path.as_str(), Some(field)));
        let record = self.history.record(self.call.server, self.call.tool);
        let past = record
            .into_iter()
            .flat_map(|record| &record.changes)
            .flat_map(|change| [&change.difference.field, &change.difference.from])
            .flatten()
            .map(|path| (path.as_str(), None));
        let mut best: Option<(&str, Option<&Field>)> = None;
        for (path, field) in declared.chain(past) {
            let name = last_name(path);
            if gate::names(text, name)
                && best.is_none_or(|(best, _)| last_name(best).len() < name.len())
            {
                best = Some((path, field));
            }
        }
        best.map(|(path, field)| match field {
            Some(field) => format!("{path}, which takes {}", wanted(field)),
            None => path.to_owned(),
        })
    }
}

const NOT_SENT: &str = "is required but was not sent";

/// The path at the start of what [`About::named`] says.
fn named_path(named: &str) -> &str {
    named.split(", which takes ").next().unwrap_or(named)
}

/// The last name of a path, without marks for elements.
fn last_name(path: &str) -> &str {
    let path = path.trim_end_matches("[]");
    match crate::shape::parent(path) {
        Some(above) => path[above.len()..]
            .trim_start_matches('.')
            .trim_matches('"'),
        None => path.trim_matches('"'),
    }
}

fn phrase(mismatch: &Mismatch) -> String {
    let path = if mismatch.path.is_empty() {
        "the whole of it".to_owned()
    } else {
        terminal::one_line(&mismatch.path, MAX_SHOWN)
    };
    let said = match &mismatch.problem {
        Problem::Missing => format!("{path} {NOT_SENT}"),
        Problem::Type(wanted, sent) => format!("{path} takes {wanted} but {sent} was sent"),
        Problem::NotAllowed(values) if values.is_empty() => format!("{path} takes no value at all"),
        Problem::NotAllowed(values) => {
            format!("{path} takes {} but another value was sent", one_of(values))
        }
        Problem::Unknown => format!("{path} is not an argument"),
        Problem::NoAlternative => format!("{path} fits none of the alternatives of the schema"),
        Problem::Limit(limit) => format!("{path} is beyond {limit}"),
        Problem::Never => format!("{path} takes no value at all"),
    };
    terminal::one_line(&said, 1_000)
}

fn one_of(values: &[String]) -> String {
    let more = values.len().saturating_sub(MAX_LISTED);
    let shown: Vec<&str> = values.iter().take(MAX_LISTED).map(String::as_str).collect();
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    match shown.as_slice() {
        [one] if more.is_empty() => (*one).to_owned(),
        many => format!("one of {}{more}", many.join(", ")),
    }
}

fn wanted(field: &Field) -> String {
    let base = match &field.allowed {
        Some(allowed) if !allowed.values.is_empty() => one_of(&allowed.values),
        _ if field.types == "unknown" => "any value".to_owned(),
        _ => field.types.clone(),
    };
    let null = if field.nullable { " or null" } else { "" };
    let limits = if field.limits.is_empty() {
        String::new()
    } else {
        format!(" ({})", field.limits.join(", "))
    };
    terminal::one_line(&format!("{base}{null}{limits}"), 400)
}

fn takes(shape: &Shape) -> String {
    if shape.unread.is_some() {
        return "its schema could not be read".to_owned();
    }
    let mut fields: Vec<&Field> = shape.arguments().collect();
    if fields.is_empty() {
        return "it takes no named argument".to_owned();
    }
    fields.sort_by_key(|field| !field.required);
    let more = fields.len().saturating_sub(MAX_LISTED);
    let mut names: Vec<String> = fields
        .iter()
        .take(MAX_LISTED)
        .map(|field| {
            let name = terminal::one_line(&field.path, MAX_SHOWN);
            let mark = if field.required { " (required)" } else { "" };
            format!("{name}{mark}")
        })
        .collect();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    format!("it takes {}", names.join(", "))
}
