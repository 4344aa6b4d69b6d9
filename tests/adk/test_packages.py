"""ADK packages as users have them: how an agent is found, and what the real process does with it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("google.adk")

from agent_eval.agents.resolve import AgentOptions
from agent_eval.errors import AgentError
from agent_eval.options import Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import Evaluation, plan_evaluation
from agent_eval.schema.result import RunRecord
from agent_eval.schema.trace import InvocationEvents
from tests.adk import MARKS
from tests.adk.support import answers, error
from tests.cli_support import Outcome, Project, case, eval_set

pytestmark = [*MARKS, pytest.mark.usefixtures("own_imports")]

MODEL = '''\
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Repeating(BaseLlm):
    """Repeats what the user says."""

    model: str = "repeating"
    prefix: str = ""

    async def generate_content_async(self, llm_request, stream=False):
        said = [part.text for content in llm_request.contents for part in content.parts if part.text]
        answer = types.Part(text=self.prefix + said[-1])
        yield LlmResponse(content=types.Content(role="model", parts=[answer]))
'''

AGENT = "from google.adk.agents.llm_agent import LlmAgent\nfrom .model import Repeating\n"

PACKAGES = {
    "root_agent": "root_agent = LlmAgent(name='any', model=Repeating())",
    "app": """\
from google.adk.apps.app import App
app = App(name='bot', root_agent=LlmAgent(name='any', model=Repeating()))""",
    "app that caches and resumes": """\
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps.app import App, ResumabilityConfig
app = App(
    name='bot',
    root_agent=LlmAgent(name='any', model=Repeating()),
    context_cache_config=ContextCacheConfig(),
    resumability_config=ResumabilityConfig(is_resumable=True),
)""",
    "app of another name": """\
from google.adk.apps.app import App
root_agent = LlmAgent(name='any', model=Repeating())
app = App(name='another_name', root_agent=root_agent)""",
    "app and a web app of that name": """\
root_agent = LlmAgent(name='any', model=Repeating())
app = object()""",
    "get_agent_async": """\
async def get_agent_async():
    return LlmAgent(name='any', model=Repeating())""",
    "get_agent_async with an exit stack": """\
from contextlib import AsyncExitStack
async def get_agent_async():
    return LlmAgent(name='any', model=Repeating()), AsyncExitStack()""",
    "agent class of its own": """\
class Desk(LlmAgent):
    pass
root_agent = Desk(name='any', model=Repeating())""",
    "graph": """\
from google.adk.workflow import START, Workflow
root_agent = Workflow(name='graph', edges=[(START, LlmAgent(name='any', model=Repeating()))])""",
}


@pytest.fixture
def package(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the current folder with the package `bot`, which lacks its agent yet."""
    monkeypatch.chdir(project.root)
    project.write("bot/model.py", MODEL)
    project.write("bot/__init__.py", "from . import agent\n")
    project.write("eval_config.json", {"criteria": {"response_match_score": 1.0}})
    project.write("set.json", eval_set(case("a", "first text", "second text"), case("b", "third text")))
    return project


def with_agent(project: Project, source: str) -> Project:
    project.write("bot/agent.py", AGENT + source + "\n")
    return project


def planned(agent: str = "bot", **options: Any) -> Evaluation:
    return plan_evaluation(Options(agent=agent, eval_sets=("set.json",), **options))


def run(project: Project, agent: str = "bot", **options: Any) -> list[RunRecord]:
    """Runs the set in this process."""
    asyncio.run(evaluate(planned(agent, **options)))
    return project.records()


def run_process(project: Project, *arguments: str, **variables: str) -> Outcome:
    return project.agent_eval("run", "bot", "set.json", *arguments, **variables)


@pytest.mark.parametrize("source", PACKAGES.values(), ids=PACKAGES.keys())
def test_package_is_found_and_run(package: Project, source: str) -> None:
    records = run(with_agent(package, source))

    assert [answers(record) for record in records] == [["first text", "second text"], ["third text"]]
    assert {record.session.app_name for record in records if record.session} == {"bot"}
    assert package.summary()["agent"]["kind"] == "adk"


def test_agent_in_a_folder_called_agents_under_another_app_name(package: Project) -> None:
    with_agent(package, PACKAGES["agent class of its own"])
    (package.root / "agents").mkdir()
    (package.root / "bot").rename(package.root / "agents" / "bot")
    elsewhere = {"app_name": "elsewhere", "user_id": "u1", "state": {}}
    package.write("set.json", eval_set(case("a", "text", session_input=elsewhere)))

    (record,) = run(package, "agents/bot")

    assert answers(record) == ["text"]
    assert any("`elsewhere`" in warning for warning in planned("agents/bot").warnings)


