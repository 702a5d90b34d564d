#![expect(
    clippy::disallowed_methods,
    reason = "the files are those of a temporary folder"
)]

mod layers;
mod trusting;

use std::fs;

use super::*;
use crate::{Asked, Availability, Reach, Reason, Scope, settings::Source};

/// A home, a project in it, and nothing else.
struct Place {
    home: tempfile::TempDir,
    env: BTreeMap<String, String>,
    choice: Choice,
    trust: Trust,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            home: tempfile::tempdir().unwrap(),
            env: BTreeMap::new(),
            choice: Choice::default(),
            trust: Trust::none(),
        };
        fs::create_dir_all(place.path("work/deep")).unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(path)
    }

    fn file(self, path: &str, text: &str) -> Self {
        let full = self.path(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn flag(mut self, path: &str, text: &str) -> Self {
        self.choice.flags.push((path.to_owned(), text.to_owned()));
        self
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            cwd: self.path("work/deep"),
            env: self.env.clone(),
            home: Some(self.path("")),
            exe: PathBuf::from("/bin/mcpx"),
        }
    }

    fn try_load(&self) -> Result<Config, ConfigError> {
        load(&self.surroundings(), &self.choice, &self.trust)
    }

    fn load(&self) -> Config {
        self.try_load().unwrap()
    }

    fn error(&self) -> String {
        let root = self.path("").to_string_lossy().into_owned();
        self.try_load()
            .unwrap_err()
            .to_string()
            .replace(&root, "~/")
    }

    /// Accepts everything that waits.
    fn trusting(mut self) -> Self {
        self.trust = self
            .load()
            .untrusted
            .into_iter()
            .map(|one| one.digest)
            .collect();
        self
    }
}

fn command(config: &Config, name: &str) -> String {
    match &config.servers[name].reach {
        Reach::Stdio { command, .. } => command.clone(),
        other => format!("{other:?}"),
    }
}

fn server(text: &str) -> String {
    format!(r#"{{"mcpServers": {{"a": {text}}}}}"#)
}

const USER: &str = ".config/mcpx/config.json";

#[test]
fn of_each_name_the_nearest_entry_wins_whole() {
    let place = Place::new()
        .file(
            USER,
            r#"{"mcpServers": {"a": {"command": "far", "args": ["x"]}, "b": {"command": "b"}}}"#,
        )
        .file(
            "work/.mcp.json",
            r#"{"mcpServers": {"a": {"command": "near"}}}"#,
        )
        .trusting();
    let config = place.load();
    assert_eq!(command(&config, "a"), "near");
    assert_eq!(command(&config, "b"), "b");
    let Reach::Stdio { args, cwd, .. } = &config.servers["a"].reach else {
        panic!("a program");
    };
    assert!(args.is_empty());
    assert_eq!(cwd.as_deref(), Some(place.path("work").as_path()));
    assert_eq!(
        config.files,
        [place.path("work/.mcp.json"), place.path(USER)]
    );
}

#[test]
fn a_named_file_that_is_not_there_is_an_error() {
    let mut place = Place::new();
    place.choice.config_file = Some(PathBuf::from("/nowhere.json"));
    assert_eq!(
        place.error(),
        "/nowhere.json: there is no such file; expected the configuration file that `--config` or `MCPX_CONFIG` names"
    );
}

#[test]
fn two_servers_on_one_namespace_are_an_error_with_both_places() {
    let place = Place::new().file(
        USER,
        "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"b\": {\"command\": \"y\", \"mcpx\": {\"namespace\": \"a\"}}}}",
    );
    assert_eq!(
        place.error(),
        "~/.config/mcpx/config.json:3: the server `b` has the namespace `a`, and so has `a` of ~/.config/mcpx/config.json:2; expected a namespace of its own\nhint: rename one, or give one another `mcpx.namespace`"
    );
}

#[test]
fn a_missing_variable_makes_that_server_unavailable_and_no_other() {
    let place = Place::new().file(
        USER,
        r#"{"mcpServers": {"a": {"command": "x", "env": {"T": "${TOKEN}"}}, "b": {"command": "y"}}}"#,
    );
    let config = place.load();
    assert_eq!(
        config.servers["a"].reason(),
        Some(&Reason::MissingVariable {
            name: "TOKEN".to_owned(),
            key: "env.T".to_owned()
        })
    );
    assert!(config.servers["b"].is_ready());
    let config = place.env("TOKEN", "s").load();
    assert_eq!(config.servers["a"].sent_env()["T"], "s");
}

#[test]
fn required_secrets_may_be_in_the_environment_or_in_the_entry() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"OWN": "1"}, "mcpx": {"requiresSecrets": ["OWN", "KEY"]}}}}"#;
    let place = Place::new().file(USER, text);
    assert_eq!(
        place.load().servers["a"].reason(),
        Some(&Reason::MissingSecret {
            name: "KEY".to_owned()
        })
    );
    assert!(!place.load().servers["a"].is_ready());
    let place = place.env("KEY", "");
    assert!(!place.load().servers["a"].is_ready());
    assert!(place.env("KEY", "k").load().servers["a"].is_ready());
}

#[test]
fn a_view_launches_what_is_behind_it_and_a_view_of_a_view_is_an_error() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "mcpx": {"scope": "session"}},
        "v": {"aliasOf": "a", "mcpx": {"tools": ["get"]}}, "w": {"aliasOf": "gone"}}}"#;
    let config = Place::new().file(USER, text).load();
    assert_eq!(
        config.servers["v"].identity(),
        config.servers["a"].identity()
    );
    assert_eq!(config.servers["v"].scope, Scope::Session);
    assert!(config.servers["v"].tools.admits("get") && !config.servers["v"].tools.admits("put"));
    assert!(config.servers["a"].tools.admits("put"));
    assert!(matches!(
        config.servers["w"].reason(),
        Some(Reason::MissingServer { .. })
    ));

    let chain =
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"aliasOf": "a"}, "c": {"aliasOf": "b"}}}"#;
    let error = Place::new().file(USER, chain).error();
    assert!(
        error.contains("`aliasOf` `b`, which is a view of `a` itself"),
        "{error}"
    );
}

