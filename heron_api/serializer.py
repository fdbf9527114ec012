"""How a value becomes bytes where msgpack cannot say it (heronpy.api.serializer)."""

from typing import Any


class IHeronSerializer:
    """Interface of a serialiser; the class path in `topology.serializer.classname` picks one.

    Example:

        class JsonSerializer(IHeronSerializer):
            def initialize(self, config):
                pass

            def serialize(self, obj):
                return json.dumps(obj).encode()

            def deserialize(self, input_str):
                return json.loads(input_str)
    """

    def initialize(self, config: dict[str, Any]) -> None:
        """Called once with the topology's config before the first value."""
        raise NotImplementedError

    def serialize(self, obj: Any) -> bytes:
        """One field value as bytes."""
        raise NotImplementedError

    def deserialize(self, input_str: bytes) -> Any:
        """The value that `serialize` got."""
        raise NotImplementedError


class PythonSerializer(IHeronSerializer):
    """Pickles with cloudpickle, so lambdas and classes of `__main__` travel too.

    Example:

        serializer = PythonSerializer()
        double = serializer.deserialize(serializer.serialize(lambda number: 2 * number))
        assert double(21) == 42
    """

    def initialize(self, config: dict[str, Any] | None = None) -> None:
        """Nothing to configure."""

    def serialize(self, obj: Any) -> bytes:
        """`obj` as cloudpickle bytes."""
        import cloudpickle  # costs 20 ms, and few topologies need it

        pickled: bytes = cloudpickle.dumps(obj)
        return pickled

    def deserialize(self, input_str: bytes) -> Any:
        """The object in `input_str`."""
        import pickle

        return pickle.loads(input_str)


default_serializer = PythonSerializer()
