"""The files of a deployment: what linters, schemas and the programs themselves say of them."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.main import get_command

from oda.cli.app import app as cli
from oda.server.metrics import Metrics
from oda.setting_names import unknown_settings
from oda.turn.queue import QueueLength

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "chart"
KUBERNETES = "1.30"
LINUX_ONLY = pytest.mark.skipif(
    find_spec("go_template") is None, reason="needs linters that exist for Linux on x86-64 only"
)
_RENDER = "import sys, go_template; go_template.render_template(*sys.argv[1:])"

Values = dict[str, Any]


def run(*command: str | Path, **environment: str) -> str:
    """Run a program, which must succeed; return what it prints."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_understood(arguments: list[str]) -> None:
    """Have the command line parse arguments of `oda`, without running anything."""
    command: Any = get_command(cli)
    while hasattr(command, "commands"):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    command.make_context("oda", [*arguments])


def assert_are_settings(names: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("ODA_"):
            monkeypatch.delenv(name)
    for name in names:
        if name.startswith("ODA_"):
            monkeypatch.setenv(name, "x")
    assert [one.name for one in unknown_settings()] == []


# --- Docker


@LINUX_ONLY
def test_dockerfile_passes_its_linter() -> None:
    run(Path(sys.executable).with_name("hadolint"), "Dockerfile")


def test_compose_file_follows_its_schema_and_its_commands_are_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    run(checker, "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    ours = {name: service for name, service in services.items() if service["image"] == "oda"}
    assert set(ours) == {"migrate", "web", "worker"}
    for service in ours.values():
        assert_understood(service["command"])
        assert_are_settings(service["environment"], monkeypatch)
    assert [ours[name]["deploy"]["replicas"] for name in ("web", "worker")] == [2, 2]


def test_volumes_are_mounted_where_the_image_has_directories_of_its_user() -> None:
    made = {
        path
        for name, arguments in instructions()
        if name == "RUN" and "install -d -o oda" in arguments
        for path in arguments.split("install -d -o oda ")[1].split()
    }
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    mounted = {
        volume.split(":")[1]
        for service in services.values()
        if service["image"] == "oda"
        for volume in service.get("volumes", [])
    }
    assert mounted
    assert mounted <= made


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile with their arguments."""
    lines = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text()).splitlines()
    found = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [(name, arguments) for name, _, arguments in found]


def test_environment_of_the_image_holds_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [arguments for name, arguments in instructions() if name == "ENV"][-1]
    assert_are_settings(dict(one.split("=", 1) for one in settings.split()), monkeypatch)


@pytest.mark.timeout(300)
def test_steps_of_the_dockerfile_make_a_server(tmp_path: Path) -> None:
    uv = shutil.which("uv") or ROOT / ".venv-tools" / "bin" / "uv"
    steps = instructions()
    second = [n for n, (name, _) in enumerate(steps) if name == "FROM"][1]
    build, final = steps[:second], steps[second:]
    source, srv, opt = tmp_path / "src", tmp_path / "srv", tmp_path / "opt"
    copy_all(build, source)
    copy_all(final, srv)
    (synchronize,) = [
        arguments for name, arguments in build if (name, arguments[:3]) == ("RUN", "uv ")
    ]
    subprocess.run(
        [str(uv), *synchronize.split()[1:], "--quiet", "--python", sys.executable],
        cwd=source,
        env={**os.environ, "UV_PROJECT_ENVIRONMENT": str(opt), "UV_LINK_MODE": "hardlink"},
        check=True,
        timeout=240,
    )
    check = json.loads(next(a for name, a in final if name == "HEALTHCHECK").split("CMD ")[1])
    assert not (opt / "bin" / "pytest").exists()
    with served(opt / "bin" / "oda", srv, tmp_path / "data") as port:
        environment = {**os.environ, "ODA_PORT": port}
        subprocess.run([opt / "bin" / check[0], *check[1:]], env=environment, check=True)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/apps", timeout=60) as answer:
            apps = json.load(answer)["apps"]
        assert {"cv", "resume_coach", "researcher", "companion"} <= {one["name"] for one in apps}
        assert not [one for one in apps if one.get("error")]


def copy_all(steps: list[tuple[str, str]], target: Path) -> None:
    """Copy what a stage copies from the repository."""
    target.mkdir()
    for name, arguments in steps:
        if name == "COPY" and not arguments.startswith("--from"):
            *sources, to = arguments.split()
            for one in sources:
                if (ROOT / one).is_dir():
                    leave = shutil.ignore_patterns("__pycache__", ".adk")
                    shutil.copytree(ROOT / one, target / to, ignore=leave)
                else:
                    shutil.copy(ROOT / one, target / to)


@contextmanager
def served(oda: Path, directory: Path, data: Path) -> Iterator[str]:
    """Run a server of an installed `oda`; enter with its port."""
    given = {"PYTHONPATH": str(directory), "ODA_DATA_DIR": str(data), "HOME": str(data)}
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    with subprocess.Popen(
        [oda, "serve", "--port", "0"],
        cwd=directory,
        env={**kept, **given},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        yield found[1]
        process.terminate()
        process.wait(timeout=30)


# --- Kubernetes

MORE: Values = {
    "database": {"secret": "s", "key": "url", "listenKey": "direct"},
    "settings": {"ODA_MODEL": 'a "quoted" name', "ODA_TURN__CONCURRENCY": 5, "ODA_DEV_UI": False},
    "settingsSecrets": ["model-keys"],
    "workspaceClaim": "shared",
}


def values(**changes: Any) -> Values:
    given: Values = yaml.safe_load((CHART / "values.yaml").read_text())
    return {**given, **changes}


def scaled() -> Values:
    worker = values()["worker"]
    scaling = {**worker["autoscaling"], "enabled": True}
    return values(**MORE, worker={**worker, "apps": "cv,assistant", "autoscaling": scaling})


def rendered(given: Values, directory: Path) -> dict[tuple[str, str], Any]:
    """Return the objects of the chart by kind and name."""
    release = {"Name": "mine", "Revision": 3}
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump({"Values": given, "Release": release}))
    objects = {}
    for template in sorted((CHART / "templates").iterdir()):
        result = directory / template.name
        run(sys.executable, "-c", _RENDER, template, file, result)
        for one in yaml.safe_load_all(result.read_text()):
            objects[one["kind"], one["metadata"]["name"]] = one
    return objects


@LINUX_ONLY
@pytest.mark.parametrize(
    "given", [values(), values(**MORE), scaled()], ids=["plain", "more", "scaled"]
)
def test_chart_makes_valid_objects_whose_commands_are_understood(
    given: Values, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jsonschema.validate(given, json.loads((CHART / "values.schema.json").read_text()))
    objects = rendered(given, tmp_path)
    for one in objects.values():
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    is_scaled = given["worker"]["autoscaling"]["enabled"]
    assert {kind for kind, _ in objects} - {"HorizontalPodAutoscaler"} == {
        "Deployment",
        "Job",
        "PodDisruptionBudget",
        "Service",
    }
    assert (("HorizontalPodAutoscaler", "mine-worker") in objects) == is_scaled
    assert ("replicas" in objects["Deployment", "mine-worker"]["spec"]) != is_scaled
    for container, pod in containers(objects):
        assert_understood(container["args"])
        environment = {one["name"]: one.get("value") for one in container["env"]}
        assert_are_settings(environment, monkeypatch)
        for name, value in given["settings"].items():
            assert environment[name] == str(value).replace("False", "false")
        assert ("ODA_LISTEN_URL" in environment) == bool(given["database"]["listenKey"])
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
        assert container["securityContext"]["readOnlyRootFilesystem"]
    service = objects["Service", "mine"]["spec"]["selector"]
    labels = objects["Deployment", "mine-web"]["spec"]["template"]["metadata"]["labels"]
    assert service.items() <= labels.items()


def containers(objects: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for (kind, _), one in objects.items():
        if kind in ("Deployment", "Job"):
            pod = one["spec"]["template"]["spec"]
            yield from zip(pod["containers"], itertools.repeat(pod), strict=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"graceSeconds": -1},
        {"settings": {"MODEL": "x"}},
        {"workers": {}},
        {"settingsSecrets": [""]},
    ],
)
def test_wrong_values_are_refused(wrong: Values) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values(**wrong), schema)


# --- Grafana


def test_dashboard_shows_numbers_that_exist() -> None:
    metrics = Metrics()
    metrics.queue(QueueLength(waiting=1, running=2, oldest_seconds=3.0))
    metrics.requests.answered("GET", "/livez", 200, 0.1)
    exported = {
        name
        for family in text_string_to_metric_families(metrics.text().decode())
        for name in (family.name, *(sample.name for sample in family.samples))
    }
    exported |= {f"{name}_total" for name in exported} | {f"{name}_bucket" for name in exported}
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "oda.json").read_text())
    expressions = [t["expr"] for panel in dashboard["panels"] for t in panel["targets"]]
    used = {name for one in expressions for name in re.findall(r"\boda_\w+", one)}
    assert used <= exported
    assert {"oda_queue_waiting", "oda_turns_recovered_total", "oda_turns_total"} <= used
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)
