//! From settings to an open session: everything a session depends on is chosen here.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cox_extensions::Instructions;
use cox_permission::{ApprovalPolicy, Examples, Mode, RuleSet, RuleSource};
use cox_protocol::{Money, SessionId};
use cox_session::{Approver, Limits, SessionSpec};
use cox_store::{Clock, Home};
use cox_tools::commands::{CommandSettings, Commands, DeniedFiles};
use cox_workspace::Roots;

use crate::{
    args::Run,
    commands::ids,
    exit::{Exit, Failure},
    settings::{Settings, places::git_branch, providers::ProviderSettings},
};

/// Cap on one answer, in tokens.
const MAX_OUTPUT_TOKENS: u32 = 16_384;
/// How long an approval or a question may stay open.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a command may run that names no timeout.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest timeout that a command may name.
const MAX_COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// Context window of a model that nothing is known about, in tokens.
const UNKNOWN_WINDOW: u64 = 32_768;

/// Returns the clock of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary chooses the clock that everything below is given"
)]
pub(crate) fn clock() -> Clock {
    Arc::new(jiff::Timestamp::now)
}

/// Returns the approval policy.
pub(crate) fn policy(settings: &Settings) -> ApprovalPolicy {
    match settings.text("permissions.approval") {
        "untrusted" => ApprovalPolicy::Untrusted,
        "on-request" => ApprovalPolicy::OnRequest,
        "on-failure" => ApprovalPolicy::OnFailure,
        _ => ApprovalPolicy::Never,
    }
}

/// Returns what a session is opened with: the configured provider and everything around it.
///
/// # Errors
///
/// A failure that says what is missing or wrong. Nothing was sent or written yet.
pub(crate) fn session(settings: &Settings, run: &Run) -> Result<SessionSpec, Failure> {
    let configured = settings.provider(settings.text("core.provider"))?;
    let model = match settings.text("core.model") {
        "" => configured.model.clone(),
        model => model.to_owned(),
    };
    if model.is_empty() {
        return Err(Failure::error(format!(
            "the provider `{0}` has no model\nhint: name one with `--model`, or set `providers.{0}.model`",
            configured.name
        )));
    }
    let key = configured
        .api_key_env
        .as_deref()
        .and_then(|variable| settings.environment.text(variable));
    let provider = connect(&configured, &model, key)?;
    let resume = resumed(settings, run)?;
    let mut spec = around(settings, provider)?;
    spec.price = price(&configured, &model);
    spec.secrets = keys(settings);
    spec.resume = resume;
    // A resumed session keeps its recorded mode unless this run was told another one.
    if resume.is_some() && settings.origin("permissions.mode") != "--permission-mode" {
        spec.mode = None;
    }
    Ok(spec)
}

/// Returns what a single call outside a session works with. There is no model; a configured key is redacted all the same.
///
/// # Errors
///
/// A failure that names the rule or the folder that is wrong.
pub(crate) fn without_model(settings: &Settings) -> Result<SessionSpec, Failure> {
    let nobody = llm::scripted::Scripted::new([]).with_model("none");
    let mut spec = around(settings, Arc::new(nobody))?;
    spec.secrets = keys(settings);
    Ok(spec)
}

/// Returns what a model costs at a provider. A server of this machine that asks for no key asks for no money either.
fn price(configured: &ProviderSettings, model: &str) -> Option<llm::catalog::Price> {
    let is_free = configured.api_key_env.is_none() && llm::is_on_this_machine(&configured.base_url);
    match is_free {
        true => Some(llm::catalog::Price {
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
        }),
        false => llm::catalog::price_of(&configured.name, model),
    }
}

