//! Which request is answered by whom: what the revisions say about each method, before the service sees any of it.

use mcp_wire::meta::Envelope;
use mcp_wire::{
    Era, Implementation, Notification, Object, Request, Revision, RpcError, error, meta, method,
};

use crate::call::{Caller, context_for};
use crate::connection::Handshake;
use crate::{Context, Level, Server, spell};

/// Which era a request is of.
#[derive(Debug)]
pub(crate) enum Kind {
    Modern(Envelope),
    Legacy,
}

/// Tells the era of a request by its metadata.
///
/// # Errors
/// When half of the metadata is missing, or all of it in a request that only the modern era has.
pub(crate) fn kind_of(request: &Request) -> Result<Kind, RpcError> {
    match Envelope::parse(&request.params) {
        Ok(Some(envelope)) => Ok(Kind::Modern(envelope)),
        Ok(None)
            if matches!(
                request.method.as_str(),
                method::DISCOVER | method::LISTEN | method::TASKS_UPDATE
            ) =>
        {
            Err(RpcError::invalid_params(format!(
                "`{}` needs `_meta` with `{}` and `{}`",
                request.method,
                meta::PROTOCOL_VERSION,
                meta::CLIENT_CAPABILITIES
            )))
        }
        Ok(None) => Ok(Kind::Legacy),
        Err(error) => Err(RpcError::invalid_params(error.reason)),
    }
}

impl Server {
    /// The revision of a modern request.
    pub(crate) fn modern_revision(&self, envelope: &Envelope) -> Result<Revision, RpcError> {
        let offer = self.offer();
        envelope
            .revision()
            .filter(|revision| revision.era() == Era::Modern && offer.revisions.contains(revision))
            .ok_or_else(|| {
                RpcError::unsupported_version(&envelope.protocol_version, &offer.supported())
            })
    }

    /// What is the same for every request, and refuses it before anything is done.
    pub(crate) fn check_shape(&self, request: &Request) -> Result<(), RpcError> {
        let limit = self.limits().depth;
        let deepest = request.params.iter().map(|(_, value)| value.depth()).max();
        if deepest.unwrap_or(0) >= limit {
            let message = format!("`params` nests deeper than {limit} levels");
            return Err(RpcError::new(error::INVALID_REQUEST, message));
        }
        if let Some(name) = request.params.duplicate() {
            return Err(RpcError::invalid_params(format!(
                "`{name}` occurs twice in `params`"
            )));
        }
        Ok(())
    }

    /// Answers a modern request.
    pub(crate) async fn answer_modern(
        &self,
        request: &Request,
        envelope: &Envelope,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        self.check_shape(request)?;
        let offer = self.offer();
        // Who asks what is spoken gets an answer, also from a server that speaks nothing modern.
        if request.method == method::DISCOVER && offer.of_era(Era::Modern).is_empty() {
            return Ok(offer.discovered());
        }
        let revision = self.modern_revision(envelope)?;
        let mut context = context_for(Era::Modern, caller);
        context.revision = revision;
        context.client_capabilities = envelope.client_capabilities.clone();
        context.client_info.clone_from(&envelope.client_info);
        context.log_level = envelope.log_level.as_deref().and_then(Level::parse);
        let outcome = self.route_modern(request, context, caller).await;
        outcome.map_err(|error| spell::error(error, revision))
    }

    async fn route_modern(
        &self,
        request: &Request,
        context: Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let offer = self.offer();
        let method = request.method.as_str();
        if method == method::DISCOVER {
            return Ok(offer.discovered());
        }
        if method::is_legacy_only(method) || !offer.allows(method) {
            return Err(RpcError::method_not_found(method));
        }
        if method == method::LISTEN {
            let _room = crate::server::Shared::room(&self.listeners, "subscriptions")?;
            return self.listen(request, &context, caller).await;
        }
        let _room = crate::server::Shared::room(&self.requests, "requests")?;
        if method.starts_with("tasks/") && !offer.keeps_tasks {
            if !offer.tasks() {
                return Err(RpcError::method_not_found(method));
            }
            return self.modern_task(request, &context, caller);
        }
        self.call_modern(request, context, caller).await
    }

    /// Answers a legacy request of a connection.
    pub(crate) async fn answer_legacy(
        &self,
        request: &Request,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        self.check_shape(request)?;
        let method = request.method.as_str();
        if method == method::PING {
            return Ok(Object::new());
        }
        let connection = caller.connection.as_ref().ok_or_else(no_handshake)?;
        if method == method::INITIALIZE {
            return self.initialize(request, caller);
        }
        let handshake = connection.handshake().ok_or_else(no_handshake)?;
        let mut context = context_for(Era::Legacy, caller);
        context.revision = handshake.revision;
        context.client_capabilities = handshake.capabilities.clone();
        context.client_info.clone_from(&handshake.info);
        context.log_level =
            Some(connection.level()).filter(|_| self.offer().capabilities.has("logging"));
        let outcome = self.route_legacy(request, context, caller).await;
        outcome.map_err(|error| spell::error(error, handshake.revision))
    }

    async fn route_legacy(
        &self,
        request: &Request,
        context: Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let offer = self.offer();
        let method = request.method.as_str();
        if !offer.allows(method) {
            return Err(RpcError::method_not_found(method));
        }
        let _room = crate::server::Shared::room(&self.requests, "requests")?;
        match method {
            method::SET_LEVEL => self.set_level(request, &context, caller).await,
            method::RESOURCES_SUBSCRIBE => self.subscribe(request, &context, caller).await,
            method::RESOURCES_UNSUBSCRIBE => self.unsubscribe(request, caller).await,
            _ if method.starts_with("tasks/") && !offer.keeps_tasks => {
                if !offer.tasks() || context.revision != Revision::V2025_11_25 {
                    return Err(RpcError::method_not_found(method));
                }
                self.legacy_task(request, &context, caller).await
            }
            _ => self.call_legacy(request, context, caller).await,
        }
    }

