use super::*;
use crate::{Project, Source, render, rows};

const SPECS: &[KeySpec] = &[
    KeySpec {
        path: "core.model",
        kind: Kind::Text,
        project: Project::No,
    },
    KeySpec {
        path: "core.max_turns",
        kind: Kind::Count { min: 1, max: 1000 },
        project: Project::NarrowOnly,
    },
    KeySpec {
        path: "core.color",
        kind: Kind::Switch,
        project: Project::Yes,
    },
    KeySpec {
        path: "permissions.mode",
        kind: Kind::Choice(&["plan", "default", "auto"]),
        project: Project::NarrowOnly,
    },
    KeySpec {
        path: "permissions.deny",
        kind: Kind::AddedList,
        project: Project::NarrowOnly,
    },
    KeySpec {
        path: "permissions.allow",
        kind: Kind::AddedList,
        project: Project::No,
    },
    KeySpec {
        path: "budget.usd",
        kind: Kind::Number {
            min: 0.0,
            max: f64::MAX,
        },
        project: Project::NarrowOnly,
    },
    KeySpec {
        path: "sandbox.writable",
        kind: Kind::List,
        project: Project::No,
    },
    KeySpec {
        path: "providers.*.base_url",
        kind: Kind::Text,
        project: Project::No,
    },
    KeySpec {
        path: "providers.*.timeout_s",
        kind: Kind::Count { min: 1, max: 60 },
        project: Project::Yes,
    },
    KeySpec {
        path: "plugins.*",
        kind: Kind::Any,
        project: Project::Yes,
    },
];

const DEFAULTS: &str = "
core.model = 'small'
core.max_turns = 200
permissions.mode = 'default'
permissions.deny = ['Read(~/.ssh/**)']
budget.usd = 5
";

fn layer(source: Source, trust: Trust, text: &str) -> Layer {
    Layer::parse(source, trust, text).unwrap()
}

fn defaults() -> Layer {
    layer(Source::Default, Trust::Full, DEFAULTS)
}

fn user(text: &str) -> Layer {
    layer(
        Source::File("~/.cox/config.toml".to_owned()),
        Trust::Full,
        text,
    )
}

fn project(text: &str) -> Layer {
    layer(
        Source::File(".cox/config.toml".to_owned()),
        Trust::Project,
        text,
    )
}

fn check(layers: &[Layer], expected: &str) {
    let all = [&[defaults()][..], layers].concat();
    let merged = merge(SPECS, &all).unwrap();
    let changed: Vec<_> = rows(&merged)
        .into_iter()
        .filter(|row| row.origin != "default")
        .collect();
    let lines: Vec<String> = changed
        .iter()
        .map(|row| format!("{} = {} # {}", row.key, row.value, row.origin))
        .chain(merged.warnings.iter().map(|warning| format!("! {warning}")))
        .collect();
    assert_eq!(lines.join("\n"), expected);
}