#[test]
fn what_needs_a_server_that_cannot_be_used_cannot_be_used_either() {
    let text = r#"{"mcpServers": {"a": {"command": "${NO}"},
        "b": {"command": "x", "mcpx": {"requiresServers": ["a"]}},
        "c": {"command": "x", "mcpx": {"requiresServers": ["b"]}}}}"#;
    let config = Place::new().file(USER, text).load();
    assert!(config.servers.values().all(|server| !server.is_ready()));
}

#[test]
fn the_key_follows_the_files_and_the_hash_their_servers() {
    let place = Place::new().file(USER, &server(r#"{"command": "x"}"#));
    let first = place.load();
    let place = place.file(USER, &server(r#"{"command": "y"}"#));
    let second = place.load();
    assert_eq!(first.key, second.key);
    assert_ne!(first.hash, second.hash);
    assert_eq!(first.key.len(), 16);
    let place = place.file("work/.mcp.json", "{}");
    assert_ne!(place.load().key, first.key);
    let again = place.load();
    assert_eq!(again, place.load());
}

#[test]
fn the_demo_needs_no_file() {
    let mut place = Place::new().file(USER, "broken");
    place.choice.demo = true;
    let config = place.load();
    assert_eq!(config.key, "demo");
    assert!(config.files.is_empty());
    assert!(config.servers["demo"].is_ready());
    assert_eq!(command(&config, "demo"), "/bin/mcpx");
}

#[test]
fn a_broken_file_is_an_error_that_names_it() {
    let error = Place::new().file(USER, "{\n  \"mcpServers\": [\n").error();
    assert!(
        error.starts_with("~/.config/mcpx/config.json:2:"),
        "{error}"
    );
    assert_eq!(
        Place::new().file(USER, "[]").error(),
        "~/.config/mcpx/config.json:1:1: a list as the whole file; expected an object with `mcpServers` and settings"
    );
    assert_eq!(
        Place::new()
            .file(USER, r#"{"pool": {"idleTimeout": 5}}"#)
            .error(),
        "~/.config/mcpx/config.json:1:26: the number `5` for `pool.idleTimeout`; expected a text with a unit, such as \"1m30s\""
    );
    assert_eq!(
        Place::new()
            .file(USER, r#"{"paths": {"configFile": "x"}}"#)
            .error(),
        "~/.config/mcpx/config.json:1:12: `paths.configFile`, which says where files are; expected it as `--paths-config-file` or `MCPX_PATHS_CONFIG_FILE`"
    );
    // What was accepted is kept there, so that it has to be known before a file is read.
    let place = Place::new().file(USER, r#"{"paths": {"state": "/tmp/x"}}"#);
    assert!(
        place.error().contains("expected it as `--paths-state`"),
        "{}",
        place.error()
    );
    assert!(
        Place::new()
            .flag("pool.mux", "1")
            .error()
            .ends_with("hint: did you mean `pool.max`?")
    );
}

#[test]
fn text_that_is_not_utf_8_is_an_error() {
    let place = Place::new();
    fs::create_dir_all(place.path(".config/mcpx")).unwrap();
    fs::write(place.path(USER), b"{\"a\": \"\xff\"}").unwrap();
    assert!(
        place.error().contains("not UTF-8, from byte 7 on"),
        "{}",
        place.error()
    );
}

#[test]
fn nothing_secret_is_in_the_debug_text() {
    let text = server(
        r#"{"url": "https://h/mcp", "headers": {"X-Key": "hunter2"}, "auth": {"type": "bearer", "token": "hunter2"}}"#,
    );
    let config = Place::new().file(USER, &text).load();
    let one = &config.servers["a"];
    let debug = format!("{:?} {:?} {}", one.reach, one.auth, one.shown());
    assert!(!debug.contains("hunter2"), "{debug}");
    assert!(!format!("{config:?}").contains("hunter2"));
    for text in [
        r#"{"command": "x", "args": ["--key", "${SECRET}", "hunter2"]}"#,
        r#"{"url": "https://u:hunter2@h/mcp?key=${SECRET}"}"#,
    ] {
        let place = Place::new()
            .file(USER, &server(text))
            .env("SECRET", "hunter2");
        assert!(!format!("{:?}", place.load()).contains("hunter2"), "{text}");
    }
}

#[test]
fn the_examples_of_the_guide_load() {
    let guide = include_str!("../../../../docs/guide/hub-configuration.md");
    let examples: Vec<&str> = guide
        .split("```jsonc\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 2);
    let place = Place::new().env("HOME", "/h").env("TRACKER_TOKEN", "t");
    let place = examples
        .iter()
        .zip([USER, ".mcpx.json"])
        .fold(place, |place, (example, file)| place.file(file, example));
    let config = place.load();
    assert!(config.servers.values().all(Server::is_ready));
    assert_eq!(config.servers.len(), 4);
    assert!(config.unknown_keys.is_empty(), "{:?}", config.unknown_keys);
    assert!(config.settings.get("presets").is_some());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    #[test]
    fn any_file_is_loaded_or_refused(text in r#"\{("(mcpServers|pool|a|mcpx|command|url|auth|type|tools|max|presets)": ?(\{|\[|"\$\{X:-y\}"|1|true|null|"x"),? ?|\}|\]|,){0,16}"#) {
        let place = Place::new().file(USER, &text);
        drop(place.try_load());
    }
}
