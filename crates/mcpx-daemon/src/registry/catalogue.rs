//! What is known of all servers together: the search index, the record of changes, the cache on disk.

mod recorded;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::Timestamp;
use mcp_wire::Tool;
use mcp_wire::prompt::Prompt;
use mcp_wire::resource::{Resource, ResourceTemplate};
use mcp_wire::{Object, Raw};
use mcpx_catalog::history::{History, Seen};
use mcpx_catalog::search::{Entry as SearchEntry, Hit, Search};
use mcpx_catalog::shape::Shape;
use mcpx_config::{Config, Server};
use mcpx_store::StateDir;
use mcpx_store::eras::Eras;
use mcpx_store::history::HistoryFile;
use mcpx_store::schemas::{Entry, SchemaCache};

use self::recorded::files_of;
use super::known::Known;
use super::views::Views;

/// What is known of all servers together.
pub struct Catalogue {
    state: StateDir,
    config_hash: RwLock<String>,
    cache: Mutex<SchemaCache>,
    is_dirty: std::sync::atomic::AtomicBool,
    /// The part of the record that is about the servers of this configuration.
    history: RwLock<Arc<History>>,
    files: RwLock<Vec<PathBuf>>,
    search: RwLock<Search>,
    /// Which reading of a server the index holds.
    indexed: Mutex<std::collections::HashMap<String, (Arc<Known>, mcpx_config::ToolFilter)>>,
    problems: Mutex<Vec<String>>,
    /// Launches whose servers asked a question that belonged to no call.
    asks: Mutex<std::collections::BTreeSet<String>>,
}

impl Catalogue {
    /// Reads the cache of this configuration and the record of changes. What cannot be read is told by
    /// [`Catalogue::problems`] and stands for nothing.
    #[must_use]
    pub fn open(state: &StateDir, config: &Config) -> Self {
        let (cache, broken) = SchemaCache::load(state, &config.hash);
        let (history, problem) = HistoryFile::new(state).load();
        let files = files_of(config);
        let problems = broken
            .into_iter()
            .chain(problem)
            .map(|problem| problem.to_string())
            .collect();
        Self {
            state: state.clone(),
            config_hash: RwLock::new(config.hash.clone()),
            cache: Mutex::new(cache),
            is_dirty: std::sync::atomic::AtomicBool::new(false),
            history: RwLock::new(Arc::new(recorded::part(&history, &files))),
            files: RwLock::new(files),
            search: RwLock::default(),
            indexed: Mutex::default(),
            problems: Mutex::new(problems),
            asks: Mutex::new(
                Eras::new(state)
                    .load()
                    .0
                    .into_iter()
                    .filter(|(_, verdict)| verdict.asks)
                    .map(|(identity, _)| identity)
                    .collect(),
            ),
        }
    }

    /// What could not be read or written since the last time this was asked.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        std::mem::take(&mut *self.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a server of this launch once asked a question that belonged to no call.
    #[must_use]
    pub fn asks(&self, identity: &str) -> bool {
        let asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        asks.contains(identity)
    }

    /// Remembers that one did.
    pub fn learn_asks(&self, identity: &str, now: Timestamp) {
        let is_news = self
            .asks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(identity.to_owned());
        if is_news && let Err(error) = Eras::new(&self.state).put_asks(identity, now) {
            self.problem(error.to_string());
        }
    }

