"""Capacity: how many triggerers the waits need, and why. Pure functions over frozen values; readers apart."""

from ._answer import check
from ._backfill_load import BackfillLoad, HeavyTask, backfill_load, heavy_task, with_backfill
from ._backfill_runs import Asked, PlannedRun
from ._backtest import back_test
from ._bounds import heaviest_antichain, upper_bound, waiting_time
from ._calibrate import calibrate
from ._calibrations import Calibrations, calibration_text, load_calibrations
from ._cost import MODES, Cost, CostMode, Recommendation, Terms, cost, recommend, simulated_cost
from ._document import VERDICTS, answer_document, answer_schema, plain
from ._durations import (
    Duration,
    Exponential,
    Fixed,
    LogNormal,
    Quantiles,
    Uniform,
    bound,
    from_samples,
)
from ._emit import alert_rules, helm_values, keda_query, keda_values
from ._errors import (
    CannotTell,
    CapacityError,
    InvalidPlan,
    MissingRights,
    MissingSoftware,
    OlderAirflow,
    Unreachable,
)
from ._gather import Gathered, gather, merged
from ._html import html_page
from ._kinds import Budget, Kind
from ._limits import LIMITS
from ._lints import LINTS
from ._liveness import LiveVerdict, judge_live, live_document
from ._origin import Estimate, Origin, weakest
from ._places import Sources, live_reader
from ._plan import Plan, read_plan
from ._pools import Admission, PoolTask, Refusal, admit
from ._read_backfill import BackfillPreview, preview_backfill
from ._read_rest import RestApi
from ._results import (
    Answer,
    BackTest,
    BackTestDay,
    Contributor,
    Doubling,
    Fix,
    KindRow,
    LimitName,
    LimitRow,
    Lint,
    PartitionAnswer,
    Peak,
    ScenarioAnswer,
    Series,
    Times,
    Verdict,
)
from ._schedules import Always, Arrivals, Cron, Every, Listed, Rate
from ._tables import seconds_of
from ._units import span
from ._values import (
    Dag,
    Deferral,
    Deployment,
    Inputs,
    LiveState,
    LiveTrigger,
    LiveTriggerer,
    Partition,
    Platform,
    Pool,
    Retry,
    Scenario,
    Wait,
)
from ._waves import Waves, waves

__all__ = [
    "LIMITS",
    "LINTS",
    "MODES",
    "VERDICTS",
    "Admission",
    "Always",
    "Answer",
    "Arrivals",
    "Asked",
    "BackTest",
    "BackTestDay",
    "BackfillLoad",
    "BackfillPreview",
    "Budget",
    "Calibrations",
    "CannotTell",
    "CapacityError",
    "Contributor",
    "Cost",
    "CostMode",
    "Cron",
    "Dag",
    "Deferral",
    "Deployment",
    "Doubling",
    "Duration",
    "Estimate",
    "Every",
    "Exponential",
    "Fix",
    "Fixed",
    "Gathered",
    "HeavyTask",
    "Inputs",
    "InvalidPlan",
    "Kind",
    "KindRow",
    "LimitName",
    "LimitRow",
    "Lint",
    "Listed",
    "LiveState",
    "LiveTrigger",
    "LiveTriggerer",
    "LiveVerdict",
    "LogNormal",
    "MissingRights",
    "MissingSoftware",
    "OlderAirflow",
    "Origin",
    "Partition",
    "PartitionAnswer",
    "Peak",
    "Plan",
    "PlannedRun",
    "Platform",
    "Pool",
    "PoolTask",
    "Quantiles",
    "Rate",
    "Recommendation",
    "Refusal",
    "RestApi",
    "Retry",
    "Scenario",
    "ScenarioAnswer",
    "Series",
    "Sources",
    "Terms",
    "Times",
    "Uniform",
    "Unreachable",
    "Verdict",
    "Wait",
    "Waves",
    "admit",
    "alert_rules",
    "answer_document",
    "answer_schema",
    "back_test",
    "backfill_load",
    "bound",
    "calibrate",
    "calibration_text",
    "check",
    "cost",
    "from_samples",
    "gather",
    "heaviest_antichain",
    "heavy_task",
    "helm_values",
    "html_page",
    "judge_live",
    "keda_query",
    "keda_values",
    "live_document",
    "live_reader",
    "load_calibrations",
    "merged",
    "plain",
    "preview_backfill",
    "read_plan",
    "recommend",
    "seconds_of",
    "simulated_cost",
    "span",
    "upper_bound",
    "waiting_time",
    "waves",
    "weakest",
    "with_backfill",
]
