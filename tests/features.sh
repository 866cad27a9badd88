# shellcheck shell=bash
# features.sh - sourced by scripts that also look at data of features that are
# not their own. contrib/checks/removed.sh runs scripts in copies of the tree
# that lack features: what is about one of these is left out there.

feature_folders=$(cd "${top_srcdir:-.}" && pwd)/orchestrator

# Returns true if the tree has the feature of that name.
has_feature() { # has_feature NAME
    [ -d "$feature_folders/$1" ]
}

# Prints words if the tree has a feature: its settings, in a file of others.
of_feature() { # of_feature NAME WORD...
    ! has_feature "$1" || printf '%s\n' "${*:2}"
}
