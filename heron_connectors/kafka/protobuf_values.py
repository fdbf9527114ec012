"""Values of tuples as messages of Protobuf, and back: each is held as it is, or refused.

A message's setters take 1 for a boolean, round a double to a float of 32 bits, and read None as
"leave the field as it is". So each field of a class is made into a function that hands the message
only values which the field holds, and raises a ValueError that names the field for all others.
Names of types and rules: the Protobuf language guide (proto3) and the well-known types.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from heron_core.errors import ComponentError, shown
from heron_core.field_types import fits_of

Put = Callable[[Any], Any]
"""A value -> field value of a message; ValueError if the field cannot hold the value."""
Got = Callable[[Any], Any]
"""What a message has -> the value."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANOS_PER_MICRO = 1000
_MICROS_PER_SEC = 1_000_000
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Wrapper messages with one field `value`: nullable scalars."""
_REFUSED = frozenset(
    f"google.protobuf.{kind}" for kind in ("Any", "Struct", "Value", "ListValue", "FieldMask")
)
"""Well-known types whose values are of no type that a stream can declare."""


def reader_of(descriptor: Any) -> Callable[[Any], dict[str, Any]]:
    """Converter from messages to dicts: an unset field is None where presence is tracked
    (optional, messages, members of a oneof), else the default. ComponentError for a class with
    values that tuples cannot carry."""
    return _DescriptorCompiler().reader(descriptor)


def writer_of(descriptor: Any, make: Callable[[], Any]) -> Callable[[Any], Any]:
    """Converter from dicts to messages created by `make`; ValueError for an unknown field or an
    invalid value. Missing fields stay unset."""
    return _DescriptorCompiler().whole_writer(descriptor, make)


class _DescriptorCompiler:
    """Makes functions of descriptors; a message may be inside of itself."""

    def __init__(self) -> None:
        self._readers: dict[str, Callable[[Any], dict[str, Any]]] = {}
        self._writers: dict[str, Callable[[Any, Any], None]] = {}

    # --- messages ---------------------------------------------------------------------------------

    def reader(self, descriptor: Any) -> Callable[[Any], dict[str, Any]]:
        """Of a class of messages."""
        name = descriptor.full_name
        if name not in self._readers:
            gets: list[tuple[str, bool, Got]] = []
            self._readers[name] = lambda message: {
                field: got(getattr(message, field))
                if not may_miss or message.HasField(field)
                else None
                for field, may_miss, got in gets
            }
            gets.extend(
                (field.name, field.has_presence, self._field_reader(field))
                for field in descriptor.fields
            )
        return self._readers[name]

    def writer(self, descriptor: Any) -> Callable[[Any, Any], None]:
        """Fills an empty message of that class."""
        name = descriptor.full_name
        if name not in self._writers:
            sets: dict[str, Callable[[Any, Any], None]] = {}
            choices = [
                [field.name for field in oneof.fields]
                for oneof in descriptor.oneofs
                if len(oneof.fields) > 1
            ]
            self._writers[name] = lambda message, value: _fill(message, value, sets, choices)
            for field in descriptor.fields:
                sets[field.name] = self._field_writer(field)
        return self._writers[name]

    def whole_writer(self, descriptor: Any, make: Callable[[], Any]) -> Put:
        """Makes a message of that class, empty by `make`, and fills the message."""
        fill = self.writer(descriptor)

        def written(value: Any) -> Any:
            message = make()
            fill(message, value)
            return message

        return written

    # --- fields -----------------------------------------------------------------------------------

    def _field_reader(self, field: Any) -> Got:
        if _is_map(field):
            read = self._value_reader(field.message_type.fields_by_name["value"])
            return lambda found: {key: read(found[key]) for key in found}
        read = self._value_reader(field)
        return (lambda found: [read(each) for each in found]) if field.is_repeated else read

    def _field_writer(self, field: Any) -> Callable[[Any, Any], None]:
        name = field.name
        if _is_map(field):
            return self._map_writer(field)
        if field.is_repeated:
            return self._list_writer(field)
        put = self._put(field)
        if field.message_type is not None:

            def fill(message: Any, value: Any) -> None:
                if value is not None:
                    getattr(message, name).SetInParent()
                    getattr(message, name).MergeFrom(put(value))

            return fill

        def assign(message: Any, value: Any) -> None:
            if value is not None:
                setattr(message, name, put(value))
            elif not field.has_presence:
                raise ValueError("null, which only an `optional` field accepts")

        return assign

    def _list_writer(self, field: Any) -> Callable[[Any, Any], None]:
        name, put = field.name, self._put(field)

        def fill(message: Any, value: Any) -> None:
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"{shown(value)} is not a list")
            items = []
            for at, entry in enumerate(value):
                with _Inside(f"[{at}]"):
                    items.append(put(_there(entry)))
            getattr(message, name).extend(items)

        return fill

    def _map_writer(self, field: Any) -> Callable[[Any, Any], None]:
        parts = field.message_type.fields_by_name
        name, put_key, put = field.name, self._put(parts["key"]), self._put(parts["value"])
        is_message = parts["value"].message_type is not None

        def fill(message: Any, value: Any) -> None:
            if not isinstance(value, Mapping):
                raise ValueError(f"{shown(value)} is not a map")
            entries = getattr(message, name)
            for key, entry in value.items():
                with _Inside(f"[{key!r}]"):
                    converted = put(_there(entry))
                    if is_message:
                        entries[put_key(_there(key))].MergeFrom(converted)
                    else:
                        entries[put_key(_there(key))] = converted

        return fill

    # --- values -----------------------------------------------------------------------------------

    def _put(self, field: Any) -> Put:
        if field.message_type is not None:
            return self._message_put(field.message_type)
        if field.enum_type is not None:
            return _enum_put(field.enum_type)
        if field.type == _BYTES:
            return _binary
        return _SCALARS.get(field.cpp_type, _text)

    def _message_put(self, descriptor: Any) -> Put:
        from google.protobuf.message_factory import GetMessageClass

        name, make = descriptor.full_name, GetMessageClass(descriptor)
        if name in _REFUSED:
            raise ComponentError(f"{name} has no type for a declaration of a stream")
        if name in _WRAPPERS:
            put = self._put(descriptor.fields_by_name["value"])
            return lambda value: make(value=put(value))
        if name in _KNOWN:
            known = _KNOWN[name][0]
            return lambda value: make(**known(value))
        return self.whole_writer(descriptor, make)

    def _value_reader(self, field: Any) -> Got:
        if field.enum_type is not None:
            names = field.enum_type.values_by_number
            return lambda found: names[found].name if found in names else found
        if field.message_type is None:
            return lambda found: found
        name = field.message_type.full_name
        if name in _REFUSED:
            raise ComponentError(f"{name} has no type for a declaration of a stream")
        if name in _WRAPPERS:
            return lambda found: found.value
        return _KNOWN[name][1] if name in _KNOWN else self.reader(field.message_type)


def _fill(
    message: Any, value: Any, sets: Mapping[str, Callable[[Any, Any], None]],
    choices: list[list[str]],
) -> None:  # fmt: skip
    if not isinstance(value, Mapping):
        raise ValueError(f"{shown(value)} is not a message's fields")
    for name, field_value in value.items():
        if name not in sets:
            raise ValueError(f"the message has no field {name!r}, but {', '.join(sets)}")
        with _Inside(f".{name}"):
            sets[name](message, field_value)
    for members in choices:
        given = [name for name in members if value.get(name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other: only one of them is kept")


class _Inside:
    """A ValueError inside of it names the location."""

    def __init__(self, location: str) -> None:
        self._location = location

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, ValueError):
            text = str(error)
            separator = "" if text.startswith((".", "[")) else ": "
            raise ValueError(f"{self._location}{separator}{text}") from None


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _there(value: Any) -> Any:
    if value is None:
        raise ValueError("null, which lists and maps do not accept")
    return value


def _checked(fits: Callable[[Any], bool], what: str) -> Put:
    def put(value: Any) -> Any:
        if not fits(value):
            raise ValueError(f"{shown(value)} is not {what}")
        return value

    return put


def _unsigned(bits: int) -> Put:
    limit = 1 << bits
    return _checked(
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit,
        f"an unsigned int of {bits} bits",
    )


_SCALARS: Mapping[int, Put] = {
    1: _checked(fits_of("int"), "an int of 32 bits"),
    2: _checked(fits_of("bigint"), "an int of 64 bits"),
    3: _unsigned(32),
    4: _unsigned(64),
    5: _checked(fits_of("double"), "a double"),
    6: _checked(fits_of("float"), "a float of 32 bits"),
    7: _checked(fits_of("boolean"), "a boolean"),
}
"""By a field's cpp_type, but for texts and bytes, which have one in common."""


