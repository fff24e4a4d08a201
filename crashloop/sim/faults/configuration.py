"""Faults of the configuration: which is taken, and what is made of it."""

from crashloop.sim.behaviour import S
from crashloop.sim.faults.fault import Fault


class ConfigurationFault(Fault):
    """How the kubelet takes its configuration."""

    CRASHES_ON_INVALID = "crashes where it has to refuse its configuration", {"crashes_on_invalid": True}
    ACCEPTS_INVALID = "starts with a configuration that it has to refuse", {"accepts_invalid": True}
    VALIDATES_SECONDS = "validates the maximum in whole seconds", {"validated_step_ns": S}
    VALIDATES_NO_SIGN = "takes a negative maximum that is within the range without its sign", {"validates_sign": False}
    TAKES_NUMBERS = "takes a number for a duration in seconds", {"takes_numbers": True}
    TAKES_BARE_DIGITS = "takes a string without a unit for a duration in seconds", {"takes_bare_digits": True}
    REFUSES_VALID = "refuses a configuration that is valid", {"refuses_valid": True}
    RUNS_OTHER_MAX = "follows another maximum than it states in /configz", {"effective_share": 0.5}
    TAKES_ANY_FLAG = "starts with a flag that it has to refuse", {"takes_any_flag": True}
    IGNORES_DROP_INS = "ignores its drop-in directory", {"drop_in_step": 0}
    FIRST_DROP_IN_WINS = "takes its drop-in files in the wrong order", {"drop_in_step": -1}
    DROP_INS_STATED_ONLY = (
        "states the maximum of its drop-in directory in /configz and follows that of its configuration file",
        {"drop_ins_set_curve": False},
    )
    RELOADS_CONFIGURATION = "follows a changed configuration before it is restarted", {"reloads_configuration": True}
    KILLS_WHEN_REFUSING = (
        "kills the containers that run when it refuses its configuration",
        {"kills_when_refusing": True},
    )
    KEEPS_FIRST_CURVE = (
        "states another configuration after a restart, and follows the curve that it had before",
        {"keeps_first_curve": True},
    )
    KEEPS_FIRST_RULES = (
        "states other gates of restart rules after a restart, and acts by those that it had before",
        {"keeps_first_rules": True},
    )
    CONFIGZ_OTHER_MAX = "states another maximum in /configz than it follows", {"configz_share": 0.5}
