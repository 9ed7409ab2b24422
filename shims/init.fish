# rocmenv in fish: the functions behind `use` and the prompt hook. Written by `rocmenv init`.
# No process is started while the wanted version's activation is rendered under
# ROOT/activations. The record of a change has the same form as in the other shells.
set -g _rocmenv_r @ROOT@
# A bash with `set -a` may have handed these on.
if test "$_rocmenv_pid" != "$fish_pid"
    set -g _rocmenv_off
    set -eg _rocmenv_last
end
set -g _rocmenv_pid $fish_pid

function _rocmenv_run
    @LAUNCHER@ $argv
end

# FILE: its one word in _rocmenv_w; nothing when it has none; ? when it is not plain.
function _rocmenv_pin -a file
    set -g _rocmenv_w
    if not test -r "$file"
        set -g _rocmenv_w '?'
        return
    end
    set -l text
    set -l rest
    begin
        read -z -n 65537 text
        # A second part is what stands behind a NUL, or beyond the longest pin.
        read -z -n 1 rest; and set rest more
    end <"$file"
    if test -n "$rest" -o (string length -- "$text" | string join '') -gt 65536
        set -g _rocmenv_w '?'
        return
    end
    for line in (string split \n -- "$text")
        set -l words (string match -ra -- '\S+' "$line")
        if test -z "$words[1]"; or string match -q -- '#*' "$words[1]"
            continue
        end
        if test -n "$_rocmenv_w"; or begin
                set -q words[2]
                and not string match -q -- '#*' "$words[2]"
            end
            set -g _rocmenv_w '?'
            return
        end
        set -g _rocmenv_w $words[1]
    end
end

# The version wanted here in _rocmenv_w, and what says so in _rocmenv_f.
function _rocmenv_wanted
    set -g _rocmenv_w "$ROCMENV_VERSION"
    set -g _rocmenv_f ROCMENV_VERSION
    test -z "$_rocmenv_w"; or return 0
    set -l d $PWD
    string match -q -- '/*' "$d"; or set d ''
    while true
        set -g _rocmenv_f "$d/.rocm-version"
        if test -f "$_rocmenv_f"
            _rocmenv_pin "$_rocmenv_f"
            test -z "$_rocmenv_w"; or return 0
        end
        test -n "$d"; or break
        set -l up (string replace -r '/[^/]*$' '' -- "$d")
        test "$up" != "$d"; or break
        set d "$up"
    end
    set -g _rocmenv_f "$_rocmenv_r/version"
    test -f "$_rocmenv_f"; and _rocmenv_pin "$_rocmenv_f"
    return 0
end

function _rocmenv_owns
    string match -qr -- "$_rocmenv_x" "$argv[1]"
end

function _rocmenv_escape
    set -l lines (string split \n -- "$argv[1]")
    set -g _rocmenv_text (string replace -a -- % %25 $lines | string replace -a -- '|' %7C | string join %0A)
end

function _rocmenv_begin -a v
    set -g _rocmenv_v $v
    set -g _rocmenv_diff "1|$v"
    set -l whole $_rocmenv_whole
    for named in "$ROCM_PATH" "$HIP_PATH"
        test -n "$named" -a -f "$named/.info/version"; and set -a whole "$named"
    end
    set -l store (string escape --style=regex -- "$_rocmenv_r/versions/")
    set -l numbered (string escape --style=regex -- $_rocmenv_numbered)
    set -l whole (string escape --style=regex -- $whole)
    set -g _rocmenv_x '\A(?:'"$store"'|(?:'(string join '|' -- $numbered)')[0-9]|(?:'(string join '|' -- $whole)')(?:/|\z))'
end

function _rocmenv_end
    set -gx ROCMENV_DIFF "$_rocmenv_diff"
end

# NAME STATE TEXT, STATE + or -: note the change, then make it. A universal variable, which
# all sessions share, is not erased. Only an exported global keeps it from child processes,
# so it becomes empty instead.
function _rocmenv_change -a name state text
    if test "$state" = -; and set -qUx $name
        set state +
        set text ''
    end
    set -l was -
    set -l old ''
    if set -qx $name
        set was +
        set old "$$name"
    end
    test "$was$old" = "$state$text"; and return 0
    _rocmenv_give $name $state "$text"
    _rocmenv_note $name $was "$old" $state "$text"
