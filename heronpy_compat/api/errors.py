"""heronpy.api.errors."""

from heron_api.errors import UnnamedInputError as UnnamedInputError
from heron_api.errors import WrongArgumentError as WrongArgumentError
