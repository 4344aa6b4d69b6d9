"""A project full of code that tells when it is imported, watched from inside the process."""

from __future__ import annotations

from pathlib import Path

from tests.cli_support import Outcome, Project, case, custom, eval_set

SPY = """\
    import os, sys
    with open(os.environ["SPIED"], "a") as spied:
        spied.write(__name__ + "\\n")
    """

WATCH = """\
    import os, sys

    def watch(event, args):
        if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            told = f"net {args[-1]}" if event == "socket.connect" else f"net {args[0]}"
        elif event == "open" and isinstance(args[0], (str, os.PathLike)) and writes(args):
            told = f"file {os.path.abspath(os.fspath(args[0]))}"
        elif event == "sqlite3.connect":
            told = f"file {os.path.abspath(os.fsdecode(args[0]))}"
        elif event == "subprocess.Popen":
            told = f"process {args[0]} {args[1]}"
        else:
            return
        os.write(SEEN, (told + "\\n").encode("utf-8", "replace"))

    def writes(args):
        return bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) and args[0] != os.devnull

    if "SEEN" in os.environ:
        SEEN = os.open(os.environ["SEEN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        sys.addaudithook(watch)
    """

ALWAYS = "response_match_score"


class Spied(Project):
    """The project, and what was seen."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "desk")
        notes = folder / "notes"
        self.spied = notes / "spied"
        self.seen = notes / "seen"
        self._path = notes / "path"
        Project(self._path).write("sitecustomize.py", WATCH)
        said = "\n\n    def root_agent(message, session):\n        return message.text\n"
        self.write("bot/__init__.py", SPY)
        self.write("bot/agent.py", SPY + said)
        self.write("gates.py", SPY + "\n    def gate(*given):\n        return 1.0\n")
        self.write("referee.py", SPY + '\n    def judge(request):\n        return \'{"verdict": "valid"}\'\n')
        self.write(
            "orders.evalset.json", eval_set(case("a", session_input={"app_name": "bot", "user_id": "u"}))
        )
        self.write("plain.json", {"criteria": {ALWAYS: 0.5}})
        self.write("coded.json", custom("gate", **{ALWAYS: 0.5}))
        judged = {"threshold": 0.5, "judge_model_options": {"judge_model": "python/referee:judge"}}
        self.write(
            "judged.json", {"criteria": {"final_response_match_v2": judged, "gate": 0.5}} | _only("gate")
        )
        player = {"type": "llm_backed", "model": "python/referee:judge"}
        self.write("played.json", {"criteria": {ALWAYS: 0.5}, "user_simulator_config": player})
        self.write("labels.json", [{"eval_id": "a", "response": "hi", "label": "pass"}])

    def agent_eval(self, *arguments: str, cwd: str = ".", **variables: str) -> Outcome:
        watched = {"SPIED": str(self.spied), "SEEN": str(self.seen), "PYTHONPATH": str(self._path)}
        fixed = {"PYTHONDONTWRITEBYTECODE": "1"}
        return super().agent_eval(*arguments, cwd=cwd, **watched | fixed | variables)

    @property
    def imported(self) -> set[str]:
        """The modules that were imported since last asked."""
        return set(self._taken(self.spied))

    def events(self, kind: str) -> list[str]:
        """What happened since last forgotten: `net`, `file` or `process`."""
        lines = self.seen.read_text().splitlines() if self.seen.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{kind} ")]

    def forget(self) -> None:
        """From here on it is seen anew."""
        self._taken(self.spied)
        self._taken(self.seen)

    @staticmethod
    def _taken(file: Path) -> list[str]:
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


def _only(name: str) -> dict[str, object]:
    return {"custom_metrics": custom(name)["custom_metrics"]}
