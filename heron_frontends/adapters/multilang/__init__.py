"""Components in any language: ShellBolt and ShellSpout host a program that speaks Storm's protocol.

The program is the component config `heronpy.shell.command`, a list of program and arguments; the
protocol is Storm's "multilang", as storm.py, pystorm, the Node.js and the Ruby library speak it.
"""

from heron_frontends.adapters.multilang.bolt import ShellBolt
from heron_frontends.adapters.multilang.spout import ShellSpout

__all__ = ["ShellBolt", "ShellSpout"]