end

function _rocmenv_note -a name was old state text
    _rocmenv_escape "$old"
    set -g _rocmenv_diff "$_rocmenv_diff|$name|$was$_rocmenv_text"
    _rocmenv_escape "$text"
    set -g _rocmenv_diff "$_rocmenv_diff|$state$_rocmenv_text"
end

# Only globals are changed. A universal variable shows again when its global one goes.
function _rocmenv_give -a name state text
    set -eg $name
    if test "$state" = +
        if not set -qx $name; or test "$$name" != "$text"
            set -gx $name "$text"
        end
    end
end

function _rocmenv_set
    _rocmenv_change $argv[1] + "$argv[2]"
end

function _rocmenv_clear
    for name in $argv
        _rocmenv_change $name - ''
    end
end

function _rocmenv_drop -a name
    if set -q $name; and _rocmenv_owns "$$name"
        _rocmenv_change $name - ''
    end
end

# NAME FOLDERS: the list without the entries of any other ROCm, with FOLDERS in front.
function _rocmenv_put -a name
    set -l front $argv[2..-1]
    set -l kept
    set -l gone 0
    if test -n "$$name"
        for entry in $$name
            if _rocmenv_owns "$entry"
                set gone 1
            else
                set -a kept "$entry"
            end
        end
    end
    if test (count $front) -eq 0 -a $gone -eq 0
        return 0
    end
    set -l all $front $kept
    if test (count $all) -eq 0
        _rocmenv_clear $name
        return 0
    end
    set -l was -
    set -qx $name; and set was +
    set -l old "$$name"
    set -gx $name $all
    test "$was$old" = "+$$name"; or _rocmenv_note $name $was "$old" + "$$name"
end

function _rocmenv_put_if_set -a name
    test -z "$$name"; or _rocmenv_put $argv
end

# NAME BEFORE AFTER: as rocmenv.env.pathlist.undo, on the present list. fish splits a text at
# colons where it is given to a variable that is a path.
function _rocmenv_unlist -a name before after
    set -l now "$$name"
    if test -n "$after"
        set -l at (string split -m 1 -- ":$after:" ":$now:")
        if test (count $at) -eq 2
            set -l text "$at[1]"
            test -z "$before"; or set text "$text:$before"
            test -z "$at[2]"; or set text "$text:"(string sub -e -1 -- "$at[2]")
            if test -z "$text"
                _rocmenv_give $name - ''
            else
                set -gx $name (string sub -s 2 -- "$text")
            end
            return 0
        end
    end
    set -l list
    test -z "$now"; or set list $$name
    set -l --path was
    set -l --path added
    test -z "$before"; or set was "$before"
    test -z "$after"; or set added "$after"
    set -l gone
    for entry in $was
        if set -l i (contains -i -- "$entry" $added)
            set -e added[$i]
            set -a gone 0
        else
            set -a gone 1
        end
    end
    for entry in $added
        set -l i (contains -i -- "$entry" $list); and set -e list[$i]
    end
    set -l n 0
    for entry in $was
        set n (math $n + 1)
        if test "$gone[$n]" = 1
            set -l i 0
            if test $n -gt 1
                set i (contains -i -- "$previous" $list); or set i 0
            end
            if test $i -eq 0
                set -p list "$entry"
            else
                set list $list[1..$i] "$entry" $list[(math $i + 1)..-1]
            end
        end
        set -f previous "$entry"
    end
    if test (count $list) -eq 0
        _rocmenv_give $name - ''
    else
        set -gx $name $list
    end
end

