"""The other forms of a streamparse topology: Storm's structs, their bytes, and Flux."""

from typing import Any

import pytest

from heronpy_compat.streamparse import (
    Grouping,
    JavaSpout,
)
from heronpy_compat.streamparse.thrift import (
    GlobalStreamId,
    NullStruct,
)
from tests.unit.heronpy_compat.streamparse.dsl_support import (
    Count,
    Sink,
    Split,
    Words,
    message,
    topology,
)


def test_the_original_parts_are_there_under_their_names() -> None:
    words = Words.spec()
    found = topology(words=words, count=Count.spec(inputs=[words]))
    assert list(found.thrift_spouts) == ["words"]
    assert list(found.thrift_bolts) == ["count"]
    assert found.thrift_topology.spouts is found.thrift_spouts
    shell = found.thrift_bolts["count"].bolt_object.shell
    assert shell.execution_command == "streamparse_run"
    assert shell.script == f"{Count.__module__}.Count"
    assert found.thrift_bolts["count"].common.json_conf == '{"topology.tick.tuple.freq.secs": 5}'


def test_a_topology_is_written_and_read(tmp_path: Any) -> None:
    words = Words.spec()
    found = topology(words=words, sink=Sink.spec(inputs={words: Grouping.fields("word")}))
    path = str(tmp_path / "topology.bin")
    found.write(path)
    other = topology(words=Words.spec())
    other.read(path)
    assert other.specs == []
    assert other.thrift_topology == found.thrift_topology
    assert list(other.thrift_bolts["sink"].common.inputs) == [GlobalStreamId("words", "default")]


def test_bytes_that_are_no_topology(tmp_path: Any) -> None:
    file = tmp_path / "wrong.bin"
    file.write_bytes(b"\x0d\x00\x01")
    found = topology(words=Words.spec())
    assert "not a Thrift struct of Storm" in message(ValueError, lambda: found.read(str(file)))
    file.write_bytes(b"hello")
    with file.open("rb") as stream:
        assert message(ValueError, lambda: found.read(stream)) == (
            "not a Thrift struct of Storm: unknown type code 104"
        )


def test_what_does_not_fit_into_storms_interface(tmp_path: Any) -> None:
    found = topology(words=Words.spec(par={"prod": 2}))
    assert message(ValueError, lambda: found.write(str(tmp_path / "x.bin"))) == (
        "ComponentCommon.parallelism_hint cannot be {'prod': 2} in Storm's interface"
    )


def test_flux_has_no_serialised_java() -> None:
    found = topology(words=JavaSpout.spec(serialized_java=b"x", outputs=["a"]))
    assert message(TypeError, lambda: found.to_flux_dict("x")) == (
        'JavaSpout "words": Flux does not support serialised Java objects; use full_class_name and'
        " args_list"
    )


def test_the_flux_form() -> None:
    words, split = Words.spec(), Split.spec(par=2)
    count = Count.spec(inputs={words: Grouping.GLOBAL, split["errors"]: Grouping.ALL})
    assert topology(words=words, split=split, count=count).to_flux_dict("trial") == {
        "name": "trial",
        "bolts": [
            {
                "id": "count",
                "parallelism": 3,
                "className": "org.apache.storm.flux.wrappers.bolts.FluxShellBolt",
                "constructorArgs": [
                    ["streamparse_run", f"{Count.__module__}.Count"],
                    ["word", "count"],
                ],
                "configMethods": [
                    {"name": "addComponentConfig", "args": ["topology.tick.tuple.freq.secs", 5]}
                ],
            }
        ],
        "spouts": [
            {
                "id": "words",
                "parallelism": 1,
                "className": "org.apache.storm.flux.wrappers.spouts.FluxShellSpout",
                "constructorArgs": [
                    ["streamparse_run", f"{Words.__module__}.Words"],
                    ["word", "length"],
                ],
                "configMethods": [],
            },
            {
                "id": "split",
                "parallelism": 2,
                "className": "org.apache.storm.flux.wrappers.spouts.FluxShellSpout",
                "constructorArgs": [["streamparse_run", f"{Split.__module__}.Split"], ["word"]],
                "configMethods": [{"name": "setNamedStream", "args": ["errors", ["reason"]]}],
            },
        ],
        "streams": [
            {
                "from": "words",
                "to": "count",
                "grouping": {"streamId": "default", "type": "GLOBAL"},
            },
            {"from": "split", "to": "count", "grouping": {"streamId": "errors", "type": "ALL"}},
        ],
    }


def test_structs_refuse_what_they_have_no_field_for() -> None:
    with pytest.raises(
        TypeError, match=("GlobalStreamId cannot take stream; its fields: component")
    ):
        GlobalStreamId(stream="x")
    with pytest.raises(TypeError, match="NullStruct cannot take 1 values"):
        NullStruct(1)
    assert GlobalStreamId("a", "b") == GlobalStreamId(componentId="a", streamId="b")
    assert repr(GlobalStreamId("a", "b")) == "GlobalStreamId(componentId='a', streamId='b')"
