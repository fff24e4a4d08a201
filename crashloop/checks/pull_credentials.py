"""Checker of the password that pulls come with: that which the pull secret held."""

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.images import OK, pulled, requests_for
from crashloop.restarts.absences import held_over_time, possible_at
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.spec.registry_image import PASSWORD_KEY
from crashloop.words import at_lines


def check_pull_credentials(case: Case) -> Checked:
    """Each pull MUST come with the password that the pull secret held then.

    Needs a pull that was refused before the secret was changed, and one after it that was not.
    """
    findings: list[Finding] = []
    refused = accepted = 0
    for spec in pulled(case):
        secret = next((each for each in case.scenario.objects if spec.image and each.name == spec.image.secret), None)
        if secret is None:
            continue
        states = held_over_time(case, secret)
        for each in requests_for(case, spec):
            # The first request of a pull has no password: the runtime waits to be asked for one.
            if each.data.password is None:
                continue
            held = possible_at(case, states, each.t_ns)
            due = tuple(dict.fromkeys(one.data[PASSWORD_KEY] for one in held if one.data is not None))
            if each.data.password not in due:
                lines = (each.line, *(one.line for one in held if one.line is not None))
                findings.append(
                    fail(
                        f'a pull of the image of "{spec.name}" came with the password {each.data.password} {at_lines(lines)}; '
                        f"its pull secret held {' or '.join(due) or 'none'}.",
                        *lines,
                    )
                )
            refused += each.data.status != OK and each.t_ns < states[-1].from_ns
            accepted += each.data.status == OK and each.t_ns > states[-1].to_ns
    if not findings and not (refused and accepted):
        seen = "no pull was refused before its secret was changed, and accepted after it"
        findings.append(inconclusive(f"{seen}: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"refused": refused, "accepted": accepted})
