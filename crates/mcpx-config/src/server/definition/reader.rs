//! Reads single values of an entry, with references put in.

use std::{path::Path, time::Duration};

use crate::{
    ConfigError,
    error::quoted,
    files::{Kind, Node},
    server::{
        Pattern, Reason,
        expand::{Missing, Variables, unread},
    },
    settings::parse_duration,
};

/// Reads values, and keeps the first reason why the server cannot be used.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    /// `None`: references stay as they are written.
    pub(super) variables: Option<Variables<'a>>,
    pub(super) reason: Option<Reason>,
    /// Keys, and what looks like a reference in them and is none.
    pub(super) unread: Vec<(String, String)>,
}

impl Reader<'_> {
    /// The error of a value of the wrong kind.
    pub(super) fn wrong(&self, node: Option<&Node>, key: &str, expected: &str) -> ConfigError {
        let (place, found) = match node {
            // It may be a secret that was written one level too high.
            Some(node) if is_secret_place(key) => (node.place(self.file), super::kind_of(node)),
            Some(node) => (node.place(self.file), node.described()),
            None => (crate::Place::whole_file(self.file), "nothing".to_owned()),
        };
        ConfigError::new(
            place,
            format!(
                "{found} for `{}`",
                untrusted_text::terminal::one_line(key, 80)
            ),
            expected,
        )
    }

    /// Keeps the first reason.
    pub(super) fn unavailable(&mut self, key: &str, problem: String) {
        if self.variables.is_some() {
            self.reason.get_or_insert(Reason::BadValue {
                key: key.to_owned(),
                problem,
            });
        }
    }

    /// Puts values in place of references; where one is missing, the text stays and the server cannot be used.
    pub(super) fn expanded(&mut self, text: &str, key: &str) -> String {
        let Some(variables) = self.variables else {
            return text.to_owned();
        };
        let unread = unread(text).into_iter();
        self.unread
            .extend(unread.map(|text| (key.to_owned(), text.to_owned())));
        variables.expand(text).unwrap_or_else(|missing| {
            let key = key.to_owned();
            self.reason.get_or_insert(match missing {
                Missing::Variable(name) => Reason::MissingVariable { name, key },
                Missing::Input { name, variable } => Reason::MissingInput {
                    name,
                    key,
                    variable,
                },
            });
            text.to_owned()
        })
    }

    /// A text as it is written.
    pub(super) fn plain_text(&self, node: &Node, key: &str) -> Result<Option<String>, ConfigError> {
        match node.get(key) {
            None => Ok(None),
            Some(Node {
                kind: Kind::Text(text),
                ..
            }) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(Some(other), key, "a text")),
        }
    }

    /// A text with its references put in.
    pub(super) fn optional_text(
        &mut self,
        node: &Node,
        key: &str,
    ) -> Result<Option<String>, ConfigError> {
        let text = self.plain_text(node, key)?;
        Ok(text.map(|text| self.expanded(&text, key)))
    }

    /// A list of texts with their references put in. A number or a switch is taken as its text.
    pub(super) fn texts(
        &mut self,
        node: &Node,
        key: &str,
    ) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(list) = node.get(key) else {
            return Ok(None);
        };
        let Kind::List(elements) = &list.kind else {
            return Err(self.wrong(Some(list), key, "a list of texts"));
        };
        elements
            .iter()
            .enumerate()
            .map(|(at, element)| {
                let key = format!("{key}[{at}]");
                let text = self.scalar(element, &key)?;
                Ok(self.expanded(&text, &key))
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Names and texts, in the order of the file, with references put into the texts.
    pub(super) fn pairs(
        &mut self,
        node: &Node,
        key: &str,
    ) -> Result<Vec<(String, String)>, ConfigError> {
        let Some(map) = node.get(key) else {
            return Ok(Vec::new());
        };
        let Kind::Object(entries) = &map.kind else {
            return Err(self.wrong(Some(map), key, "an object of texts"));
        };
        entries
            .iter()
            .map(|entry| {
                let key = format!("{key}.{}", entry.name);
                let text = self.scalar(&entry.value, &key)?;
                Ok((entry.name.clone(), self.expanded(&text, &key)))
            })
            .collect()
    }

    fn scalar(&self, node: &Node, key: &str) -> Result<String, ConfigError> {
        match &node.kind {
            Kind::Text(text) | Kind::Number(text) => Ok(text.clone()),
            Kind::Bool(value) => Ok(value.to_string()),
            _ => Err(self.wrong(Some(node), key, "a text")),
        }
    }

    /// A list of texts as they are written.
    pub(super) fn plain_texts(
        &self,
        node: &Node,
        key: &str,
    ) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(list) = node.get(key) else {
            return Ok(None);
        };
        let Kind::List(elements) = &list.kind else {
            return Err(self.wrong(Some(list), key, "a list of texts"));
        };
        elements
            .iter()
            .map(|element| match &element.kind {
                Kind::Text(text) => Ok(text.clone()),
                _ => Err(self.wrong(Some(element), key, "a text")),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A list of tool patterns.
    pub(super) fn patterns(
        &self,
        node: &Node,
        key: &str,
    ) -> Result<Option<Vec<Pattern>>, ConfigError> {
        let Some(texts) = self.plain_texts(node, key)? else {
            return Ok(None);
        };
        texts
            .iter()
            .map(|text| {
                Pattern::new(text).map_err(|problem| {
                    ConfigError::new(
                        node.get(key).unwrap_or(node).place(self.file),
                        format!("{} in `{key}`: {problem}", quoted(text)),
                        "a name, a glob such as `get_*`, or an expression such as `/^get_/`",
                    )
                })
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(super) fn switch(&self, node: &Node, key: &str) -> Result<Option<bool>, ConfigError> {
        match node.get(key) {
            None => Ok(None),
            Some(Node {
                kind: Kind::Bool(value),
                ..
            }) => Ok(Some(*value)),
            Some(other) => Err(self.wrong(Some(other), key, "`true` or `false`")),
        }
    }

    pub(super) fn number(&self, node: &Node, key: &str) -> Result<Option<usize>, ConfigError> {
        let Some(value) = node.get(key) else {
            return Ok(None);
        };
        match &value.kind {
            Kind::Number(text) => text.parse().ok(),
            _ => None,
        }
        .map(Some)
        .ok_or_else(|| self.wrong(Some(value), key, "a whole number, not negative"))
    }

    pub(super) fn duration(&self, node: &Node, key: &str) -> Result<Option<Duration>, ConfigError> {
        let Some(value) = node.get(key) else {
            return Ok(None);
        };
        match &value.kind {
            Kind::Text(text) => parse_duration(text).ok(),
            _ => None,
        }
        .map(Some)
        .ok_or_else(|| {
            self.wrong(
                Some(value),
                key,
                "a text with a unit, such as \"1m30s\" or \"0\"",
            )
        })
    }

    /// A word that stands for a value.
    pub(super) fn word<T>(
        &self,
        node: &Node,
        key: &str,
        read: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.plain_text(node, key)? else {
            return Ok(None);
        };
        read(&text)
            .map(Some)
            .ok_or_else(|| self.wrong(node.get(key), key, expected))
    }

    /// A header that HTTP cannot carry makes the server unavailable; its value is not shown.
    pub(super) fn check_header(&mut self, key: &str, name: &str, value: &str) {
        let is_token = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !is_token {
            self.unavailable(key, "it is no name of a header".to_owned());
        } else if value
            .bytes()
            .any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f)
        {
            self.unavailable(key, "its value holds a control character".to_owned());
        }
    }

    /// An error for the first key of an object that is not among those known.
    pub(super) fn only(&self, node: &Node, block: &str, known: &[&str]) -> Result<(), ConfigError> {
        let Kind::Object(entries) = &node.kind else {
            return Err(self.wrong(Some(node), block, "an object"));
        };
        let Some(entry) = entries
            .iter()
            .find(|entry| !known.contains(&entry.name.as_str()))
        else {
            return Ok(());
        };
        let error = ConfigError::new(
            entry.place(self.file),
            format!("the key {} in `{block}`", quoted(&entry.name)),
            format!("one of {}", known.join(", ")),
        );
        let near = known
            .iter()
            .map(|known| (crate::settings::distance(&entry.name, known), known))
            .min()
            .filter(|(slips, _)| *slips <= 3 && entry.name.len() <= 100);
        Err(match near {
            Some((_, near)) => error.with_hint(format!("did you mean `{near}`?")),
            None => error,
        })
    }
}

/// Says whether what stands under this key may be a secret.
fn is_secret_place(key: &str) -> bool {
    let block = key.split(['.', '[']).next().unwrap_or(key);
    let is_of_block = matches!(block, "env" | "headers" | "auth" | "args" | "url");
    is_of_block && key != "auth.type"
        || matches!(key, "token" | "password" | "value" | "clientSecret")
}
