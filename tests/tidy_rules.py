"""Rules of tests/test_tidy.py: limits, exceptions and their reasons."""

PACKAGES = (
    "heron_core", "heron_io", "heron_api", "heron_connectors", "heron_frontends", "heronpy_compat",
    "heron_instance", "stream_manager",
    "topology_master", "scheduler", "heron_spark", "heron_graph", "heron_tester",
    "heron_tracker", "heron_cli",
)  # fmt: skip
"""The product."""

FUNCTION_LINES = 60
"""Without its docstring; the median is 5, and a longer function has several subjects."""
MODULE_LINES = 500
"""All lines; most modules have 150."""

_IMPL = "heronpy_compat.streamlet.impl."
KNOWN_CIRCLES: dict[frozenset[str], str] = {
    frozenset({"heron_cli.main", "heron_cli.commands.help"}): (
        "a module of its own for the table of commands, which `help` reads"
    ),
    frozenset(
        {
            "heronpy_compat.sql.planning",
            "heronpy_compat.streamlet.groupedstreamlet",
            "heronpy_compat.streamlet.running",
            "heronpy_compat.streamlet.streamlet",
            "heronpy_compat.streamlet.timedstreamlet",
            "heronpy_compat.streamlet.localstreamlet",
            f"{_IMPL}clientbolt",
            f"{_IMPL}consumebolt",
            f"{_IMPL}eventstage",
            f"{_IMPL}partialbolt",
            f"{_IMPL}eventwindowbolt",
            f"{_IMPL}filterbolt",
            f"{_IMPL}flatmapbolt",
            f"{_IMPL}intervaljoinbolt",
            f"{_IMPL}joinbolt",
            f"{_IMPL}logbolt",
            f"{_IMPL}mapbolt",
            f"{_IMPL}processbolt",
            f"{_IMPL}reducebykeyandwindowbolt",
            f"{_IMPL}reducebywindowbolt",
            f"{_IMPL}repartitionbolt",
            f"{_IMPL}stage",
            f"{_IMPL}transformbolt",
            f"{_IMPL}unionbolt",
            f"{_IMPL}windowjoinbolt",
            f"{_IMPL}windowstage",
        }
    ): "a registry of operators that impl fills, instead of modules named in strings",
}
"""Circles under removal -> the way of removal. A removed circle has to leave the list."""

SLEEPING_TESTS: dict[str, str] = {
    "tests/browser/troubles.py": "slow and stuck bolts are what the pages are to show",
    "tests/cluster/counts_to_hbase.py": "a spout with a pace, so that a kill comes in the middle",
    "tests/process/topologies/advised.py": "bolts that wait for a server, as long as they say",
    "tests/process/topologies/answering.py": "requests that take a while, to be under way",
    "tests/process/topologies/stuck.py": "a bolt that is stuck is what the test is about",
    "tests/process/topologies/hanging.py": "a bolt that hangs is what the test is about",
    "tests/process/topologies/slow_tick.py": "a tick that is under way is what the test is about",
    "tests/process/topologies/drilled.py": "slow and hanging calls are what the drill is about",
    "tests/process/topologies/late.py": "a component that is slow to start",
    "tests/process/topologies/pressure.py": "a slow bolt makes back-pressure",
    "tests/process/topologies/slow_sinks.py": "a sink that turns slow is what the tests are about",
    "tests/process/topologies/dying.py": "a spout with a pace, so that its end comes in the middle",
    "tests/process/topologies/calling.py": "calls that take a while, so that they are in flight",
    "tests/process/topologies/exact.py": "a spout with a pace, so that it outlives what dies",
    "tests/process/topologies/partials.py": "a spout with a pace, so that it outlives what dies",
    "tests/process/topologies/lines_to_files.py": "a spout with a pace, so that it outlives it",
    "tests/process/topologies/remembering.py": "a spout with a pace, so that it outlives it",
    "tests/process/topologies/surviving.py": "a spout with a pace, so that it outlives what dies",
    "tests/process/topologies/paced_hops.py": "a spout with a low rate is what the test is about",
    "tests/process/topologies/held_tuple.py": "a bolt that holds a tuple, and a spout with a pace",
    "tests/process/aurora_stand_in/__main__.py": "a stand-in for Aurora, which polls its tasks",
    "tests/property/test_window_forms.py": "the tester patches time.sleep: no time passes",
    "tests/unit/heron_tester/tested_topologies.py": "the tester patches time.sleep: no time passes",
    "tests/unit/heron_frontends/multilang/puppet.py": "a child process that never answers",
    "tests/cluster/hanging.py": "components that hang are what the test is about",
    "tests/cluster/hanging_frames.py": "a bolt and a stage that hang are what the test is about",
    "tests/spark/endless_words.py": "a spout with a pace: batches without a pause slow other tests",
}
"""Files below tests/ with calls of time.sleep -> why. A test itself waits for a condition."""

