"""What holds for all tests."""

from hypothesis import settings

# The machine may be busy: how long an example takes says nothing about the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
