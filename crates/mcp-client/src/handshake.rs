//! The first messages of a connection in either era.

use std::sync::Arc;

use mcp_wire::{
    ClientCapabilities, Era, Implementation, Notification, Object, Raw, Revision, RpcError,
    ServerCapabilities, meta, method,
};

use crate::ask::Abilities;
use crate::call::CallOptions;
use crate::connection::{Agreed, Inner};
use crate::failure::{Failure, FailureKind};

/// What a server answered to `server/discover`.
pub(crate) enum Discovered {
    /// It speaks this modern revision.
    Modern(Box<Agreed>),
    /// It wants to be asked again in this modern revision.
    Pick(Revision),
    /// It answered, and speaks no modern revision.
    Legacy,
    /// It speaks modern revisions, but none that this build knows.
    TooNew(Vec<String>),
}

/// Asks a server what it is.
pub(crate) async fn discover(
    inner: &Arc<Inner>,
    revision: Revision,
) -> Result<Discovered, Failure> {
    inner.speak(revision);
    let options = CallOptions {
        max: Some(inner.spec.timeouts.start),
        ..CallOptions::default()
    };
    match inner
        .exchange(method::DISCOVER, Object::new(), &options)
        .await
    {
        Ok(raw) => Ok(read_discovered(&raw)),
        Err(Failure {
            kind: FailureKind::Answered(error),
            ..
        }) => Ok(read_error(&error, revision)),
        Err(failure) => Err(failure),
    }
}

fn read_discovered(raw: &Raw) -> Discovered {
    let Ok(object) = raw.object() else {
        return Discovered::Legacy;
    };
    let Some(supported) = object
        .get("supportedVersions")
        .and_then(|raw| raw.array().ok())
    else {
        return Discovered::Legacy;
    };
    let supported: Vec<String> = supported.iter().filter_map(Raw::string).collect();
    let Some(revision) = Revision::newest_modern(supported.iter().map(String::as_str)) else {
        return pick_none(supported);
    };
    let server_info =
        meta::get(&object, meta::SERVER_INFO).and_then(|raw| Implementation::parse(&raw).ok());
    Discovered::Modern(Box::new(Agreed {
        revision,
        server_info,
        capabilities: ServerCapabilities::from(object.object("capabilities").unwrap_or_default()),
        instructions: object.string("instructions"),
        raw: object,
        declared: Abilities::default(),
    }))
}

/// Revisions after the newest one we know are modern ones we do not speak; dates compare as text.
fn pick_none(supported: Vec<String>) -> Discovered {
    let newest = Revision::NEWEST.as_str();
    let newer = |version: &String| version.as_str() > newest && version.starts_with("20");
    let only_newer = !supported
        .iter()
        .any(|version| Revision::parse(version).is_some());
    if only_newer && supported.iter().any(newer) {
        Discovered::TooNew(supported)
    } else {
        Discovered::Legacy
    }
}

/// An error that only a modern server sends says that it is one. When it names revisions, one of them is tried.
fn read_error(error: &RpcError, tried: Revision) -> Discovered {
    if !error.is_modern() {
        return Discovered::Legacy;
    }
    let supported = error.supported_versions().unwrap_or_default();
    match Revision::newest_modern(supported.iter().map(String::as_str)) {
        Some(revision) => Discovered::Pick(revision),
        None if supported.is_empty() => Discovered::Modern(Box::new(Agreed::modern(tried))),
        None => pick_none(supported),
    }
}

/// The legacy handshake.
pub(crate) async fn initialize(inner: &Arc<Inner>) -> Result<Agreed, Failure> {
    // While a session is begun anew, others still speak what was agreed on.
    if inner.revision().era() == Era::Modern {
        inner.speak(Revision::NEWEST_LEGACY);
    }
    let able = inner.abilities(&CallOptions::default());
    let params = Object::new()
        .with("protocolVersion", Revision::NEWEST_LEGACY.as_str())
        .with("capabilities", able.declared().raw().clone())
        .with("clientInfo", inner.spec.client.raw().clone());
    let options = CallOptions {
        max: Some(inner.spec.timeouts.start),
        ..CallOptions::default()
    };
    let raw = inner.exchange(method::INITIALIZE, params, &options).await?;
    let mut agreed = read_initialized(&raw).map_err(|why| inner.unreadable(&why))?;
    agreed.declared = able;
    inner.speak(agreed.revision);
    let initialized = Notification::new(method::INITIALIZED, Object::new());
    inner
        .transport
        .notify(initialized)
        .await
        .map_err(|broken| inner.no_answer(broken))?;
    inner.transport.open_back_channel();
    Ok(agreed)
}

fn read_initialized(raw: &Raw) -> Result<Agreed, String> {
    let object = raw.object().map_err(|error| error.reason)?;
    let version = object
        .string("protocolVersion")
        .ok_or("`initialize` answered without `protocolVersion`")?;
    let revision = match Revision::parse(&version) {
        // A server that answers the handshake with a revision that has none means its newest one that has.
        Some(revision) if revision.era() == Era::Modern => Revision::NEWEST_LEGACY,
        Some(revision) => revision,
        None => {
            return Err(format!(
                "it speaks revision {version:?}, which this client does not know"
            ));
        }
    };
    Ok(Agreed {
        revision,
        server_info: object
            .get("serverInfo")
            .and_then(|raw| Implementation::parse(raw).ok()),
        capabilities: ServerCapabilities::from(object.object("capabilities").unwrap_or_default()),
        instructions: object.string("instructions"),
        raw: object,
        declared: Abilities::default(),
    })
}

impl Inner {
    /// What can be answered by whoever answers a call with these options.
    pub(crate) fn abilities(&self, options: &CallOptions) -> Abilities {
        let asker = options.ask.as_ref().or(self.ask.as_ref());
        asker.map_or_else(Abilities::default, |asker| asker.abilities())
    }

    /// Modern: what we declare with a call.
    fn declared(&self, options: &CallOptions) -> ClientCapabilities {
        let declared = self.abilities(options).declared();
        if options.without_tasks {
            declared
        } else {
            declared.with_extension(mcp_wire::capability::TASKS_EXTENSION)
        }
    }

    /// Modern: puts version, capabilities and name into `_meta`.
    pub(crate) fn put_envelope(&self, method: &str, params: &mut Object, options: &CallOptions) {
        let revision = self.revision();
        if revision.era() == Era::Legacy || method == method::INITIALIZE {
            return;
        }
        let envelope = meta::Envelope {
            protocol_version: revision.as_str().to_owned(),
            client_capabilities: self.declared(options),
            client_info: Some(self.spec.client.clone()),
            log_level: options.log_level.clone(),
        };
        envelope.put(params);
    }
}
