//! Settings: what the defaults, the configuration files, the environment and the flags amount to.
//!
//! The only place that reads environment variables, the current folder and TOML. Defaults are the lowest layer, then the
//! person's file, the project's file, `COX_…` variables and flags. A project file sets only what a repository may decide.

pub(crate) mod claude_rules;
pub(crate) mod environment;
pub(crate) mod places;
pub(crate) mod providers;
pub(crate) mod registry;

use cox_permission::{RuleSet, RuleSource};
use cox_store::Home;
use layered_config::{Layer, Merged, Source, Trust, Value};

use crate::{
    args::{Args, split_rules},
    exit::Failure,
    settings::{
        claude_rules::Imported,
        environment::Environment,
        places::Places,
        providers::ProviderSettings,
        registry::{PROVIDER_SETTINGS, SEED_PROVIDERS, SETTINGS, specs},
    },
};

/// Begins the name of every variable that sets a key.
pub(crate) const VARIABLE_PREFIX: &str = "COX_";

/// Keys that hold permission rules: their texts are split outside parentheses only.
const RULE_KEYS: [&str; 3] = ["permissions.allow", "permissions.ask", "permissions.deny"];

/// The settings of a run.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where it takes place.
    pub(crate) places: Places,
    /// The environment of this process.
    pub(crate) environment: Environment,
    /// What was refused or looks wrong, for the person.
    pub(crate) warnings: Vec<String>,
    /// Every value with its origin.
    pub(crate) merged: Merged,
    /// The rules of `.claude/settings.json`, the person's and the project's.
    pub(crate) imported: Imported,
}

impl Settings {
    /// Reads and merges every layer.
    ///
    /// # Errors
    ///
    /// A failure names the file and line, the variable or the flag that is wrong; a wrong flag is a usage failure.
    pub(crate) fn load(args: &Args, environment: Environment) -> Result<Self, Failure> {
        let places = Places::find(&args.global, &environment)?;
        let specs = specs();
        let flags = flag_layer(args)?;
        let mut layers = vec![default_layer()];
        let user_file = places.user_file();
        layers
            .push(Layer::read(&user_file, &places.short(&user_file), Trust::Full).map_err(wrong)?);
        if let Some(file) = places.project_file() {
            layers.push(Layer::read(&file, &places.short(&file), Trust::Project).map_err(wrong)?);
        }
        let variables = variable_layer(&environment, &layers)?;
        let unknown = unknown_variables(&environment, &layers);
        layers.push(variables);
        layers.push(flags);
        // A provider table that someone added gets its defaults too, so its names must be known first.
        let named = layered_config::merge(&specs, &layers).map_err(wrong)?;
        fill_providers(&mut layers[0], &named);
        let merged = layered_config::merge(&specs, &layers).map_err(wrong)?;
        let merged = keep_cap(merged, layers)?;

        let mut warnings = merged.warnings.clone();
        warnings.extend(unknown);
        let imported = match merged.get("permissions.import_claude_settings") {
            Some(setting) if setting.value == Value::Boolean(false) => Imported::default(),
            _ => claude_rules::import(&places),
        };
        warnings.extend(imported.warnings.iter().cloned());
        let settings = Self {
            places,
            environment,
            warnings,
            merged,
            imported,
        };
        settings.refuse_bypass_from_elsewhere()?;
        Ok(settings)
    }

    /// Returns a text; empty when there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.merged.text(key).unwrap_or_default()
    }

    /// Returns a whole number that is not negative.
    pub(crate) fn count(&self, key: &str) -> u64 {
        self.merged
            .count(key)
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or_default()
    }

    /// Returns where the value of a key comes from, in words such as `~/.cox/config.toml:3`.
    pub(crate) fn origin(&self, key: &str) -> &str {
        self.merged
            .get(key)
            .map_or("default", |setting| &setting.origin)
    }

    /// Returns one provider's table.
    ///
    /// # Errors
    ///
    /// A failure names the providers that there are.
    pub(crate) fn provider(&self, name: &str) -> Result<ProviderSettings, Failure> {
        ProviderSettings::read(self, name)
    }

    fn refuse_bypass_from_elsewhere(&self) -> Result<(), Failure> {
        let origin = self.origin("permissions.mode");
        if self.text("permissions.mode") == "bypass" && !origin.starts_with("--") {
            return Err(Failure::error(format!("{origin}: {BYPASS_BY_FLAG}")));
        }
        Ok(())
    }
}

const BYPASS_BY_FLAG: &str = "the permission mode `bypass` is taken from a flag only\n\
                              hint: give `--permission-mode bypass` to the run that needs it";

/// Returns cox's home for commands that need nothing else.
///
/// # Errors
///
/// An error when there is no home folder.
pub(crate) fn home(args: &Args) -> Result<Home, Failure> {
    Ok(Home::new(places::cox_home(
        &args.global,
        &Environment::read(),
    )?))
}

/// Sets a key in the person's file.
///
/// # Errors
///
/// A failure for an unknown key, a value of the wrong kind, or a file that is broken or cannot be written.
pub(crate) fn set(places: &Places, key: &str, text: &str) -> Result<(), Failure> {
    if key == "permissions.mode" && text == "bypass" {
        return Err(Failure::usage(BYPASS_BY_FLAG));
    }
    let text = if RULE_KEYS.contains(&key) {
        rules_text(places, text)?
    } else {
        text.to_owned()
    };
    check(key, &text)?;
    let file = places.user_file();
    layered_config::set_in_file(&file, &places.short(&file), &specs(), key, &text).map_err(wrong)
}

