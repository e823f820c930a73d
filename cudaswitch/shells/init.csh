# What `cudaswitch init` adds in tcsh. csh has no functions: these aliases source the texts
# beside this one, in the folder $_cudaswitch_texts. Each line ends with a semicolon, because
# eval gets them all as one.
# $_cudaswitch_root is the store, $_cudaswitch_program the command itself, which need not be on an
# environment's PATH; if it has been moved, ask.sh takes the one on PATH. What the user types
# follows the text of an alias: `\!*` stands for it only as long as `histchars` is unchanged.
set _cudaswitch_asked = ("" "" "" "");
set _cudaswitch_refused = "";
set _cudaswitch_again = 0;
# The texts may go with the ready file, and the package's own with the package. The prompt, a `cd`,
# and `cudaswitch` at its end check for that: in the alias of `cudaswitch`, a second command, or a
# condition before it, would take what is piped into it.
alias __cudaswitch_texts 'if (! -f "${_cudaswitch_texts:q}/core.csh") set _cudaswitch_texts = "${_cudaswitch_shipped:q}"';
eval __cudaswitch_texts;
if (-f "${_cudaswitch_texts:q}/command.csh") alias cudaswitch 'source "${_cudaswitch_texts:q}/command.csh" --';
# tcsh itself restores $status after these two. What is there already comes first: it may change the
# environment, as direnv does.
alias __cudaswitch_prompt '__cudaswitch_texts; if (-f "${_cudaswitch_texts:q}/prompt.csh") source "${_cudaswitch_texts:q}/prompt.csh"';
set _cudaswitch_own = "`alias precmd`";
if ("${_cudaswitch_own:q}" != "") set _cudaswitch_own = "${_cudaswitch_own:q}; ";
if ("${_cudaswitch_own:q}" !~ *__cudaswitch_prompt*) alias precmd "${_cudaswitch_own:q}__cudaswitch_prompt";
set _cudaswitch_own = "`alias cwdcmd`";
if ("${_cudaswitch_own:q}" != "") set _cudaswitch_own = "${_cudaswitch_own:q}; ";
if ("${_cudaswitch_own:q}" !~ *__cudaswitch_prompt*) alias cwdcmd "${_cudaswitch_own:q}set _cswp_moved; __cudaswitch_prompt";
unset _cudaswitch_own;
if (-f "${_cudaswitch_texts:q}/look.csh") source "${_cudaswitch_texts:q}/look.csh";
