"""What a former performance page holds: its results, to stay where no run replaces them, and what it says of its runs."""

import re

from performance_data import LAYOUTS, MODES, Result, require

COLUMNS = 11  # of a table of layers


def figure(text):
    """The number of a cell, without its marks and unit; None where it has none."""
    match = re.fullmatch(r"\**([0-9.]+(?:e[-+]?\d+)?)(?: %|×)?\**", text.strip())
    return float(match[1]) if match else None


def side_of(time, error, family=None):
    side = {"milliseconds": figure(time), "error": figure(error)}
    return {**side, "family": family} if family else side


class KeptPage:
    """Results by (layer, mode, layout), runs as rows of their table with a command each, and what is said of clocks."""

    def __init__(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except ValueError:
            text = ""
        self.results = {}
        self.runs = list(self.runs_of(self.section(text, r"## Runs?")))
        # Those of still earlier runs follow without a heading of their own.
        self.conditions = re.sub(r"^### .*\n\n", "", self.section(text, "## Clocks and warnings"), flags=re.M)
        for mode, layout, body in re.findall(r"^### (\w+), (\w+)\n(.*?)(?=^##)", text, re.M | re.S):
            require(mode in MODES and layout in LAYOUTS, path, f"'### {mode}, {layout}' must be a mode and a layout")
            tolerance = re.search(r"^Tolerance ([0-9.e+-]+)\.$", body, re.M)
            for row in re.findall(r"^\| ([\w-]+ \|.*) \|$", body, re.M):
                cells = [cell.strip() for cell in row.split(" | ")]
                if cells[0] == "layer":
                    continue
                require(len(cells) == COLUMNS, path, f"{cells[0]} ({mode}, {layout}) must have {COLUMNS} cells")
                result = Result({
                    "layer": cells[0], "group": cells[1], "mode": mode, "layout": layout,
                    "limit_milliseconds": figure(cells[2]),
                    "tolerance": float(tolerance[1]) if tolerance else None,
                    "tconv": side_of(cells[3], cells[8], cells[10]), "peer": side_of(cells[4], cells[9]),
                })
                self.results[result.key] = result
        require(self.results, path, "must be a page that this command made, with results")

    @staticmethod
    def runs_of(text):
        """Rows of the tables of runs, each with its command: the commands of a table follow it in its order."""
        for table, commands in re.findall(r"((?:^\|.*\n)+)\n(?:(?!\||\d+\. ).*\n)+\n((?:^\d+\. .*(?:\n|\Z))+)", text, re.M):
            rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
            for row, command in zip(rows, re.findall(r"^\d+\. `(.*)`$", commands, re.M)):
                yield row, command

    @staticmethod
    def section(text, head):
        match = re.search(rf"^{head}\n\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        return match[1].strip() if match else ""

    def fill(self, runs):
        """Adds what the runs lack: cuDNN's side of a result that was measured without it, and whole results, all in the
        order of the page."""
        for result in runs.results:
            kept = self.results.get(result.key)
            if kept and not result.peer_ms:
                result.peer = kept.peer
                result.kept = "cuDNN's time"
        own = {r.key for r in runs.results}
        for key, result in self.results.items():
            if key not in own:
                result.kept = "all"
                runs.results.append(result)
        places = {key: place for place, key in enumerate(self.results)}
        runs.results.sort(key=lambda r: places.get(r.key, len(places)))
