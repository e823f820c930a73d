# What depends on the release of fish.

# `test` itself knows file times from 3.6 on; before 3.2 a match sets no variables, without which
# nothing here works.
set -g _cudaswitch_test test
if string match --quiet --regex '^[12]\.|^3\.[0-5]\.' -- $version
    set _cudaswitch_test env test
    if string match --quiet --regex '^[12]\.|^3\.[01]\.' -- $version
        function __cudaswitch_settle
        end
        function __cudaswitch_enter
        end
        function __cudaswitch_leave
        end
        status is-interactive
        and echo "cudaswitch: fish $version is too old, nothing is switched: 3.2 or newer is needed" >&2
        exit 0
    end
end