# Take back what ROCMENV_DIFF records: the version that was active is then in _rocmenv_left,
# the variables that were changed by hand since, and keep their text, in _rocmenv_kept.
function _rocmenv_undo
    set -g _rocmenv_left
    set -g _rocmenv_kept
    set -l fields (string split '|' -- "$ROCMENV_DIFF")
    set -eg ROCMENV_DIFF
    test "$fields[1]" = 1; or return 0
    set -g _rocmenv_left $fields[2]
    set fields $fields[3..-1]
    while set -q fields[3]
        set -l name $fields[1]
        set -l before (string sub -l 1 -- "$fields[2]")
        _rocmenv_unescape (string sub -s 2 -- "$fields[2]")
        set -l old "$_rocmenv_text"
        set -l after (string sub -l 1 -- "$fields[3]")
        _rocmenv_unescape (string sub -s 2 -- "$fields[3]")
        set -l new "$_rocmenv_text"
        set fields $fields[4..-1]
        # Only what an activation changes: a record may come from anywhere.
        contains -- $name @FAMILY@; or continue
        set -l state -
        set -qx $name; and set state +
        if test "$state$$name" = "$after$new"
            _rocmenv_give $name $before "$old"
        else if contains -- $name @NAMES@
            test $state = -; or _rocmenv_unlist $name "$old" "$new"
        else
            set -a _rocmenv_kept $name
        end
    end
end

function _rocmenv_unescape
    set -l lines (string split %0A -- "$argv[1]")
    set lines (string replace -a -- %7C '|' $lines | string replace -a -- %25 %)
    set -g _rocmenv_text "$lines[1]"
    for line in $lines[2..-1]
        set -g _rocmenv_text "$_rocmenv_text"\n"$line"
    end
end

# Until it is done, an interrupt leaves a note that fits nothing: the next prompt does it again,
# once.
function _rocmenv_apply
    set -l first 1
    set -q _rocmenv_last; and set first 0
    set -l key "$_rocmenv_w|$_rocmenv_f"
    if test "$_rocmenv_last" = -
        set -g _rocmenv_last "$key"
    else
        set -g _rocmenv_last -
    end
    _rocmenv_change_over $first
    set -l done $status
    test $done -eq 130; or set -g _rocmenv_last "$key"
    return $done
end

function _rocmenv_change_over -a first
    _rocmenv_undo
    set -g _rocmenv_v
    if test -z "$_rocmenv_w"; or test "$_rocmenv_w" = system
        _rocmenv_say $first
        return 0
    end
    if string match -qr '^[A-Za-z0-9_+-][A-Za-z0-9._+-]*$' -- "$_rocmenv_w"; and test -r "$_rocmenv_r/activations/$_rocmenv_w.fish"
        source "$_rocmenv_r/activations/$_rocmenv_w.fish"
    end
    if test -z "$_rocmenv_v"
        set -l found (ROCMENV_SHIM_ROOT="$_rocmenv_r" _rocmenv_run resolve --one-line); or return
        set -g _rocmenv_w $found
        if test -r "$_rocmenv_r/activations/$_rocmenv_w.fish"
            source "$_rocmenv_r/activations/$_rocmenv_w.fish"
        end
        if test -z "$_rocmenv_v" -a "$_rocmenv_w" != system
            # An install that was stopped between its last two steps has no rendered text yet,
            # and that of a link whose prefix was built anew does not fit any more.
            ROCMENV_SHIM_ROOT="$_rocmenv_r" _rocmenv_run env --shell fish "$_rocmenv_w" | source
            set -g _rocmenv_v "$_rocmenv_w"
        end
    end
    _rocmenv_say $first
end

# One line when the version changes: not at the first prompt, and not for the same again.
function _rocmenv_say -a first
    set -l shown "$_rocmenv_v"
    test -n "$shown"; or set shown system
    set -l left "$_rocmenv_left"
    test -n "$left"; or set left system
    if test -z "$_rocmenv_kept"
        test "$first" = 1 -o "$left" = "$shown"; and return 0
    else
        set shown "$shown; kept $_rocmenv_kept, changed by hand"
    end
    if test -n "$_rocmenv_w"
        set shown "$shown (set by $_rocmenv_f)"
    end
    echo "rocmenv: $shown" >&2
end

