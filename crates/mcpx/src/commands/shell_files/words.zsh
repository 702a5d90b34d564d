# Names of namespaces, tools, arguments and settings come from mcpx itself; commands and flags are below.
_mcpx_words() {
    local -a found open closed
    local word
    found=("${(@f)$(command mcpx words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    for word in $found; do
        word=${word%%$'\t'*}
        case $word in
            '') ;;
            *[.=]) open+=("$word") ;;
            *) closed+=("$word") ;;
        esac
    done
    if (( $#open + $#closed )); then
        (( $#open )) && compadd -Q -S '' -a open
        (( $#closed )) && compadd -Q -a closed
        return 0
    fi
    _mcpx "$@"
}
