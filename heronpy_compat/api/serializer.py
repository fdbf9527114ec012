"""heronpy.api.serializer."""

from heron_api.serializer import IHeronSerializer as IHeronSerializer
from heron_api.serializer import PythonSerializer as PythonSerializer
from heron_api.serializer import default_serializer as default_serializer
