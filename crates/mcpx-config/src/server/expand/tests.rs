use std::{collections::BTreeMap, path::PathBuf};

use proptest::prelude::*;

use super::*;

fn surroundings() -> Surroundings {
    let env = [
        ("A", "a"),
        ("EMPTY", ""),
        ("TRICK", "${A}"),
        ("MCPX_INPUT_API_KEY", "k"),
    ];
    Surroundings {
        cwd: PathBuf::from("/p"),
        env: env
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<BTreeMap<_, _>>(),
        home: Some(PathBuf::from("/home/u")),
        exe: PathBuf::from("/bin/mcpx"),
    }
}

fn expand(text: &str) -> Result<String, Missing> {
    Variables {
        surroundings: &surroundings(),
        folder: Path::new("/p"),
    }
    .expand(text)
}

#[test]
fn each_form_is_expanded() {
    for (text, expected) in [
        ("x", "x"),
        ("<${A}>", "<a>"),
        ("${env:A}${A}", "aa"),
        ("${NONE:-d}", "d"),
        ("${EMPTY:-d}", "d"),
        ("${EMPTY}", ""),
        ("${A:-d}", "a"),
        ("${NONE:-}", ""),
        ("${NONE:-<${NO:-${A}}>}", "<a>"),
        ("${env:NONE:-d}", "d"),
        ("${input:api-key}", "k"),
        ("${TRICK}", "${A}"),
        ("${workspaceFolder}/x ${userHome}", "/p/x /home/u"),
        ("${workspaceFolderBasename}${/}x${pathSeparator}", "p/x/"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("a$${A}${A}", "a${A}a"),
        ("${NONE:-$${A}}", "${A}"),
    ] {
        assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_no_reference_stays() {
    for text in [
        "$A",
        "${",
        "${}",
        "${A",
        "${A-b}",
        "${1}",
        "${a b}",
        "${file:x}",
        "a}b",
    ] {
        assert_eq!(expand(text).as_deref(), Ok(text));
    }
}

#[test]
fn what_only_looks_like_a_reference_is_found() {
    assert_eq!(
        unread("${A} ${config:x} $${command:y} ${B:?must} ${C:-${cmd:z}}"),
        ["${config:x}", "${B:?must}"]
    );
    assert_eq!(unread("${ ${A"), Vec::<&str>::new());
}

#[test]
fn what_is_escaped_is_expanded_to_itself() {
    for text in ["${A}", "$${A}", "a ${NONE:-x} $", "$", "${", "$$$${A}"] {
        assert_eq!(expand(&escaped(text)).as_deref(), Ok(text));
    }
}

#[test]
fn a_masked_text_has_its_references_and_nothing_else() {
    for (text, expected) in [
        ("hunter2", "…"),
        ("", ""),
        ("${A}", "${A}"),
        ("Bearer ${A}", "Bearer ${A}"),
        ("Bearer hunter2", "…"),
        ("a ${A} b ${env:B} c", "…${A}…${env:B}…"),
        ("${A:-hunter2}", "${A:-…}"),
        ("${A:-x${B}}", "${A:-…${B}}"),
        ("${A:-}", "${A:-}"),
        ("$${A} ${config:x}", "…"),
    ] {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(expand("${NONE}"), Err(Missing::Variable("NONE".to_owned())));
    assert_eq!(
        expand("${X:-${NONE}}"),
        Err(Missing::Variable("NONE".to_owned()))
    );
    assert_eq!(expand("${input:a b}").as_deref(), Ok("${input:a b}"),);
    assert_eq!(
        expand("${input:db-url}"),
        Err(Missing::Input {
            name: "db-url".to_owned(),
            variable: "MCPX_INPUT_DB_URL".to_owned()
        })
    );
}

proptest! {
    #[test]
    fn any_text_is_expanded_or_names_what_is_missing(text in r"([$}{:\-]|\$\{|A|env:|input:|ä){0,40}") {
        drop(expand(&text));
        prop_assert_eq!(expand(&escaped(&text)), Ok(text));
    }
}
