"""Topology configuration: names of keys, what each takes, defaults, and what a config says.

`keys_of_…`: the keys by subject; `values`: their words; `names`: both; `keys`: the table;
`readers`: values with limits; `settings`: what several keys say together; `effects`: where a key
has an effect; `spelling`: unknown keys.
"""

from heron_core.config.names import *
from heron_core.config.settings import *
