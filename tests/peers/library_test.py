"""Answers are right before they are timed: regard's are, and wrong ones are refused."""
import unittest

import support
from support import np

import one_thread
import reference
import regard_library
import rows
from problem import Case, NotServed, as_f64, normal_problem, rounded_to

SHAPES = ["1x2x50x24", "2x4/2x131x40", "1x1x1x1"]


def problems(dtypes=("f32", "f64", "bf16", "f16")):
    """Every type, plain and causal, own and shared heads."""
    for dtype in dtypes:
        for shape in SHAPES:
            for causal in (False, True):
                yield normal_problem(Case.parse(shape, dtype, causal), threads=2)


class Reference(unittest.TestCase):
    def test_it_is_the_definition(self):
        for problem in problems(["f64"]):
            expected = support.attention(problem)
            for b, h, i in reference.sampled_rows(problem):
                out, tolerance = reference.reference_row(problem, b, h, i)
                np.testing.assert_allclose(out, expected[b, h, i], rtol=0, atol=1e-14)
                self.assertTrue((tolerance > 0).all())

    def test_first_and_last_row_are_among_the_sampled(self):
        problem = normal_problem(Case.parse("2x4/2x131x40"))
        sampled = reference.sampled_rows(problem).tolist()
        self.assertIn([0, 0, 0], sampled)
        self.assertIn([1, 3, 130], sampled)

    def test_elements_round_to_nearest_even(self):
        exact = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, -3.0078125])
        self.assertEqual(as_f64(rounded_to(exact, "bf16")).tolist(), [1, 1, 1 + 2**-6, -3])


class Regard(unittest.TestCase):
    def test_answers_are_right(self):
        for problem in problems():
            for library in (regard_library, one_thread):
                figure, call = rows.ready(library, problem)
                self.assertFalse(figure.wrong, figure)
                self.assertLess(figure.error, 0.5)
                self.assertIsNotNone(call)

    def test_a_refusal_is_its_sentence(self):
        problem = normal_problem(Case.parse(SHAPES[0]))
        call = regard_library.Forward(problem, threads=1)
        call.inputs.k.shape[3] += 1
        with self.assertRaisesRegex(RuntimeError, r"\bk\b.*25"):
            call()


class Wrong(unittest.TestCase):
    def refused(self, problem, answer):
        figure, call = rows.ready(support.library(answer), problem)
        self.assertTrue(figure.wrong, figure)
        self.assertIsNone(call)

    def test_right_answers_pass(self):
        for problem in problems():
            figure, _ = rows.ready(support.library(support.attention), problem)
            self.assertFalse(figure.wrong, figure)

    def test_other_conventions(self):
        for dtype in ("f32", "f64", "bf16", "f16"):
            causal = normal_problem(Case.parse(SHAPES[1], dtype, causal=True))
            self.refused(causal, lambda p: support.attention(p, scale=1))
            self.refused(causal, lambda p: support.attention(p, offset=1))
            self.refused(causal, lambda p: support.attention(p, shared=lambda h, g: h % g))

    def test_less_precision_than_the_type_has(self):
        for dtype, less in (("f32", "bf16"), ("f64", "f32"), ("f32", "f16")):
            problem = normal_problem(Case.parse(SHAPES[1], dtype))
            self.refused(problem, lambda p: as_f64(rounded_to(support.attention(p), less)))

    def test_numbers_that_are_none_and_shapes_that_differ(self):
        problem = normal_problem(Case.parse(SHAPES[0]))
        self.refused(problem, lambda p: support.attention(p) * np.nan)
        self.refused(problem, lambda p: support.attention(p).swapaxes(1, 2))

    def test_changed_input(self):
        def spoil(problem):
            out = support.attention(problem)
            problem.v[0, 0, 0, 0] += 1
            return out
        self.refused(normal_problem(Case.parse(SHAPES[0])), spoil)

    def test_what_is_not_served_says_why(self):
        library = support.library(support.attention)

        def prepare(problem):
            raise NotServed("it has no such type")
        library.prepare = prepare
        figure, call = rows.ready(library, normal_problem(Case.parse(SHAPES[0])))
        self.assertEqual((figure.refused, figure.wrong, call), ("it has no such type", False, None))


if __name__ == "__main__":
    unittest.main()
