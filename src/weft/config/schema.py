"""A JSON schema (draft 2020-12) of a configuration, so that editors complete names and mark mistakes."""

from typing import Any, TypeAlias

from weft.config.describe import plain
from weft.config.forms import (
    REQUIRED,
    Choice,
    Form,
    Items,
    Leaf,
    Maybe,
    OneOf,
    Record,
    Registry,
    Setting,
    Settings,
    is_recipe,
    part_settings,
    record_settings,
    unfold,
)
from weft.config.leaves import adapter

Schema: TypeAlias = dict[str, Any]


def schema(kind: type, registry: Registry) -> Schema:
    """The schema of the dataclass `kind`; parts stand in `$defs` as Role (any of them) and Role.name."""
    writer = _Writer(registry)
    body = writer.mapping(record_settings(kind))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "$defs": writer.definitions}


class _Writer:
    """One schema in the making. A role is entered before its parts are written, so that it may hold itself."""

    def __init__(self, registry: Registry):
        self.registry = registry
        self.definitions: dict[str, Schema] = {}

    def mapping(self, settings: Settings) -> Schema:
        required = [name for name, setting in settings.items() if setting.default is REQUIRED]
        return {
            "type": "object",
            "properties": {name: self.setting(setting) for name, setting in settings.items()},
            "additionalProperties": False,
            **({"required": required} if required else {}),
        }

    def setting(self, setting: Setting) -> Schema:
        body = self.form(setting.form, setting.default)
        if setting.default is REQUIRED:
            return body
        return {**body, "default": plain(setting.default, setting.form, self.registry)}

    def form(self, form: Form, default: Any) -> Schema:
        match form:
            case Leaf():
                return adapter(form).json_schema()
            case OneOf(values=values):
                return {"enum": list(values)}
            case Maybe(inner=inner):
                return {"anyOf": [self.form(inner, default), {"type": "null"}]}
            case Items():
                return self.items(form)
            case Record(kind=kind):
                return self.mapping(record_settings(kind))
            case Choice(role=role):
                return self.choice(role, default)

    def items(self, form: Items) -> Schema:
        bodies = [self.form(item, REQUIRED) for item in form.forms]
        if form.any_number:
            return {"type": "array", "items": bodies[0]}
        return {"type": "array", "prefixItems": bodies, "items": False, "minItems": len(bodies)}

    def choice(self, role: type, default: Any) -> Schema:
        """Any part of the role; with a default, also that part's settings without its type."""
        if role.__name__ not in self.definitions:
            self.role(role)
        body = _reference(role.__name__)
        if not is_recipe(default):
            return body
        kind, _ = unfold(default)
        name = next(name for name, known in self.registry[role].items() if known is kind)
        return {"anyOf": [body, _reference(f"{role.__name__}.{name}")]}

    def role(self, role: type) -> None:
        names = list(self.registry[role])
        parts = [{**_reference(f"{role.__name__}.{name}"), "required": ["type"]} for name in names]
        self.definitions[role.__name__] = {"oneOf": [{"enum": names}, *parts]}
        for name, kind in self.registry[role].items():
            body = self.mapping(part_settings(kind))
            body["properties"] = {"type": {"const": name}, **body["properties"]}
            self.definitions[f"{role.__name__}.{name}"] = body


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
