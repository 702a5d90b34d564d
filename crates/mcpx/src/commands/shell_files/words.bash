# Names of namespaces, tools, arguments and settings come from mcpx itself; commands and flags are below.
_mcpx_words() {
    local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT}
    local IFS=$'\n'
    local found=($("${COMP_WORDS[0]}" words --line "$line" 2>/dev/null))
    if [[ ${#found[@]} -eq 0 ]]; then
        unset IFS
        _mcpx "$@"
        return
    fi
    found=("${found[@]%%$'\t'*}")
    # Bash completes what stands behind the last `=` or `:` alone.
    if [[ $cur == [=:] ]]; then cur=; fi
    local last=${line##*[[:space:]]}
    local kept=${last%"$cur"}
    COMPREPLY=("${found[@]#"$kept"}")
    if [[ ${#found[@]} -eq 1 && ${found[0]} == *[.=] ]]; then compopt -o nospace 2>/dev/null; fi
}