    /// The record of changes.
    #[must_use]
    pub fn history(&self) -> Arc<History> {
        Arc::clone(&self.history.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on cache and record are those of another configuration; what is known stays known.
    pub fn belong_to(&self, config: &Config) {
        let config_hash = config.hash.as_str();
        let files = files_of(config);
        let others = {
            let mut before = self.files.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *before, files.clone()) != files
        };
        if others {
            let (history, problem) = HistoryFile::new(&self.state).load();
            self.show_history(&history);
            if let Some(problem) = problem {
                self.problem(problem.to_string());
            }
        }
        let mut hash = self
            .config_hash
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if *hash != config_hash {
            config_hash.clone_into(&mut hash);
            self.is_dirty
                .store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// What an earlier daemon read of a server that is launched in the same way.
    #[must_use]
    pub fn cached(&self, server: &Server) -> Option<Arc<Known>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = cache.servers.get(&server.name)?;
        if entry.identity.as_ref() != Some(&server.identity()) {
            return None;
        }
        from_cache(entry).map(Arc::new)
    }

    /// What was left out of the reading that can be searched now, as [`Known::left_out`] says it.
    pub fn left_out(&self, server: &Server) -> Vec<String> {
        let indexed = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        indexed
            .get(&server.name)
            .map(|(known, _)| known.left_out())
            .unwrap_or_default()
    }

    /// A server was read: writes down what changed and keeps the reading for the cache.
    pub fn observe(&self, server: &Server, known: &Known, now: Timestamp) -> Vec<Seen> {
        let unreadable: Vec<&str> = known
            .set_aside
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let updated = HistoryFile::new(&self.state).update(now, |history| {
            recorded::observe(history, server, &known.tools, &unreadable, now)
        });
        let seen = match updated {
            Ok(updated) => {
                self.show_history(&updated.history);
                if let Some(problem) = updated.problem {
                    self.problem(problem.to_string());
                }
                updated.value
            }
            // It cannot be written: what this daemon sees is still seen.
            Err(error) => {
                self.problem(error.to_string());
                // By name, as this daemon sees it.
                let mut history = (*self.history()).clone();
                let seen = history.observe(&server.name, &known.tools, &unreadable, now);
                *self.history.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(history);
                seen
            }
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache
            .servers
            .insert(server.name.clone(), to_cache(server, known));
        self.is_dirty
            .store(true, std::sync::atomic::Ordering::Relaxed);
        seen
    }

    fn show_history(&self, whole: &History) {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let part = recorded::part(whole, &files);
        drop(files);
        *self.history.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(part);
    }

    /// Writes the cache when it changed.
    pub fn save(&self, now: Timestamp) {
        if !self
            .is_dirty
            .swap(false, std::sync::atomic::Ordering::Relaxed)
        {
            return;
        }
        let hash = self
            .config_hash
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = cache.save(&self.state, &hash, now) {
            self.problem(error.to_string());
        }
    }

    fn problem(&self, text: String) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.len() < 100 {
            problems.push(text);
        }
    }

    /// Puts the visible tools of the servers into the index; those whose reading did not change stay.
    pub fn show(&self, views: &Views) {
        let mut indexed = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut search = self.search.write().unwrap_or_else(PoisonError::into_inner);
        indexed.retain(|name, _| {
            let stays = views
                .by_name
                .get(name)
                .is_some_and(|upstream| upstream.known().is_some());
            if !stays {
                search.remove(name);
            }
            stays
        });
        for (name, upstream) in &views.by_name {
            let Some(known) = upstream.known() else {
                continue;
            };
            let is_same = indexed.get(name).is_some_and(|(before, filter)| {
                Arc::ptr_eq(before, &known) && filter == upstream.filter()
            });
            if is_same {
                continue;
            }
            let entries: Vec<SearchEntry> = known
                .visible(upstream.filter())
                .map(|tool| SearchEntry::of(tool, &Shape::of(&tool.input_schema())))
                .collect();
            search.replace(name, &entries);
            indexed.insert(name.clone(), (known, upstream.filter().clone()));
        }
    }

    /// Finds tools by words.
    #[must_use]
    pub fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .find(query, limit)
    }
}

fn to_cache(server: &Server, known: &Known) -> Entry {
    let raws = |objects: Vec<Object>| objects.into_iter().map(Raw::from).collect::<Vec<_>>();
    Entry {
        identity: Some(server.identity()),
        tools: Some(raws(
            known.tools.iter().map(|tool| tool.raw().clone()).collect(),
        )),
        resources: known
            .resources
            .as_ref()
            .map(|all| raws(all.iter().map(|one| one.raw().clone()).collect())),
        resource_templates: known
            .templates
            .as_ref()
            .map(|all| raws(all.iter().map(|one| one.raw().clone()).collect())),
        prompts: known
            .prompts
            .as_ref()
            .map(|all| raws(all.iter().map(|one| one.raw().clone()).collect())),
        instructions: known.instructions.clone(),
        server_info: known.server_info.clone().map(Raw::from),
        capabilities: known.capabilities.clone().map(Raw::from),
        revision: known.revision.clone(),
        fetched_at: Some(known.read_at),
    }
}

/// A reading from the cache. Without tools it is none: unknown is not empty.
fn from_cache(entry: &Entry) -> Option<Known> {
    let tools = Tool::parse_all(entry.tools.as_ref()?).0;
    fn all<T, E>(raws: Option<&Vec<Raw>>, parse: impl Fn(&Raw) -> Result<T, E>) -> Option<Vec<T>> {
        Some(raws?.iter().filter_map(|raw| parse(raw).ok()).collect())
    }
    let mut known = Known::of_tools(tools, entry.fetched_at?);
    known.resources = all(entry.resources.as_ref(), Resource::parse);
    known.templates = all(entry.resource_templates.as_ref(), ResourceTemplate::parse);
    known.prompts = all(entry.prompts.as_ref(), Prompt::parse);
    known.instructions.clone_from(&entry.instructions);
    known.server_info = entry.server_info.as_ref().and_then(|raw| raw.object().ok());
    known.capabilities = entry
        .capabilities
        .as_ref()
        .and_then(|raw| raw.object().ok());
    known.revision.clone_from(&entry.revision);
    Some(known)
}