/// Returns the keys of all providers that are set: a command or a file may show any of them.
fn keys(settings: &Settings) -> Vec<String> {
    let names = settings.merged.names("providers");
    let variables = names
        .iter()
        .map(|name| settings.text(&format!("providers.{name}.api_key_env")));
    let mut keys: Vec<String> = variables
        .filter_map(|variable| settings.environment.text(variable))
        .map(|key| key.trim().to_owned())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns what a session with this provider is opened with.
///
/// # Errors
///
/// A failure that names the rule or the folder that is wrong.
pub(crate) fn around(
    settings: &Settings,
    provider: Arc<dyn llm::Provider>,
) -> Result<SessionSpec, Failure> {
    let places = &settings.places;
    let clock = clock();
    let anchors = places.anchors();
    let rules = rules(settings)?;
    let roots = Arc::new(roots(settings));
    let policy = policy(settings);
    let commands = commands(settings, &roots, &rules)?;
    let sandbox = settings.text("sandbox.mode").to_owned();
    Ok(SessionSpec {
        home: Home::new(&places.cox_home),
        environment: surroundings(settings, &clock),
        clock,
        version: crate::VERSION.to_owned(),
        cwd: places.cwd.clone(),
        roots,
        provider,
        price: None,
        tools: cox_tools::builtin::builtin(),
        commands: Arc::new(commands),
        rules,
        anchors,
        secrets: Vec::new(),
        mode: Some(mode(settings)),
        policy,
        approver: if policy == ApprovalPolicy::Never {
            Approver::Nobody
        } else {
            Approver::Surface
        },
        sandboxed: sandbox != "danger-full-access"
            && settings.text("sandbox.linux_backend") != "none",
        sandbox,
        instructions: instructions(settings),
        limits: limits(settings),
        resume: None,
    })
}

fn connect(
    configured: &ProviderSettings,
    model: &str,
    key: Option<&str>,
) -> Result<Arc<dyn llm::Provider>, Failure> {
    let wire = match configured.api.as_str() {
        "messages" => llm::Wire::Messages,
        "responses" => llm::Wire::Responses,
        _ => llm::Wire::Chat,
    };
    let timeout = Duration::from_secs(configured.timeout_s);
    llm::connect(llm::ProviderConfig {
        name: configured.name.clone(),
        wire,
        base_url: configured.base_url.clone(),
        api_key: key.map(str::to_owned),
        api_key_env: configured.api_key_env.clone(),
        model: model.to_owned(),
        context_window: configured
            .context_window
            .or_else(|| llm::catalog::context_window_of(model))
            .unwrap_or(UNKNOWN_WINDOW),
        timeout,
        idle_timeout: Duration::from_secs(configured.idle_timeout_s),
        max_retries: configured.max_retries,
        headers: Vec::new(),
    })
    .map_err(|error| Failure::from_chain(&error))
}

fn resumed(settings: &Settings, run: &Run) -> Result<Option<SessionId>, Failure> {
    let home = Home::new(&settings.places.cox_home);
    if let Some(id) = &run.resume {
        let id = ids::session(id, &home).map_err(|failure| Failure {
            message: format!("--resume: {}", failure.message),
            ..failure
        })?;
        return Ok(Some(id));
    }
    if !run.continue_last {
        return Ok(None);
    }
    // A session records its folder as text.
    let cwd = settings.places.cwd.to_string_lossy().into_owned();
    match cox_store::latest_for(&home, Path::new(&cwd))? {
        Some(id) => Ok(Some(id)),
        None => Err(Failure::error(format!(
            "there is no session of {} to continue\nhint: `cox sessions` lists those of other folders",
            settings.places.cwd.display()
        ))),
    }
}

pub(crate) fn mode(settings: &Settings) -> Mode {
    match settings.text("permissions.mode") {
        "plan" => Mode::Plan,
        "auto" => Mode::Auto,
        "bypass" => Mode::Bypass,
        _ => Mode::Default,
    }
}

/// Compiles the permission rules.
///
/// # Errors
///
/// A failure names the rule and its place; a usage failure when it came by flag.
pub(crate) fn rules(settings: &Settings) -> Result<RuleSet, Failure> {
    let anchors = settings.places.anchors();
    let sources = |key: &str, imported: &[RuleSource]| -> Vec<RuleSource> {
        let own = settings.merged.records(key).into_iter();
        let own = own.filter_map(|(entry, origin)| {
            Some(RuleSource {
                text: rule_text(entry)?.to_owned(),
                origin: origin.to_owned(),
            })
        });
        own.chain(imported.iter().cloned()).collect()
    };
    let imported = &settings.imported;
    let (deny, ask, allow) = (
        sources("permissions.deny", &imported.deny),
        sources("permissions.ask", &imported.ask),
        sources("permissions.allow", &imported.allow),
    );
    let compiled = RuleSet::compile(deny, ask, allow, &anchors).and_then(|rules| {
        for key in ["permissions.deny", "permissions.ask", "permissions.allow"] {
            for (entry, origin) in settings.merged.records(key) {
                let Some(text) = rule_text(entry) else {
                    continue;
                };
                let source = RuleSource {
                    text: text.to_owned(),
                    origin: origin.to_owned(),
                };
                let examples = Examples {
                    matches: texts(entry, "match"),
                    not_matches: texts(entry, "not_match"),
                    allows: key == "permissions.allow",
                };
                examples.check(&source, &anchors)?;
            }
        }
        Ok(rules)
    });
    let compiled = compiled.map(|rules| rules.for_commands_in(settings.places.cwd.clone()));
    compiled.map_err(|error| {
        let exit = if error.rule.origin.starts_with("--") {
            Exit::Usage
        } else {
            Exit::Error
        };
        Failure {
            exit,
            message: error.to_string(),
        }
    })
}

/// Returns the rule of an entry, with or without examples.
fn rule_text(entry: &layered_config::Value) -> Option<&str> {
    entry.as_str().or_else(|| entry.get("rule")?.as_str())
}

fn texts(entry: &layered_config::Value, key: &str) -> Vec<String> {
    let list = entry.get(key).and_then(|list| list.as_array());
    let texts = list.into_iter().flatten().filter_map(|text| text.as_str());
    texts.map(str::to_owned).collect()
}

/// Returns, for each rule that names a tool that there is not, what is wrong and which tool is near.
pub(crate) fn rules_without_a_tool(rules: &RuleSet) -> Vec<String> {
    let tools = cox_tools::builtin::builtin();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.spec().name).collect();
    names.extend(["edit", "read", "bash", "web_fetch"]);
    rules
        .unknown_tools(&names)
        .into_iter()
        .map(|(rule, near)| {
            let hint = near.map_or_else(String::new, |near| {
                format!("\nhint: did you mean `{near}`?")
            });
            format!(
                "{}: the rule `{}` names a tool that there is not{hint}",
                rule.origin.escape_debug(),
                rule.text.escape_debug()
            )
        })
        .collect()
}