function _rocmenv_hook
    set -l keep $status
    if test -z "$_rocmenv_off"
        _rocmenv_wanted
        test "$_rocmenv_w|$_rocmenv_f" = "$_rocmenv_last"; or _rocmenv_apply
    end
    return $keep
end

# Whether one of these files is there: one command where fish has it (3.5).
if contains path (builtin -n)
    function _rocmenv_any_file
        path is -f -- $argv
    end
else
    function _rocmenv_any_file
        for file in $argv
            test -f "$file"; and return 0
        end
        return 1
    end
end

# Before each prompt: most of the time nothing has changed. In the same folder, with the same
# ROCMENV_VERSION, no nearer pin and the same text in the same file, the rest is left out.
function _rocmenv_prompt --on-event fish_prompt
    set -l keep $status
    if test "$PWD|$ROCMENV_VERSION" = "$_rocmenv_key"
        test -z "$ROCMENV_VERSION"; or return $keep
        if not set -q _rocmenv_nearer[1]; or not _rocmenv_any_file $_rocmenv_nearer
            set -l now
            test -r "$_rocmenv_seen"; and read -z now <"$_rocmenv_seen"
            test "$now" = "$_rocmenv_text_seen"; and return $keep
        end
    end
    _rocmenv_look
    return $keep
end

# On each change of folder, and when a prompt finds something changed.
function _rocmenv_look --on-variable PWD
    set -l keep $status
    set -g _rocmenv_key # for an interrupt in between
    _rocmenv_hook
    set -g _rocmenv_key "$PWD|$ROCMENV_VERSION"
    set -g _rocmenv_seen "$_rocmenv_f"
    set -g _rocmenv_text_seen
    test -r "$_rocmenv_seen"; and read -g -z _rocmenv_text_seen <"$_rocmenv_seen"
    # Where a pin would come before the file that counts: all folders up to it, or to the top.
    set -g _rocmenv_nearer
    set -l d $PWD
    while test "$d/.rocm-version" != "$_rocmenv_seen"
        set -a _rocmenv_nearer "$d/.rocm-version"
        test -n "$d"; or break
        set -l up (string replace -r '/[^/]*$' '' -- "$d")
        test "$up" != "$d"; or break
        set d "$up"
    end
    return $keep
end

function _rocmenv_use
    set -g _rocmenv_off
    if test (count $argv) -eq 0
        set -eg ROCMENV_VERSION
    else
        set -l found (ROCMENV_SHIM_ROOT="$_rocmenv_r" _rocmenv_run resolve -- $argv[1]); or return
        set -gx ROCMENV_VERSION $found
    end
    _rocmenv_wanted
    set -g _rocmenv_last ''
    _rocmenv_apply
end

function rocmenv
    switch "$argv[1]:$argv[2]:"(count $argv)
        case 'use::1' 'shell:--unset:2'
            _rocmenv_use
        case 'use:--:3' 'shell:--:3'
            _rocmenv_use $argv[3]
        case 'shell:-*' 'shell::1'
            _rocmenv_run $argv
        case 'use:-*'
            _rocmenv_run $argv; or return
            set -g _rocmenv_last ''
            _rocmenv_hook
        case 'use:*:2' 'shell:*:2'
            _rocmenv_use $argv[2]
        case 'deactivate::1'
            if test -z "$ROCMENV_DIFF"
                echo 'rocmenv: nothing is recorded in this shell, so nothing was changed' >&2
                set -g _rocmenv_off 1
                return 0
            end
            set -g _rocmenv_w
            set -g _rocmenv_v
            set -g _rocmenv_last ''
            set -g _rocmenv_off 1
            _rocmenv_undo
            set -eg ROCMENV_VERSION
            _rocmenv_say 0
        case '*'
            _rocmenv_run $argv; or return
            switch "$argv[1]"
                case use local global install uninstall discover link unlink rehash config
                    set -g _rocmenv_last ''
                    _rocmenv_hook
            end
    end
end

contains -- "$_rocmenv_r/shims" $PATH; or set -gx PATH "$_rocmenv_r/shims" $PATH
_rocmenv_hook
