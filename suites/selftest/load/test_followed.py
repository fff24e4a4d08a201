"""Users that wait for pods wake for what they wait for, at a cost that other pods do not change."""

import gevent
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from load.followed import Followed
from load.steps import SeenPod

WITHIN_S = 30.0


class Name(str):
    """A name that counts the looks at it: as a key, and for comparison."""

    looks = 0

    def __hash__(self) -> int:
        self.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.looks += 1
        return super().__eq__(other)


class Scanning(Followed):
    """Looks at all pods for each user, as the watch once did."""

    def is_gone(self, owner: str) -> bool:
        return not [pod for pod in self._pods if pod == owner or pod.startswith(f"{owner}-")]


class Alarming(Followed):
    """Wakes all users for each pod, as the watch once did."""

    def _wake(self, *_: str) -> None:
        for events in self._waiting.values():
            for event in events:
                event.set()


def pod(name: str, *, node: str = "", phase: str = "Pending") -> SeenPod:
    raw = {"metadata": {"name": str(name)}, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return msgspec.convert(raw, SeenPod)


def looks_of_a_drain(followed: Followed, pods: int) -> int:
    """Looks at names from the creation of that many pods to their end, each awaited by a user."""
    names = [Name(f"storm-0-{number}") for number in range(pods)]
    for name in names:
        followed.expect(name, 0)
    users = [gevent.spawn(followed.wait_gone, name, timeout_s=WITHIN_S) for name in names]
    gevent.sleep(0)
    for name in names:
        followed.take(pod(name, node="n"), 1)
        followed.gone(name, 2)
        gevent.sleep(0)
    gevent.joinall(users, timeout=WITHIN_S)
    assert all(user.value for user in users)
    return sum(name.looks for name in names)


def test_a_pod_of_a_drain_takes_the_same_looks_among_few_pods_and_many() -> None:
    assert looks_of_a_drain(Followed(), 400) == 40 * looks_of_a_drain(Followed(), 10)


def test_looks_at_all_pods_and_users_that_all_wake_are_counted() -> None:
    for slow in (Scanning, Alarming):
        assert looks_of_a_drain(slow(), 80) > 3 * looks_of_a_drain(slow(), 40)


def test_a_waiting_user_wakes_for_the_pods_of_its_object_alone() -> None:
    followed, job = Followed(), Name("jobs-0-1")
    user = gevent.spawn(followed.wait_for, job, "completed", timeout_s=WITHIN_S)
    gevent.sleep(0)
    asleep = job.looks
    for other in ("jobs-0-10-abcde", "jobs-0-2-abcde", "jobs-0"):
        followed.take(pod(other, phase="Succeeded"), 1)
        followed.gone(other, 2)
        gevent.sleep(0)
    assert (job.looks, user.ready()) == (asleep, False)
    followed.take(pod("jobs-0-1-abcde", phase="Succeeded"), 3)
    assert user.get(timeout=WITHIN_S)
    assert job.looks > asleep


def test_a_waiting_user_sleeps_through_other_steps_of_its_pod() -> None:
    followed, job = Followed(), Name("jobs-0-1")
    user = gevent.spawn(followed.wait_for, job, "completed", timeout_s=WITHIN_S)
    gevent.sleep(0)
    asleep = job.looks
    followed.take(pod("jobs-0-1-abcde", node="n"), 1)
    gevent.sleep(0)
    assert (job.looks, user.ready()) == (asleep, False)
    user.kill()


def test_an_object_is_gone_with_the_last_of_its_pods() -> None:
    followed = Followed()
    for name in ("work-0-0-7d9f-a", "work-0-0-7d9f-b"):
        followed.take(pod(name, node="n"), 1)
    user = gevent.spawn(followed.wait_gone, "work-0-0", timeout_s=WITHIN_S)
    gevent.sleep(0)
    followed.gone("work-0-0-7d9f-a", 2)
    gevent.sleep(0)
    assert not user.ready()
    followed.gone("work-0-0-7d9f-b", 3)
    assert user.get(timeout=WITHIN_S)


def test_a_pod_that_comes_before_its_woken_user_runs_is_waited_for_as_well() -> None:
    followed = Followed()
    followed.expect("work-0-0-a", 0)
    user = gevent.spawn(followed.wait_gone, "work-0-0", timeout_s=WITHIN_S)
    gevent.sleep(0)
    followed.gone("work-0-0-a", 1)
    followed.expect("work-0-0-b", 2)
    gevent.sleep(0)
    assert not user.ready()
    followed.forget("work-0-0-b")
    assert user.get(timeout=WITHIN_S)


def test_a_user_whose_time_is_over_leaves_the_others_waiting() -> None:
    followed = Followed()
    user = gevent.spawn(followed.wait_for, "storm-0-0", "scheduled", timeout_s=WITHIN_S)
    gevent.sleep(0)
    assert not followed.wait_for("storm-0-0", "scheduled", timeout_s=0)
    followed.take(pod("storm-0-0", node="n"), 1)
    assert user.get(timeout=WITHIN_S)


def test_only_pods_that_were_seen_are_missing_from_a_list() -> None:
    followed = Followed()
    followed.expect("asked-for", 0)
    followed.take(pod("seen", node="n"), 1)
    followed.take(pod("listed", node="n"), 1)
    assert followed.missing({"listed"}) == ["seen"]


NAMES = st.lists(st.sampled_from("ab01"), min_size=1, max_size=4).map("-".join)
CHANGES = st.lists(st.tuples(st.sampled_from(["expect", "take", "gone", "forget"]), NAMES))


@given(CHANGES, NAMES)
def test_pods_are_found_as_by_a_look_at_all_names(changes: list[tuple[str, str]], owner: str) -> None:
    followed, scheduled = Followed(), dict[str, bool]()
    for change, name in changes:
        if change == "expect":
            followed.expect(name, 0)
            scheduled[name] = False
        elif change == "take":
            followed.take(pod(name, node="n"), 1)
            scheduled[name] = True
        elif change == "forget":
            followed.forget(name)
            scheduled.pop(name, None)
        elif scheduled.pop(name, None) is not None:
            followed.gone(name, 2)
    found = [name for name in scheduled if name == owner or name.startswith(f"{owner}-")]
    assert followed.is_gone(owner) == (not found)
    assert followed.has_reached(owner, "scheduled") == any(scheduled[name] for name in found)
