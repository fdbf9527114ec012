"""Errors of the API: one clear line for the command line, and the types heronpy's callers catch."""

from heron_core.errors import TopologyError


class WrongArgumentError(TopologyError, TypeError, AssertionError):
    """An argument has the wrong type or value (heronpy: TypeError, ValueError or an assertion).

    Example:

        from heronpy_compat import Bolt

        try:
            Bolt.spec(par=0)
        except WrongArgumentError as error:
            print(error)
    """


class UnnamedInputError(TopologyError, RuntimeError):
    """An input names a component that never got a name (heronpy: RuntimeError).

    Example:

        from heronpy_compat import Bolt, Topology

        try:
            class Words(Topology):
                count = Bolt.spec(inputs=[Bolt.spec()])
        except UnnamedInputError as error:
            print(error)
    """