pub(crate) fn roots(settings: &Settings) -> Roots {
    let places = &settings.places;
    let mut folders = vec![places.root.clone()];
    let extra = settings.merged.list("sandbox.writable");
    let extra = extra.iter().map(|(written, _)| places.resolve(written));
    let imported = settings.imported.folders.iter();
    let imported = imported.map(|written| places.resolve(written));
    for folder in places.added.iter().cloned().chain(extra).chain(imported) {
        // A folder that is not there cannot be touched; it need not be known.
        if let Ok(real) = folder.canonicalize()
            && !folders.contains(&real)
        {
            folders.push(real);
        }
    }
    Roots {
        cwd: places.cwd.clone(),
        home: places.user_home.clone(),
        readable: folders.clone(),
        writable: folders,
    }
}

fn limits(settings: &Settings) -> Limits {
    let count = |key: &str| settings.count(key);
    let size = |key: &str| usize::try_from(count(key)).unwrap_or(usize::MAX);
    let dollars = settings
        .merged
        .number("budget.session_usd")
        .unwrap_or_default();
    Limits {
        max_turns: u32::try_from(count("core.max_turns")).unwrap_or(u32::MAX),
        parallel_tools: size("core.parallel_tools"),
        visible_bytes: size("context.tool_output_visible_bytes"),
        head_lines: size("context.tool_output_head_lines"),
        tail_lines: size("context.tool_output_tail_lines"),
        // The registry keeps dollars between 0 and a million, so the product fits.
        budget: (dollars > 0.0).then(|| Money((dollars * 1_000_000.0).round() as u64)),
        compact_at: settings.merged.number("context.compact_at").unwrap_or(1.0),
        keep_turns: u32::try_from(count("context.keep_turns")).unwrap_or(u32::MAX),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        effort: match settings.text("core.effort") {
            "low" => Some(llm::Effort::Low),
            "medium" => Some(llm::Effort::Medium),
            "high" => Some(llm::Effort::High),
            _ => None,
        },
        approval_timeout: APPROVAL_TIMEOUT,
    }
}

