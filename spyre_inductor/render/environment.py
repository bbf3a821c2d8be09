"""The Jinja environment of the kernel templates: strict, deterministic, without Python calls."""

from __future__ import annotations

import functools
from pathlib import Path

import jinja2

from spyre_inductor.errors import TemplateError

from .filters import FILTERS

TEMPLATE_DIR = Path(__file__).resolve().parents[2] / "codegen_templates"
INCLUDE_DIR = TEMPLATE_DIR / "include"


@functools.cache
def template_environment() -> jinja2.Environment:
    """One environment per process; a missing name in a template raises instead of printing ''."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE_DIR),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(FILTERS)
    return environment


def render_template(path: str, **inputs: object) -> str:
    """Renders codegen_templates/`path`; raises TemplateError naming template and line."""
    try:
        return template_environment().get_template(path).render(**inputs)
    except jinja2.TemplateNotFound as error:
        raise TemplateError(
            f"no kernel template {error.name} in {TEMPLATE_DIR}"
        ) from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{error.name}:{error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        raise TemplateError(f"{path}: {error.message}") from error
