"""A kubelet that is dearer by a known share, for `crashloop stress ab-kubelet --kubelet-binary`.

Theory of operation. The executable is a script that becomes the real kubelet (exec): flags, signals, exit code and version are
the kubelet's own. A child beside it burns the share. A comparison reads the CPU of all processes of a node that are called
`kubelet` (crashloop.measure.processes), so the child takes that name; the node's marks are inherited. The child's memory, its
waits for a CPU and its start count as the kubelet's, too.
"""
