//! Lists of a server, page by page to the end.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_wire::page::{Page, SetAside, sort_out};
use mcp_wire::prompt::Prompt;
use mcp_wire::resource::{Resource, ResourceTemplate};
use mcp_wire::{JsonError, Object, Raw, Tool, error, method};

use crate::call::CallOptions;
use crate::connection::{Connection, Inner};
use crate::failure::Failure;

/// A whole list.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// The elements, in the server's order.
    pub elements: Vec<T>,
    /// What could not be read, with the reason.
    pub set_aside: Vec<SetAside>,
    /// Why the list ends before the server says so, when it does.
    pub cut: Option<String>,
}

impl Connection {
    /// The tools. Over HTTP in the modern era, one whose header annotations are forbidden is set aside.
    ///
    /// # Errors
    /// When a page has no result.
    pub async fn tools(&self, options: &CallOptions) -> Result<Listed<Tool>, Failure> {
        self.inner.read_tools(options).await
    }

    /// The resources.
    ///
    /// # Errors
    /// When a page has no result.
    pub async fn resources(&self, options: &CallOptions) -> Result<Listed<Resource>, Failure> {
        self.inner
            .list(
                method::RESOURCES_LIST,
                "resources",
                "uri",
                Resource::parse,
                options,
            )
            .await
    }

    /// The resource templates.
    ///
    /// # Errors
    /// When a page has no result.
    pub async fn resource_templates(
        &self,
        options: &CallOptions,
    ) -> Result<Listed<ResourceTemplate>, Failure> {
        let (method, member) = (method::RESOURCE_TEMPLATES_LIST, "resourceTemplates");
        self.inner
            .list(
                method,
                member,
                "uriTemplate",
                ResourceTemplate::parse,
                options,
            )
            .await
    }

    /// The prompts.
    ///
    /// # Errors
    /// When a page has no result.
    pub async fn prompts(&self, options: &CallOptions) -> Result<Listed<Prompt>, Failure> {
        self.inner
            .list(
                method::PROMPTS_LIST,
                "prompts",
                "name",
                Prompt::parse,
                options,
            )
            .await
    }
}

impl Inner {
    pub(crate) async fn read_tools(
        self: &Arc<Self>,
        options: &CallOptions,
    ) -> Result<Listed<Tool>, Failure> {
        let mut listed = self
            .list(method::TOOLS_LIST, "tools", "name", Tool::parse, options)
            .await?;
        if self.transport.mirrors_headers() && self.revision().era() == mcp_wire::Era::Modern {
            let (good, bad) = std::mem::take(&mut listed.elements)
                .into_iter()
                .map(|tool| (tool.param_headers().err(), tool))
                .partition::<Vec<_>, _>(|(error, _)| error.is_none());
            listed.elements = good.into_iter().map(|(_, tool)| tool).collect();
            listed
                .set_aside
                .extend(bad.into_iter().map(|(error, tool)| SetAside {
                    index: 0,
                    name: Some(tool.name.clone()),
                    reason: error.map(|error| error.reason).unwrap_or_default(),
                    raw: Raw::from(tool.raw().clone()),
                }));
        }
        self.remember_tools(&listed.elements);
        Ok(listed)
    }

    async fn list<T>(
        self: &Arc<Self>,
        method: &str,
        member: &str,
        key: &str,
        read: impl FnMut(&Raw) -> Result<T, JsonError>,
        options: &CallOptions,
    ) -> Result<Listed<T>, Failure> {
        let (raws, cut) = self.pages(method, member, options).await?;
        let (elements, set_aside) = sort_out(&raws, key, read);
        Ok(Listed {
            elements,
            set_aside,
            cut,
        })
    }

    /// Reads pages until there is no cursor. A cursor that was seen before ends the list; one that the server no longer
    /// knows starts it again, once.
    async fn pages(
        self: &Arc<Self>,
        method: &str,
        member: &str,
        options: &CallOptions,
    ) -> Result<(Vec<Raw>, Option<String>), Failure> {
        let mut restarted = false;
        'again: loop {
            let (mut raws, mut seen) = (Vec::new(), HashSet::new());
            let mut cursor: Option<String> = None;
            for _ in 0..self.spec.limits.pages {
                let params = Object::new().with_some("cursor", cursor.as_deref());
                let result = match self.request(method, params, options).await {
                    Ok(result) => result,
                    Err(failure) => {
                        let unknown_cursor = failure
                            .answered()
                            .is_some_and(|error| error.code == error::INVALID_PARAMS);
                        if cursor.is_some() && unknown_cursor && !restarted {
                            restarted = true;
                            continue 'again;
                        }
                        return Err(failure);
                    }
                };
                let page = Page::parse(&Raw::from(result), member)
                    .map_err(|error| self.unreadable(&error.reason))?;
                raws.extend(page.elements);
                let limit = self.spec.limits.elements;
                if raws.len() > limit {
                    raws.truncate(limit);
                    return Ok((raws, Some(format!("more than {limit} elements"))));
                }
                match page.next_cursor {
                    None => return Ok((raws, None)),
                    Some(next) if !seen.insert(next.clone()) => {
                        return Ok((
                            raws,
                            Some(format!("the server gave the cursor {next:?} a second time")),
                        ));
                    }
                    Some(next) => cursor = Some(next),
                }
            }
            return Ok((
                raws,
                Some(format!("more than {} pages", self.spec.limits.pages)),
            ));
        }
    }
}
