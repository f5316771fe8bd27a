"""Agent cards: what an app tells of itself."""

from collections.abc import Iterator

from a2a import types as a2a
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol

from oda.agent.definition import Definition
from oda.context import OdaContext
from oda.settings import JwtSettings

_IN = ("text/plain", "application/json", "image/*", "audio/*", "video/*", "application/*")
_OUT = ("text/plain", "application/json", "application/octet-stream")
_BINDINGS = (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON)


async def card_of(
    oda: OdaContext, app: str, url: str, *, is_open: bool, extended: bool = False
) -> a2a.AgentCard:
    """Return the card of an app.

    Args:
        url: Where it is served.
        is_open: Whether no credential is needed.
        extended: Whether its agents and tools are told of as well.

    Raises:
        AgentNotFoundError, AgentLoadError: it does not exist or cannot be loaded.
    """
    definition = await oda.definitions.load(app)
    version = await oda.definitions.version(app)
    skills = [_skill(app, app, definition.description, "agent")]
    if extended:
        skills += _parts_of(definition)
    card = a2a.AgentCard(
        name=app,
        description=definition.description or app,
        version=version.name,
        supported_interfaces=[
            a2a.AgentInterface(
                url=url, protocol_binding=binding, protocol_version=PROTOCOL_VERSION_1_0
            )
            for binding in _BINDINGS
        ],
        capabilities=a2a.AgentCapabilities(
            streaming=True, push_notifications=False, extended_agent_card=True
        ),
        default_input_modes=_IN,
        default_output_modes=_OUT,
        skills=skills,
    )
    if not is_open:
        for name, scheme in _schemes(oda.settings.jwt):
            card.security_schemes[name].CopyFrom(scheme)
            needs = a2a.SecurityRequirement(schemes={name: a2a.StringList()})
            card.security_requirements.append(needs)
    return card


def _schemes(jwt: JwtSettings) -> Iterator[tuple[str, a2a.SecurityScheme]]:
    described = "An API key, or a token of the issuer." if jwt.issuer else "An API key."
    bearer = a2a.HTTPAuthSecurityScheme(scheme="Bearer", description=described)
    yield "bearer", a2a.SecurityScheme(http_auth_security_scheme=bearer)
    if jwt.issuer:
        configuration = f"{jwt.issuer.rstrip('/')}/.well-known/openid-configuration"
        issuer = a2a.OpenIdConnectSecurityScheme(open_id_connect_url=configuration)
        yield "issuer", a2a.SecurityScheme(open_id_connect_security_scheme=issuer)


def _parts_of(definition: Definition) -> Iterator[a2a.AgentSkill]:
    for agent in getattr(definition.app.root_agent, "sub_agents", ()):
        yield _skill(f"agent.{agent.name}", agent.name, agent.description, "agent")
    for tool in definition.tools:
        yield _skill(f"tool.{tool}", tool, "", "tool")


def _skill(skill_id: str, name: str, description: str, tag: str) -> a2a.AgentSkill:
    return a2a.AgentSkill(id=skill_id, name=name, description=description or name, tags=[tag])
