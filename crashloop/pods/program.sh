# One life of a container program. $1: its journal. $2: exit code on SIGTERM. Then RUN_S:EXIT_CODE:TIMES, the lives in order.
# The clock is read before anything else and built-ins are used throughout: each fork costs precision and CPU.
term=
trap 'term=1' TERM
read -r now _ </proc/uptime
boot=-
{ read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
: "${boot:=-}"
file=$1 on_term=$2
shift 2

journal=
[ ! -s "$file" ] || journal=$(cat "$file")
life=0
case $journal in
*' start '*)
	life=${journal##*' start '}
	life=$((${life%%' '*} + 1))
	;;
esac
line="crashloop/1 start $life $now $boot"
echo "$line" >>"$file"
printf '%s\n' ${journal:+"$journal"} "$line"

finish() {
	read -r now _ </proc/uptime
	line="crashloop/1 exit $life $now $1"
	echo "$line" >>"$file"
	echo "$line"
	[ -z "$!" ] || kill "$!" 2>/dev/null
	exit "$1"
}
trap 'finish "$on_term"' TERM
[ -z "$term" ] || finish "$on_term"

left=$life
for each; do
	times=${each##*:}
	if [ "$left" -lt "$times" ]; then
		run_s=${each%%:*} code=${each#*:}
		[ "$run_s" = 0 ] || { sleep "$run_s" & wait "$!"; }
		finish "${code%:*}"
	fi
	left=$((left - times))
done
while :; do
	sleep 86400 &
	wait "$!"
done
