"""The whole cluster in one process, from one seed: real cores, fake time, chance and network.

`pytest tests/sim` runs the first seeds; `python -m tests.sim --seeds 500 --from 10000` runs others
and goes on after one that fails. A seed decides everything, so a failing one fails again.
"""
