"""`python -m scheduler.container`: one container, on any machine that reaches the state store."""

import sys

from heron_engine.scheduler.container.main import main

sys.exit(main())
