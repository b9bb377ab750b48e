"""Tests of tools/performance_page, whose path is the first argument; exit code 77 where there is no matplotlib."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

SCRIPT = ""
SKIPPED = 77


def result(layer, group, limit, tconv, peer, mode="fp32", layout="nchw", **more):
    def side(milliseconds, error):
        return None if milliseconds is None else {"milliseconds": milliseconds, "error": error, "family": "direct"}

    return {"layer": layer, "group": group, "mode": mode, "layout": layout, "tolerance": 1e-4,
            "limit_milliseconds": limit, "tconv": side(tconv, 4e-6), "peer": side(peer, 3e-6), **more}


def sample():
    """Four layers of one run with figures that are easy to work out by hand."""
    return {
        "format": 2, "tconv": "0.1.0", "started": "2026-11-29T20:40:00Z", "command": "tconv bench --layers x.yaml",
        "emulated": False,
        "device": {"key": "NVIDIA H200, cc 9.0, 132 multiprocessors", "name": "NVIDIA H200", "driver": "13.0",
                   "driver_package": "580.159.04"},
        "nvrtc": "NVRTC 13.0", "cudnn": {"version": "9.19.0"},
        "ceilings": {"copy_bytes_per_second": 3.95e12, "fma_flops_per_second": 6.5e13, "tf32_flops_per_second": 4e14,
                     "bf16_flops_per_second": 0, "empty_launch_milliseconds": 0.0035},
        "results": [
            result("wins", "image", 1, 2, 4, conditions={"before": {"sm_mhz": 1980, "temperature_celsius": 41},
                                                         "after": {"sm_mhz": 1755}, "warnings": ["it | was hot"]}),
            result("loses", "image", 0.5, 4, 1),
            result("alone", "volume", 3, 6, None, peer_reason="no engine took it"),
            result("refused", "volume", 3, None, 6, tconv_reason="no family took it."),
            result("wins", "image", 0.25, 0.5, 1.5, mode="bf16", layout="nhwc"),
        ],
        "warnings": [],
    }


class PerformancePage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page_path = self.folder / "page.md"
        self.chart_path = self.folder / "chart.svg"

    def write(self, name, run):
        path = self.folder / name
        path.write_text(run if isinstance(run, str) else json.dumps(run), encoding="utf-8")
        return str(path)

    def call(self, *runs, options=()):
        files = [self.write(f"run{i}.json", run) for i, run in enumerate(runs)]
        return subprocess.run([SCRIPT, *files, "--output", str(self.page_path), "--chart", str(self.chart_path),
                               *options], capture_output=True, text=True, check=False)

    def make(self, *runs, options=()):
        done = self.call(*runs, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.page_path.read_text(encoding="utf-8")

    def row(self, page, *starts):
        """The cells of the one table row that begins with these cells."""
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
        found = [row for row in rows if row[:len(starts)] == list(starts)]
        self.assertEqual(len(found), 1, f"{starts} in {page}")
        return found[0]

    def test_every_layer_has_its_figures(self):
        page = self.make(sample())
        fp32 = page[page.index("### fp32, nchw"):page.index("### bf16, nhwc")]
        self.assertEqual(self.row(fp32, "wins"), ["wins", "image", "1", "2", "4", "2.00×", "50.0 %", "25.0 %",
                                                  "4.0e-06", "3.0e-06", "direct"])
        self.assertEqual(self.row(fp32, "loses")[2:8], ["0.5", "4", "1", "**0.25×**", "12.5 %", "50.0 %"])
        self.assertEqual(self.row(fp32, "alone")[2:], ["3", "6", "—", "—", "50.0 %", "—", "4.0e-06", "—", "direct"])
        self.assertEqual(self.row(fp32, "refused")[2:], ["3", "—", "6", "—", "—", "50.0 %", "—", "3.0e-06", "—"])
        bf16 = page[page.index("### bf16, nhwc"):page.index("## Run")]
        self.assertEqual(self.row(bf16, "wins")[2:6], ["0.25", "0.5", "1.5", "3.00×"])

    def test_means_are_geometric_and_over_what_both_compute(self):
        page = self.make(sample())
        # sqrt(2 * 0.25) = 0.7071; sqrt(0.5 * 0.125) = 0.25; sqrt(0.25 * 0.5) = 0.3536
        image = ["2", "1", "**0.71×**", "25.0 %", "35.4 %"]
        self.assertEqual(self.row(page, "fp32, nchw", "image")[2:], image)
        self.assertEqual(self.row(page, "fp32, nchw", "all")[2:], image)
        self.assertEqual(self.row(page, "fp32, nchw", "volume")[2:], ["0", "0", "—", "—", "—"])
        self.assertEqual(self.row(page, "bf16, nhwc", "image")[2:], ["1", "1", "3.00×", "50.0 %", "16.7 %"])

    def test_losses_come_first_and_plainly(self):
        page = self.make(sample())
        first = page[page.index("## "):page.index("## Means")]
        self.assertTrue(first.startswith("## Where tconv is slower than cuDNN"))
        self.assertIn("- **fp32, nchw**: slower on 1 of 2 layers: loses (0.25×).", first)
        self.assertIn("- **bf16, nhwc**: slower on none of 1 layer.", first)
        self.assertIn("- No time of cuDNN: no engine took it: alone (fp32, nchw).", first)
        self.assertIn("- No time of tconv: no family took it: refused (fp32, nchw).", first)

    def test_a_speed_up_just_below_one_is_not_rounded_to_one(self):
        run = sample()
        run["results"] = [result("near", "image", 1, 2.004, 2)]  # 0.99800
        page = self.make(run)
        self.assertIn("slower on 1 of 1 layer: near (0.998×).", page)

    def test_what_was_used_and_how_the_card_was_is_told(self):
        page = self.make(sample())
        for words in ("2026-11-29T20:40:00Z", "`tconv bench --layers x.yaml`", "580.159.04, CUDA 13.0", "9.19.0",
                      "| NVIDIA H200, cc 9.0, 132 multiprocessors | 580.159.04, CUDA 13.0 | 13.0 | 9.19.0 |",
                      "| NVRTC | cuDNN | copy | fp32 | TF32 | 16 bits | launch |",
                      "| 3.95 | 65 | 400 | not measured | 3.5 |",
                      "- SM clock: 1755 to 1980 MHz", "- temperature: 41 °C", "- it \\| was hot: wins (fp32, nchw)",
                      "tools/performance_page"):
            self.assertIn(words, page)

    def test_a_later_file_replaces_results_and_adds_others(self):
        later = sample()
        later["results"] = [result("loses", "image", 0.5, 0.5, 1), result("new", "audio", 1, 1, 5)]
        page = self.make(sample(), later)
        fp32 = page[page.index("### fp32, nchw"):page.index("### bf16, nhwc")]
        self.assertEqual(self.row(fp32, "loses")[3:6], ["0.5", "1", "2.00×"])
        self.assertEqual(self.row(fp32, "wins")[5], "2.00×")
        self.assertEqual(self.row(fp32, "new")[5], "5.00×")
        self.assertEqual(self.row(page, "fp32, nchw", "all")[4], "2.71×")  # (2 * 2 * 5) ^ (1/3)

    def test_what_the_files_lack_stays_as_on_a_former_page_and_is_named(self):
        self.make(sample())
        former = self.folder / "former.md"
        former.write_text(self.page_path.read_text(encoding="utf-8"), encoding="utf-8")
        faster = sample()
        faster["started"] = "2026-11-30T08:00:00Z"
        faster["results"] = [result("wins", "image", 1, 1.25, None), result("alone", "volume", 3, 5, None)]
        page = self.make(faster, options=["--keep", str(former)])
        fp32 = page[page.index("### fp32, nchw"):page.index("### bf16, nhwc")]
        self.assertEqual(self.row(fp32, "wins")[3:6], ["1.25", "4", "3.20×"])
        self.assertEqual(self.row(fp32, "alone")[3:6], ["5", "—", "—"])
        self.assertEqual(self.row(fp32, "loses"), ["loses", "image", "0.5", "4", "1", "**0.25×**", "12.5 %", "50.0 %",
                                                   "4.0e-06", "3.0e-06", "direct"])
        self.assertEqual(self.row(page[page.index("### bf16, nhwc"):], "wins")[3:6], ["0.5", "1.5", "3.00×"])
        self.assertEqual(self.row(page, "fp32, nchw", "image")[2:5], ["2", "1", "**0.89×**"])  # (3.2 * 0.25) ^ (1/2)
        earlier = page[page.index("### Earlier runs"):page.index("## Clocks and warnings")]
        self.assertIn("- **fp32, nchw**: loses, refused.", earlier)
        self.assertIn("- **fp32, nchw**: cuDNN's times of the other layers.", earlier)
        self.assertIn("- **bf16, nhwc**: all.", earlier)
        self.assertIn("2026-11-29T20:40:00Z", earlier)
        self.assertIn("it \\| was hot: wins (fp32, nchw)", page[page.index("### Of the earlier runs"):])

    def test_runs_are_carried_once_each_with_their_commands(self):
        runs = []
        for number in (1, 2, 3):
            run = sample()
            run["started"], run["command"] = f"2026-11-30T0{number}:00:00Z", f"tconv bench --seed {number}"
            runs.append(run)
        former = self.folder / "former.md"
        self.make(runs[0])
        for run in (runs[1], runs[1], runs[2]):
            former.write_text(self.page_path.read_text(encoding="utf-8"), encoding="utf-8")
            page = self.make(run, options=["--keep", str(former)])
        self.assertEqual(page.count("### Earlier runs"), 1)
        for run in runs:
            self.assertEqual(page.count(f"| {run['started']} |"), 1)
            self.assertEqual(page.count(f"`{run['command']}`"), 1)
        earlier = page[page.index("### Earlier runs"):]
        self.assertLess(earlier.index("T02:00:00Z"), earlier.index("T01:00:00Z"))
        self.assertLess(earlier.index("1. `tconv bench --seed 2`"), earlier.index("2. `tconv bench --seed 1`"))

    def test_a_page_that_is_none_is_refused(self):
        former = self.folder / "former.md"
        former.write_text("# Something else\n", encoding="utf-8")
        done = self.call(sample(), options=["--keep", str(former)])
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be a page that this command made", done.stderr)

    def test_the_chart_has_every_layer_and_is_the_same_each_time(self):
        self.make(sample())
        first = self.chart_path.read_bytes()
        page = self.page_path.read_text(encoding="utf-8")
        self.assertIn("(chart.svg)", page)
        words = [text.strip() for text in ElementTree.fromstring(first).itertext() if text.strip()]
        for name in ("wins", "loses", "alone", "refused", "fp32, nchw", "bf16, nhwc", "2.00×", "0.25×", "3.00×",
                     "no cuDNN", "no tconv"):
            self.assertIn(name, words)
        self.make(sample())
        self.assertEqual(self.chart_path.read_bytes(), first)
        self.assertEqual(self.page_path.read_text(encoding="utf-8"), page)

    def test_an_emulated_run_is_labelled_and_has_no_chart(self):
        run = sample()
        run["emulated"] = True
        page = self.make(run)
        self.assertIn("They are no GPU figures", page)
        self.assertNotIn(".svg)", page)
        self.assertFalse(self.chart_path.exists())

    def test_optional_parts_may_be_missing(self):
        page = self.make({"format": 1, "results": [{"layer": "bare", "mode": "tf32", "layout": "nchw"}]})
        self.assertEqual(self.row(page, "bare")[2:6], ["—", "—", "—", "—"])
        self.assertIn("No layer was computed by both", page)
        self.assertFalse(self.chart_path.exists())
        self.make({"format": 1, "results": []})

    def test_the_fp32_of_the_first_format_is_strict(self):
        old = sample()
        old["format"] = 1
        page = self.make(old)
        self.assertIn("### strict, nchw", page)
        self.assertNotIn("### fp32, nchw", page)
        both = self.make(old, sample())
        self.assertLess(both.index("### strict, nchw"), both.index("### fp32, nchw"))

    def test_bad_input_is_one_line_and_leaves_the_page_alone(self):
        self.page_path.write_text("old", encoding="utf-8")
        other_device, emulated = copy.deepcopy(sample()), sample()
        other_device["device"]["key"] = "another"
        emulated["emulated"] = True
        unknown_mode, no_layer, no_object = sample(), sample(), sample()
        unknown_mode["results"][1]["mode"] = "int8"
        del no_layer["results"][0]["layer"]
        no_object["results"][0]["tconv"] = 3
        for runs, words in (((other_device, sample()), "device key"), ((sample(), emulated), "emulated"),
                            ((unknown_mode,), "mode (int8)"), ((no_layer,), "result 0"), (("{",), "is no JSON"),
                            (({"format": 3, "results": []},), "format (3)"), (("[]",), "one JSON object"),
                            ((no_object,), "tconv must be an object or null")):
            with self.subTest(words):
                done = self.call(*runs)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(words, done.stderr)
                self.assertEqual(self.page_path.read_text(encoding="utf-8"), "old")
                self.assertFalse(self.chart_path.exists())

    def test_nothing_is_left_beside_the_page(self):
        self.make(sample())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["chart.svg", "page.md", "run0.json"])


def skip_without_matplotlib():
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "run.json")
        run.write_text(json.dumps(sample()), encoding="utf-8")
        done = subprocess.run([SCRIPT, run, "--output", f"{folder}/p.md", "--chart", f"{folder}/c.svg"],
                              capture_output=True, text=True, check=False)
    if done.returncode == 1 and "needs matplotlib" in done.stderr:
        print(f"Skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    SCRIPT = sys.argv.pop(1)
    skip_without_matplotlib()
    unittest.main()
