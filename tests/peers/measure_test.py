"""Who is called when, and what the grid is."""
import itertools
import time
import unittest
from unittest import mock

import support

import measure
import regard_library
import rows
from problem import Case


class Turns(unittest.TestCase):
    def called(self, sleeps, rounds):
        """The order of calls, and the times."""
        order = []

        def call(name):
            order.append(name)
            time.sleep(sleeps[name])

        with mock.patch.object(measure, "LEAST_SECONDS", 0):
            times = measure.in_turns({name: lambda name=name: call(name) for name in sleeps},
                                     rounds)
        return order, times

    def test_everyone_once_a_round(self):
        order, times = self.called({"a": 0.002, "b": 0.002, "c": 0.002}, 5)
        self.assertEqual(order, ["a", "b", "c"] * 5)
        for figures in times.values():
            self.assertEqual(figures.rounds, 5)
            self.assertTrue(0.002 <= figures.best <= figures.median <= figures.worst)

    def test_the_slow_leave_and_the_first_stays(self):
        _, times = self.called({"a": 0.03, "b": 0.002, "c": 0.03}, 5)
        self.assertEqual([figures.rounds for figures in times.values()],
                         [5, 5, measure.SLOW_ROUNDS])

    def test_short_calls_get_more_rounds(self):
        with mock.patch.object(measure, "LEAST_SECONDS", 0.05):
            times = measure.in_turns({"a": lambda: time.sleep(0.001)}, 1)
        self.assertGreater(times["a"].rounds, 5)


class Grid(unittest.TestCase):
    def test_shapes_are_read_as_they_are_written(self):
        for text, kv_heads in [("1x8x1024x64", 8), ("2x32/8x100x128", 8)]:
            case = Case.parse(text)
            self.assertEqual((case.shape, case.kv_heads), (text, kv_heads))
        for text in ["", "1x2x3", "1x2x3x4x5", "0x1x1x1", "1x3/2x4x4", "1x4/0x4x4", "axbxcxd"]:
            with self.assertRaises(ValueError):
                Case.parse(text)

    def test_operations_are_halved_when_causal(self):
        self.assertEqual(Case.parse("2x4/2x10x3").operations, 4 * 2 * 4 * 10 * 10 * 3)
        self.assertEqual(Case.parse("2x4/2x10x3", causal=True).operations, 2 * 2 * 4 * 10 * 10 * 3)

    def test_the_default_is_all_rows_that_are_promised(self):
        grid = list(rows.cases([], [], [False, True]))
        self.assertEqual(len(grid), len(set(grid)))
        for dtype, shape, causal in itertools.product(["f32", "bf16"], rows.MAIN, [False, True]):
            self.assertIn(Case.parse(shape, dtype, causal), grid)
        self.assertIn(Case.parse("1x32/8x2048x128", "bf16"), grid)
        self.assertEqual({case.dtype for case in grid}, {"f32", "f64", "bf16"})

    def test_what_is_asked_for_is_all(self):
        self.assertEqual(list(rows.cases([], ["1x1x8x8"], [True])),
                         [Case.parse("1x1x8x8", "f32", True)])


class Row(unittest.TestCase):
    def measured(self, answer):
        case = Case.parse("1x2x40x16")
        with mock.patch.object(measure, "LEAST_SECONDS", 0):
            return rows.measure_row(case, [regard_library, support.library(answer)], 1, 2)

    def test_times_of_right_answers(self):
        ours, theirs = self.measured(support.attention)
        for figure in (ours, theirs):
            self.assertGreater(figure.rate, 0)
            self.assertGreaterEqual(figure.rounds, 2)
        self.assertEqual((ours.library, theirs.library), ("regard", "theirs"))

    def test_a_wrong_answer_has_no_time(self):
        ours, theirs = self.measured(lambda problem: support.attention(problem, scale=1))
        self.assertGreater(ours.best, 0)
        self.assertEqual((theirs.wrong, theirs.best, theirs.rate), (True, 0, 0))


if __name__ == "__main__":
    unittest.main()
