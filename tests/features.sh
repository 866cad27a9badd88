# shellcheck shell=bash
# features.sh - sourced by scripts that also look at data of features that are
# not their own. contrib/checks/removed.sh runs scripts in copies of the tree
# that lack features: what is about one of these is left out there.

# Returns true if the tree has the feature of that name.
has_feature() { # has_feature NAME
    [ -d "${top_srcdir:-.}/orchestrator/$1" ]
}
