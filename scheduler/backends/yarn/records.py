"""Values of ours as records of YARN's Java classes."""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_engine.scheduler.backends.yarn.events import Ask
from heron_engine.scheduler.backends.yarn.jvm import YarnJvm
from heron_engine.scheduler.backends.yarn.render import LocalResource, in_double_quotes, in_script


class YarnRecords:
    """Makes records in a JVM."""

    def __init__(self, jvm: YarnJvm) -> None:
        self._jvm = jvm
        self.api = jvm.classes.org.apache.hadoop.yarn.api.records

    def resource(self, ask: Ask) -> Any:
        """A LocalResource."""
        return self.api.Resource.newInstance(ask.memory_mb, ask.vcores)

    def launch(
        self,
        resources: Sequence[LocalResource],
        environment: Mapping[str, str],
        command: str,
        tokens: Any | None,
    ) -> Any:
        """A ContainerLaunchContext."""
        local = {resource.link: self._local(resource) for resource in resources}
        variables = {key: in_double_quotes(value) for key, value in environment.items()}
        return self.api.ContainerLaunchContext.newInstance(
            local, variables, [in_script(command)], None, tokens, None
        )

    def _local(self, resource: LocalResource) -> Any:
        url = self.api.URL.fromPath(self._jvm.classes.org.apache.hadoop.fs.Path(resource.uri))
        visibilities = self.api.LocalResourceVisibility
        return self.api.LocalResource.newInstance(
            url,
            getattr(self.api.LocalResourceType, resource.kind),
            visibilities.PRIVATE if resource.shared else visibilities.APPLICATION,
            resource.size,
            resource.timestamp,
        )

    @property
    def is_secure(self) -> bool:
        """Whether Kerberos is on."""
        return bool(self._users.isSecurityEnabled())

    @property
    def _users(self) -> Any:
        return self._jvm.classes.org.apache.hadoop.security.UserGroupInformation

    def user(self) -> str:
        """Who we are for Hadoop."""
        return str(self._users.getCurrentUser().getShortUserName())

    def own_tokens(self) -> Any | None:
        """Tokens of this user for containers, without that of the application master itself; None
        without Kerberos."""
        if not self.is_secure:
            return None
        credentials = self._jvm.classes.org.apache.hadoop.security.Credentials(
            self._users.getCurrentUser().getCredentials()
        )
        tokens = credentials.getAllTokens().iterator()
        while tokens.hasNext():
            if str(tokens.next().getKind().toString()) == "YARN_AM_RM_TOKEN":
                tokens.remove()
        return self.serialised(credentials)

    def file_system_tokens(self, file_system: Any, configuration: Any) -> Any | None:
        """Delegation tokens that the resource manager renews; None without Kerberos."""
        if not self.is_secure:
            return None
        renewers = self._jvm.classes.org.apache.hadoop.yarn.client.util.YarnClientUtils
        credentials = self._jvm.classes.org.apache.hadoop.security.Credentials(
            self._users.getCurrentUser().getCredentials()
        )
        file_system.addDelegationTokens(renewers.getRmPrincipal(configuration), credentials)
        return self.serialised(credentials)

    def serialised(self, credentials: Any) -> Any:
        """Credentials as a ByteBuffer."""
        output = self._jvm.classes.org.apache.hadoop.io.DataOutputBuffer()
        credentials.writeTokenStorageToStream(output)
        return self._jvm.classes.java.nio.ByteBuffer.wrap(output.getData(), 0, output.getLength())
