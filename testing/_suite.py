"""The seven injections as a class of tests, for a team to inherit from."""

from __future__ import annotations

from ._pipeline import Pipeline
from ._seven_attempts import backfill_over_correction, killed_after_commit, late_attempt, source_changed
from ._seven_errors import permanent_and_transient_error
from ._seven_refusals import request_above_pool, wrong_interval

__all__ = ["InjectionTests"]


class InjectionTests:
    """Seven tests of one pipeline; inherit from it, in a class whose name pytest collects.

    They need a fixture ``landmark_pipeline`` that returns a :class:`Pipeline`. Each takes intervals of its
    own, so that they share one Airflow and one destination, in any order.
    """

    __test__ = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__test__ = True

    def test_killed_after_commit(self, landmark_pipeline: Pipeline) -> None:
        """A task that is killed after its write has committed leaves the interval exactly once."""
        killed_after_commit(landmark_pipeline)

    def test_source_changed(self, landmark_pipeline: Pipeline) -> None:
        """A row that disappears from the source between attempts disappears from the destination."""
        source_changed(landmark_pipeline)

    def test_late_attempt(self, landmark_pipeline: Pipeline) -> None:
        """An attempt that was overtaken by a corrected one changes nothing when it writes at last."""
        late_attempt(landmark_pipeline)

    def test_backfill_over_correction(self, landmark_pipeline: Pipeline) -> None:
        """A correction that a live run has published survives the backfill of its interval."""
        backfill_over_correction(landmark_pipeline)

    def test_permanent_and_transient_error(self, landmark_pipeline: Pipeline) -> None:
        """A permanent error fails at once and leaves nothing; others are retried after delays that differ."""
        permanent_and_transient_error(landmark_pipeline)

    def test_request_above_pool(self, landmark_pipeline: Pipeline) -> None:
        """A request for more slots than the pool has raises an alert in time."""
        request_above_pool(landmark_pipeline)

    def test_wrong_interval(self, landmark_pipeline: Pipeline) -> None:
        """A delivery for another interval is not written, however it came to lie there."""
        wrong_interval(landmark_pipeline)
