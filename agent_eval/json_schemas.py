"""JSON Schemas of eval sets, configs and results, made from the models that read them.

They are for editors: they accept every file that agent-eval accepts in the current form, suggest
snake_case, and tell what each key means. What they cannot say (ids that repeat, say) `run` still does.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from agent_eval.metrics.registry import MetricEvaluatorRegistry
from agent_eval.schema.base import Value
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalSet
from agent_eval.schema.result import EvalResult

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Kind(StrEnum):
    """What files there are."""

    EVALSET = "evalset"
    CONFIG = "config"
    RESULT = "result"


def json_schema(kind: Kind, registry: MetricEvaluatorRegistry) -> Schema:
    """The JSON Schema of a kind of file; a config's criteria are those of the metrics in the registry."""
    match kind:
        case Kind.EVALSET:
            schema = _both_spellings(EvalSet.model_json_schema(by_alias=False))
        case Kind.CONFIG:
            schema = _both_spellings(_config(registry))
        case Kind.RESULT:
            schema = EvalResult.model_json_schema(by_alias=False, mode="serialization")
    _describe(schema)
    schema.get("properties", {}).setdefault("$schema", {"type": "string"})
    return {
        "$schema": DIALECT,
        "title": f"agent-eval {kind.value}",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def _config(registry: MetricEvaluatorRegistry) -> Schema:
    """Configs, with each metric's own criterion behind its name, and the forms that are read as another."""
    schema = EvalConfig.model_json_schema(by_alias=False)
    defs = schema["$defs"]
    criteria = schema["properties"]["criteria"]
    criteria["properties"] = {}
    for metric in registry.metrics():
        if not metric.info.requires_threshold:
            continue
        criterion = metric.criterion_type.model_json_schema(by_alias=False, ref_template="#/$defs/{model}")
        defs |= criterion.pop("$defs", {})
        defs[metric.criterion_type.__name__] = criterion
        criteria["properties"][metric.info.metric_name] = {
            "anyOf": [{"type": "number"}, {"$ref": f"#/$defs/{metric.criterion_type.__name__}"}],
            "description": metric.info.description or "",
        }
    if "MatchType" in defs:
        defs["MatchType"] = {"anyOf": [defs["MatchType"], {"type": ["string", "integer"]}]}
    methods = {"enum": defs["CrossRunMethod"]["enum"]}
    defs["CrossRunScoring"] = {"anyOf": [methods, defs["CrossRunScoring"]]}
    defs["MultiRunConfig"]["properties"]["cross_run_criteria"]["anyOf"].append({"type": "object"})
    joined: Schema = _any_of(schema)
    return joined


def _any_of(schema: Any) -> Any:
    """`oneOf` as `anyOf`: where the key that tells the forms apart is left out, several fit."""
    if isinstance(schema, dict):
        return {
            "anyOf" if key == "oneOf" else key: _any_of(value)
            for key, value in schema.items()
            if key != "discriminator"
        }
    return [_any_of(item) for item in schema] if isinstance(schema, list) else schema


def _objects(schema: Schema) -> Iterator[Schema]:
    """The root and every definition that has keys."""
    for one in (schema, *schema.get("$defs", {}).values()):
        for candidate in (one, *one.get("anyOf", ())):
            if candidate.get("properties"):
                yield candidate


def _both_spellings(schema: Schema) -> Schema:
    """Takes keys in camelCase too, without suggesting them."""
    for one in _objects(schema):
        spellings = {name: camel for name in one["properties"] if (camel := to_camel(name)) != name}
        hidden = {"deprecationMessage": "snake_case is preferred", "doNotSuggest": True}
        one["properties"] |= {
            camel: {**one["properties"][name], **hidden} for name, camel in spellings.items()
        }
        required = one.pop("required", [])
        wanted = [
            {"anyOf": [{"required": [name]}, {"required": [spellings[name]]}]}
            for name in required
            if name in spellings
        ]
        if plain := [name for name in required if name not in spellings]:
            one["required"] = plain
        if wanted:
            one["allOf"] = wanted
    return schema


def _describe(schema: Schema) -> None:
    """Puts the docstring of each field beside it."""
    models = {model.__name__: model for model in _models(Value)}
    for one in _objects(schema):
        model = models.get(one.get("title", ""))
        for name, told in _field_docs(model).items() if model else ():
            if name in one["properties"]:
                one["properties"][name]["description"] = told
        for name in one["properties"]:
            one["properties"][name].pop("title", None)


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def _field_docs(model: type[BaseModel]) -> dict[str, str]:
    """The text below each field of a model and of those it derives from."""
    docs: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not issubclass(cls, Value):
            continue
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(node, ast.ClassDef)
        for field, after in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match after:
                    case ast.Expr(ast.Constant(str() as told)):
                        docs[field.target.id] = inspect.cleandoc(told)
    return docs