/// What a new session tells the model of its surroundings. The day is enough: a time would change every request.
fn surroundings(settings: &Settings, clock: &Clock) -> String {
    let places = &settings.places;
    let day = clock()
        .to_zoned_datetime(jiff::tz::TimeZone::system())
        .date();
    let mut lines = vec![format!("Working folder: {}", places.cwd.display())];
    if places.root != places.cwd {
        lines.push(format!("Repository root: {}", places.root.display()));
    }
    lines.extend(
        places
            .added
            .iter()
            .map(|folder| format!("Also yours: {}", folder.display())),
    );
    lines.push(format!(
        "System: {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    ));
    lines.push(format!("Date: {day}"));
    lines.extend(git_branch(&places.root).map(|branch| format!("Git branch: {branch}")));
    lines.join("\n")
}

/// Returns how commands are run. Nothing is run or probed until the first command.
fn commands(settings: &Settings, roots: &Roots, rules: &RuleSet) -> Result<Commands, Failure> {
    let places = &settings.places;
    let helper = std::env::current_exe()
        .map_err(|error| Failure::error(format!("the program of cox cannot be found: {error}")))?;
    let commands = Commands::new(CommandSettings {
        policy: sandbox::Policy {
            mode: sandbox_mode(settings),
            writable: roots.writable.clone(),
            read_only_within: read_only(settings, roots),
            hidden: hidden(settings, roots, rules),
            network: settings
                .merged
                .switch("sandbox.network")
                .unwrap_or_default(),
        },
        choice: backend_choice(settings),
        helper,
        env: settings.environment.variables().clone(),
        cwd: places.cwd.clone(),
        default_timeout: COMMAND_TIMEOUT,
        max_timeout: MAX_COMMAND_TIMEOUT,
    });
    Ok(match denied_files(roots, rules) {
        Some(denied) => commands.hiding(denied),
        None => commands,
    })
}

/// Returns the search for what `Read` denies with a wildcard cover; none where there is no such rule.
fn denied_files(roots: &Roots, rules: &RuleSet) -> Option<DeniedFiles> {
    let denies = rules.read_denies().into_iter();
    let under: Vec<PathBuf> = denies
        .filter(|denied| denied.glob.is_some())
        .map(|denied| denied.path)
        .collect();
    let (rules, roots) = (rules.clone(), roots.readable.clone());
    (!under.is_empty()).then(|| {
        DeniedFiles::new(under, move |path| {
            rules.denies_read(path) && !roots.iter().any(|root| root.starts_with(path))
        })
    })
}

/// Returns what the sandbox cannot hold of this configuration, one sentence each. Searches for denied files.
pub(crate) fn sandbox_limits(settings: &Settings, detected: &sandbox::Detected) -> Vec<String> {
    let (roots, Ok(rules)) = (roots(settings), rules(settings)) else {
        return Vec::new();
    };
    let Ok(commands) = commands(settings, &roots, &rules) else {
        return Vec::new();
    };
    let mut limits: Vec<String> = detected
        .replaceable(&commands.settings().policy)
        .iter()
        .map(|link| {
            format!(
                "`{}` is a link: what it leads to is kept, but a command can put something else in its place",
                settings.places.short(link)
            )
        })
        .collect();
    let found = commands.denied().map(DeniedFiles::expand);
    if let Some(limit) = found.and_then(|found| found.stopped_by) {
        limits.push(format!(
            "commands are refused: the files that `Read` denies with wildcards must be hidden from them, and {limit}"
        ));
    }
    limits
}

fn sandbox_mode(settings: &Settings) -> sandbox::Mode {
    match settings.text("sandbox.mode") {
        "read-only" => sandbox::Mode::ReadOnly,
        "danger-full-access" => sandbox::Mode::DangerFullAccess,
        _ => sandbox::Mode::WorkspaceWrite,
    }
}

/// Returns what stays read-only inside the writable roots: the configured names, and where `.git` is one of them and a
/// pointer, the folders it leads to.
fn read_only(settings: &Settings, roots: &Roots) -> Vec<PathBuf> {
    let names = settings.merged.list("sandbox.readonly_in_workspace");
    let has_git = names.iter().any(|(name, _)| *name == ".git");
    let mut paths = Vec::new();
    for root in &roots.writable {
        paths.extend(names.iter().map(|(name, _)| root.join(name)));
        if has_git {
            let led_to = sandbox::default_read_only(root);
            paths.extend(
                led_to
                    .into_iter()
                    .filter(|path| path.parent() != Some(root.as_path())),
            );
        }
    }
    paths
}

/// Returns what commands may not even read: credentials, cox's own state, and what a `Read` rule denies whole. What a deny
/// with a wildcard covers is looked for before the first command ([`denied_files`]).
fn hidden(settings: &Settings, roots: &Roots, rules: &RuleSet) -> Vec<PathBuf> {
    let places = &settings.places;
    let mut hidden = sandbox::default_hidden(&places.user_home);
    hidden.push(places.cox_home.clone());
    let denied = rules.read_denies().into_iter();
    hidden.extend(
        denied
            .filter(|denied| denied.glob.is_none())
            .map(|denied| denied.path),
    );
    // What holds a root cannot be hidden without hiding the work.
    hidden.retain(|path| !roots.readable.iter().any(|root| root.starts_with(path)));
    hidden
}

/// Reads the instruction files.
pub(crate) fn instructions(settings: &Settings) -> Instructions {
    let places = &settings.places;
    let budget =
        usize::try_from(settings.count("context.instruction_budget_tokens")).unwrap_or(usize::MAX);
    cox_extensions::instructions::load(
        &places.user_home,
        &places.cox_home,
        &places.root,
        &places.cwd,
        budget,
    )
}

/// Finds the sandbox backend. Runs probes: not for the start of `cox run`.
pub(crate) fn detect(settings: &Settings) -> sandbox::Detected {
    match std::env::current_exe() {
        Ok(helper) => sandbox::detect(backend_choice(settings), &helper),
        Err(error) => {
            sandbox::Detected::none(format!("the program of cox cannot be found: {error}"))
        }
    }
}

fn backend_choice(settings: &Settings) -> sandbox::Choice {
    match settings.text("sandbox.linux_backend") {
        "bwrap" => sandbox::Choice::Bwrap,
        "namespaces" => sandbox::Choice::Namespaces,
        "landlock" => sandbox::Choice::Landlock,
        "none" => sandbox::Choice::None,
        _ => sandbox::Choice::Auto,
    }
}

/// Returns the name of a backend.
pub(crate) fn backend_word(backend: &sandbox::Backend) -> &'static str {
    match backend {
        sandbox::Backend::Bubblewrap { .. } => "bubblewrap",
        sandbox::Backend::Landlock { .. } => "landlock",
        sandbox::Backend::Seatbelt => "seatbelt",
        sandbox::Backend::None => "nothing",
    }
}

/// Says which sandbox commands will run in, and why.
pub(crate) fn sandbox_words(settings: &Settings) -> String {
    let mode = settings.text("sandbox.mode");
    if mode == "danger-full-access" {
        return "none: danger-full-access runs commands bare".to_owned();
    }
    let detected = detect(settings);
    match detected.backend {
        sandbox::Backend::None => {
            format!("none works here, so commands are refused: {}", detected.why)
        }
        backend => format!("{mode} by {}", backend_word(&backend)),
    }
}
