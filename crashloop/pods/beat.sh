# Heartbeat of a node: ten beats a second; told once a second, and at once while it is young or a beat comes late.
# A line: crashloop/1 beat <seconds since boot> <lateness in centiseconds> <CPU stall so far in microseconds, or ->
trap 'exit 0' TERM
beats=0
read -r now _ </proc/uptime
while :; do
	sleep 0.1
	due=$((${now%.*}${now#*.} + 10))
	read -r now _ </proc/uptime
	late=$((${now%.*}${now#*.} - due))
	beats=$((beats + 1))
	[ "$beats" -le 10 ] || [ "$late" -gt 5 ] || [ "$((beats % 10))" = 0 ] || continue
	stalled=-
	{ read -r line </proc/pressure/cpu && stalled=${line##*total=}; } 2>/dev/null
	echo "crashloop/1 beat $now $late $stalled"
done
