//! What is known of a server's tools, resources and prompts: as it was read, from itself or from the cache.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_client::lists::Listed;
use mcp_client::{CallOptions, Connection, Failure};
use mcp_wire::prompt::Prompt;
use mcp_wire::resource::{Resource, ResourceTemplate};
use mcp_wire::{Object, Tool};
use mcpx_catalog::names::{Names, Resolved};
use mcpx_config::ToolFilter;
use untrusted_text::terminal::one_line;

/// Longest piece of a server's text in a message, in characters.
const LONGEST: usize = 200;

/// One reading of a server. What the server does not offer is empty; what could not be read is `None`.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its tools, in its order.
    pub tools: Vec<Tool>,
    /// Tools that could not be read, with the reason.
    pub set_aside: Vec<(String, String)>,
    /// Why there are not all of its tools, when its list had no end.
    pub cut: Option<String>,
    /// Its resources.
    pub resources: Option<Vec<Resource>>,
    /// Its resource templates.
    pub templates: Option<Vec<ResourceTemplate>>,
    /// Its prompts.
    pub prompts: Option<Vec<Prompt>>,
    /// What it wants a model to know; text from outside.
    pub instructions: Option<String>,
    /// Who it says it is.
    pub server_info: Option<Object>,
    /// What it offers, as it was said.
    pub capabilities: Option<Object>,
    /// The revision that was spoken.
    pub revision: Option<String>,
    /// When it was read.
    pub read_at: Timestamp,
    /// Whether this daemon read it; else it comes from the cache.
    pub confirmed: bool,
    names: Names,
    by_name: HashMap<String, usize>,
}

/// A tool of a reading; keeps the reading. Its schema is not copied for a call.
#[derive(Debug, Clone)]
pub struct KnownTool(Arc<Known>, usize);

impl std::ops::Deref for KnownTool {
    type Target = Tool;

    fn deref(&self) -> &Tool {
        // Checked when it was made, and a reading does not change.
        &self.0.tools[self.1]
    }
}

/// Which tool a spelling means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelled {
    /// This one, by its own name.
    Tool(String),
    /// It is there and hidden by the configuration.
    Hidden(String),
    /// One of several.
    Several(Vec<String>),
    /// None; those that are spelled nearly so.
    Unknown(Vec<String>),
}

impl Known {
    /// A reading with nothing but tools.
    #[must_use]
    pub fn of_tools(tools: Vec<Tool>, read_at: Timestamp) -> Self {
        let mut known = Self {
            tools,
            set_aside: Vec::new(),
            cut: None,
            resources: None,
            templates: None,
            prompts: None,
            instructions: None,
            server_info: None,
            capabilities: None,
            revision: None,
            read_at,
            confirmed: false,
            names: Names::default(),
            by_name: HashMap::new(),
        };
        known.index();
        known
    }

    fn index(&mut self) {
        self.names = Names::of_tools(self.tools.iter().map(|tool| tool.name.as_str()));
        self.by_name = self
            .tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name.clone(), at))
            .collect();
    }

    /// Reads everything a server offers. Resources and prompts that cannot be read do not spoil the tools.
    ///
    /// # Errors
    /// When the tools cannot be read.
    pub async fn read(
        connection: &Connection,
        options: &CallOptions,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let agreed = connection.agreed();
        let offers = |name: &str| agreed.capabilities.has(name);
        let listed = if offers("tools") {
            connection.tools(options).await?
        } else {
            Listed {
                elements: Vec::new(),
                set_aside: Vec::new(),
                cut: None,
            }
        };
        let set_aside = listed
            .set_aside
            .into_iter()
            .map(|one| (one.name.unwrap_or_default(), one.reason))
            .collect();
        let mut known = Self {
            set_aside,
            cut: listed.cut,
            confirmed: true,
            instructions: agreed.instructions.clone(),
            server_info: agreed.server_info.as_ref().map(|info| info.raw().clone()),
            capabilities: Some(agreed.capabilities.raw().clone()),
            revision: Some(agreed.revision.as_str().to_owned()),
            ..Self::of_tools(listed.elements, now)
        };
        if offers("resources") {
            known.resources = connection.resources(options).await.ok().map(|l| l.elements);
            known.templates = connection
                .resource_templates(options)
                .await
                .ok()
                .map(|l| l.elements);
        } else {
            (known.resources, known.templates) = (Some(Vec::new()), Some(Vec::new()));
        }
        known.prompts = if offers("prompts") {
            connection.prompts(options).await.ok().map(|l| l.elements)
        } else {
            Some(Vec::new())
        };
        Ok(known)
    }

    /// The tool of this name, as its server spells it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// The same, to be kept for as long as a call lives.
    #[must_use]
    pub fn keep(self: &Arc<Self>, name: &str) -> Option<KnownTool> {
        let at = *self.by_name.get(name)?;
        (at < self.tools.len()).then(|| KnownTool(Arc::clone(self), at))
    }

    /// What was left out of it, and why: a line each. Text from outside, safe to print.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        let shown = |text: &str| one_line(text, LONGEST);
        let aside = self.set_aside.iter().map(|(name, reason)| {
            let which = match name.as_str() {
                "" => "a tool without a name".to_owned(),
                name => format!("its tool `{}`", shown(name)),
            };
            format!(
                "{which} is left out, its definition could not be read: {}",
                shown(reason)
            )
        });
        let cut = self
            .cut
            .iter()
            .map(|why| format!("its list of tools is cut: {}", shown(why)));
        aside.chain(cut).collect()
    }

    /// The identifiers of the tools.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The tools that the configuration does not hide.
    pub fn visible<'a>(&'a self, filter: &'a ToolFilter) -> impl Iterator<Item = &'a Tool> {
        self.tools.iter().filter(|tool| filter.admits(&tool.name))
    }

    /// Which tool somebody means.
    #[must_use]
    pub fn resolve(&self, spelling: &str, filter: &ToolFilter) -> Spelled {
        let found = match self.names.resolve(spelling) {
            Resolved::One(name) => vec![name.to_owned()],
            Resolved::Several(names) => names.into_iter().map(str::to_owned).collect(),
            Resolved::Unknown => Vec::new(),
        };
        let visible: Vec<String> = found
            .iter()
            .filter(|name| filter.admits(name))
            .cloned()
            .collect();
        match (visible.as_slice(), found.first()) {
            ([one], _) => Spelled::Tool(one.clone()),
            ([], Some(hidden)) => Spelled::Hidden(hidden.clone()),
            ([], None) => {
                let near = self.names.nearest(spelling, 3);
                Spelled::Unknown(
                    near.into_iter()
                        .filter(|name| filter.admits(name))
                        .map(|name| self.names.identifier(name))
                        .collect(),
                )
            }
            _ => Spelled::Several(visible),
        }
    }
}
