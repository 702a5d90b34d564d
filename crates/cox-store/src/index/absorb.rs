//! What each event of a rollout means for the index.

use cox_protocol::{AssistantBlock, Event, Item, SessionId, StopReason};
use rusqlite::{OptionalExtension, Transaction, params};

use super::put_text;
use crate::Stored;

/// Longest title, in characters.
const TITLE_CHARS: usize = 120;

/// What the index knows of a session while it reads on.
pub(super) struct Session {
    id: String,
    created: i64,
    updated: i64,
    cwd: String,
    provider: String,
    model: String,
    title: String,
    turn: u32,
    cost: i64,
    state: String,
    pub(super) read_to: u64,
    pub(super) last_seq: u64,
}

impl Session {
    pub(super) fn new(id: SessionId) -> Self {
        let created = i64::try_from(id.unix_ms()).unwrap_or(0);
        Self {
            id: id.to_string(),
            created,
            updated: created,
            cwd: String::new(),
            provider: String::new(),
            model: String::new(),
            title: String::new(),
            turn: 0,
            cost: 0,
            state: "new".to_owned(),
            read_to: 0,
            last_seq: 0,
        }
    }

    pub(super) fn load(transaction: &Transaction<'_>, id: SessionId) -> rusqlite::Result<Self> {
        let known = transaction
            .query_row(
                "SELECT created, updated, cwd, provider, model, title, turns, cost, state, read_to, last_seq
                 FROM sessions WHERE id = ?1",
                [id.to_string()],
                |row| {
                    Ok(Self {
                        id: id.to_string(),
                        created: row.get(0)?,
                        updated: row.get(1)?,
                        cwd: row.get(2)?,
                        provider: row.get(3)?,
                        model: row.get(4)?,
                        title: row.get(5)?,
                        turn: row.get(6)?,
                        cost: row.get(7)?,
                        state: row.get(8)?,
                        read_to: row.get::<_, i64>(9)?.unsigned_abs(),
                        last_seq: row.get::<_, i64>(10)?.unsigned_abs(),
                    })
                },
            )
            .optional()?;
        Ok(known.unwrap_or_else(|| Self::new(id)))
    }

    pub(super) fn save(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        transaction.execute(
            "INSERT OR REPLACE INTO sessions
             (id, created, updated, cwd, provider, model, title, turns, cost, state, read_to, last_seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                self.id,
                self.created,
                self.updated,
                self.cwd,
                self.provider,
                self.model,
                self.title,
                self.turn,
                self.cost,
                self.state,
                signed(self.read_to),
                signed(self.last_seq)
            ],
        )?;
        Ok(())
    }

    pub(super) fn absorb(
        &mut self,
        transaction: &Transaction<'_>,
        stored: Stored,
    ) -> rusqlite::Result<()> {
        let Stored { seq, ts, event } = stored;
        self.last_seq = seq;
        let at = ts.as_millisecond();
        self.updated = self.updated.max(at);
        match event {
            Event::SessionStarted {
                cwd,
                provider,
                model,
                ..
            } => {
                // A resumed session stays where it began.
                if self.cwd.is_empty() {
                    self.created = at;
                    self.cwd = cwd;
                }
                self.provider = provider;
                self.model = model;
            }
            Event::TurnStarted { turn } => {
                self.turn = turn;
                "running".clone_into(&mut self.state);
            }
            Event::TurnDone { stop, .. } => state_after(&stop).clone_into(&mut self.state),
            Event::ItemAdded { item } => self.absorb_item(transaction, item)?,
            Event::Usage {
                turn,
                provider,
                model,
                tokens,
                cost,
                latency_ms,
                ..
            } => {
                let cost = cost.map(|cost| signed(cost.0));
                self.cost = self.cost.saturating_add(cost.unwrap_or(0));
                let day = ts.strftime("%F").to_string();
                let mut insert = transaction.prepare_cached(
                    "INSERT INTO usage (session, turn, at, day, provider, model, input, output, cache_read,
                     cache_write, cost, latency_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                )?;
                insert.execute(params![
                    self.id,
                    turn,
                    at,
                    day,
                    provider,
                    model,
                    signed(tokens.input),
                    signed(tokens.output),
                    signed(tokens.cache_read),
                    signed(tokens.cache_write),
                    cost,
                    signed(latency_ms)
                ])?;
            }
            _ => {}
        }
        Ok(())
    }

    fn absorb_item(&mut self, transaction: &Transaction<'_>, item: Item) -> rusqlite::Result<()> {
        match item {
            Item::User { text, .. } => {
                if self.title.is_empty() {
                    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
                    self.title = line.unwrap_or_default().chars().take(TITLE_CHARS).collect();
                }
                put_text(transaction, &self.id, self.turn, "user", &text)
            }
            Item::Assistant { blocks, .. } => blocks.iter().try_for_each(|block| match block {
                AssistantBlock::Text { text } => {
                    put_text(transaction, &self.id, self.turn, "assistant", text)
                }
                AssistantBlock::Call { .. } | AssistantBlock::Opaque { .. } => Ok(()),
            }),
            Item::ToolResults { results } => results.iter().try_for_each(|result| {
                put_text(transaction, &self.id, self.turn, "tool", &result.text)
            }),
        }
    }
}

fn state_after(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::MaxTurns { .. } => "max_turns",
        StopReason::Interrupted => "interrupted",
        StopReason::Budget { .. } => "budget",
        StopReason::Refusal { .. } => "refusal",
        StopReason::Error { .. } => "error",
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