_text = _checked(fits_of("string"), "a text")
_BYTES = 12
"""The type of a field with bytes."""


def _binary(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise ValueError(f"{shown(value)} is not bytes")
    return bytes(value)


def _enum_put(descriptor: Any) -> Put:
    names = descriptor.values_by_name

    def put(value: Any) -> int:
        if isinstance(value, str) and value in names:
            return int(names[value].number)
        if type(value) is int and value in descriptor.values_by_number:
            return value
        raise ValueError(f"{shown(value)} is not one of {', '.join(names)}")

    return put


# --- well-known types: (value -> fields of the message, message -> value) -------------------------


def _timestamp(value: Any) -> dict[str, int]:
    if not isinstance(value, datetime):
        raise ValueError(f"{shown(value)} is not a datetime")
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return _seconds(moment - _EPOCH)


def _seconds(span: timedelta) -> dict[str, int]:
    return {
        "seconds": span.days * 86_400 + span.seconds,
        "nanos": span.microseconds * _NANOS_PER_MICRO,
    }


def _duration(value: Any) -> dict[str, int]:
    if not isinstance(value, timedelta):
        raise ValueError(f"{shown(value)} is not a timedelta")
    micros = value // timedelta(microseconds=1)
    sign = -1 if micros < 0 else 1
    seconds, rest = divmod(abs(micros), _MICROS_PER_SEC)
    return {"seconds": sign * seconds, "nanos": sign * rest * _NANOS_PER_MICRO}


def _span(found: Any) -> timedelta:
    if found.nanos % _NANOS_PER_MICRO:
        raise ValueError(f"{found.nanos} nanoseconds: a time has microseconds here")
    return timedelta(seconds=found.seconds, microseconds=found.nanos // _NANOS_PER_MICRO)


def _moment(found: Any) -> datetime:
    try:
        return _EPOCH + _span(found)
    except OverflowError:
        raise ValueError(f"{found.seconds} seconds: no datetime is so far away") from None


def _date(value: Any) -> dict[str, int]:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError(f"{shown(value)} is not a date")
    return {"year": value.year, "month": value.month, "day": value.day}


def _decimal(value: Any) -> dict[str, Any]:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise ValueError(f"{shown(value)} is not a decimal with an end")
    sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    number = int("".join(map(str, digits))) * 10 ** max(0, int(exponent)) * (-1 if sign else 1)
    size = (number.bit_length() + 8) // 8
    return {
        "value": number.to_bytes(size, "big", signed=True),
        "precision": len(str(abs(number))),
        "scale": scale,
    }


def _number(found: Any) -> Decimal:
    number = int.from_bytes(found.value, "big", signed=True)
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -found.scale))


_KNOWN: Mapping[str, tuple[Callable[[Any], dict[str, Any]], Got]] = {
    "google.protobuf.Timestamp": (_timestamp, _moment),
    "google.protobuf.Duration": (_duration, _span),
    "google.type.Date": (_date, lambda found: date(found.year, found.month, found.day)),
    "confluent.type.Decimal": (_decimal, _number),
}
