//! From what a person or a model typed to a tool of a server.

use std::collections::{BTreeMap, BTreeSet};

use super::{Names, Resolved, qualified};

/// All servers with their tools, and the way from any spelling of a path to them.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    servers: Names,
    tools: BTreeMap<String, Names>,
    qualified: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl Directory {
    /// Takes the servers, each by its name, its namespace and the names of its tools.
    pub fn new<'a, T: IntoIterator<Item = &'a str>>(
        servers: impl IntoIterator<Item = (&'a str, &'a str, T)>,
    ) -> Self {
        let mut directory = Self::default();
        let mut namespaces = Vec::new();
        for (server, namespace, tools) in servers {
            let names = Names::of_tools(tools);
            for (tool, function) in names.iter() {
                directory
                    .qualified
                    .entry(qualified(namespace, function))
                    .or_default()
                    .insert((server.to_owned(), tool.to_owned()));
            }
            directory.tools.insert(server.to_owned(), names);
            namespaces.push((server, namespace));
        }
        directory.servers = Names::of_servers(namespaces);
        directory
    }

    /// The servers.
    #[must_use]
    pub fn servers(&self) -> &Names {
        &self.servers
    }

    /// The tools of a server, by the server's own name.
    #[must_use]
    pub fn tools(&self, server: &str) -> Option<&Names> {
        self.tools.get(server)
    }

    /// Every tool that `path` may stand for, as server and tool by their own names, sorted. One is the answer; several
    /// have to be asked about; none is an unknown tool.
    ///
    /// A path is `server.tool` or `server/tool` in any spelling of either half, a qualified name, or a tool alone, which
    /// is looked for on every server when nothing else fits.
    #[must_use]
    pub fn resolve(&self, path: &str) -> Vec<(&str, &str)> {
        let mut found: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (at, between) in path.match_indices(['.', '/']) {
            for server in several(self.servers.resolve(&path[..at])) {
                let tools = self
                    .tools
                    .get(server)
                    .map(|tools| tools.resolve(&path[at + between.len()..]));
                found.extend(
                    tools
                        .into_iter()
                        .flat_map(several)
                        .map(|tool| (server, tool)),
                );
            }
        }
        if found.is_empty() {
            let pairs = self.qualified.get(path).into_iter().flatten();
            found.extend(pairs.map(|(server, tool)| (server.as_str(), tool.as_str())));
        }
        if found.is_empty() {
            for (server, tools) in &self.tools {
                found.extend(
                    several(tools.resolve(path))
                        .into_iter()
                        .map(|tool| (server.as_str(), tool)),
                );
            }
        }
        found.into_iter().collect()
    }
}

fn several(resolved: Resolved<'_>) -> Vec<&str> {
    match resolved {
        Resolved::One(name) => vec![name],
        Resolved::Several(names) => names,
        Resolved::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{digested, namespace};
    use super::*;

    fn directory() -> Directory {
        let servers = [
            ("github", vec!["create_issue", "files.read"]),
            ("chrome-devtools", vec!["take-screenshot", "click"]),
            ("my.server", vec!["click", "a.b"]),
            ("my", vec!["server.a.b"]),
        ];
        let spaces = servers.each_ref().map(|(server, _)| namespace(server));
        let named = servers.into_iter().zip(&spaces);
        Directory::new(named.map(|((server, tools), space)| (server, space.as_str(), tools)))
    }

    #[test]
    fn every_spelling_of_a_path_leads_to_its_tool() {
        let directory = directory();
        let screenshot = ("chrome-devtools", "take-screenshot");
        for (path, expected) in [
            ("github.create_issue".to_owned(), ("github", "create_issue")),
            ("github/create_issue".to_owned(), ("github", "create_issue")),
            ("github.files.read".to_owned(), ("github", "files.read")),
            (
                "github__create_issue".to_owned(),
                ("github", "create_issue"),
            ),
            ("chrome-devtools.take-screenshot".to_owned(), screenshot),
            ("chrome_devtools.take_screenshot".to_owned(), screenshot),
            (
                format!("chrome-devtools.{}", digested("take-screenshot")),
                screenshot,
            ),
            ("chrome_devtools__take_screenshot".to_owned(), screenshot),
            ("my.server.click".to_owned(), ("my.server", "click")),
            ("create_issue".to_owned(), ("github", "create_issue")),
            ("files.read".to_owned(), ("github", "files.read")),
            ("take_screenshot".to_owned(), screenshot),
        ] {
            assert_eq!(directory.resolve(&path), [expected], "{path}");
        }
    }

    #[test]
    fn what_may_stand_for_several_tools_names_them_all() {
        let directory = directory();
        assert_eq!(
            directory.resolve("click"),
            [("chrome-devtools", "click"), ("my.server", "click")]
        );
        assert_eq!(
            directory.resolve("my.server.a.b"),
            [("my", "server.a.b"), ("my.server", "a.b")]
        );
        for path in [
            "",
            ".",
            "github.",
            ".click.",
            "github.click",
            "nothing",
            "github..create_issue",
            "é.é",
        ] {
            assert_eq!(directory.resolve(path), [], "{path}");
        }
    }
}
