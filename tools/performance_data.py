"""What `tconv bench --json` writes: reading, merging, and the figures that the page and the chart show."""

import json
import math

MODES = ("strict", "fp32", "tf32", "fp16", "bf16")
LAYOUTS = ("nchw", "nhwc")


class BadInput(Exception):
    """One sentence that names the file and the rule."""


def require(condition, path, sentence):
    if not condition:
        raise BadInput(f"{path}: {sentence}")


def number(value):
    """A finite number above zero, or None."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(value) if good else None


class Result:
    """One layer in one mode and layout."""

    def __init__(self, raw):
        self.layer = raw["layer"]
        self.group = raw.get("group") or "other"
        self.mode = raw["mode"]
        self.layout = raw["layout"]
        self.tolerance = number(raw.get("tolerance"))
        self.limit = number(raw.get("limit_milliseconds"))
        self.tconv = raw.get("tconv") or {}
        self.peer = raw.get("peer") or {}
        self.tconv_reason = raw.get("tconv_reason") or "no reason given"
        self.peer_reason = raw.get("peer_reason") or "no reason given"
        self.conditions = raw.get("conditions") or {}
        self.kept = None  # what of it is of a former page

    @property
    def key(self):
        return self.layer, self.mode, self.layout

    @property
    def tconv_ms(self):
        return number(self.tconv.get("milliseconds"))

    @property
    def peer_ms(self):
        return number(self.peer.get("milliseconds"))

    @property
    def speed_up(self):
        """cuDNN's time over tconv's; None unless both are there."""
        return self.peer_ms / self.tconv_ms if self.tconv_ms and self.peer_ms else None

    def share(self, milliseconds):
        """The limit over a time: 1 is what the device allows at best."""
        return self.limit / milliseconds if self.limit and milliseconds else None


class Runs:
    """The files in the order given and their results; a later one replaces an earlier of the same layer and mode."""

    def __init__(self, paths):
        self.runs = [read_run(path) for path in paths]
        first = self.runs[0]
        for path, run in zip(paths[1:], self.runs[1:]):
            for name in ("emulated", "device key", "weights"):
                mine, others = property_of(run, name), property_of(first, name)
                require(mine == others, path, f"{name} ({mine}) must be that of {paths[0]} ({others})")
        self.emulated = bool(first.get("emulated"))
        merged = {}
        for run in self.runs:
            for raw in run["results"]:
                result = Result(raw)
                merged[result.key] = result
        self.results = list(merged.values())

    def panels(self):
        """(mode, layout, results) for each combination that has any, in a fixed order."""
        for mode in MODES:
            for layout in LAYOUTS:
                chosen = [r for r in self.results if (r.mode, r.layout) == (mode, layout)]
                if chosen:
                    yield mode, layout, chosen


def property_of(run, name):
    if name == "weights":
        return run.get("weights", "each-call")
    return bool(run.get("emulated")) if name == "emulated" else (run.get("device") or {}).get("key")


def require_objects(raw, names, path, where):
    for name in names:
        require(isinstance(raw.get(name), (dict, type(None))), path, f"{where}{name} must be an object or null")


def read_run(path):
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: is no JSON: {error}") from error
    require(isinstance(run, dict), path, "must be one JSON object, as `tconv bench --json` writes it")
    require(run.get("format") in (1, 2), path, f"format ({run.get('format')}) must be 1 or 2")
    require(isinstance(run.get("results"), list), path, "results must be a list")
    require_objects(run, ("device", "cudnn", "ceilings"), path, "")
    for place, raw in enumerate(run["results"]):
        require(isinstance(raw, dict) and isinstance(raw.get("layer"), str), path, f"result {place} must have a layer")
        for name, known in (("mode", MODES), ("layout", LAYOUTS)):
            where = f"result {place} ({raw['layer']}): {name} ({raw.get(name)})"
            require(raw.get(name) in known, path, f"{where} must be one of {', '.join(known)}")
        require_objects(raw, ("tconv", "peer", "conditions"), path, f"result {place} ({raw['layer']}): ")
        if run["format"] == 1 and raw["mode"] == "fp32":
            raw["mode"] = "strict"  # format 1 knew no other fp32
    return run


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def groups_of(results):
    """Group names in the order of their first layer."""
    return list(dict.fromkeys(r.group for r in results))


def speed_up_text(value):
    """Two decimals; three where two would hide that it is not quite 1."""
    return f"{value:.3f}×" if value < 1 and f"{value:.2f}" == "1.00" else f"{value:.2f}×"
