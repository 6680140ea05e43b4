//! One request through the server: up as it came or as the keeper wants it, and its answer back as it comes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use epitome_wire::Dialect;
use futures_util::FutureExt;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::client::legacy::ResponseFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::{Answer, Rest};
use crate::client::{self, HttpClient};
use crate::config::Config;
use crate::error::ServerError;
use crate::headers;
use crate::held::{Caution, Held};
use crate::keeper::{Call, CallKind, End, Errand, Keeper, Retry};
use crate::line::{Entry, Listener, Slip};
use crate::message::{Attempt, addressed, decoded, path_of, returned};
use crate::metrics::Metrics;
use crate::refusal::{Refusal, own};
use crate::route::{Provider, Route};
use crate::tap::Tap;
use crate::tunnel::{self, Wish};
use crate::upload::{Arriving, Upload, UploadError};
use crate::upstream::Upstream;

/// Attempts that a watch may make after the first one.
const RETRIES: usize = 3;

/// Where our own failures are told.
const ERROR: HeaderName = HeaderName::from_static("x-epitome-error");

/// What all connections share.
pub(crate) struct Pipe {
    config: Config,
    client: HttpClient,
    /// For requests that want to go on in another protocol.
    upgrading: HttpClient,
    keeper: Option<Arc<dyn Keeper>>,
    /// Who is told of each request.
    pub(crate) listener: Option<Listener>,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
    /// When everything has to end.
    ending: CancellationToken,
}

/// An errand on its way up and back.
struct Running {
    attempt: Attempt,
    caution: Caution,
    tap: Tap,
}

/// What is told in place of an answer, and to the watch.
type Failed = (Refusal, End);

