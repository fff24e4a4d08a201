# Exec probe. $1: the container's journal. $2: from which centisecond of a life on it fails.
journal=$(cat "$1") || exit 0
case $journal in
*' start '*) ;;
*) exit 0 ;;
esac
started=${journal##*' start '}
started=${started#* }
started=${started%%[!0-9.]*}
read -r now _ </proc/uptime
[ "$((${now%.*}${now#*.} - ${started%.*}${started#*.}))" -lt "$2" ]
