//! What a tool's schema says of its properties: as far as a typed text needs it to become the value that is meant.

use mcp_wire::json::Kind;
use mcp_wire::{Object, Raw};

use crate::args::nearest::nearest;

/// How far references and alternatives are followed.
const DEPTH: usize = 8;

/// What a tool's schema says of its properties.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    whole: Object,
    definitions: Object,
}

impl Schema {
    /// Nothing is known.
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    /// Of a JSON Schema.
    pub(crate) fn of(schema: Option<&Raw>) -> Self {
        let Some(whole) = schema.and_then(|raw| raw.object().ok()) else {
            return Self::default();
        };
        let mut definitions = whole.object("definitions").unwrap_or_default();
        definitions.append(whole.object("$defs").unwrap_or_default());
        Self { whole, definitions }
    }

    /// Whether it has a property of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.property(&self.whole, name, 0).is_some()
    }

    /// `filter.state` as its steps, where `filter` is a property that is an object and `filter.state` is none.
    pub(super) fn steps<'n>(&self, name: &'n str) -> Vec<&'n str> {
        self.steps_from(&self.whole, name, 0)
    }

    fn steps_from<'n>(&self, schema: &Object, name: &'n str, depth: usize) -> Vec<&'n str> {
        if depth > DEPTH || self.property(schema, name, 0).is_some() {
            return vec![name];
        }
        for (at, _) in name.match_indices('.') {
            let (head, rest) = (&name[..at], &name[at + 1..]);
            let Some(inner) = self.property(schema, head, 0) else {
                continue;
            };
            let mut allowed = Allowed::default();
            self.collect(&inner, 0, &mut allowed);
            if allowed.has("object") && !rest.is_empty() {
                let mut steps = vec![head];
                steps.extend(self.steps_from(&inner, rest, depth + 1));
                return steps;
            }
        }
        vec![name]
    }

    /// What the value at these steps may be.
    pub(super) fn allowed(&self, steps: &[&str]) -> Allowed {
        let mut schema = self.whole.clone();
        for step in steps {
            match self.property(&schema, step, 0) {
                Some(inner) => schema = inner,
                None => return Allowed::default(),
            }
        }
        let mut allowed = Allowed::default();
        self.collect(&schema, 0, &mut allowed);
        allowed
    }

    /// The words that a property may be, as they are typed; `true` and `false` for a switch.
    pub(crate) fn words(&self, name: &str) -> Vec<String> {
        self.allowed(&self.steps(name)).typed_words()
    }

    /// The names of the arguments that have to be there.
    pub(crate) fn required(&self) -> Vec<String> {
        let names = self.whole.get("required");
        names.and_then(|raw| raw.read().ok()).unwrap_or_default()
    }

    /// The names of the properties, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.collect_names(&self.whole, 0, &mut names);
        names
    }

    fn collect_names(&self, schema: &Object, depth: usize, names: &mut Vec<String>) {
        if depth > DEPTH {
            return;
        }
        for (name, _) in schema.object("properties").unwrap_or_default().iter() {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        for inner in self.related(schema) {
            self.collect_names(&inner, depth + 1, names);
        }
    }

    /// Names of `object` that the schema does not have, each with those that are spelled nearly so. Nothing when the schema
    /// names no property, or takes any.
    pub(crate) fn strangers(&self, object: &Object) -> Vec<(String, Vec<String>)> {
        let names = self.names();
        let takes_any = self
            .whole
            .get("additionalProperties")
            .is_some_and(|raw| raw.boolean() != Some(false))
            || self.whole.contains("patternProperties");
        if names.is_empty() || takes_any {
            return Vec::new();
        }
        object
            .iter()
            .filter(|(name, _)| !self.knows(name))
            .map(|(name, _)| {
                let near = nearest(name, names.iter().map(String::as_str));
                (
                    name.to_owned(),
                    near.into_iter().map(str::to_owned).collect(),
                )
            })
            .collect()
    }

    /// The schema of a property, also behind references and in alternatives.
    fn property(&self, schema: &Object, name: &str, depth: usize) -> Option<Object> {
        if depth > DEPTH {
            return None;
        }
        let properties = schema.object("properties").unwrap_or_default();
        if let Some(raw) = properties.get(name) {
            return Some(raw.object().unwrap_or_default());
        }
        self.related(schema)
            .iter()
            .find_map(|inner| self.property(inner, name, depth + 1))
    }

    /// The schemas that a schema refers to, or is made of.
    fn related(&self, schema: &Object) -> Vec<Object> {
        let mut related = Vec::new();
        for name in ["anyOf", "oneOf", "allOf"] {
            let several = schema.get(name).and_then(|raw| raw.array().ok());
            related.extend(
                several
                    .unwrap_or_default()
                    .iter()
                    .filter_map(|one| one.object().ok()),
            );
        }
        let target = schema.string("$ref");
        let definition = target
            .as_deref()
            .and_then(|target| target.rsplit('/').next())
            .and_then(|name| self.definitions.object(name));
        related.extend(definition);
        related
    }

    fn collect(&self, schema: &Object, depth: usize, allowed: &mut Allowed) {
        if depth > DEPTH {
            return;
        }
        match schema.get("type") {
            Some(raw) if raw.kind() == Kind::String => allowed.types.extend(raw.string()),
            Some(raw) => allowed
                .types
                .extend(raw.read::<Vec<String>>().unwrap_or_default()),
            None if schema.contains("properties") => allowed.types.push("object".to_owned()),
            None => {}
        }
        if let Some(items) = schema.object("items") {
            let mut inner = Allowed::default();
            self.collect(&items, depth + 1, &mut inner);
            allowed.items = Some(Box::new(inner));
        }
        let words = schema.get("enum").and_then(|raw| raw.array().ok());
        allowed.words.extend(words.unwrap_or_default());
        allowed.words.extend(schema.get("const").cloned());
        for inner in self.related(schema) {
            self.collect(&inner, depth + 1, allowed);
        }
    }
}

