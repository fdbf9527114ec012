#!/bin/sh
# Splits lines into words over Storm's multilang protocol, as far as a POSIX shell can: it takes the
# JSON apart by its known order. A line that begins with "hold" is kept for ever.

say() {
    printf '%s\nend\n' "$1"
}

split() {
    id=${1#'{"id":"'} id=${id%%'"'*}
    line=${1#*'"tuple":["'} line=${line%'"]}'}
    case $line in hold*) return ;; esac
    for word in $line; do
        say "{\"command\":\"emit\",\"anchors\":\"$id\",\"tuple\":[\"$word\"],\"need_task_ids\":false}"
    done
    say "{\"command\":\"ack\",\"id\":\"$id\"}"
}

read -r handshake
read -r end
pid_dir=${handshake#*'"pidDir":"'} pid_dir=${pid_dir%%'"'*}
: > "$pid_dir/$$"
say "{\"pid\":$$}"
while read -r message && read -r end; do
    case $message in
        *'"stream":"__heartbeat"'*) say '{"command":"sync"}' ;;
        *) split "$message" ;;
    esac
done
