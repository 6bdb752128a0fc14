"""Filters of LangChain, LlamaIndex and Haystack as conditions of a conclave server. "tags" names a passage's tags; all
other fields are keys of its metadata, also behind "meta." or "metadata."."""

from typing import Any

COMPARISONS = {"==": "eq", "eq": "eq", ">": "gt", "gt": "gt", ">=": "gte", "gte": "gte", "<": "lt", "lt": "lt"}
COMPARISONS |= {"<=": "lte", "lte": "lte"}


def compared(field: str, operator: str, value: Any) -> dict[str, Any]:
    """The condition that a field compares with a value: an operator of any of the frameworks."""
    field = field.removeprefix("meta.").removeprefix("metadata.")
    if operator in ("!=", "ne", "nin", "not in"):
        return {"not": compared(field, "in" if "in" in operator else "eq", value)}
    if operator == "is_empty":
        return {"field": field, "exists": False}
    values = list(value) if isinstance(value, list | tuple | set) else [value]
    if field == "tags" and operator in ("in", "any", "contains", "contain", "all", "eq", "=="):
        return {"tags_all" if operator == "all" else "tags_any": [str(v) for v in values]}
    if operator in ("in", "any"):
        return {"field": field, "in": [dated(v) for v in values]}
    if operator not in COMPARISONS:
        raise ValueError(f"the operator {operator!r} on {field!r} is not supported by conclave")
    return {"field": field, COMPARISONS[operator]: dated(value)}


def dated(value: Any) -> Any:
    """A date or a time as RFC 3339; other values as they are."""
    if isinstance(value, dict) and "date" in value:  # LangChain's
        return value["date"]
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return text + "Z" if "T" in text and getattr(value, "tzinfo", None) is None else text
    return value


def joined(operator: str, conditions: list[dict[str, Any]]) -> dict[str, Any]:
    """Several conditions by "and", "or" or "not"."""
    if operator.lower() == "not":
        return {"not": conditions[0] if len(conditions) == 1 else {"and": conditions}}
    return {operator.lower(): conditions}


def from_langchain(directive: Any) -> dict[str, Any]:
    """A FilterDirective of langchain_core.structured_query, as a SelfQueryRetriever makes it."""
    if hasattr(directive, "arguments"):
        return joined(directive.operator.value, [from_langchain(a) for a in directive.arguments])
    return compared(directive.attribute, directive.comparator.value, directive.value)


def from_llama_index(filters: Any) -> dict[str, Any]:
    """MetadataFilters of llama_index.core.vector_stores."""
    if hasattr(filters, "filters"):
        return joined(str(getattr(filters.condition, "value", "and")), [from_llama_index(f) for f in filters.filters])
    return compared(filters.key, filters.operator.value, filters.value)


def from_haystack(filters: dict[str, Any]) -> dict[str, Any]:
    """A filter of Haystack 2: a comparison, or conditions by AND, OR or NOT."""
    if "conditions" in filters:
        return joined(filters["operator"], [from_haystack(c) for c in filters["conditions"]])
    return compared(filters["field"], filters["operator"], filters["value"])
