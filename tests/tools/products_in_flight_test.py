"""Tests of tools/products_in_flight, whose path is the first argument."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = ""


def sass(*instructions):
    """A function as cuobjdump prints it, 16 bytes an instruction from address 0x0100 on."""
    lines = [f"        /*{0x100 + 16 * i:04x}*/          {text} ;  /* 0x0 */" for i, text in enumerate(instructions)]
    return "\n".join(["\tFunction : kernel", *lines, ""])


WAIT_FOR_ALL = "WARPGROUP.DEPBAR.LE gsb0, 0x0"
PRODUCT = "HGMMA.64x32x8.F32.TF32 R24, R48, gdesc[UR4], R24, gsb0"


class ProductsInFlight(unittest.TestCase):
    def call(self, *instructions):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kernel.sass"
            path.write_text(sass(*instructions), encoding="utf-8")
            return subprocess.run([SCRIPT, str(path)], capture_output=True, text=True, check=False)

    def expect(self, code, *instructions):
        done = self.call(*instructions)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_a_write_before_the_wait_is_named(self):
        out = self.expect(1, PRODUCT, "IMAD R50, R1, 0x8, R2", WAIT_FOR_ALL, "EXIT")
        self.assertIn("0x100 HGMMA", out)
        self.assertIn("0x110 IMAD R50", out)
        self.assertIn("1 products, 1 overwritten", out)

    def test_writes_behind_the_wait_and_to_other_registers_are_fine(self):
        self.expect(0, PRODUCT, "IMAD R52, R1, 0x8, R2", "LDS.64 R46, [R3]", "STS [R48], R5",
                    "ISETP.NE.AND P0, PT, R48, R1, PT", WAIT_FOR_ALL, "MOV R48, R1", "EXIT")

    def test_wide_writes_count_with_all_their_registers(self):
        for name in ("LDS.128 R45, [R3]", "LDS.64 R47, [R3]", "IMAD.WIDE R47, R1, 0x4, R2", "@!P0 LDS.U16 R51, [R3]"):
            self.expect(1, PRODUCT, name, WAIT_FOR_ALL, "EXIT")

    def test_a_wait_that_leaves_groups_in_flight_ends_the_older_ones(self):
        other = PRODUCT.replace("R48", "R56")
        wait_for_one = "WARPGROUP.DEPBAR.LE gsb0, 0x1"
        self.expect(0, PRODUCT, other, wait_for_one, "MOV R48, R1", WAIT_FOR_ALL, "EXIT")
        self.expect(1, PRODUCT, other, wait_for_one, "MOV R56, R1", WAIT_FOR_ALL, "EXIT")

    def test_the_next_round_of_a_loop_is_looked_at(self):
        loop = ("MOV R48, R1", PRODUCT, "@P0 BRA 0x100", WAIT_FOR_ALL, "EXIT")
        self.expect(1, *loop)
        self.expect(0, loop[0], loop[1], WAIT_FOR_ALL, loop[2], "EXIT")

    def test_a_product_belongs_to_the_group_that_is_closed_next(self):
        open_group = PRODUCT.replace(", gsb0", "")
        self.expect(1, open_group, WAIT_FOR_ALL, "MOV R49, R1", PRODUCT.replace("R48", "R56"),
                    WAIT_FOR_ALL, "EXIT")

    def test_operands_in_shared_memory_have_no_registers(self):
        self.expect(0, "HGMMA.64x32x8.F32.TF32 R24, gdesc[UR8], R24, gsb0", "MOV R48, R1", "EXIT")

    def test_what_cannot_be_read_is_one_line(self):
        done = subprocess.run([SCRIPT, "/nowhere/kernel.sass"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    SCRIPT = sys.argv.pop(1)
    unittest.main()