REPLACED: dict[str, str] = {
    "anew": "recreate, again",
    "bell": "waker",
    "board": "state watch, requests",
    "books": "report, record",
    "careful": "general",
    "comfortably": "auto",
    "cure": "remedy",
    "dealt": "round robin",
    "desk": "command server",
    "do first": "enqueue",
    "door": "API, adapter, listening socket",
    "doors": "adapters",
    "fact": "result of a batch",
    "facts": "results, properties, summary",
    "finding": "diagnosis",
    "findings": "diagnoses",
    "fitted": "first fit",
    "former": "previous",
    "gang": "barrier",
    "gave up": "abandoned",
    "give up": "abort (an update, an alignment), abandon (a tuple, a call)",
    "given up": "aborted, abandoned",
    "gives up": "aborts, abandons",
    "go back": "restore, roll back",
    "goes back": "is restored, rolls back",
    "going back": "restore, rollback",
    "grace": "shutdown timeout",
    "habits": "settings",
    "held": "retained (by a window), blocked (by a barrier or back-pressure)",
    "hold": "retain, block",
    "judge": "decide, check",
    "kept": "retained (a window, a link), previous (a run), registered (code)",
    "kept nodes": "node registry",
    "kit": "runtime spec",
    "lane": "output buffer",
    "lanes": "output buffers",
    "last words": "on_finish, last output",
    "look": "poll, read, sweep",
    "looked": "polled, searched",
    "looks": "polls, attempts",
    "marks": "watermarks, counters at the start",
    "manners": "run settings",
    "outside": "callbacks",
    "place": "arguments, location, node",
    "places": "container state, locations",
    "placing": "layout, placement",
    "rival": "conflicting",
    "rivals": "conflicting",
    "room": "capacity, width, margin",
    "shard": "container agent",
    "shortcut": "fast path",
    "shorten": "install the fast path",
    "standstill": "clock jump",
    "story": "transition log",
    "stranger": "unknown",
    "strangers": "unknown",
    "surroundings": "shared context",
    "ties": "supervisor link",
    "todo": "pending calls",
    "told": "format_error, describe, notify; reported",
    "tracks": "anchors",
    "untold": "unsent",
    "verdict": "end reason",
    "voice": "status pipe",
    "void": "discarded, failed, outdated",
    "warm": "standby",
    "watching": "foreground run, recording",
    "wave": "probe round",
    "waves": "probe rounds",
    "way back": "rollback",
    "went back": "was restored",
    "wish": "request",
    "wishes": "options, requests",
}
"""A word, or a pair of words, unused in names here -> the term of the field. Add a word once
removed."""

STANDING: dict[str, frozenset[str]] = {
    "gang": frozenset({"heron_cli"}),  # an option that users know
    "held": frozenset({"heron_core"}),  # of an ack tree, in the compiled hot path
    "kept": frozenset(
        {
            "heron_api",
            "heron_connectors",
            "heron_core",
            "heron_frontends",
            "heron_graph",
            "heron_instance",
            "heron_spark",
            "heron_tester",
            "heron_tracker",
            "heronpy_compat",
            "stream_manager",
            "topology_master",
        }
    ),
    "room": frozenset({"heron_core", "heron_instance"}),  # of the outbox, in the compiled hot path
}
"""Packages still with a replaced word: under renaming. Take out finished packages."""

STORED_NAMES: dict[str, str] = {
    "calls_given_up": "a number of `stats --json` and of the records of checkpoints",
}
"""Names with a replaced word -> the place of their storage or publication."""

VAGUE: frozenset[str] = frozenset({"each", "found", "made"})
"""Names not used for variables in a long function."""
VAGUE_LINES = 10
"""Lines of a long function; and of a long comprehension inside."""

SHARED_CLASSES: dict[str, str] = {
    "BatchingBolt": "pystorm's and streamparse's",
    "Bolt": "heronpy's, pystorm's, streamparse's, Storm's",
    "Component": "pystorm's and streamparse's",
    "ComponentSpec": "streamparse's; ours is what the engine runs",
    "Config": "the streamlet API's; the protobuf's",
    "Count": "Trident's; that of windows by event time",
    "GlobalStreamId": "heronpy's and streamparse's",
    "Grouping": "heronpy's and streamparse's",
    "MapState": "Trident's; that of keyed state",
    "Operation": "Trident's; what a command asks for",
    "Reader": "streamparse's; the tester's",
    "ReliableSpout": "pystorm's and streamparse's",
    "StateSpec": "Spark's of mapWithState; Trident's of a state",
    "Runner": "the streamlet API's; that of a bolt of windows",
    "ShellBolt": "streamparse's, and the component that Flux names",
    "ShellComponent": "streamparse's, and the component that Flux names",
    "ShellSpout": "streamparse's, and the component that Flux names",
    "Spout": "heronpy's, pystorm's, streamparse's, Storm's",
    "State": "heronpy's and Trident's",
    "Stream": "heronpy's, streamparse's and Trident's",
    "TicklessBatchingBolt": "pystorm's and streamparse's",
    "Topology": "heronpy's and streamparse's",
    "TopologyType": "heronpy's and streamparse's",
    "Tuple": "heronpy's and Storm's",
}
"""Names of classes defined in several modules -> the owner: foreign APIs. Every further class is
found by its name alone."""

PHRASES: dict[str, str] = {
    " anew": "again, from scratch",
    "gave up": "aborted, abandoned",
    "gives up": "aborts, abandons",
    "given up": "aborted, abandoned",
    "good as any": "is accepted",
    "hears of": "is notified of",
    "last words": "on_finish",
    "makes good": "recovers",
    "must appear whole": "must be complete when it appears",
    "only who sends": "the components that send",
    "told of": "reported",
    "tells of": "reports",
    "to be rid of": "to remove",
}
"""A phrase outside of the field's English -> the documentation's term."""

FILES_OF_USERS = {
    "NAME.py", "copy_lines.py", "fabfile.py", "my_topology.py", "scheduler.py", "socket.py",
    "tasks.py", "totals.py", "word_count_2.py", "x.py",
}  # fmt: skip
"""Python files of users, named in docstrings but absent from the repository."""
