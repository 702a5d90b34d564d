//! The ledger and the spend cap.

use cox_protocol::{Event, Money, StopReason, TokenUsage};
use llm::catalog::Price;
use serde_json::json;

use crate::harness::{World, call, calls, says};

const PRICE: Price = Price {
    input: 2_000_000,
    output: 10_000_000,
    cache_read: 200_000,
    cache_write: 2_500_000,
};

fn two_requests() -> World {
    let mut world = World::new(vec![
        calls(vec![call("a", "look", json!({"id": "x"}))]),
        says("fine"),
    ]);
    world.price = Some(PRICE);
    world
}

#[tokio::test]
async fn every_request_has_a_row_with_its_cost() {
    let run = two_requests().run("go").await;
    let rows: Vec<(TokenUsage, Option<Money>)> = run
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Usage { tokens, cost, .. } => Some((*tokens, *cost)),
            _ => None,
        })
        .collect();
    // 100 tokens at 2 dollars and 10 at 10 dollars a million: 300 millionths.
    let row = (
        TokenUsage {
            input: 100,
            output: 10,
            cache_read: 0,
            cache_write: 0,
        },
        Some(Money(300)),
    );
    assert_eq!(rows, [row, row]);
}

#[tokio::test]
async fn the_cap_stops_the_turn_before_the_next_request() {
    let mut world = two_requests();
    world.limits.budget = Some(Money(300));
    let mut run = world.open();
    assert_eq!(
        run.turn("go").await,
        StopReason::Budget {
            spent: Money(300),
            cap: Money(300)
        }
    );
    assert_eq!(world.request_count(), 1);
}

#[tokio::test]
async fn the_cap_holds_over_a_resume() {
    let mut world = two_requests();
    world.limits.budget = Some(Money(300));
    let run = world.run("go").await;
    world.resume = Some(run.handle.session);
    drop(run.close().await);
    let mut run = world.open();
    assert!(matches!(run.turn("more").await, StopReason::Budget { .. }));
    assert_eq!(world.request_count(), 1);
}

#[tokio::test]
async fn the_limit_of_requests_ends_the_turn() {
    let mut world = two_requests();
    world.limits.max_turns = 1;
    let mut run = world.open();
    assert_eq!(run.turn("go").await, StopReason::MaxTurns { limit: 1 });
}