    /// The handshake: the revision that was asked for, else the newest legacy one, and never a modern one.
    fn initialize(&self, request: &Request, caller: &Caller) -> Result<Object, RpcError> {
        let offer = self.offer();
        let asked = request.params.string("protocolVersion").ok_or_else(|| {
            RpcError::invalid_params("`initialize` without the string `protocolVersion`")
        })?;
        let legacy = offer.of_era(Era::Legacy);
        let newest = legacy
            .first()
            .copied()
            .ok_or_else(|| RpcError::unsupported_version(&asked, &offer.supported()))?;
        let revision = Revision::parse(&asked)
            .filter(|revision| legacy.contains(revision))
            .unwrap_or(newest);
        let handshake = Handshake {
            revision,
            capabilities: request
                .params
                .object("capabilities")
                .unwrap_or_default()
                .into(),
            info: request
                .params
                .get("clientInfo")
                .and_then(|raw| Implementation::parse(raw).ok()),
        };
        let connection = caller.connection.as_ref().ok_or_else(no_handshake)?;
        if !connection.settle(handshake, self.session_mailbox(connection)) {
            return Err(RpcError::new(
                error::INVALID_REQUEST,
                "`initialize` came before on this connection",
            ));
        }
        Ok(offer.initialized(revision))
    }

    async fn set_level(
        &self,
        request: &Request,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let level = request.params.string("level").unwrap_or_default();
        let level = Level::parse(&level).ok_or_else(|| {
            RpcError::invalid_params(
                "`level` is one of debug, info, notice, warning, error, critical, alert, emergency",
            )
        })?;
        if let Some(connection) = &caller.connection {
            connection.set_level(level);
            if let Some(mailbox) = connection.mailbox() {
                mailbox.filter(|filter| filter.lines = Some((connection.number, level)));
            }
        }
        let told = self.service.level_set(level, context);
        let _told = tokio::time::timeout(self.limits().grace, told).await;
        Ok(Object::new())
    }

    async fn subscribe(
        &self,
        request: &Request,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let uri = uri_of(&request.params)?;
        let Some(mailbox) = caller
            .connection
            .as_ref()
            .and_then(|connection| connection.mailbox())
        else {
            return Err(no_handshake());
        };
        let most = self.limits().watched;
        if mailbox.filter(|filter| filter.uris.len() >= most && !filter.uris.contains(&uri)) {
            return Err(RpcError::invalid_params(format!(
                "this session watches {most} resources already"
            )));
        }
        let watched = self.service.watch(&uri, context);
        match tokio::time::timeout(self.limits().answer, watched).await {
            Ok(watched) => watched?,
            Err(_) => {
                let message = "the server did not decide in time whether this may be watched";
                return Err(RpcError::new(error::INTERNAL_ERROR, message));
            }
        }
        mailbox.filter(|filter| filter.uris.insert(uri));
        Ok(Object::new())
    }

    async fn unsubscribe(&self, request: &Request, caller: &Caller) -> Result<Object, RpcError> {
        let uri = uri_of(&request.params)?;
        let mailbox = caller
            .connection
            .as_ref()
            .and_then(|connection| connection.mailbox());
        if mailbox.is_some_and(|mailbox| mailbox.filter(|filter| filter.uris.remove(&uri))) {
            self.unwatch([uri]).await;
        }
        Ok(Object::new())
    }

    /// Takes a notification.
    pub(crate) async fn take_notification(&self, notification: Notification, caller: &Caller) {
        match notification.method.as_str() {
            method::INITIALIZED => {}
            method::CANCELLED => {
                let id = notification.params.get("requestId");
                let id = id.and_then(|raw| mcp_wire::Id::parse(raw).ok());
                if let (Some(connection), Some(id)) = (&caller.connection, id) {
                    connection.cancel(&id);
                }
            }
            _ => {
                let mut context = context_for(Era::Modern, caller);
                if let Some(handshake) = caller
                    .connection
                    .as_ref()
                    .and_then(|connection| connection.handshake())
                {
                    context.revision = handshake.revision;
                    context.client_capabilities = handshake.capabilities.clone();
                }
                let taken = self.service.notified(notification, context);
                let _taken = tokio::time::timeout(self.limits().grace, taken).await;
            }
        }
    }

    /// A legacy session, or a connection over stdio, is over.
    pub(crate) async fn disconnect(&self, connection: &crate::connection::Connection) {
        connection.closed.cancel();
        connection.no_more_answers();
        if let Some(mailbox) = connection.mailbox() {
            let uris = mailbox.filter(std::mem::take).uris;
            self.unwatch(uris).await;
        }
        let told = self.service.disconnected(connection.number);
        let _told = tokio::time::timeout(self.limits().grace, told).await;
    }
}

fn uri_of(params: &Object) -> Result<String, RpcError> {
    params
        .string("uri")
        .ok_or_else(|| RpcError::invalid_params("`uri` is missing"))
}

fn no_handshake() -> RpcError {
    RpcError::new(
        error::INVALID_REQUEST,
        format!(
            "no handshake: send `initialize` first, or `_meta` with `{}` and `{}` in each request",
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES
        ),
    )
}
