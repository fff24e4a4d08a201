"""Reads the pod templates that the loads of a stress profile name, once: a resolved profile holds them."""

from pathlib import Path

import msgspec
import yaml

from crashloop.errors import UsageError
from crashloop.stress.loads import AnyLoad, Crash
from crashloop.stress.pod_template import PodTemplate, faults_of, template_in


def with_templates(loads: dict[str, AnyLoad], folder: Path) -> dict[str, AnyLoad]:
    """The loads with the contents of the templates that they name; `folder` is that of the profile.

    Raises UsageError for a file that is missing, has no pod, or has one that a load cannot take.
    """
    return {name: _with_template(name, load, folder) for name, load in loads.items()}


def _with_template(name: str, load: AnyLoad, folder: Path) -> AnyLoad:
    if not isinstance(load, Crash) or load.template is None:
        return load
    if isinstance(load.template, PodTemplate):
        raise UsageError(f"load {name!r}: template is no text; expected the path of a YAML file.")
    path = folder / load.template
    try:
        template = template_in(list(yaml.safe_load_all(path.read_text(encoding="utf-8"))), file=path.name)
        faults = list(faults_of(template))
    except OSError as error:
        faults = [f"it cannot be read ({error.strerror})."]
    except UnicodeDecodeError:
        faults = ["it is no text in UTF-8."]
    except (yaml.YAMLError, RecursionError) as error:
        faults = [f"it is not YAML: {error}"]
    except ValueError as error:
        faults = [str(error)]
    if faults:
        raise UsageError("\n".join(f"load {name!r}, template {load.template}: {fault}" for fault in faults))
    return msgspec.structs.replace(load, template=template)
