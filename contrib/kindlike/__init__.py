"""A node image as near to kind's own as can be made without a registry: Debian with systemd, kubeadm's drop-in, journald.

It carries no label of crashloop, so the provider treats it as one of kind's: `--node-image $(python -m contrib.kindlike)`.
Differences from kindest/node: Debian's own runc, no kindnet, kube-proxy, CoreDNS or storage provisioner, no fuse-overlayfs,
no faked DMI files, and containers keep containerd's score for the OOM killer.
"""
