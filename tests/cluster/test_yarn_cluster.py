"""The YARN of these tests itself: nodes are lost and come back."""

from tests.process.process_support import until
from yarn_cluster import YarnCluster


def test_a_node_is_lost_and_comes_back(yarn: YarnCluster) -> None:
    lost = yarn.node_id(1)
    yarn.kill_node_manager(1)
    until(lambda: yarn.node_managers()[lost] == "LOST", "it is lost", 120)
    yarn.start_node_manager(1)
    assert set(yarn.node_managers().values()) == {"RUNNING"}
