"""Settings of the service, and its limits."""

from dataclasses import dataclass

HEADER_BYTES_MAX = 16 * 1024
"""Of a request's line and headers: the longest query of metrics is a tenth of it."""
BODY_BYTES_MAX = 64 * 1024
"""Of a request: a rebalance that names a hundred components has 5 KiB."""
SUBMISSION_BYTES_MAX = 256 * 1024 * 1024
"""Of a request that submits a topology: an archive with the packages of a project has 50 MiB."""
MESSAGE_BYTES_MAX = 64 * 1024
"""From a page over its websocket: a form with a hundred fields has 10 KiB."""
CONNECTIONS_MAX = 200
"""Maximum of concurrent connections; more are answered 503. Fifty open pages and ten scrapers stay
below.
"""
SCOPES = "openid"
"""Scopes known to every issuer."""
STACKS_AT_ONCE = 2
"""Processes of py-spy: each stops an instance for some milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIdOptions:
    """Accepted token issuer, and rights granted."""

    issuer: str
    """Its URL, above /.well-known/openid-configuration."""
    audience: str
    """The service's id at the issuer."""
    operator: tuple[str, str] | None = None
    """Claim and value that grant changes; None: granted to none."""
    reader: tuple[str, str] | None = None
    """Claim and value that grant reads; None: every user of the issuer."""
    client: str | None = None
    """Client id of the service for logins of browsers; None: browser logins are disabled."""
    client_secret: str | None = None
    """Client secret; None: PKCE alone protects the code."""
    scopes: str = SCOPES
    """Requested scopes, separated by spaces, whose claims become part of the token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLogOptions:
    """Where the lines of requests go, and how many of them are kept."""

    path: str
    bytes_max: int = 10 * 1024 * 1024
    """Of a file: a hundred thousand requests."""
    files: int = 5
    """Older files, PATH.1 to PATH.N, that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionOptions:
    """How topologies and code that clients send are started."""

    command: tuple[str, ...]
    """`heronpy submit` with the options of the state store or the cluster."""
    update: tuple[str, ...]
    """`heronpy update` with the same options."""
    store_url: str
    home: str
    """Folder of the submitted code: home/ui/STORE/topologies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerOptions:
    """How often masters are asked, and how long an answer may take."""

    host: str = "127.0.0.1"
    port: int = 8889
    """0 for any free port."""
    watched_secs: float = 2.0
    """Query interval for the master of a viewed topology."""
    watched_per_sec_max: float = 10.0
    """Such questions: with more topologies than twenty on the front page each is asked less often,
    because a question takes the service two milliseconds of CPU."""
    idle_secs: float = 10.0
    """Query interval of other topologies: the history has a point every ten seconds."""
    scraped_secs: float = 5.0
    """Query interval of all topologies while Prometheus scrapes the service: scraped numbers are
    at most as old, so that alerts are not delayed by two intervals."""
    scraped_for_secs: float = 180.0
    """So long after a scrape the next one may come: three times the longest usual interval."""
    watched_for_secs: float = 30.0
    """So long after a request about it a topology counts as looked at."""
    answer_secs: float = 1.5
    """Timeout of a master's answer, which takes milliseconds; later the master counts as hung or
    gone."""
    unanswered_secs_max: float = 30.0
    """Interval between two queries to a silent master, doubled with each failure."""
    stale_secs: float = 20.0
    """The last numbers of a master that does not answer are shown for so long."""
    find_secs: float = 1.0
    """Between two looks into the state store for topologies that have come or gone."""
    askers: int = 8
    """Threads: so many masters may hang at a time without holding up the others."""
    first_poll_secs: float = 3.0
    """Before it serves, the service waits for the first answers, at most so long."""
    token: str | None = None
    """Of operators, in `Authorization: Bearer`; with neither token nor issuer there is no login."""
    read_token: str | None = None
    """Tokens with read access."""
    open_id: OpenIdOptions | None = None
    submit: SubmissionOptions | None = None
    """None: no submissions by REST."""
    access_log: AccessLogOptions | None = None
    """None: requests are not logged."""
    certificate: str | None = None
    """File with the certificate chain, for TLS; None for plain HTTP."""
    key: str | None = None
    """File with the private key."""
