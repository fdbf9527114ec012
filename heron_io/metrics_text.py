"""Families of metrics as text, in Prometheus's format and in OpenMetrics.

prometheus-client writes both formats, and checks each character of each name for each sample; a
scrape of a thousand instances has 25,000. Here names are known to be plain, and a label's text is
made once for all its samples. Rare kinds are left to prometheus-client: native histograms.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

OPEN_METRICS = "application/openmetrics-text"
END = "# EOF\n"
"""The last line of OpenMetrics."""
Encode = Callable[[Collector], bytes]


def encoder(accept: str) -> tuple[Callable[[Iterable[Metric]], bytes], str]:
    """Encoder of the text format that the Accept header prefers, and its content type."""
    encode, content_type = choose_encoder(accept)
    return partial(_encoded, encode, content_type.startswith(OPEN_METRICS)), content_type


def _encoded(encode: Encode, is_open: bool, families: Iterable[Metric]) -> bytes:
    known: dict[tuple[tuple[str, str], ...], str] = {}
    pieces: list[str] = []
    for family in families:
        if any(sample.native_histogram for sample in family.samples):
            pieces.append(_by_library(encode, family))
        else:
            pieces += _header(family, is_open)
            pieces += _lines(family, known)
    if is_open:
        pieces.append(END)
    return "".join(pieces).encode()


def _header(family: Metric, is_open: bool) -> Iterator[str]:
    name = family.name
    if family.type == "counter" and not is_open:
        name += "_total"
    text = _escaped(family.documentation) if is_open else _escaped_line(family.documentation)
    yield f"# HELP {name} {text}\n# TYPE {name} {family.type}\n"


def _lines(family: Metric, known: dict[tuple[tuple[str, str], ...], str]) -> Iterator[str]:
    for name, labels, value, *_ in family.samples:
        key = tuple(labels.items())
        text = known.get(key)
        if text is None:
            text = known[key] = _labels(labels)
        yield f"{name}{text} {floatToGoString(value)}\n"  # type: ignore[no-untyped-call]


def _labels(labels: Mapping[str, str]) -> str:
    named = ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items()))
    return f"{{{named}}}" if named else ""


def _escaped_line(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _escaped(text: str) -> str:
    return _escaped_line(text).replace('"', r"\"")


class _One(Collector):
    """What prometheus-client asks for."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Any]:
        """The one family."""
        return [self._family]


def _by_library(encode: Encode, family: Metric) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_One(family))
    return encode(registry).decode().removesuffix(END)
