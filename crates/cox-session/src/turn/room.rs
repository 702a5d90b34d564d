//! *Prepare*: builds a request that fits into the model's window, or says that none does.

use cox_protocol::{CallId, Event, Item, StopReason};
use cox_store::StoreError;
use llm::Request;

use crate::{
    context::{
        fit::{self, Keep},
        request::{RequestConfig, build, pointer},
    },
    engine::Engine,
};

/// Once results are replaced, so many are that this part of the limit is free again: replacing a few on each request would
/// start the provider's cache anew each time.
const FREED: f64 = 0.4;

impl Engine {
    /// Returns the next request, after making room if it is too large; or why the turn cannot go on.
    pub(super) async fn prepare(&mut self) -> Result<Result<Request, StopReason>, StoreError> {
        let request = self.build();
        let window = self.provider.context_window();
        if window == 0 {
            return Ok(Ok(request));
        }
        let limit = (window as f64 * self.limits.compact_at) as u64;
        let tokens = self.estimator.tokens(&request);
        if tokens <= limit {
            return Ok(Ok(request));
        }
        for keep in [Keep::Turns(self.limits.keep_turns), Keep::LastResults] {
            self.replace_results(keep, (limit as f64 * (1.0 - FREED)) as u64)
                .await?;
            let request = self.build();
            if self.estimator.tokens(&request) <= limit {
                return Ok(Ok(request));
            }
        }
        // Better a model that reads its last results in parts than a session that cannot go on.
        let most = window.saturating_sub(u64::from(self.build().max_output_tokens));
        self.replace_results(Keep::Nothing, most).await?;
        let request = self.build();
        let tokens = self.estimator.tokens(&request);
        match tokens <= most {
            true => Ok(Ok(request)),
            false => Ok(Err(too_long(tokens, window))),
        }
    }

    /// Replaces all old results after the provider said that a request is too long. False when there was nothing to replace.
    pub(super) async fn make_room(&mut self) -> Result<bool, StoreError> {
        self.replace_results(Keep::LastResults, 0).await
    }

    fn build(&self) -> Request {
        let window = self.provider.context_window();
        let cap = self.limits.max_output_tokens;
        let max_output_tokens = match u32::try_from(window / 4) {
            Ok(quarter) if window > 0 => cap.min(quarter.max(256)),
            _ => cap,
        };
        build(
            &self.journal.state,
            &RequestConfig {
                tools: &self.dispatch.tools,
                max_output_tokens,
                effort: self.limits.effort,
                cache_key: &self.cache_key,
            },
        )
    }

    /// Makes old results pointers, oldest first, until about `target` tokens are left. Says whether any was.
    async fn replace_results(&mut self, keep: Keep, target: u64) -> Result<bool, StoreError> {
        let before = self.estimator.tokens(&self.build());
        let mut calls = Vec::new();
        let mut freed = 0;
        for call in fit::candidates(&self.journal.state, keep) {
            if before.saturating_sub(freed) <= target {
                break;
            }
            freed += self.freed_by(call);
            calls.push(call);
        }
        if calls.is_empty() {
            return Ok(false);
        }
        let after_tokens = before.saturating_sub(freed);
        self.journal
            .emit(Event::Compacted {
                calls,
                before_tokens: before,
                after_tokens,
            })
            .await?;
        Ok(true)
    }

    /// Estimates the tokens that replacing one result frees.
    fn freed_by(&self, call: CallId) -> u64 {
        self.journal
            .state
            .items
            .iter()
            .filter_map(|item| match item {
                Item::ToolResults { results } => results.iter().find(|result| result.call == call),
                Item::User { .. } | Item::Assistant { .. } => None,
            })
            .map(|result| (result.text.len().saturating_sub(pointer(result).len()) / 4) as u64)
            .sum()
    }
}

fn too_long(tokens: u64, window: u64) -> StopReason {
    StopReason::Error {
        who: "us".to_owned(),
        message: format!(
            "the conversation has about {tokens} tokens, more than the model's window of {window} holds, even with old outputs left out\n\
             hint: start a new session, or choose a model with a larger window (`providers.<name>.context_window` says how large it is)"
        ),
    }
}
