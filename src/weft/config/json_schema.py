"""A JSON schema (draft 2020-12) of a configuration, for completion and checks in editors."""

from typing import Any, TypeAlias

from weft.config.registry import REGISTRY
from weft.config.schema import (
    REQUIRED,
    ComponentType,
    DataclassType,
    FieldType,
    LiteralType,
    OptionalType,
    Registry,
    ScalarType,
    SequenceType,
    Settings,
    constructor_settings,
    dataclass_settings,
    is_factory,
    unwrap_factory,
)
from weft.config.serialization import registered_name, to_plain
from weft.config.value_checks import type_adapter

JsonSchema: TypeAlias = dict[str, Any]


def json_schema(kind: type, registry: Registry = REGISTRY) -> JsonSchema:
    """Return the schema of the dataclass `kind`; `$defs` has Role (any component of the role) and Role.name."""
    builder = _SchemaBuilder(registry)
    body = builder.mapping(dataclass_settings(kind))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "$defs": builder.definitions}


class _SchemaBuilder:
    """Collects the definitions of a schema. A role is added before its components, since it may contain itself."""

    def __init__(self, registry: Registry):
        self.registry = registry
        self.definitions: dict[str, JsonSchema] = {}

    def mapping(self, settings: Settings) -> JsonSchema:
        properties = {name: self._field(setting.type, setting.default) for name, setting in settings.items()}
        required = [name for name, setting in settings.items() if setting.default is REQUIRED]
        for name in settings.keys() - required:
            properties[name]["default"] = to_plain(settings[name].default, settings[name].type, self.registry)
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            **({"required": required} if required else {}),
        }

    def _field(self, field_type: FieldType, default: Any) -> JsonSchema:
        match field_type:
            case ScalarType():
                return type_adapter(field_type).json_schema()
            case LiteralType(values=values):
                return {"enum": list(values)}
            case OptionalType(inner=inner):
                return {"anyOf": [self._field(inner, default), {"type": "null"}]}
            case SequenceType(items=items, is_variadic=is_variadic):
                bodies = [self._field(item, REQUIRED) for item in items]
                if is_variadic:
                    return {"type": "array", "items": bodies[0]}
                return {"type": "array", "prefixItems": bodies, "items": False, "minItems": len(bodies)}
            case DataclassType(kind=kind):
                return self.mapping(dataclass_settings(kind))
            case ComponentType(role=role):
                return self._component(role, default)

    def _component(self, role: type, default: Any) -> JsonSchema:
        """Any component of the role; with a default, also that component's settings without its type."""
        if role.__name__ not in self.definitions:
            names = list(self.registry[role])
            components = [{**_reference(f"{role.__name__}.{name}"), "required": ["type"]} for name in names]
            self.definitions[role.__name__] = {"oneOf": [{"enum": names}, *components]}
            for name, kind in self.registry[role].items():
                body = self.mapping(constructor_settings(kind))
                body["properties"] = {"type": {"const": name}, **body["properties"]}
                self.definitions[f"{role.__name__}.{name}"] = body
        if not is_factory(default):
            return _reference(role.__name__)
        name = registered_name(unwrap_factory(default)[0], role, self.registry)
        return {"anyOf": [_reference(role.__name__), _reference(f"{role.__name__}.{name}")]}


def _reference(name: str) -> JsonSchema:
    return {"$ref": f"#/$defs/{name}"}