def test_agents_folder_outside_the_current_one(package: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with_agent(package, PACKAGES["root_agent"])
    (package.root / "work").mkdir()
    (package.root / "set.json").rename(package.root / "work" / "set.json")
    monkeypatch.chdir(package.root / "work")

    asyncio.run(evaluate(planned("../bot")))

    assert [answers(record) for record in package.records("work/.agent_eval/results")][1] == ["third text"]


def test_yaml_agent_with_code_beside_it(package: Project) -> None:
    package.write("bot/__init__.py", "")
    package.write("bot/scripted.py", "from .model import Repeating\nmodel = Repeating(prefix='yaml: ')\n")
    package.write(
        "bot/root_agent.yaml",
        "agent_class: LlmAgent\nname: any\ninstruction: Repeat.\nmodel_code:\n  name: bot.scripted.model\n",
    )

    assert answers(run(package)[1]) == ["yaml: third text"]


def test_yaml_that_is_wrong_is_an_input_error(package: Project) -> None:
    package.write("bot/root_agent.yaml", "agent_class: LlmAgent\nnme: any\n")
    (package.root / "bot" / "__init__.py").unlink()

    with pytest.raises(AgentError, match=r"root_agent\.yaml"):
        planned()


FACTORY = """\
built = []
async def get_agent_async():
    built.append(1)
    return LlmAgent(name='any', model=Repeating(prefix=f'{len(built)} '))"""


@pytest.mark.parametrize(("share", "built"), [(False, "4"), (True, "1")], ids=["fresh", "shared"])
def test_factory_is_asked_for_each_run_unless_told_to_share(
    package: Project, share: bool, built: str
) -> None:
    records = run(with_agent(package, FACTORY), num_runs=2, agents=AgentOptions(share=share))

    assert max(str(answers(record)[0])[0] for record in records) == built


SLOW_FACTORY = """\
import asyncio
built = []
async def get_agent_async():
    await asyncio.sleep(0.05)
    built.append(1)
    return LlmAgent(name='any', model=Repeating(prefix=f'{len(built)} '))"""


def test_shared_agent_is_built_once_also_where_runs_ask_for_it_at_the_same_time(package: Project) -> None:
    records = run(with_agent(package, SLOW_FACTORY), num_runs=4, agents=AgentOptions(share=True))

    assert {str(answers(record)[0])[0] for record in records} == {"1"}


PLAIN_FACTORY = """\
def get_agent_async():
    return lambda message, session: message.text"""


def test_factory_of_a_plain_agent_runs_where_google_adk_is_loaded(package: Project) -> None:
    records = run(with_agent(package, PLAIN_FACTORY))

    assert answers(records[0]) == ["first text", "second text"]


def test_factory_that_raises_crashes_the_run(package: Project) -> None:
    source = "async def get_agent_async():\n    raise OSError('no such secret')"

    assert error(run(with_agent(package, source))[0]) == ("OSError", "no such secret")


def test_reset_data_of_the_module_is_called_before_each_run(package: Project) -> None:
    source = """\
resets = []
def reset_data():
    resets.append(1)
root_agent = LlmAgent(name='any', model=Repeating(), instruction=lambda context: str(len(resets)))"""

    records = run(with_agent(package, source), num_runs=2, parallelism=1)

    details = [record.invocations[0].app_details for record in records]
    assert sorted(one.get_developer_instructions("any")[0] for one in details if one) == list("1234")


ASKING = """\
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
class Asking(Repeating):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=last.function_response.response['result'])
        else:
            part = types.Part(function_call=types.FunctionCall(name='echo', args={'request': last.text}))
        yield LlmResponse(content=types.Content(role='model', parts=[part]))
echo = LlmAgent(name='echo', description='Repeats.', model=Repeating())
root_agent = LlmAgent(name='any', model=Asking(), tools=[AgentTool(echo)])"""


@pytest.mark.parametrize("asked", [False, True])
def test_calls_inside_an_agent_tool_are_recorded_if_asked_for(package: Project, asked: bool) -> None:
    records = run(with_agent(package, ASKING), agents=AgentOptions(record_inner_calls=asked))

    data = records[1].invocations[0].intermediate_data
    assert isinstance(data, InvocationEvents)
    authors = [event.author for event in data.invocation_events]
    assert authors == ["any", *(["echo"] if asked else []), "any", "any"]


# The real process


def tier(eval_id: str, answer: str, app_name: str | None = None) -> dict[str, Any]:
    if not app_name:
        return case(eval_id, "tier?", answer=answer)
    given = {"app_name": app_name, "user_id": "u1", "state": {"tier": eval_id}}
    return case(eval_id, "tier?", answer=answer, session_input=given)


def test_c11_each_case_sees_its_own_state(package: Project) -> None:
    package.write(
        "set.json",
        eval_set(
            tier("gold", "Tier is gold", "bot"),
            tier("basic", "Tier is basic", "some_other_name"),
            tier("none", "Tier is unset"),
        ),
    )
    source = """\
import re
from google.adk.models.llm_response import LlmResponse
from google.genai import types
class Tier(Repeating):
    async def generate_content_async(self, llm_request, stream=False):
        tier = re.search(r'tier=(\\w*);', llm_request.config.system_instruction)[1] or 'unset'
        yield LlmResponse(content=types.Content(role='model', parts=[types.Part(text=f'Tier is {tier}')]))
root_agent = LlmAgent(name='any', model=Tier(), instruction='tier={tier?};')"""

    done = run_process(with_agent(package, source))

    assert done.code == 0, done.stdout + done.stderr
    assert re.findall(r"warning: case `(\w+)`", done.stderr) == ["basic"]
    sessions = {record.eval_id: record.session for record in package.records()}
    assert {eval_id: session.state for eval_id, session in sessions.items() if session} == {
        "gold": {"tier": "gold"},
        "basic": {"tier": "basic"},
        "none": {},
    }
    assert all(record.invocations[0].intermediate_data for record in package.records())


def test_evaluation_package_of_adk_is_never_imported(package: Project) -> None:
    source = (
        PACKAGES["app"]
        + """
import atexit, pathlib, sys
def note():
    pathlib.Path('loaded.txt').write_text(' '.join(sys.modules))
atexit.register(note)"""
    )

    done = run_process(with_agent(package, source), "--print_detailed_results")

    assert done.code == 0, done.stdout + done.stderr
    loaded = (package.root / "loaded.txt").read_text().split()
    assert "google.adk.runners" in loaded
    assert [name for name in loaded if name.startswith("google.adk.evaluation")] == []


def test_package_by_its_dotted_name_and_env_file(package: Project) -> None:
    source = "import os\nroot_agent = LlmAgent(name='any', model=Repeating(prefix=os.environ['PREFIX']))"
    with_agent(package, source)
    package.write("settings.env", "PREFIX='third '\n")
    package.write("set.json", eval_set(case("a", "text", answer="third text")))

    done = package.agent_eval(
        "run", "bot.agent:root_agent", "set.json", "--env_file", "settings.env", PYTHONPATH=str(package.root)
    )

    assert done.code == 0, done.stdout + done.stderr


KEEPING = """\
import os
from google.adk.models.llm_response import LlmResponse
from google.genai import types
class Keeping(Repeating):
    async def generate_content_async(self, llm_request, stream=False):
        if llm_request.contents[-1].parts[-1].function_response:
            part = types.Part(text=os.environ['NAME_OF_' + NAME.upper()])
        else:
            part = types.Part(function_call=types.FunctionCall(name='keep', args={}))
        yield LlmResponse(content=types.Content(role='model', parts=[part]))
async def keep(tool_context):
    await tool_context.save_artifact('note.txt', types.Part.from_bytes(data=b'note', mime_type='text/plain'))
root_agent = LlmAgent(name='any', model=Keeping(), tools=[keep])"""


def test_several_agents_in_one_go_with_their_own_env_files_and_artifacts(project: Project) -> None:
    for name in ("north", "south"):
        project.write(f"agents/{name}/__init__.py", "from . import agent\n")
        project.write(f"agents/{name}/model.py", MODEL)
        project.write(f"agents/{name}/agent.py", f"{AGENT}NAME = {name!r}\n{KEEPING}\n")
        project.write(f"agents/{name}/.env", f"NAME_OF_{name.upper()}='{name}ern desk'\n")
        asked = case("a", answer=f"{name}ern desk", session_input={"app_name": name, "user_id": "u1"})
        project.write(f"evalsets/{name}.evalset.json", eval_set(asked, eval_set_id=name))
    project.write("evalsets/eval_config.json", {"criteria": {"response_match_score": 1.0}})

    done = project.agent_eval("run", "--all", "--artifacts", "kept")

    assert done.code == 0, done.stdout + done.stderr
    assert "2 eval sets, 2 cases: 2 passed" in done.stdout
    kept = {path.relative_to(project.root / "kept") for path in (project.root / "kept").rglob("note.txt")}
    assert len(kept) >= 2


HIDING = """\
import sys


class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[:2] == ["google", "adk"]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hiding())
from agent_eval.cli.app import main

main()
"""


@pytest.mark.parametrize("form", ["agent.py", "root_agent.yaml"])
def test_without_google_adk_the_error_says_what_to_install(package: Project, form: str) -> None:
    if form == "agent.py":
        with_agent(package, PACKAGES["root_agent"])
    else:
        package.write("bot/root_agent.yaml", "agent_class: LlmAgent\nname: any\n")
    done = subprocess.run(
        [sys.executable, "-c", HIDING, "run", "bot", "set.json"],
        cwd=package.root,
        env=package.environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "pip install google-adk" in done.stderr
