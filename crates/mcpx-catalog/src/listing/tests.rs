use mcp_wire::Raw;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::any_schema::any_schema;

fn tool(name: &str, description: &str, schema: &Value) -> Tool {
    let raw = json!({"name": name, "description": description, "inputSchema": schema});
    Tool::parse(&Raw::of(&raw)).unwrap()
}

fn space<'a>(server: &'a str, tools: &'a [Tool]) -> Namespace<'a> {
    Namespace {
        server,
        tools,
        ..Namespace::default()
    }
}

fn tracker() -> Vec<Tool> {
    vec![
        tool(
            "search",
            "Finds issues. Oldest first.",
            &json!({"type": "object", "properties": {
            "query": {"type": "string"}, "state": {"enum": ["open", "closed"]}, "limit": {"type": "integer"}}}),
        ),
        tool(
            "create-issue",
            "Creates an issue.",
            &json!({"type": "object", "required": ["title"], "properties": {
            "title": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}, "due": {"type": ["string", "null"]}}}),
        ),
        tool("ping", "", &json!({"type": "object"})),
    ]
}

#[test]
fn a_listing_reads_like_this() {
    let (tracker, other) = (tracker(), [tool("take", "Takes it.", &json!({}))]);
    let spaces = [
        Namespace {
            description: Some("The tracker. Of us all."),
            ..space("issue-tracker", &tracker)
        },
        space("cam", &other),
    ];
    let listing = listing(&spaces, 2_000, &[]);
    assert_eq!(
        listing.text,
        r#"cam (1 tool)
  take()  Takes it.
issue_tracker (3 tools): The tracker.
  create_issue({ title: string, due?: string | null, labels?: string[] })  Creates an issue.
  ping()
  search({ limit?: number, query?: string, state?: "closed" | "open" })  Finds issues.

All 4 tools are shown. `mcpx types NAMESPACE.TOOL` says more of one.
"#
    );
    assert_eq!((listing.shown, listing.total), (4, 4));
}

#[test]
fn a_small_budget_shows_each_server_a_short_tool_before_any_a_second() {
    let (one, two) = (tracker(), tracker());
    let spaces = [space("b", &two), space("a", &one)];
    let small = listing(&spaces, 55, &[]);
    assert_eq!(
        small.text,
        "a (3 tools)\n  ping()\nb (3 tools)\n  ping()\n\n\
         2 of 6 tools are shown. `mcpx types a.create_issue` says all of one, `mcpx search WORDS` finds others.\n"
    );
    let none = listing(&spaces, 0, &[]);
    assert!(
        none.text
            .starts_with("a (3 tools)\nb (3 tools)\n\n0 of 6 tools"),
        "{}",
        none.text
    );
    assert_eq!(listing(&[], 0, &[]).text, "There is no tool.\n");
}

#[test]
fn words_of_the_bias_come_first() {
    let tools = tracker();
    let spaces = [space("a", &tools)];
    let biased = listing(&spaces, 75, &["creating"]);
    assert!(
        biased.text.contains("  create_issue({ title"),
        "{}",
        biased.text
    );
    assert_eq!(
        listing(&spaces, 75, &["nothing"]),
        listing(&spaces, 75, &[])
    );
}

#[test]
fn a_character_that_is_a_word_costs_a_token() {
    let tools: Vec<Tool> = (0..40)
        .map(|at| {
            let raw = json!({"name": format!("t{at}"), "description": "文".repeat(40), "inputSchema": {}});
            Tool::parse(&Raw::of(&raw)).unwrap()
        })
        .collect();
    let space = Namespace {
        server: "s",
        tools: &tools,
        ..Namespace::default()
    };
    let listing = listing(&[space], 500, &[]);
    let wide = listing.text.chars().filter(|c| !c.is_ascii()).count();
    let narrow = listing.text.len() - 3 * wide;
    assert!(wide + narrow / 4 <= 500, "{wide} and {narrow}");
    assert!(listing.shown >= 8, "{}", listing.shown);
}

proptest! {
    #[test]
    fn any_tools_are_listed_within_the_budget_and_in_any_order_alike(
        schemas in prop::collection::vec(any_schema(), 1..6), text in ".{0,40}", budget in 0_usize..400
    ) {
        let tools: Vec<Tool> = schemas
            .iter()
            .enumerate()
            .map(|(at, schema)| tool(&format!("t{at}"), &text, &json!({"type": "object", "properties": {"p": schema}})))
            .collect();
        let turned: Vec<Tool> = tools.iter().rev().cloned().collect();
        let one = listing(&[space("s", &tools)], budget, &["t"]);
        prop_assert_eq!(&one, &listing(&[space("s", &turned)], budget, &["t"]));
        let least = "s (5 tools)\n\n".len() + 160;
        prop_assert!(one.text.len() <= (budget * BYTES_A_TOKEN).max(least), "{}", one.text);
        prop_assert_eq!(one.text.lines().count(), one.shown + 3);
    }
}
