#!/bin/sh
# A kubelet that is tried in a node, with a runtime and a cgroup of its own.
#   candidate.sh run FOLDER CGROUP RUNTIME_CONFIG SOCKET KUBELET ARGUMENT...    becomes the kubelet
#   candidate.sh pid FOLDER                                                     prints the kubelet's process id
#   candidate.sh end FOLDER CGROUP                                              ends both and removes what they have made
set -eu
verb=$1 folder=$2
shift 2

cgroups() { # where the one hierarchy of cgroup v2 is mounted, or those of v1
	if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
		echo /sys/fs/cgroup
	else
		sed -n 's#^[^ ]* \(/sys/fs/cgroup/[^/ ]*\) cgroup .*#\1#p' /proc/mounts
	fi
}

case $verb in
run)
	cgroup=$1 runtime=$2 socket=$3
	shift 3
	for hierarchy in $(cgroups); do
		mkdir -p "$hierarchy/$cgroup"
		for file in cpuset.cpus cpuset.mems; do # v1: an empty set admits no process
			[ -f /sys/fs/cgroup/cgroup.controllers ] || [ ! -f "$hierarchy/$file" ] || cat "$hierarchy/$file" >"$hierarchy/$cgroup/$file"
		done
	done
	[ ! -f /sys/fs/cgroup/cgroup.controllers ] ||
		sed 's/\(^\| \)/ +/g' "/sys/fs/cgroup/$cgroup/cgroup.controllers" >"/sys/fs/cgroup/$cgroup/cgroup.subtree_control"
	mkdir -p "$folder"
	containerd --config="$runtime" >"$folder/containerd.log" 2>&1 &
	echo $! >"$folder/containerd.pid"
	until [ -S "$socket" ]; do
		kill -0 "$(cat "$folder/containerd.pid")" || { cat "$folder/containerd.log"; exit 70; }
		sleep 0.05
	done
	echo $$ >"$folder/kubelet.pid"
	exec "$@"
	;;
pid) cat "$folder/kubelet.pid" ;;
end)
	cgroup=$1
	processes=$(cat "$folder"/*.pid 2>/dev/null || true)
	# Both first: the runtime is a child of the kubelet, which would leave it unburied.
	kill -KILL $processes 2>/dev/null || true
	for process in $processes; do
		while kill -0 "$process" 2>/dev/null; do sleep 0.02; done
	done
	rm -rf "$folder"
	for hierarchy in $(cgroups); do
		[ ! -d "$hierarchy/$cgroup" ] || find "$hierarchy/$cgroup" -depth -type d -exec rmdir {} \;
	done
	;;
esac
