
# Names of namespaces, tools, arguments and settings come from mcpx itself.
complete -c mcpx -n 'not string match -q -- "-*" (commandline -ct)' -a '(mcpx words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
