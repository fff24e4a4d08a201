# Heartbeat of a node: ten beats a second; written once a second, and at once while it is young or a beat comes late.
# A line: crashloop/1 beat <seconds since boot> <lateness in centiseconds> <CPU, I/O and memory stall so far> <boot id>
# Stalls are in microseconds; - marks a value that the node lacks.
trap 'exit 0' TERM
beats=0 boot=-
{ read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
: "${boot:=-}"
stalled() {
	total=-
	{ read -r line </proc/pressure/"$1" && total=${line##*total=}; } 2>/dev/null
	waited="$waited $total"
}
read -r now _ </proc/uptime
while :; do
	sleep 0.1
	due=$((${now%.*}${now#*.} + 10))
	read -r now _ </proc/uptime
	late=$((${now%.*}${now#*.} - due))
	beats=$((beats + 1))
	[ "$beats" -le 10 ] || [ "$late" -gt 5 ] || [ "$((beats % 10))" = 0 ] || continue
	waited=
	stalled cpu
	stalled io
	stalled memory
	echo "crashloop/1 beat $now $late$waited $boot"
done
