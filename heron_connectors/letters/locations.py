"""Where dead letters are, for what lists letters and what emits them again: folder or topic."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from heron_connectors.kafka.client import PRODUCER
from heron_connectors.letters import folder as letter_folder
from heron_connectors.letters.topic import TopicRequests, read_topic, request_in_topic
from heron_core.dead_letter_target import FileTarget, KafkaTarget
from heron_core.dead_letters import FOLDER, SERVERS, TOPIC
from heron_core.errors import HeronError

Letter = dict[str, Any]


class LetterRequests(Protocol):
    """Replay requests, as seen by the replaying spout."""

    def waiting(self) -> list[int]:
        """The numbers of the requests that are not done, in order."""

    def letters(self, number: int) -> list[Letter]:
        """The letters of a request."""

    def is_done(self, number: int) -> None:
        """The request need not be read any more; the same once more does nothing."""

    def close(self) -> None:
        """The spout ends."""


@dataclass(frozen=True, slots=True)
class FolderRequests:
    """Requests in the folder of the letters."""

    folder: str

    def waiting(self) -> list[int]:
        """See LetterRequests."""
        return letter_folder.waiting_requests(self.folder)

    def letters(self, number: int) -> list[Letter]:
        """See LetterRequests."""
        return letter_folder.request(self.folder, number)

    def is_done(self, number: int) -> None:
        """See LetterRequests."""
        letter_folder.request_is_done(self.folder, number)

    def close(self) -> None:
        """Files need no end."""


def requests_of(config: Mapping[str, Any], context: Any, logger: logging.Logger) -> LetterRequests:
    """Requests named in the spout's config; ComponentError for an unknown topic."""
    if FOLDER in config and TOPIC not in config:
        return FolderRequests(str(config[FOLDER]))
    return TopicRequests(
        str(config[TOPIC]),
        str(config[SERVERS]),
        str(context.get_topology_name()),
        config.get(PRODUCER, {}),
        logger,
    )


def letters_in(
    target: FileTarget | KafkaTarget, config: Mapping[str, Any]
) -> tuple[list[Letter], frozenset[str]]:
    """All letters, oldest first, and the ids of replayed letters; HeronError for an invalid
    record. `config`: the config of a running topology."""
    if isinstance(target, FileTarget):
        folder = target.folder
        return list(letter_folder.letters(folder)), letter_folder.replayed_ids(folder)
    return read_topic(target.topic, target.servers, config.get(PRODUCER, {}))


def request_replay(
    target: FileTarget | KafkaTarget,
    topology: str,
    config: Mapping[str, Any],
    lines: Sequence[bytes],
) -> None:
    """Request the replay of the letters, atomically; HeronError if impossible."""
    if isinstance(target, FileTarget):
        try:
            letter_folder.request_replay(target.folder, lines)
        except OSError as error:
            why = f"{error.strerror} ({error.filename or target.folder})"
            raise HeronError(f"cannot ask for a replay in {target.folder}: {why}") from None
    else:
        settings = config.get(PRODUCER, {})
        request_in_topic(target.topic, target.servers, topology, settings, lines)