fn check_problems(layer: Layer, expected: &str) {
    let error = merge(SPECS, &[defaults(), layer]).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_stronger_layer_replaces_a_weaker_one_and_says_where_it_stands() {
    check(&[user("")], "");
    check(
        &[user(
            "# mine\n[core]\nmodel = \"big\"\n\n[budget]\nusd = 2.5\n",
        )],
        "budget.usd = 2.5 # ~/.cox/config.toml:6\ncore.model = \"big\" # ~/.cox/config.toml:3",
    );
    let variables = [
        ("COX_CORE_MODEL", "env"),
        ("COX_HOME", "/x"),
        ("PATH", "/bin"),
        ("COX_BUDGET_USD", ""),
    ];
    let env = Layer::from_env("COX_", SPECS, &[], variables).unwrap();
    check(
        &[user("core.model = 'big'"), env.clone()],
        "core.model = \"env\" # COX_CORE_MODEL",
    );
    let mut flags = Layer::new(Source::Flag, Trust::Full);
    flags
        .set_text(SPECS, "core.model", "flag", "--model")
        .unwrap();
    check(&[env, flags], "core.model = \"flag\" # --model");
}

#[test]
fn added_lists_keep_the_place_of_every_entry() {
    let layers = [
        defaults(),
        user("[permissions]\ndeny = [\n  'Bash(rm:*)',\n  'Read(x)',\n]\n"),
        project("permissions.deny = ['Edit(y)']"),
    ];
    assert_eq!(
        merge(SPECS, &layers).unwrap().list("permissions.deny"),
        [
            ("Read(~/.ssh/**)", "default"),
            ("Bash(rm:*)", "~/.cox/config.toml:3"),
            ("Read(x)", "~/.cox/config.toml:4"),
            ("Edit(y)", ".cox/config.toml:1"),
        ]
    );
    let replaced = [
        user("sandbox.writable = ['a', 'b']"),
        user("sandbox.writable = ['c']"),
    ];
    assert_eq!(
        merge(SPECS, &replaced).unwrap().list("sandbox.writable"),
        [("c", "~/.cox/config.toml:1")]
    );
}

#[test]
fn a_project_sets_what_it_may_and_is_told_what_it_may_not() {
    check(
        &[project("core.color = true\ncore.max_turns = 50")],
        "core.color = true # .cox/config.toml:1\ncore.max_turns = 50 # .cox/config.toml:2",
    );
    check(
        &[project(
            "[providers.evil]\nbase_url = 'https://evil.example'\n",
        )],
        "! .cox/config.toml:2: `providers.evil.base_url` is ignored: a project may not set it",
    );
    check(
        &[project(
            "permissions.allow = ['Bash']\npermissions.mode = 'auto'\nbudget.usd = 50\n",
        )],
        "! .cox/config.toml:1: `permissions.allow` is ignored: a project may not set it\n\
         ! .cox/config.toml:2: `permissions.mode` is ignored: a project may only narrow it, and it is \"default\" without the project\n\
         ! .cox/config.toml:3: `budget.usd` is ignored: a project may only narrow it, and it is 5 without the project",
    );
    check(
        &[project("permissions.mode = 'plan'")],
        "permissions.mode = \"plan\" # .cox/config.toml:1",
    );
    check(
        &[user("budget.usd = 1"), project("budget.usd = 2")],
        "budget.usd = 1 # ~/.cox/config.toml:1\n\
         ! .cox/config.toml:1: `budget.usd` is ignored: a project may only narrow it, and it is 1 without the project",
    );
}

#[test]
fn families_of_keys_take_any_name() {
    let merged = merge(
        SPECS,
        &[user("[providers.local]\nbase_url='http://x'\n[providers.b]\ntimeout_s=3\n[plugins.p]\na.b = 1\n[providers.empty]\n")],
    )
    .unwrap();
    assert_eq!(merged.names("providers"), ["b", "local"]);
    assert_eq!(merged.text("providers.local.base_url"), Some("http://x"));
    assert_eq!(merged.count("providers.b.timeout_s"), Some(3));
    assert_eq!(
        merged.get("plugins.p").unwrap().value.to_string(),
        "{ a = { b = 1 } }"
    );
    let file = user("[providers.z-ai]\nbase_url='http://x'\n");
    let variables = [
        ("COX_PROVIDERS_LOCAL_BASE_URL", "http://y"),
        ("COX_PROVIDERS_Z_AI_BASE_URL", "http://z"),
        ("COX_PROVIDERS_NOT_THERE_BASE_URL", "http://n"),
    ];
    let env = Layer::from_env("COX_", SPECS, std::slice::from_ref(&file), variables).unwrap();
    let merged = merge(SPECS, &[file, env]).unwrap();
    assert_eq!(merged.names("providers"), ["local", "z-ai"]);
    assert_eq!(merged.text("providers.local.base_url"), Some("http://y"));
    assert_eq!(merged.text("providers.z-ai.base_url"), Some("http://z"));
}

#[test]
fn unknown_keys_name_the_nearest() {
    let unknown = |text: &str, expected: &str| check_problems(user(text), expected);
    unknown(
        "\n[core]\nmdoel = 'x'",
        "~/.cox/config.toml:3: unknown key `core.mdoel`\nhint: did you mean `core.model`?",
    );
    unknown(
        "max_turns = 3",
        "~/.cox/config.toml:1: unknown key `max_turns`\nhint: did you mean `core.max_turns`?",
    );
    unknown(
        "[providers.local]\nbaseurl = ''",
        "~/.cox/config.toml:2: unknown key `providers.local.baseurl`\nhint: did you mean `providers.local.base_url`?",
    );
    unknown(
        "[core]\nsomething_else = ''",
        "~/.cox/config.toml:2: unknown key `core.something_else`\nhint: `core` takes model, max_turns, color",
    );
    unknown(
        "zzz = 1",
        "~/.cox/config.toml:1: unknown key `zzz`\nhint: there are budget, core, permissions, plugins, providers, sandbox",
    );
}

#[test]
fn wrong_values_say_what_was_found_and_expected() {
    let wrong = |text: &str, expected: &str| {
        check_problems(user(text), &format!("~/.cox/config.toml:1: {expected}"));
    };
    wrong(
        "core.model = 3",
        "`core.model` is the number 3, expected a string",
    );
    wrong(
        "core.max_turns = 0",
        "`core.max_turns` is the number 0, expected a whole number from 1 to 1000",
    );
    wrong(
        "core.max_turns = 1.5",
        "`core.max_turns` is the float 1.5, expected a whole number from 1 to 1000",
    );
    wrong(
        "core.max_turns = '7'",
        "`core.max_turns` is the string \"7\", expected a whole number from 1 to 1000",
    );
    wrong(
        "core.color = 'yes'",
        "`core.color` is the string \"yes\", expected `true` or `false`",
    );
    wrong(
        "permissions.mode = 'wild'",
        "`permissions.mode` is the string \"wild\", expected one of `plan`, `default`, `auto`",
    );
    wrong(
        "permissions.deny = 'x'",
        "`permissions.deny` is the string \"x\", expected a list of strings",
    );
    wrong(
        "permissions.deny = ['x', 2]",
        "`permissions.deny` is a list with the number 2, expected a list of strings",
    );
    wrong(
        "budget.usd = -1",
        "`budget.usd` is the number -1, expected a number from 0 up",
    );
    wrong(
        "budget.usd = nan",
        "`budget.usd` is the float nan, expected a number from 0 up",
    );
    wrong(
        "core = 3",
        "`core` is the number 3, expected a table of keys",
    );
    wrong(
        "core.model.name = 'x'",
        "`core.model` is a table, expected a single value",
    );
    wrong(
        "providers.\"a.b\".base_url = ''",
        "the name \"a.b\" is empty or has a dot, expected a plain name",
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    check_problems(
        user("core.model = 3\ncore.color = 4"),
        "~/.cox/config.toml:1: `core.model` is the number 3, expected a string\n\
         ~/.cox/config.toml:2: `core.color` is the number 4, expected `true` or `false`",
    );
}

#[test]
fn broken_files_name_line_and_column() {
    let broken = |text: &str, expected: &str| {
        let source = Source::File("c.toml".to_owned());
        let error = Layer::parse(source, Trust::Full, text)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(expected) && !error.contains('\n'),
            "{error}"
        );
    };
    broken("a = 1\né = 2\n", "c.toml:2:1: ");
    broken("a = \n", "c.toml:1:5: ");
    broken("[x\n", "c.toml:1:3: ");
    broken("a = 1\na = 2\n", "c.toml:2:1: ");
    assert_eq!(
        Layer::parse(Source::Default, Trust::Full, "\u{feff}core.model = 'x'")
            .unwrap()
            .entries
            .len(),
        1
    );
}

#[test]
fn text_from_outside_is_read_by_kind() {
    let read = |key: &str, text: &str| {
        let mut layer = Layer::new(Source::Flag, Trust::Full);
        match layer.set_text(SPECS, key, text, "--set") {
            Ok(()) => merge(SPECS, &[layer])
                .unwrap()
                .get(key)
                .unwrap()
                .value
                .to_string(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(read("core.max_turns", "1_0"), "10");
    assert_eq!(read("core.color", "off"), "false");
    assert_eq!(read("budget.usd", "2"), "2.0");
    assert_eq!(read("core.model", "true"), "\"true\"");
    assert_eq!(read("permissions.deny", "a, b"), "[\"a\", \"b\"]");
    assert_eq!(read("permissions.deny", "['a,b']"), "[\"a,b\"]");
    assert_eq!(read("plugins.p", "{ a = 1 }"), "{ a = 1 }");
    assert_eq!(
        read("core.max_turns", "many"),
        "--set: `core.max_turns` is `many`, expected a whole number from 1 to 1000"
    );
    assert_eq!(
        read("core.modle", "x"),
        "--set: unknown key `core.modle`\nhint: did you mean `core.model`?"
    );
}

#[test]
fn rows_are_rendered_with_their_places_in_one_column() {
    let merged = merge(SPECS, &[defaults(), user("core.color = true")]).unwrap();
    assert_eq!(
        render(&rows(&merged)[..3]),
        "budget.usd = 5        # default\n\
         core.color = true     # ~/.cox/config.toml:1\n\
         core.max_turns = 200  # default\n"
    );
}
