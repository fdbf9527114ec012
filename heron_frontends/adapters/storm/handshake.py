"""What a component gets before its first tuple: Storm's configuration and context."""

import logging
import os
from collections.abc import Mapping
from typing import Any

from heron_core import config as keys
from heron_frontends.adapters.storm.library import overrides
from heronpy_compat.pystorm.logs import python_level, rotating_file

TOPOLOGY_ID = "storm.id"


def storm_conf_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The merged config as Storm has it; a topology's id is NAME-NUMBER-TIME there."""
    name = config.get(keys.TOPOLOGY_NAME, "")
    debug = keys.flag(keys.with_defaults(config), keys.DEBUG)
    return {TOPOLOGY_ID: f"{name}-1-0", keys.ORIGINAL_NAME: name, **config, keys.DEBUG: debug}


def shake_hands(user: Any, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
    """Set what pystorm sets before `initialize`, and let its log go where it is configured to.

    Without pystorm.log.path that is the instance's log, which the root logger writes already.
    """
    if overrides(user, "_setup_component"):
        _as_the_user_does(user, storm_conf, context)
        return
    user.topology_name = storm_conf.get(keys.TOPOLOGY_NAME, "")
    user.task_id = context["taskid"]
    user.component_name = context["componentid"]
    user.debug = storm_conf.get(keys.DEBUG, False)
    user.storm_conf = storm_conf
    user.context = context
    user.pid = os.getpid()
    user.logger = logging.getLogger(f"pystorm.component.{user.component_name}")
    level = python_level(storm_conf)
    user.logger.setLevel(level)
    logging.getLogger("pystorm").setLevel(level)
    handler = rotating_file(user)
    if handler is not None:
        handler.setLevel(level)
        logging.getLogger().addHandler(handler)


def _as_the_user_does(user: Any, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
    """The user's own _setup_component; the handler that pystorm adds below it would log twice."""
    root = logging.getLogger()
    before = list(root.handlers)
    user._setup_component(storm_conf, context)
    for each in [each for each in root.handlers if each not in before]:
        if type(each).__name__ == "StormHandler":
            root.removeHandler(each)
