# One answer of a probe. $1: the container's journal. $2: the probe's kind. $3: from which centisecond of a life on it fails, or
# its answers in turn, S or F. $4: the seconds that an answer takes. $5: what a failure is, fail or hang. $6: the container's log.
life= number=0
while read -r _ what of at name _; do
	case $what in
	start) life=$of started=$at number=0 ;;
	note)
		case $name in
		"$2".*) number=$((number + 1)) ;;
		esac
		;;
	esac
done 2>/dev/null <"$1"
[ -n "$life" ] || exit 0
read -r now _ </proc/uptime
answer=S
case $3 in
*[SF]*)
	left=$3 skip=$((number % ${#3}))
	while [ "$skip" -gt 0 ]; do
		left=${left#?} skip=$((skip - 1))
	done
	answer=${left%"${left#?}"}
	;;
*)
	[ "$((${now%.*}${now#*.} - ${started%.*}${started#*.}))" -lt "$3" ] || answer=F
	;;
esac
line="crashloop/1 note $life $now $2.$number $answer"
echo "$line" >>"$1"
echo "$line" >"$6"
[ "$4" = 0 ] || sleep "$4"
[ "$answer" = F ] || exit 0
[ "$5" = fail ] || exec sleep 86400
exit 1
