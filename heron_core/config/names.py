"""The names of a topology's configuration keys, and the words that they take.

Heron's keys, and Storm's where they mean the same. `heron_core.config.keys` has what each means.
"""

from heron_core.config.keys_of_changes import *
from heron_core.config.keys_of_containers import *
from heron_core.config.keys_of_data import *
from heron_core.config.keys_of_runs import *
from heron_core.config.keys_of_windows import *
from heron_core.config.values import *
