# postStart hook. $1: the container's journal. $2: folder of the first process in /proc. $3...: the lives in which it fails.
# Notes the run in the life that this process has begun: the one that is stamped no earlier than it was started (field 22 of its
# stat, in centiseconds since boot). The hook may run before the process has stamped anything; a hook that fails costs the
# container its life, so it waits a minute.
file=$1 first=$2
shift 2
fails=" $* "
read -r stat <"$first/stat"
set -- ${stat##*) }
born=${20} tries=0 life=
while [ "$tries" -lt 1200 ]; do
	journal=$(cat "$file" 2>/dev/null)
	last=${journal##*' start '}
	at=${last#* }
	at=${at%%[!0-9.]*}
	[ "$last" = "$journal" ] || [ "$((${at%.*}${at#*.}))" -lt "$born" ] || { life=${last%%' '*} && break; }
	sleep 0.05
	tries=$((tries + 1))
done
[ -n "$life" ] || exit 1
name=hook
case $journal in
*" note $life "*" hook "*) name=hook.again ;;
esac
read -r now _ </proc/uptime
line="crashloop/1 note $life $now $name ran"
echo "$line" >>"$file"
echo "$line" >"$first/fd/1"
case $fails in *" $life "*) exit 1 ;; esac