/// What a value may be.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowed {
    types: Vec<String>,
    words: Vec<Raw>,
    items: Option<Box<Self>>,
}

impl Allowed {
    fn has(&self, kind: &str) -> bool {
        self.types.iter().any(|known| known == kind)
    }

    /// Whether there can be several of it under one name.
    pub(super) fn is_list(&self) -> bool {
        self.types.is_empty() || self.has("array")
    }

    /// A text as the value that it is meant to be.
    pub(super) fn read(&self, text: &str) -> Raw {
        if let Some(word) = self.word(text) {
            return word;
        }
        let json = Raw::parse(text).ok();
        if self.types.is_empty() {
            // Nothing is known: JSON when it is some. A quoted text is meant with its quotes only where text is.
            return json.unwrap_or_else(|| Raw::from(text));
        }
        let fits = |raw: &Raw| match raw.kind() {
            Kind::Number => self.has("number") || (self.has("integer") && raw.integer().is_some()),
            Kind::Boolean => self.has("boolean"),
            Kind::Null => self.has("null"),
            Kind::Array => self.has("array"),
            Kind::Object => self.has("object"),
            Kind::String => false,
        };
        match json {
            Some(raw) if fits(&raw) => raw,
            _ if self.has("array") && !self.has("string") => Raw::of(&self.split(text)),
            _ if self.has("string") => Raw::from(text),
            // It fits nothing; the server says so better than we could.
            Some(raw) => raw,
            None => Raw::from(text),
        }
    }

    /// The word that a text is; in another case of its letters when that is one word's alone.
    fn word(&self, text: &str) -> Option<Raw> {
        let spelled = |word: &Raw| word.string().unwrap_or_else(|| word.as_str().to_owned());
        let exact = self.words.iter().find(|word| spelled(word) == text);
        let folded = text.to_lowercase();
        let mut loose = self
            .words
            .iter()
            .filter(|word| spelled(word).to_lowercase() == folded);
        let only = loose.next().filter(|_| loose.next().is_none());
        exact.or(only).cloned()
    }

    /// A text as a list: one element, or those between its commas where no element can hold a comma.
    fn split(&self, text: &str) -> Vec<Raw> {
        let has_no_comma = self.items.as_ref().is_some_and(|items| {
            let is_plain =
                |kind: &String| matches!(kind.as_str(), "integer" | "number" | "boolean");
            !items.types.is_empty() && items.types.iter().all(is_plain)
        });
        if has_no_comma {
            text.split(',').map(|one| self.item(one.trim())).collect()
        } else {
            vec![self.item(text)]
        }
    }

    /// A text as one of a list.
    pub(super) fn item(&self, text: &str) -> Raw {
        match &self.items {
            Some(items) => items.read(text),
            None => Raw::parse(text).unwrap_or_else(|_| Raw::from(text)),
        }
    }

    /// The words that may stand there, as they are typed; `true` and `false` where it is a switch.
    fn typed_words(&self) -> Vec<String> {
        let items = self.items.iter().flat_map(|items| items.typed_words());
        let mut words: Vec<String> = self
            .words
            .iter()
            .map(|word| word.string().unwrap_or_else(|| word.as_str().to_owned()))
            .chain(items)
            .collect();
        if self.has("boolean") {
            words.extend(["true", "false"].map(str::to_owned));
        }
        words
    }
}
