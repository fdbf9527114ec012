"""Client of a schema registry for Kafka's spout and sink: settings, requests, errors.

confluent_kafka's client sends the requests, and its serializers write the bytes (a zero byte,
the schema's number, the payload). An unreachable registry, or rejected credentials, raise
`RegistryAway`, on which readers wait. Any other rejection is an error that names the subject.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from types import ModuleType
from typing import Any

from heron_connectors.kafka.client import setting
from heron_core.errors import ComponentError

URL = "kafka.schema.registry.url"
"""Config key: where the registry is; several, separated by commas."""
CLIENT = "kafka.schema.registry"
"""Config key: further settings of confluent_kafka's registry client, such as
basic.auth.user.info and ssl.ca.location."""
AUTO_REGISTER = "kafka.schema.auto.register"
"""Config key: whether a sink registers its schema (true), or requires a registered schema."""
USE_LATEST = "kafka.schema.use.latest"
"""Config key: true to write by the newest schema of the subject, which the sink does not change."""
STRATEGY = "kafka.schema.subject.strategy"
"""Config key: topic (the default: TOPIC-value), record, or topic-record."""
PARTS = ("key", "value")
AVRO = "avro"
PROTOBUF = "protobuf"
JSON_SCHEMA = "jsonschema"
AVRO_KIND, PROTOBUF_KIND, JSON_KIND = "AVRO", "PROTOBUF", "JSON"
"""Names of the kinds in a registry; a schema without a kind is Avro's."""
INSTALL = "pip install 'heronpy-topologies[registry]'"

TIMEOUT_SECS = 5
"""Timeout of one request: less than the six seconds for brokers, because a start waits for both."""
DEFAULTS = {"timeout": TIMEOUT_SECS, "max.retries": 0}
"""Of the client; its own retries would hold an instance for a minute in one call."""
_STRATEGIES: Mapping[str, Callable[[str, str, str], str]] = {
    "topic": lambda topic, part, record: f"{topic}-{part}",
    "record": lambda topic, part, record: record,
    "topic-record": lambda topic, part, record: f"{topic}-{record}",
}
_NOT_FOUND, _CONFLICT = 404, 409
_AWAY = (401, 403, 408, 429)
"""Status codes, besides those from 500 on, that may change with time or credentials."""


class RegistryAway(ComponentError):
    """The registry is unreachable or rejects the credentials: retry later."""


def format_key(part: str) -> str:
    """The config key of a part's format."""
    return f"kafka.{part}.format"


def schema_key(part: str) -> str:
    """Config key of a part's schema: JSON, or the path of a file. A source reads, and a sink
    writes, by the schema.
    """
    return f"kafka.{part}.schema"


def message_key(part: str) -> str:
    """The config key of a part's class of messages, as MODULE.CLASS."""
    return f"kafka.{part}.message"


def package(name: str, kind: str) -> ModuleType:
    """A module of confluent_kafka's registry client; ComponentError for a missing dependency."""
    try:
        return import_module(name)
    except ImportError as error:
        missing = str(error.name or error).partition(".")[0]
        raise ComponentError(f"records in {kind} need the package {missing}: {INSTALL}") from None


