//! A tool as a server described it.

use crate::header::{self, ParamHeader};
use crate::json::{JsonError, Kind, Object, Raw};
use crate::page::{self, SetAside};
use crate::{Hints, Revision};

/// Whether a tool of 2025-11-25 is called as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSupport {
    /// Only as a task.
    Required,
    /// Either way.
    Optional,
    /// Never as a task. What is not said.
    Forbidden,
}

/// A tool, with its description kept whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The server's own name for it; text from outside.
    pub name: String,
    raw: Object,
}

impl Tool {
    /// Reads one element of `tools/list`.
    ///
    /// # Errors
    /// When it is no object, has no name, or its `inputSchema` is no object schema. What else is odd about it (an
    /// annotation that is no boolean, a description that is no string) counts as not said.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let object = raw.object()?;
        let name = match object.get("name") {
            None => return Err(JsonError::new("a tool without a name")),
            Some(name) => name.string().ok_or_else(|| {
                JsonError::new(format!(
                    "a tool's name is a string, got {}",
                    name.kind().word()
                ))
            })?,
        };
        if name.is_empty() {
            return Err(JsonError::new("a tool with an empty name"));
        }
        let schema = object
            .get("inputSchema")
            .ok_or_else(|| JsonError::new("a tool without `inputSchema`"))?;
        let members = schema
            .object()
            .map_err(|error| JsonError::new(format!("`inputSchema`: {error}")))?;
        match members.get("type") {
            None => {}
            Some(kind) if kind.string().as_deref() == Some("object") => {}
            Some(kind) => {
                return Err(JsonError::new(format!(
                    "`inputSchema` is not of type \"object\": {}",
                    head(kind)
                )));
            }
        }
        if let Some(output) = object
            .get("outputSchema")
            .filter(|output| !matches!(output.kind(), Kind::Object | Kind::Boolean))
        {
            return Err(JsonError::new(format!(
                "`outputSchema` is a schema, got {}",
                output.kind().word()
            )));
        }
        Ok(Self { name, raw: object })
    }

    /// Reads the elements of a list one by one.
    #[must_use]
    pub fn parse_all(elements: &[Raw]) -> (Vec<Self>, Vec<SetAside>) {
        page::sort_out(elements, "name", Self::parse)
    }

    /// The whole description.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }

    /// The name for people: `title`, else `annotations.title`.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.raw
            .string("title")
            .or_else(|| self.raw.object("annotations")?.string("title"))
    }

    /// What it does, in the server's words.
    #[must_use]
    pub fn description(&self) -> Option<String> {
        self.raw.string("description")
    }

    /// The schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> Raw {
        self.raw
            .get("inputSchema")
            .cloned()
            .unwrap_or_else(|| Raw::from(Object::new()))
    }

    /// The schema of its structured result.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Raw> {
        self.raw.get("outputSchema")
    }

    /// What it claims about itself.
    #[must_use]
    pub fn hints(&self) -> Hints {
        Hints::parse(self.raw.object("annotations").as_ref())
    }

    /// Whether it is called as a task under 2025-11-25.
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        match self
            .raw
            .object("execution")
            .and_then(|execution| execution.string("taskSupport"))
            .as_deref()
        {
            Some("required") => TaskSupport::Required,
            Some("optional") => TaskSupport::Optional,
            _ => TaskSupport::Forbidden,
        }
    }

    /// The arguments that go into headers over HTTP.
    ///
    /// # Errors
    /// When an annotation is one that the specification forbids: then a client over HTTP has to drop the tool.
    pub fn param_headers(&self) -> Result<Vec<ParamHeader>, JsonError> {
        header::param_headers(&self.input_schema())
    }

    /// The description as `revision` knows it: `execution` only in 2025-11-25, structured output from 2025-06-18 on.
    #[must_use]
    pub fn spelled_for(&self, revision: Revision) -> Object {
        let mut raw = self.raw.clone();
        if revision != Revision::V2025_11_25 {
            raw.remove("execution");
        }
        if revision < Revision::V2025_11_25 {
            raw.remove("icons");
        }
        if revision < Revision::V2025_06_18 {
            raw.remove("outputSchema");
            raw.remove("title");
        }
        if revision < Revision::V2025_03_26 {
            raw.remove("annotations");
        }
        raw
    }
}

fn head(raw: &Raw) -> String {
    raw.as_str().chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raws(text: &str) -> Vec<Raw> {
        Raw::parse(text).unwrap().array().unwrap()
    }

    #[test]
    fn one_bad_tool_leaves_the_others() {
        let (tools, aside) = Tool::parse_all(&raws(
            r#"[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"},"x-vendor":1.0},
                {"name":"b","inputSchema":true},{"inputSchema":{}},7,{"name":"","inputSchema":{}},
                {"name":"a","inputSchema":{}},{"name":"c","inputSchema":{"type":"string"}},{"name":"d","inputSchema":{}},
                {"name":"e"},{"name":9,"inputSchema":{}}]"#,
        ));
        assert_eq!(
            tools
                .iter()
                .map(|tool| tool.name.as_str())
                .collect::<Vec<_>>(),
            ["a", "d"]
        );
        assert!(!tools[0].hints().read_only);
        assert_eq!(tools[0].raw().get("x-vendor").unwrap().as_str(), "1.0");
        let reasons: Vec<_> = aside
            .iter()
            .map(|aside| (aside.index, aside.reason.as_str()))
            .collect();
        assert_eq!(
            reasons,
            [
                (1, "`inputSchema`: expected an object, got a boolean"),
                (2, "a tool without a name"),
                (3, "expected an object, got a number"),
                (4, "a tool with an empty name"),
                (5, "a second one with the same `name`"),
                (6, "`inputSchema` is not of type \"object\": \"string\""),
                (8, "a tool without `inputSchema`"),
                (9, "a tool's name is a string, got a number"),
            ]
        );
    }
}