/// Returns rules as a TOML list, each of them one that can be read.
fn rules_text(places: &Places, text: &str) -> Result<String, Failure> {
    if text.trim_start().starts_with('[') {
        // A list as TOML is checked as such; its rules are read when the next session is opened.
        return Ok(text.to_owned());
    }
    let anchors = places.anchors();
    let rules = split_rules(text);
    let sources = rules.iter().map(|text| RuleSource {
        text: text.clone(),
        origin: "config set".to_owned(),
    });
    RuleSet::compile(sources.collect(), Vec::new(), Vec::new(), &anchors)
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(rules_value(text).to_string())
}

/// Checks a key and the text of a value for it.
///
/// # Errors
///
/// A usage failure names the nearest key, or what was expected.
pub(crate) fn check(key: &str, text: &str) -> Result<(), Failure> {
    let mut probe = Layer::new(Source::Flag, Trust::Full);
    probe.set_text(&specs(), key, text, "cox").map_err(|error| {
        let text = error.to_string();
        Failure::usage(text.strip_prefix("cox: ").unwrap_or(&text))
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` wants"
)]
fn wrong(error: layered_config::ConfigError) -> Failure {
    Failure::error(error.to_string())
}

fn default_layer() -> Layer {
    let mut layer = Layer::parse(Source::Default, Trust::Full, SEED_PROVIDERS)
        .unwrap_or_else(|_| Layer::new(Source::Default, Trust::Full));
    for setting in SETTINGS {
        layer.set(setting.key, setting.default_value(), "default");
    }
    layer
}

/// Gives every provider the defaults of the keys that its tables leave out.
fn fill_providers(defaults: &mut Layer, named: &Merged) {
    for name in named.names("providers") {
        for setting in PROVIDER_SETTINGS {
            let key = setting.key.replace('*', name);
            if named.get(&key).is_none() {
                defaults.set(&key, setting.default_value(), "default");
            }
        }
    }
}

/// Keeps a project from lifting the spend cap: it may only lower it, and 0 is no cap at all.
fn keep_cap(merged: Merged, mut layers: Vec<Layer>) -> Result<Merged, Failure> {
    const CAP: &str = "budget.session_usd";
    let (specs, is_lifted) = (specs(), |merged: &Merged| merged.number(CAP) == Some(0.0));
    if !is_lifted(&merged) {
        return Ok(merged);
    }
    let own: Vec<Layer> = layers
        .iter()
        .filter(|layer| layer.trust == Trust::Full)
        .cloned()
        .collect();
    let own = layered_config::merge(&specs, &own).map_err(wrong)?;
    let Some(cap) = own.get(CAP).filter(|_| !is_lifted(&own)) else {
        return Ok(merged);
    };
    let mut kept = Layer::new(Source::Flag, Trust::Full);
    kept.set(CAP, cap.value.clone(), &cap.origin);
    layers.push(kept);
    let lifted_at = merged.get(CAP).map_or("", |setting| &setting.origin);
    let mut kept = layered_config::merge(&specs, &layers).map_err(wrong)?;
    kept.warnings.push(format!(
        "{lifted_at}: `{CAP}` is ignored: 0 lifts the cap, and a project may only lower it"
    ));
    Ok(kept)
}

fn variable_layer(environment: &Environment, below: &[Layer]) -> Result<Layer, Failure> {
    let rule_variables = RULE_KEYS.map(|key| (layered_config::env_name(VARIABLE_PREFIX, key), key));
    let is_rules = |name: &str| rule_variables.iter().any(|(variable, _)| variable == name);
    let others = environment.ours().filter(|(name, _)| !is_rules(name));
    let mut layer = Layer::from_env(VARIABLE_PREFIX, &specs(), below, others).map_err(wrong)?;
    for (variable, key) in &rule_variables {
        if let Some(text) = environment.text(variable) {
            layer.set(key, rules_value(text), variable);
        }
    }
    Ok(layer)
}

fn flag_layer(args: &Args) -> Result<Layer, Failure> {
    let specs = specs();
    let mut layer = Layer::new(Source::Flag, Trust::Full);
    for (key, text) in args.settings() {
        let flag = SETTINGS
            .iter()
            .find(|setting| setting.key == key)
            .and_then(|setting| setting.flag);
        layer
            .set_text(&specs, key, &text, flag.unwrap_or("a flag"))
            .map_err(|error| Failure::usage(error.to_string()))?;
    }
    let allowed = args.allowed_tools();
    if !allowed.is_empty() {
        layer.set(
            "permissions.allow",
            Value::Array(allowed.into_iter().map(Value::String).collect()),
            "--allowed-tools",
        );
    }
    Ok(layer)
}

fn rules_value(text: &str) -> Value {
    Value::Array(split_rules(text).into_iter().map(Value::String).collect())
}

/// Names the variables that look like settings and are none.
fn unknown_variables(environment: &Environment, below: &[Layer]) -> Vec<String> {
    let names = environment
        .ours()
        .map(|(name, _)| name)
        .filter(|name| *name != "COX_HOME");
    layered_config::unknown_variables(VARIABLE_PREFIX, &specs(), below, names)
        .into_iter()
        .map(|(name, near)| match near {
            Some(near) => {
                format!("{name} sets nothing: there is no such setting\nhint: did you mean {near}?")
            }
            None => format!(
                "{name} sets nothing: there is no such setting\nhint: `cox config show` lists them"
            ),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_providers_are_toml_of_known_keys() {
        let layer = Layer::parse(Source::Default, Trust::Full, SEED_PROVIDERS).unwrap();
        let merged = layered_config::merge(&specs(), &[layer]).unwrap();
        assert_eq!(
            merged.names("providers"),
            [
                "anthropic",
                "deepseek",
                "gemini",
                "lmstudio",
                "local",
                "moonshot",
                "openai",
                "openrouter",
                "z-ai"
            ]
        );
    }
}
