#!/bin/sh
# Starts a command on this machine under the name of another node, in the place of ssh: `node.sh NAME COMMAND...`.
# The name needs a namespace of its own, and that needs the right to make one.
name=$1
shift
exec unshare --user --map-root-user --uts sh -c "hostname $name && $*"
