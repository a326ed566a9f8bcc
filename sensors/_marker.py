"""The sensor: waits cheaply for a delivery and goes on only with the one that was promised."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from airflow.sdk import Asset, BaseSensorOperator, PokeReturnValue
from airflow.sdk.bases.operator import BaseOperator
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowRescheduleException,
    AirflowSkipException,
    TaskDeferralTimeout,
)

from airflow_landmark.deliveries import (
    UNREADABLE_LOOKS,
    Acceptance,
    Accepted,
    Action,
    Assessment,
    BadDelivery,
    Delivery,
    DeliveryError,
    Ledger,
    Level,
    Looks,
    OnIncomplete,
    OnMismatch,
    OnReplaced,
    OnTaken,
    OnUnexpected,
    Outcome,
    Stamp,
    accept,
    as_seconds,
    look_once,
    run,
    wait,
)
from airflow_landmark.markers import Expectation, VerdictKind, format_instant
from airflow_landmark.stores import StoreError
from airflow_landmark.triggers import InvalidEvent, MarkerTrigger, parse_event

from ._checks import (
    check_modes,
    check_settled,
    owner_of,
    plain_interval,
    text_of,
)
from ._claim import check_ledger, claim, give_back_taken
from ._errors import (
    AccessRefused,
    DeliveryNotInTime,
    DeliveryRefused,
    DeliveryUnavailable,
    TryOutOfTime,
    UnusableEvent,
    WaitMisconfigured,
    for_airflow,
)
from ._plan import LONGEST, Plan, plan_of
from ._telling import ProgressLog, say_accepted, say_looks

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["MarkerSensor"]

FIRST_EVENT_SECONDS = 6.0
"""How long after a deferral no event is fired. A worker notices the end of its task up to 5 s late by
default, and Airflow then fails a task that was resumed meanwhile as killed externally."""

_ENDINGS: Mapping[str, type[AirflowException]] = {
    "configuration": WaitMisconfigured,
    "trouble": DeliveryUnavailable,
}
_BACKSTOP_SECONDS = 180.0
_RESCHEDULE_SPREAD = 0.05


class MarkerSensor(BaseSensorOperator):
    """Waits for the marker of a delivery, verifies the delivery, and returns its document.

    Returns the delivery document (see :class:`airflow_landmark.deliveries.Delivery`), with ``version``
    and ``files``. All durations are seconds or ``timedelta``.

    :param uri: the marker: an absolute path, ``s3://bucket/key`` or ``https://host/path``, taken literally
        (templated). A trailing slash stands for ``_delivery.json`` in that folder. With ``pattern`` it is
        the folder.
    :param dataset: the expected dataset (templated).
    :param interval: the expected interval: two instants, or text with a slash between them (templated);
        ``None`` takes the run's data interval, which must then have a length.
    :param min_version: the least acceptable version (templated).
    :param pattern: shell pattern for the marker's name (templated); the highest acceptable version wins.
    :param format: in which format the marker is written, such as ``"sums"`` or ``"bagit"``; ``None`` for
        the project's own.
    :param declare: what a foreign format does not tell itself: where dataset, interval and version come
        from, and the format's own settings, key to text (templated).
    :param verify: what is proven before the task goes on: ``"marker"``, ``"files"`` (presence and size),
        ``"digests"`` or ``"rows"``.
    :param poke_interval: between looks, in every mode.
    :param timeout: budget of the whole task over all its tries, from the first look of the first try;
        ``None`` takes Airflow's ``[sensors] default_timeout``. A clear starts it anew.
    :param deadline: ends the wait so long after the interval's end; ``None`` for no such bound. Like
        ``timeout`` it is not retried.
    :param deferrable: wait in the triggerer, without a worker.
    :param mode: with ``deferrable=False``: ``"poke"`` holds a worker, ``"reschedule"`` starts anew.
    :param on_mismatch: ``"wait"`` or ``"fail"`` when another dataset or interval lies there.
    :param on_incomplete: ``"wait"`` or ``"fail"`` when listed files are missing or short.
    :param on_replaced: ``"newest"`` or ``"fail"`` when a higher version has replaced the one that was seen.
    :param on_unexpected: ``"ignore"``, ``"warn"`` or ``"fail"`` when unlisted files lie in the folder.
    :param on_taken: ``"accept"``, ``"skip"`` or ``"fail"`` when the ledger knows this very delivery.
    :param ledger: remembers the versions taken; ``None`` for none.
    :param unreadable_looks: looks at the same unreadable marker until the task fails.
    :param first_event_delay: no event is fired, and no rescheduled start asked for, sooner than this.
    :param conn_id: the Airflow connection that holds credentials and settings of the store (templated);
        ``None`` takes the environment of worker and triggerer.
    :param options: settings of the store, which win over the connection's. For S3: ``region``,
        ``endpoint_url``, ``verify``, ``addressing_style``, ``profile``, ``anonymous``,
        ``connect_timeout``, ``read_timeout``, ``treat_403_as_missing``. For HTTP: ``verify``,
        ``connect_timeout``, ``read_timeout``, ``gone``, ``treat_403_as_missing``. Secrets belong into the
        connection.
    :param soft_fail: skip the task when the deadline came first; bad data and trouble fail it all the same.

    :raises ValueError: when the Dag is parsed, for arguments that cannot work.
    :raises DeliveryRefused: bad data; not retried.
    :raises DeliveryNotInTime: the deadline came first; not retried.
    :raises DeliveryUnavailable: passing trouble; retried.
    :raises DeliveryHeld: another task holds the delivery in the ledger; retried.
    """

    template_fields: Sequence[str] = (
        "uri", "dataset", "interval", "min_version", "pattern", "conn_id", "declare",
    )  # fmt: skip
    ui_color: str = "#d8ecd9"

    def __init__(
        self,
        *,
        uri: str,
        dataset: str,
        interval: Any = None,
        min_version: int | str = 1,
        pattern: str | None = None,
        verify: Level = "digests",
        poke_interval: float | timedelta = 30.0,
        timeout: float | timedelta | None = None,
        deadline: float | timedelta | None = None,
        deferrable: bool = True,
        mode: Literal["poke", "reschedule"] = "poke",
        on_mismatch: OnMismatch = "wait",
        on_incomplete: OnIncomplete = "wait",
        on_replaced: OnReplaced = "newest",
        on_unexpected: OnUnexpected = "ignore",
        on_taken: OnTaken = "accept",
        ledger: Ledger | None = None,
        unreadable_looks: int = UNREADABLE_LOOKS,
        first_event_delay: float | timedelta = FIRST_EVENT_SECONDS,
        conn_id: str | None = None,
        options: Mapping[str, Any] | None = None,
        format: str | None = None,  # noqa: A002 - the word that everybody uses for it
        declare: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        check_modes(kwargs, deferrable=deferrable, mode=mode)
        super().__init__(poke_interval=poke_interval, timeout=timeout, mode=mode, **kwargs)
        self.uri = text_of("uri", uri)
        self.dataset = text_of("dataset", dataset)
        self.interval = plain_interval(interval)
        self.min_version = min_version
        self.pattern = None if pattern is None else text_of("pattern", pattern)
        self.verify = verify
        self.deadline = None if deadline is None else as_seconds(deadline)
        self.deferrable = deferrable
        self.on_mismatch = on_mismatch
        self.on_incomplete = on_incomplete
        self.on_replaced = on_replaced
        self.on_unexpected = on_unexpected
        self.on_taken = on_taken
        self.ledger = ledger
        self.unreadable_looks = unreadable_looks
        self.first_event_delay = as_seconds(first_event_delay)
        self.conn_id = None if conn_id is None else text_of("conn_id", conn_id)
        self.format = format
        self.declare = dict(declare) if isinstance(declare, Mapping) else declare
        self.options = dict(options) if isinstance(options, Mapping) else options
        check_settled(self)
        if ledger is not None:
            check_ledger(ledger, self)

    def validate(self, delivery: Delivery, context: Context) -> None:
        """Checks of one's own, on the worker, after the delivery was verified: for subclasses.

        Raise ``AirflowFailException`` to refuse it for good.
        """

    def execute(self, context: Context) -> Any:
        """Look once; then wait as the arguments say."""
        plan = plan_of(self, context)
        if not self.deferrable and not self.reschedule:
            return self._wait_here(plan, context)
        seen = self._look(plan)
        if seen.action is not Action.WAIT:
            return self._conclude_look(seen, plan, context)
        self.log.info("Not yet: %s", seen.text)
        now = datetime.now(tz=timezone.utc)
        if plan.budget.deadline <= now:
            self._late(plan, f"last seen: {seen.text}")
        if self.reschedule:
            spread = random.uniform(1.0, 1.0 + _RESCHEDULE_SPREAD)  # noqa: S311 - spread, not secrecy
            pause = min(self.poke_interval * spread, (plan.budget.deadline - now).total_seconds())
            # The next start, like an event, must not come before Airflow has noticed the end of this one.
            raise AirflowRescheduleException(now + timedelta(seconds=max(pause, self.first_event_delay)))
        return self._defer(plan)

    def poke(self, context: Context) -> PokeReturnValue:
        """One look: whether the delivery is there, and its document."""
        plan = plan_of(self, context)
        seen = self._look(plan)
        if seen.action is Action.WAIT:
            return PokeReturnValue(is_done=False)
        return PokeReturnValue(is_done=True, xcom_value=self._conclude_look(seen, plan, context))

    def resume(self, context: Context, event: Any = None) -> Any:
        """Go on after the wait. Nothing that the event says is trusted: the delivery is read again."""
        try:
            parsed = parse_event(event)
        except InvalidEvent as error:
            raise UnusableEvent(f"{error}; a retry waits anew") from None
        say_looks(self.log, parsed.looks)
        plan = plan_of(self, context)
        self._compare(parsed, plan.terms.expectation)
        return self._conclude(parsed, plan, context)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume without the base class's rule that ``soft_fail`` turns every error into a skip."""
        try:
            return BaseOperator.resume_execution(self, next_method, next_kwargs, context)
        except TaskDeferralTimeout:
            self._late(
                plan_of(self, context),
                "the triggerer sent no event, not even of the deadline: it may be down, stalled or full "
                "(see its health and [triggerer] capacity)",
            )

    def _look(self, plan: Plan) -> Assessment:
        def alike(identity: str) -> int:
            """How many looks of this task in a row have found the same, this one included."""
            if not self.reschedule:
                return 1
            before = plan.memory.get("alike")
            looks = 1
            if isinstance(before, dict) and before.get("identity") == identity:
                looks += before["looks"] if type(before.get("looks")) is int else 0
            plan.memory.put("alike", {"identity": identity, "looks": looks})
            return looks

        try:
            return run(lambda: look_once(plan.terms, count_alike=alike))
        except (DeliveryError, StoreError) as error:
            raise for_airflow(error) from None

    def _wait_here(self, plan: Plan, context: Context) -> Any:
        try:
            outcome = run(lambda: wait(plan.terms, tell=lambda text: self.log.info("%s", text)))
        except StoreError as error:
            raise for_airflow(error) from None
        say_looks(self.log, outcome.looks)
        return self._conclude(outcome, plan, context)

    def _conclude_look(self, seen: Assessment, plan: Plan, context: Context) -> Any:
        if seen.action is Action.FIRE:
            return self._accept(None, plan, context)
        return self._conclude(
            Outcome("failed", Looks(), word=seen.outcome_word, text=seen.text), plan, context
        )

    def _conclude(self, outcome: Outcome, plan: Plan, context: Context) -> Any:
        """Take what arrived, or raise what the wait ended with."""
        if outcome.kind == "arrived":
            return self._accept(outcome.stamp, plan, context)
        if outcome.kind == "deadline":
            self._late(plan, f"last seen: {outcome.text}")
        if outcome.word == VerdictKind.ALREADY_TAKEN:
            give_back_taken(self.ledger, plan.terms, owner=owner_of(context))
        if outcome.word == "access":
            raise AccessRefused(outcome.text, uri=plan.terms.target.text)
        raising = _ENDINGS.get(outcome.word)
        if raising is not None:
            raise raising(outcome.text)
        raise DeliveryRefused(outcome.text, kind=outcome.word, uri=plan.terms.target.text)

    def _compare(self, outcome: Outcome, expectation: Expectation) -> None:
        """An event can reach another run than its own, where a database uses trigger ids again."""
        if outcome.interval is None:
            return
        if (outcome.dataset, outcome.interval) != (expectation.dataset, expectation.interval):
            raise UnusableEvent(
                f"the event is about {outcome.dataset} for {outcome.interval}, this run expects "
                f"{expectation.dataset} for {expectation.interval}; a retry waits anew"
            )

    def _accept(self, stamp: Stamp | None, plan: Plan, context: Context) -> Any:
        acceptance = Acceptance(
            on_replaced=self.on_replaced,
            on_unexpected=self.on_unexpected,
            seconds=plan.budget.seconds_of_try(),
        )
        try:
            accepted = run(
                lambda: accept(
                    plan.terms,
                    acceptance,
                    stamp=stamp,
                    tell=lambda text: self.log.warning("%s", text),
                    progress=ProgressLog(self.log),
                )
            )
            return self._hand_on(accepted, plan, context)
        except (DeliveryError, StoreError) as error:
            if isinstance(error, BadDelivery) and error.kind == VerdictKind.ALREADY_TAKEN:
                give_back_taken(self.ledger, plan.terms, owner=owner_of(context))
            raise for_airflow(error) from None

    def _hand_on(self, accepted: Accepted, plan: Plan, context: Context) -> Any:
        delivery = accepted.delivery
        if accepted.taken_before and self.on_taken == "skip":
            give_back_taken(self.ledger, plan.terms, owner=owner_of(context))
            raise AirflowSkipException(f"{delivery.stamp.uri}: version {delivery.version} was taken before")
        self.validate(delivery, context)
        if self.ledger is not None:
            delivery = claim(delivery, self.ledger, owner=owner_of(context), on_taken=self.on_taken)
        self._tell_outlets(delivery, context)
        say_accepted(self.log, accepted.report, delivery)
        return delivery.to_xcom()

    def _tell_outlets(self, delivery: Delivery, context: Context) -> None:
        stamp = delivery.stamp
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra.update(
                    dataset=stamp.dataset,
                    interval={**stamp.interval.to_json()},
                    version=stamp.version,
                    marker_sha256=stamp.sha256,
                )

    def _late(self, plan: Plan, seen: str) -> NoReturn:
        wanted = plan.terms.expectation
        text = (
            f"{plan.terms.target.text}: no delivery of {wanted.dataset} for {wanted.interval}, "
            f"version {wanted.min_version} or higher, by {plan.budget.text}; {seen}"
        )
        if self.soft_fail:
            raise AirflowSkipException(text)
        if plan.budget.bound == "execution_timeout":
            raise TryOutOfTime(text)
        raise DeliveryNotInTime(text)

    def _defer(self, plan: Plan) -> NoReturn:
        terms, now = plan.terms, datetime.now(tz=timezone.utc)
        taken = terms.taken
        trigger = MarkerTrigger(
            uri=self.uri,
            dataset=terms.expectation.dataset,
            interval=str(terms.expectation.interval),
            min_version=terms.expectation.min_version,
            pattern=self.pattern,
            verify=terms.verify,
            poll_interval=terms.poll_interval,
            deadline=format_instant(plan.budget.deadline),
            not_before=format_instant(now + timedelta(seconds=self.first_event_delay)),
            on_mismatch=terms.on_mismatch,
            on_incomplete=terms.on_incomplete,
            on_taken=terms.on_taken,
            taken=None if taken is None else {"version": taken.version, "identity": taken.identity},
            unreadable_looks=terms.unreadable_looks,
            conn_id=terms.way.conn_id,
            format=self.format,
            declare=dict(terms.target.form.declared) or None,
            options=dict(terms.way.options) or None,
        )
        left = max(plan.budget.deadline - now, timedelta())
        # The trigger itself ends the wait; Airflow's own timeout is for a trigger that never runs.
        sweep = conf.getfloat("scheduler", "trigger_timeout_check_interval", fallback=15.0)
        spare = timedelta(seconds=self.first_event_delay + sweep + _BACKSTOP_SECONDS)
        self.defer(trigger=trigger, method_name="resume", timeout=min(left, LONGEST) + spare)
        raise AssertionError  # defer() raises
