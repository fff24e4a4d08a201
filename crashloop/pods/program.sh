# One life of a container program. $1: its journal. $2: exit code on SIGTERM; 137 ignores it. Then what it notes: root=MARK,
# volume=MARK, env=VARIABLE, passes=TIMES:MARKS, until=CENTISECONDS; others=LIVES that all pods of a Job but the first leave out;
# aim=FIRST_MS:LIMIT_CS:FILE, how long after FILE was written each life ends; words=FILE, where each that ends by itself leaves
# its name, so that the kubelet states it;
# startup=CENTISECONDS:MIB:FILE, CPU that it takes and a file that it reads; the probes that it answers over HTTP, http=KIND; and
# RUN_S:END:TIMES, the lives in order. END is an exit code, memory, or signal (from elsewhere).
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
life=0 first=$now
case $journal in
*' start '*)
	life=${journal##*' start '}
	life=$((${life%%' '*} + 1))
	first=${journal#*' start 0 '}
	first=${first%%[!0-9.]*}
	;;
esac
line="crashloop/1 start $life $now $boot"
echo "$line" >>"$file"
printf '%s\n' ${journal:+"$journal"} "$line"

note() {
	read -r at _ </proc/uptime
	line="crashloop/1 note $life $at $1 $2"
	echo "$line" >>"$file"
	echo "$line"
}
finish() {
	read -r now _ </proc/uptime
	line="crashloop/1 exit $life $now $1$left_words"
	echo "$line" >>"$file"
	echo "$line"
	[ -z "$!" ] || kill "$!" 2>/dev/null
	exit "$1"
}
# Whatever has no such file, or may not write it, leaves nothing and says so by its exit stamp.
leave_words() {
	[ -w "$words" ] || return
	name=${file##*/}
	{ printf '%s' "${name%.journal} life $life" >"$words"; } 2>/dev/null && left_words=' told'
}
words= left_words=
if [ "$on_term" = 137 ]; then
	trap '' TERM
	term=
else
	trap 'finish "$on_term"' TERM
fi
[ -z "$term" ] || finish "$on_term"

# Each pass is a process of its own that fails; all of them together leave their marks.
repeat() {
	pass=0
	while [ "$pass" -lt "$1" ]; do
		(echo >>"$2" && exit 42)
		pass=$((pass + 1))
		sleep 0.1
	done
	pass=0
	while read -r _; do pass=$((pass + 1)); done <"$2"
	note passes "$pass"
}

# When a file was written last, in milliseconds; without that file, or without stat, long ago.
written() {
	set -- $(stat -c '%Y %y' "$1" 2>/dev/null) 0 0 0.0
	at=${3#*.}
	echo "$(($1 * 1000 + 1${at%??????} - 1000))"
}
# $1: the aim of the first life. $2: centiseconds; each further life ends 10 ms later if it began sooner after the last exit.
aim() {
	aim=$1
	case $journal in
	*' aim '*' exit '*)
		aim=${journal##*' aim '}
		aim=${aim%%[!0-9]*}
		ended=${journal##*' exit '}
		ended=${ended#* }
		ended=${ended%% *}
		waited=$((${now%.*} * 100 + 1${now#*.} - ${ended%.*} * 100 - 1${ended#*.}))
		if [ "$waited" -lt "$2" ]; then aim=$((aim + 10)); else aim=$((aim - 10)); fi
		;;
	esac
	note aim "$aim"
	left_ms=$((aim - $(written "$file") + $(written "$3")))
	[ "$left_ms" -gt 0 ] || left_ms=0
	part=$((left_ms % 1000 + 1000))
	aimed_s=$((left_ms / 1000)).${part#1}
}

# CPU is that of this shell, user and system: fields 14 and 15 of proc_pid_stat(5).
start_up() {
	centiseconds=$1 mib=$2 data=$3
	if [ "$mib" != 0 ]; then
		[ -e "$data" ] || dd if=/dev/zero of="$data" bs=1048576 count="$mib" 2>/dev/null
		dd if="$data" of=/dev/null bs=1048576 2>/dev/null
	fi
	while
		n=0
		while [ "$n" -lt 1000 ]; do n=$((n + 1)); done
		read -r stat </proc/self/stat
		set -- ${stat##*) }
		[ "$((${12} + ${13}))" -lt "$centiseconds" ]
	do :; done
}

# $PROBE and $PROBE_<kind> are the script of a probe and its arguments; $PROBE_PORT is the port.
serve() {
	www=${file%.journal}.www
	mkdir -p "$www/cgi-bin"
	printf '#!/bin/sh\n(set -- $PROBE_%s; eval "$PROBE") && echo Status: 200 || echo Status: 503\necho\n' "$1" >"$www/cgi-bin/$1"
	chmod +x "$www/cgi-bin/$1"
	[ -n "$server" ] || { httpd -f -p "$PROBE_PORT" -h "$www" & server=$!; }
}

left=$life server= aimed_s=
for each; do
	case $each in
	root=* | volume=*)
		if [ -e "${each#*=}" ]; then note "${each%%=*}" used; else note "${each%%=*}" fresh; fi
		: >"${each#*=}"
		continue
		;;
	env=*)
		eval "value=\${${each#*=}:--}"
		note "${each#*=}" "$value"
		continue
		;;
	passes=*)
		times=${each#*=}
		repeat "${times%%:*}" "${times#*:}"
		continue
		;;
	startup=*)
		rest=${each#*=}
		data=${rest#*:}
		start_up "${rest%%:*}" "${data%%:*}" "${data#*:}"
		continue
		;;
	http=*)
		serve "${each#*=}"
		continue
		;;
	others=*)
		[ "${JOB_COMPLETION_INDEX:-0}" = 0 ] || {
			left=$((left + ${each#*=}))
			note skipped "${each#*=}"
		}
		continue
		;;
	words=*)
		words=${each#*=}
		continue
		;;
	aim=*)
		times=${each#*=} rest=${each#*:}
		aim "${times%%:*}" "${rest%%:*}" "${rest#*:}"
		continue
		;;
	until=*)
		[ "$((${now%.*}${now#*.} - ${first%.*}${first#*.}))" -lt "${each#*=}" ] || break
		continue
		;;
	esac
	times=${each##*:}
	if [ "$left" -lt "$times" ]; then
		run_s=${aimed_s:-${each%%:*}} end=${each#*:}
		end=${end%:*}
		[ "$end" != signal ] || break
		[ "$run_s" = 0 ] || { sleep "$run_s" & wait "$!"; }
		[ "$end" != memory ] || exec tail /dev/zero
		leave_words
		finish "$end"
	fi
	left=$((left - times))
done
while :; do
	sleep 86400 &
	wait "$!"
done
