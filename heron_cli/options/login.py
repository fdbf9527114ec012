"""The options of `heronpy ui` that say who may ask, and how it proves who it is itself."""

import functools
import importlib.util
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.options.common import Function, stacked
from heron_core.errors import HeronError, UsageError
from heron_tracker.auth.access import claim_of, token_of
from heron_tracker.options import SCOPES, OpenIdOptions, TrackerOptions

NEEDED = ("httpx", "joserfc")
NEEDED_BY_BROWSERS = "authlib"


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """What the command line says."""

    certificate: str | None
    key: str | None
    token_file: str | None
    read_token_file: str | None
    openid_issuer: str | None
    openid_audience: str | None
    openid_operator: str | None
    openid_reader: str | None
    openid_client: str | None
    openid_client_secret_file: str | None
    openid_scopes: str

    def options(self) -> TrackerOptions:
        """As the service takes it; UsageError naming what is wrong."""
        return TrackerOptions(
            certificate=self.certificate,
            key=self.key,
            token=token_in_file("--token-file", self.token_file),
            read_token=token_in_file("--read-token-file", self.read_token_file),
            open_id=self._open_id(),
        )

    def _open_id(self) -> OpenIdOptions | None:
        if self.openid_issuer is None:
            given = (
                self.openid_audience, self.openid_operator, self.openid_reader, self.openid_client,
                self.openid_client_secret_file,
            )  # fmt: skip
            if any(given):
                raise UsageError(
                    "--openid-audience, -operator, -reader, -client go with --openid-issuer"
                )
            return None
        audience = self.openid_audience or self.openid_client
        if not audience:
            raise UsageError(
                "--openid-issuer needs --openid-audience NAME (the issuer's name for this "
                "service) or --openid-client ID (for logins in browsers)"
            )
        if self.openid_client_secret_file and not self.openid_client:
            raise UsageError("--openid-client-secret-file goes with --openid-client")
        for package in (*NEEDED, *([NEEDED_BY_BROWSERS] if self.openid_client else [])):
            if importlib.util.find_spec(package) is None:
                raise HeronError(
                    f"--openid-issuer needs {package}: pip install 'heronpy-topologies[login]'"
                )
        return OpenIdOptions(
            issuer=self.openid_issuer,
            audience=audience,
            operator=_claim("--openid-operator", self.openid_operator),
            reader=_claim("--openid-reader", self.openid_reader),
            client=self.openid_client,
            client_secret=token_in_file(
                "--openid-client-secret-file", self.openid_client_secret_file
            ),
            scopes=self.openid_scopes,
        )


def _claim(option: str, text: str | None) -> tuple[str, str] | None:
    return None if text is None else claim_of(text, option)


def token_in_file(option: str, path: str | None) -> str | None:
    """The token in the file of an option; UsageError if there is none."""
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return token_of(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not text"
        raise UsageError(f"{option} {path} cannot be read: {reason}") from None


def _file(name: str, text: str) -> Any:
    return click.option(name, type=click.Path(), metavar="FILE", help=text)


_options = stacked(
    _file("--certificate", "Serve HTTPS with the certificate (chain) in FILE, as PEM."),
    _file("--key", "The certificate's private key, as PEM."),
    _file("--token-file", "Operators send `Authorization: Bearer` and the token in FILE."),
    _file("--read-token-file", "Clients with the token in FILE have read-only access."),
    click.option(
        "--openid-issuer",
        metavar="URL",
        help="Accept tokens signed by this OpenID Connect issuer.",
    ),
    click.option(
        "--openid-audience", metavar="NAME", help="The issuer's name for this service (`aud`)."
    ),
    click.option(
        "--openid-operator",
        metavar="CLAIM=VALUE",
        help="Claim of operators, as groups=operators. By default the issuer's tokens only read.",
    ),
    click.option(
        "--openid-reader",
        metavar="CLAIM=VALUE",
        help="Claim of readers; by default every token of the issuer may read.",
    ),
    click.option(
        "--openid-client",
        metavar="ID",
        help="Client ID for logins in browsers.",
    ),
    _file(
        "--openid-client-secret-file",
        ("The client's secret, in FILE. Default: PKCE without a secret."),
    ),
    click.option(
        "--openid-scopes",
        metavar="NAMES",
        default=SCOPES,
        show_default=True,
        help="Scopes to request; the ID token must have the claims of --openid-operator.",
    ),
)


def with_login_options(function: Function) -> Function:
    """These options; the function gets them as `login`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        names = LoginOptions.__dataclass_fields__
        return function(login=LoginOptions(**{name: given.pop(name) for name in names}), **given)

    return _options(command)
