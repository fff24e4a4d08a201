"""A modern host for checks: cgroup v2, systemd and the Python of Debian's stable release, as User-mode Linux.

The guest's kernel is a process of this host: it needs no KVM, no network and no Docker. User code runs at native speed in it,
a fork takes two to three times as long.
"""
