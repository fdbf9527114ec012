"""Components in any language: ShellBolt and ShellSpout host a program that speaks Storm's protocol.

The program is the component config `heronpy.shell.command`, a list of program and arguments; the
protocol is Storm's "multilang", as storm.py, pystorm, the Node.js and the Ruby library speak it.
"""

from heronpy_compat.adapters.multilang.bolt import ShellBolt
from heronpy_compat.adapters.multilang.spout import ShellSpout

__all__ = ["ShellBolt", "ShellSpout"]