impl Pipe {
    pub(crate) fn new(
        config: Config,
        keeper: Option<Arc<dyn Keeper>>,
        tasks: TaskTracker,
        ending: CancellationToken,
    ) -> Result<Self, ServerError> {
        let (client, upgrading) = (client::new(&config)?, client::upgrading(&config)?);
        let (listener, metrics) = (None, Metrics::new());
        Ok(Self { config, client, upgrading, keeper, listener, metrics, tasks, ending })
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Answer> {
        let received = Instant::now();
        let route = Route::of(request.method(), request.uri().path(), request.headers());
        let under_way = self.metrics.begin();
        let listener = self.listener.as_ref().filter(|_| !matches!(route, Route::Health | Route::Metrics));
        let slip = Slip::of(request.uri().path(), listener);
        let entry = Entry::new(slip.clone(), received);
        let response = match route {
            Route::Health => own(StatusCode::OK, "application/json", r#"{"status":"ok"}"#.to_owned()),
            Route::Metrics => own(StatusCode::OK, "text/plain; version=0.0.4", self.counted()),
            Route::Unknown => refused(&Refusal::NotFound(lost(request.uri().path())), route, &entry),
            Route::Call(..) | Route::Pass(_) if tunnel::is_wanted(&request) => self
                .tunnelled(route.provider(), request)
                .await
                .unwrap_or_else(|refusal| refused(&refusal, route, &entry)),
            Route::Call(..) | Route::Pass(_) => self
                .proxied(route, request, received, slip)
                .await
                .unwrap_or_else(|refusal| refused(&refusal, route, &entry)),
        };
        self.metrics.answered(route, response.status());
        entry.answered(response.status());
        response.map(|answer| answer.counted(under_way, entry))
    }

    fn counted(&self) -> String {
        let kept = self.keeper.as_ref().map(|keeper| keeper.metrics());
        self.metrics.render() + &kept.unwrap_or_default()
    }

    async fn proxied(
        &self,
        route: Route,
        request: Request<Incoming>,
        received: Instant,
        slip: Slip,
    ) -> Result<Response<Answer>, Refusal> {
        let (head, body) = request.into_parts();
        let limits = &self.config.limits;
        let arriving = Arriving::new(body, limits.body, limits.upload);
        if arriving.is_too_large() {
            return Err(Refusal::TooLarge(limits.body));
        }
        match route {
            Route::Call(dialect, kind)
                if self.keeper.is_some() || self.config.upstreams.depend_on_model(dialect) =>
            {
                let body = arriving.whole().await.map_err(|error| self.upload_refusal(error))?;
                self.metrics.received(body.len());
                let request = Request::from_parts(head, body);
                self.kept(request, dialect, kind, (received, slip)).await
            }
            _ => self.passed(Request::from_parts(head, arriving), route.provider(), received).await,
        }
    }

    // Nobody looks at it: both bodies go through piece by piece.
    async fn passed(
        &self,
        request: Request<Arriving>,
        provider: Provider,
        received: Instant,
    ) -> Result<Response<Answer>, Refusal> {
        let upstream = self.config.upstreams.of(provider);
        let (head, arriving) = request.into_parts();
        let outcome = arriving.outcome();
        let head = addressed(head, upstream)?;
        self.metrics.received(usize::try_from(arriving.size_hint().lower()).unwrap_or(0));
        self.metrics.added(received.elapsed());
        let sent = self.send(Request::from_parts(head, Upload::Stream(arriving)), upstream).await;
        let response = sent.map_err(|(refusal, _)| match outcome.get() {
            Some(error) => self.upload_refusal(error),
            None => refusal,
        })?;
        let (head, body) = response.into_parts();
        let idle = self.config.limits.idle;
        let rest = Rest::Stream(body);
        Ok(returned(head, Answer::forwarded(Default::default(), rest, idle, None, &self.metrics)))
    }

    // Its client wants to go on in another protocol: what both sides say is theirs.
    async fn tunnelled(
        &self,
        provider: Provider,
        request: Request<Incoming>,
    ) -> Result<Response<Answer>, Refusal> {
        let upstream = self.config.upstreams.of(provider);
        let (mut head, _) = request.into_parts();
        let (client, wish) = (tunnel::side(&mut head.extensions), Wish::of(&head.headers));
        let mut head = addressed(head, upstream)?;
        wish.put(&mut head.headers);
        let sent = self.upgrading.request(Request::from_parts(head, Upload::Whole(Bytes::new())));
        let response = self.answered(sent, upstream).await.map_err(|(refusal, _)| refusal)?;
        let is_agreed = tunnel::is_agreed(&response);
        let (mut head, body) = response.into_parts();
        let (server, wish) = (tunnel::side(&mut head.extensions), Wish::of(&head.headers));
        if let (true, Some(client), Some(server)) = (is_agreed, client, server) {
            self.tasks.spawn(tunnel::run(client, server, self.ending.clone()));
            let mut answer = returned(head, Answer::own(Bytes::new()));
            wish.put(answer.headers_mut());
            return Ok(answer);
        }
        let (rest, idle) = (Rest::Stream(body), self.config.limits.idle);
        Ok(returned(head, Answer::forwarded(Default::default(), rest, idle, None, &self.metrics)))
    }

    // A keeper looks at it, or its model says where it goes.
    async fn kept(
        &self,
        request: Request<Bytes>,
        dialect: Dialect,
        kind: CallKind,
        (received, slip): (Instant, Slip),
    ) -> Result<Response<Answer>, Refusal> {
        let whole = Instant::now();
        let (head, sent) = request.into_parts();
        let (decoded, problem) = decoded(&head.headers, &sent).await;
        let upstream = self.config.upstreams.for_body(dialect, &decoded);
        let errand = match (&self.keeper, problem) {
            (None, _) => Errand::unchanged(),
            (Some(_), Some(problem)) => {
                self.without_keeper(&format!("the body cannot be decoded: {problem}"))
            }
            (Some(keeper), None) => {
                let path = path_of(&head).to_string();
                let headers = head.headers.clone();
                let slip = slip.clone();
                let call = Call { dialect, kind, path, headers, body: decoded, received, slip };
                self.asked(keeper.as_ref(), call).await
            }
        };
        let Errand { body, up, mut back, watch, is_tight } = errand;
        let caution = if is_tight { Caution::Tight } else { Caution::Usual };
        let most = self.config.limits.answer;
        let tap = Tap::new(watch, received, most, self.tasks.clone(), Arc::clone(&self.metrics));
        let mut head = addressed(head, upstream)?;
        headers::set(&mut head.headers, &up);
        self.metrics.added(whole.elapsed());
        let errand = Running { attempt: Attempt::first(sent, body), caution, tap };
        let ran = self.run(&head, upstream, errand, &mut back).await;
        let mut answer = ran.unwrap_or_else(|refusal| {
            slip.note(refusal.message());
            refusal.answer(Provider::of(dialect))
        });
        if let Some(problem) = back.get(ERROR).and_then(|problem| problem.to_str().ok()) {
            slip.note(problem);
        }
        headers::set(answer.headers_mut(), &back);
        Ok(answer)
    }

    // Up and back, again as long as a watch has an answer to a refusal.
    async fn run(
        &self,
        head: &Parts,
        upstream: &Upstream,
        running: Running,
        back: &mut HeaderMap,
    ) -> Result<Response<Answer>, Refusal> {
        let Running { mut attempt, mut caution, mut tap } = running;
        let idle = self.config.limits.idle;
        let mut left = RETRIES;
        loop {
            let sent = self.send(attempt.request(head), upstream).await;
            let (parts, incoming) = sent
                .map_err(|(refusal, end)| {
                    tap.end(end);
                    refusal
                })?
                .into_parts();
            let mut held = Held::new(incoming);
            if tap.is_watched()
                && left > 0
                && let Some(said) =
                    held.refusal(parts.status, &parts.headers, caution, &self.config.limits).await
                && let Some(retry) = self.another(&mut tap, &parts, &said, back).await
            {
                left -= 1;
                // What was too much once may still be.
                caution = Caution::Tight;
                attempt = Attempt::Changed(retry.body);
                headers::set(back, &retry.back);
                continue;
            }
            tap.begun(parts.status, &parts.headers);
            let answer = Answer::forwarded(held.taken, held.rest, idle, Some(tap), &self.metrics);
            return Ok(returned(parts, answer));
        }
    }

    // What the watch says to a refusal.
    async fn another(
        &self,
        tap: &mut Tap,
        refused: &http::response::Parts,
        said: &Bytes,
        back: &mut HeaderMap,
    ) -> Option<Retry> {
        let asked = tap.refused(refused.status, &refused.headers, said, self.config.limits.keeper).await;
        match asked {
            Ok(retry) => retry.inspect(|_| self.metrics.retried()),
            Err(problem) => {
                headers::set(back, &self.without_keeper(problem).back);
                None
            }
        }
    }

    async fn asked(&self, keeper: &dyn Keeper, call: Call) -> Errand {
        let asked = AssertUnwindSafe(async { keeper.call(call).await }).catch_unwind();
        match tokio::time::timeout(self.config.limits.keeper, asked).await {
            Ok(Ok(errand)) => {
                if errand.back.contains_key(&ERROR) {
                    self.metrics.keeper_failed();
                }
                errand
            }
            Ok(Err(_)) => self.without_keeper("the keeper failed"),
            Err(_) => self.without_keeper("the keeper took too long"),
        }
    }

    // The client must not suffer for what fails on our side.
    fn without_keeper(&self, problem: &str) -> Errand {
        self.metrics.keeper_failed();
        tracing::warn!(problem, "a request goes on as it came");
        let mut errand = Errand::unchanged();
        let told: String = problem.chars().filter(|character| (' '..='~').contains(character)).collect();
        if let Ok(told) = HeaderValue::from_str(&told) {
            errand.back.insert(ERROR, told);
        }
        errand
    }

    async fn send(
        &self,
        request: Request<Upload>,
        upstream: &Upstream,
    ) -> Result<Response<Incoming>, Failed> {
        self.answered(self.client.request(request), upstream).await
    }

    async fn answered(
        &self,
        sent: ResponseFuture,
        upstream: &Upstream,
    ) -> Result<Response<Incoming>, Failed> {
        let idle = self.config.limits.idle;
        let (refusal, what) = match tokio::time::timeout(idle, sent).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => {
                let cause = client::cause(&error);
                let what = if error.is_connect() {
                    format!(
                        "cannot connect to the upstream {upstream}: {cause}; check its address and the network"
                    )
                } else {
                    format!("the upstream {upstream} gave no answer: {cause}")
                };
                (Refusal::Unreachable(what.clone()), what)
            }
            Err(_) => {
                let what = format!("the upstream {upstream} did not answer within {} s", idle.as_secs());
                (Refusal::Silent(what.clone()), what)
            }
        };
        self.metrics.upstream_failed();
        tracing::warn!(problem = what, "an upstream gave no answer");
        Err((refusal, End::Unreachable(what)))
    }

    fn upload_refusal(&self, error: UploadError) -> Refusal {
        match error {
            UploadError::TooLarge => Refusal::TooLarge(self.config.limits.body),
            UploadError::Stalled => Refusal::Stalled,
            UploadError::Gone => Refusal::Malformed("the request's body broke off".to_owned()),
        }
    }
}

// An answer of our own, and why.
fn refused(refusal: &Refusal, route: Route, entry: &Entry) -> Response<Answer> {
    entry.note(refusal.message());
    refusal.answer(route.provider())
}

fn lost(path: &str) -> String {
    let hint = match path.trim_end_matches('/') {
        "/chat/completions" | "/responses" | "/models" | "/embeddings" => "; the base URL must end in /v1",
        "/v1/v1/messages" => "; the base URL must not end in /v1",
        _ => "",
    };
    format!("nothing is at {path}{hint}")
}