@dataclass(frozen=True, slots=True)
class Registry:
    """A component's registry settings and client."""

    url: str
    client: Any
    strategy: str = "topic"
    auto_register: bool = True
    use_latest: bool = False

    def subject(self, topic: str, part: str, record: str) -> str:
        """The name under which the registry has the schema of a topic's key or value."""
        if self.strategy != "topic" and not record:
            raise ComponentError(
                f"{STRATEGY} {self.strategy!r} needs a schema with a name: use topic"
            )
        return _STRATEGIES[self.strategy](topic, part, record)

    def strategy_of(self, part: str, note: Callable[[str], Any] = str) -> Callable[..., str | None]:
        """The subject strategy in confluent_kafka's form; `note` receives the name of each
        record.
        """

        def subject(context: Any, record: str | None) -> str | None:
            if record is None:
                return None  # the serializer asks again with the record's schema
            note(record)
            return self.subject(context.topic, part, record)

        return subject

    def note(self, subject: str, topic: str, schema: Any) -> None:
        """Register a schema, or look it up; the client remembers its number. ComponentError."""
        client = self.client
        ask = client.register_schema_full_response if self.auto_register else client.lookup_schema
        with self.asked(subject, topic):
            ask(subject, schema)

    @contextmanager
    def asked(self, subject: str, topic: str) -> Iterator[None]:
        """Turn errors of a request for a subject into a ComponentError of one line."""
        try:
            yield
        except Exception as error:
            problem = self.problem(error)
            if problem is None:
                raise
            if isinstance(problem, RegistryAway):
                raise problem from None
            text = f"schema registry at {self.url}: subject {subject} of topic {topic}: {problem}"
            raise ComponentError(text) from None

    def problem(self, error: Exception) -> Exception | None:
        """Translate an error of the client: RegistryAway, a ValueError with reason and remedy, or
        None for an error of another origin.
        """
        if isinstance(error, OSError) or type(error).__module__.startswith(("httpx", "httpcore")):
            return RegistryAway(
                f"schema registry at {self.url} does not answer: {first_line(error)}"
            )
        if not hasattr(error, "http_status_code"):
            return None
        status, text = error.http_status_code, first_line(getattr(error, "error_message", error))
        if status == _CONFLICT:
            return ValueError(
                f"the schema is not compatible with earlier schemas ({text}): give added fields "
                "a default (JSON Schema: additionalProperties false before, too), write another "
                "topic, or change the subject's compatibility"
            )
        if status == _NOT_FOUND:
            return ValueError(f"{text}: register the schema, or set {AUTO_REGISTER}: true")
        if status not in _AWAY and status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return ValueError(f"the registry rejects the schema: {text}")
        return RegistryAway(f"schema registry at {self.url} answers {status}: {text}")


def first_line(error: object) -> str:
    """Text of an error, or its type."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def registry_of(config: Mapping[str, Any], name: str, kind: str) -> Registry:
    """Registry settings of a component; ComponentError if invalid. Sends no request yet."""
    url = str(setting(config, URL, None, name))
    strategy = config.get(STRATEGY, "topic")
    if strategy not in _STRATEGIES:
        choices = ", ".join(_STRATEGIES)
        raise ComponentError(f"{name}: {STRATEGY} is one of {choices}, not {strategy!r}")
    use_latest = _truth(config, USE_LATEST, False, name)
    auto_register = _truth(config, AUTO_REGISTER, not use_latest, name)
    if use_latest and auto_register:
        raise ComponentError(f"{name}: {USE_LATEST} and {AUTO_REGISTER} exclude each other")
    module = package("confluent_kafka.schema_registry", kind)
    try:
        client = module.SchemaRegistryClient({**DEFAULTS, **config.get(CLIENT, {}), "url": url})
    except (TypeError, ValueError, OSError) as error:
        raise ComponentError(f"{name}: {CLIENT}: {first_line(error)}") from None
    return Registry(shown_url(url), client, strategy, auto_register, use_latest)


def shown_url(url: str) -> str:
    """The URL without name and password."""
    return ",".join(_without_credentials(each) for each in url.split(","))


def _without_credentials(url: str) -> str:
    scheme, found, rest = url.partition("://")
    return f"{scheme}{found}{rest.rpartition('@')[2]}"


def _truth(config: Mapping[str, Any], key: str, default: bool, name: str) -> bool:
    value = config.get(key, default)
    if not isinstance(value, bool):
        raise ComponentError(f"{name}: {key} is true or false, not {value!r}")
    return value


def context_of(topic: str, part: str, headers: Any = None) -> Any:
    """Where a key or a value is, as confluent_kafka's serializers are told it."""
    return import_module("confluent_kafka.serialization").SerializationContext(topic, part, headers)


def context_in(record: Any, part: str) -> Any:
    """Position of a received record; the headers may have the schema's number."""
    return context_of(record.topic(), part, record.headers() or [])
