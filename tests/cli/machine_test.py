"""`regard info` and the tour."""
import unittest

import support


class Machine(support.Case):
    def test_info(self):
        text = self.regard("info")
        for name in ["version", "cpu", "isa", "compiled", "threads", "caches"]:
            self.assertRegex(text, rf"(?m)^{name} +\S")
        self.assertIn("generic", text)
        self.assertRegex(text, "started by (pthreadpool|std::thread)")

    def test_an_instruction_set_can_be_asked_for(self):
        for isa in support.isas_here(self):
            self.assertRegex(self.regard("info", env={"REGARD_ISA": isa}),
                             rf"(?m)^isa +{isa}, REGARD_ISA asks for it")

    def test_threads_of_the_environment(self):
        for text, threads in [("3", 3), ("4,2", 4)]:
            self.assertRegex(self.regard("info", env={"OMP_NUM_THREADS": text}),
                             rf"(?m)^threads +{threads}, from OMP_NUM_THREADS;")
        for text in ["", "0", "many"]:
            self.assertRegex(self.regard("info", env={"OMP_NUM_THREADS": text}),
                             r"(?m)^threads +\d+, from the CPUs this process may run on;")


class Tour(support.Case):
    def test_it_shows_the_main_job_and_passes(self):
        text = self.regard("demo")
        for part in ["2.68 and 0.00 of 3.47", "blocked attention", "layer 0: all 516 rows agree",
                     "layer 4: all 516 rows agree", "what a word reads most", "lighthouse",
                     "GF/s", "multiply-add peak"]:
            self.assertIn(part, text)
        self.assertNotIn("FAIL", text)
        self.assertRegex(text.splitlines()[-1], r"^all \d+ checks passed")


if __name__ == "__main__":
    unittest.main()
