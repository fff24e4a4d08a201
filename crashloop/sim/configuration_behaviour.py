"""Every possible error of a kubelet about its configuration, as data (config.py, kubelet.py)."""

from crashloop.sim.control_plane_behaviour import ControlPlaneBehaviour


class ConfigurationBehaviour(ControlPlaneBehaviour, frozen=True, kw_only=True):
    """The part of Behaviour about which configuration is taken, and what is made of it."""

    accepts_invalid: bool = False
    validated_step_ns: int = 1_000_000
    """The maximum is compared with its range in whole multiples of this."""
    validates_sign: bool = True
    takes_numbers: bool = False
    takes_bare_digits: bool = False
    crashes_on_invalid: bool = False
    refuses_valid: bool = False
    effective_share: float = 1.0
    """The maximum in effect as a share of the one stated."""
    configz_share: float = 1.0
    takes_any_flag: bool = False
    """Starts with flags that it does not know."""
    drop_in_step: int = 1
    """1: drop-in files in their order; -1: the other way round; 0: none of them."""
    drop_ins_set_curve: bool = True
    """Whether the curve follows the maximum of a drop-in file, which is stated in any case."""
    reloads_configuration: bool = False
    """Takes a configuration that is written while it runs."""
    keeps_first_curve: bool = False
    """Takes no other curve when it is restarted with another configuration, which it states all the same."""
    keeps_first_rules: bool = False
    """The same of the gates of restart rules."""
