set -g _cudaswitch_root '/home/o\'neill/a $store'
set -g _cudaswitch_program '/opt/a "program"/cudaswitch'
set -g _cudaswitch_seen ''
function __cudaswitch_load
    eval 'function __cudaswitch_bundled
set -l env $CONDA_PREFIX
set -l venv $VIRTUAL_ENV
test "$env" = "$__csw_left"; and set env
test "$venv" = "$__csw_left"; and set venv
if test -n "$venv"
if test -z "$env"; or not __cudaswitch_before $env $venv
set env $venv
end
end
test -n "$env"; and __cudaswitch_brings $env
end
function __cudaswitch_brings
set -l base
set -l python
if test -r $argv/pyvenv.cfg
set -l shared
while read --local line
string match --quiet --regex \'^home *= *(?<base>.*?)(/bin)?$\' -- $line
string match --quiet --regex \'^version(_info)? *= *(?<python>[0-9]+\\.[0-9]+)\' -- $line
string match --quiet --regex --ignore-case \\
\'^include-system-site-packages *= *true$\' -- $line
and set shared yes
end <$argv/pyvenv.cfg
set -q shared[1]; or set base
end
set -l sites $argv/lib/python*/site-packages
for site in $sites
if test -e $site/tensorflow; or test -e $site/jaxlib
set -l found $site/nvidia/cu*/nvvm/libdevice
test -e $argv/nvvm/libdevice -o -e $site/jaxlib/cuda/nvvm/libdevice
or string match --quiet --regex \'/(cuda_nvcc|cu[0-9][^/]*)/nvvm/libdevice$\' -- $found
or set -g __csw_xla yes
end
end
if test -z "$PYTHONNOUSERSITE"; and test -n "$base" -o -d $argv/conda-meta
set -l user $PYTHONUSERBASE
test -n "$user"; or set user $HOME/.local
set -l tail
for site in $user/lib/python*/site-packages
string match --quiet --regex \'(?<tail>/lib/python[^/]*/site-packages)$\' -- $site
contains -- $argv$tail $sites; and set -a sites $site
end
end
if test -n "$base"
set -a sites $base/lib/python$python/site-packages $base/lib/python3/dist-packages \\
$base/local/lib/python$python/dist-packages
end
for site in $sites
set -l found $site/nvidia/*/lib
set -q found[1]; and return 0
test -e $site/torch/lib/libtorch_cuda.so; and return 0
end
for prefix in $argv $base
set -l found $prefix/conda-meta/cudatoolkit-*.json $prefix/conda-meta/cuda-cudart-*.json \\
$prefix/conda-meta/libcublas-*.json
string match --quiet --regex \'/(cudatoolkit|cuda-cudart|libcublas)-[0-9][^/]*$\' -- $found
and return 0
end
return 1
end
function __cudaswitch_newer
for dir in $argv[1]/conda-meta $argv[1]/lib/python*/site-packages
test $dir -nt $argv[2]; and return 0
end
return 1
end
function __cudaswitch_copies
set -l level 3
test "0$CONDA_SHLVL" -gt 2; and set level (math $CONDA_SHLVL + 1)
while test $level -gt 0
set level (math $level - 1)
set -l copy __CONDA_SHLVL_{$level}_$argv[1]
test -n "$$copy"; or continue
set -l kept $$copy
set -g __csw $argv[3]
switch $argv[1]
case LD_LIBRARY_PATH
set __csw $kept
__cudaswitch_without "$argv[2]"
case \'*_FLAGS\'
set __csw $kept
__cudaswitch_wordless __csw $argv[2] keep
case \'*\'
test "$kept" = "$argv[2]"; or continue
end
set -l names $copy
set -l now $$argv[1]
test $level = "$CONDA_SHLVL" -a "$now" = "$kept"; and set -a names $argv[1]
for name in $names
if test -n "$__csw"
set -gx $name $__csw
else
set -e $name
end
end
end
end
function __cudaswitch_kept
test -n "$CONDA_SHLVL"; or return 1
set -l kept "$__CONDA_SHLVL_0_CUDA_HOME$__CONDA_SHLVL_0_CUDA_PATH$__CONDA_SHLVL_0_CUDACXX"
set -a kept "$__CONDA_SHLVL_1_CUDA_HOME$__CONDA_SHLVL_1_CUDA_PATH$__CONDA_SHLVL_1_CUDACXX"
set -a kept "$__CONDA_SHLVL_2_CUDA_HOME$__CONDA_SHLVL_2_CUDA_PATH$__CONDA_SHLVL_2_CUDACXX"
set -a kept "$__CONDA_SHLVL_0_CUDAToolkit_ROOT$__CONDA_SHLVL_0_LD_LIBRARY_PATH"
set -a kept "$__CONDA_SHLVL_1_CUDAToolkit_ROOT$__CONDA_SHLVL_1_LD_LIBRARY_PATH"
set -a kept "$__CONDA_SHLVL_2_CUDAToolkit_ROOT$__CONDA_SHLVL_2_LD_LIBRARY_PATH"
set -g __csw_kept "$kept"
test "$kept" != \'     \' -o "$CONDA_SHLVL" -gt 2
end
function __cudaswitch_host
set -g __csw (string replace --regex \'.*:cc=([^:]*).*\' \'$1\' -- $argv)
set -l conda $CONDA_PREFIX
test "$conda" = "$__csw_left"; and set conda
set -l start (string sub --length (string length -- "$conda/") -- "$CXX")
if test -n "$conda"; and test "$start" = $conda/
set __csw $CXX
else if test -n "$CXX"
set start (string sub --length (string length -- "$__csw_left/") -- $CXX)
test -n "$__csw_left"; and test "$start" = $__csw_left/; or set __csw \'\'
else if test -n "$conda"; and test -x $conda/bin/gcc
set __csw \'\'
end
if test -n "$CUDAHOSTCXX$NVCC_CCBIN"; or string match --quiet --regex \'[ \\t]\' -- $__csw
or string match --quiet --regex -- \'-ccbin|--compiler-bindir\' \\
"$NVCC_PREPEND_FLAGS" "$NVCC_APPEND_FLAGS"
set __csw \'\'
end
end
function __cudaswitch_flags_set
if string match --quiet \'*:cc=*\' -- $argv[1]
__cudaswitch_host $argv[1]
if test -n "$__csw"; and test -x $__csw
__cudaswitch_keep CUDAHOSTCXX NVCC_PREPEND_FLAGS
set -gx _CUDASWITCH_CC -ccbin=$__csw
set -gx CUDAHOSTCXX $__csw
set -l rest "$NVCC_PREPEND_FLAGS"
test -n "$rest"; and set rest " $rest"
set -gx NVCC_PREPEND_FLAGS "-ccbin=$__csw$rest"
end
end
if set -q __csw_xla; and test -e $argv[2]/nvvm/libdevice
and string match --quiet --regex \'^([- \\t]|$)\' -- "$XLA_FLAGS"
and not string match --quiet \'*xla_gpu_cuda_data_dir*\' -- "$XLA_FLAGS"
set -l word --xla_gpu_cuda_data_dir=$argv[2]
string match --quiet --regex \'[ \\t]\' -- $argv[2]
and set word "--xla_gpu_cuda_data_dir=\\"$argv[2]\\""
__cudaswitch_keep XLA_FLAGS
set -gx _CUDASWITCH_XLA $word
set -l rest "$XLA_FLAGS"
test -n "$rest"; and set rest "$rest "
set -gx XLA_FLAGS "$rest$word"
end
end
function __cudaswitch_flags_give
set -g _cudaswitch_was_CUDAHOSTCXX "$_CUDASWITCH_WAS_CUDAHOSTCXX"
test -n "$CONDA_SHLVL"
and __cudaswitch_flags_forget "$_CUDASWITCH_CC" "$_CUDASWITCH_XLA"
if test -n "$_CUDASWITCH_CC"
if test "$CUDAHOSTCXX" = (string replace -- -ccbin= \'\' $_CUDASWITCH_CC)
if set -q _CUDASWITCH_WAS_CUDAHOSTCXX
set -gx CUDAHOSTCXX "$_CUDASWITCH_WAS_CUDAHOSTCXX"
else
set -e CUDAHOSTCXX
end
end
__cudaswitch_wordless NVCC_PREPEND_FLAGS_BACKUP $_CUDASWITCH_CC keep
__cudaswitch_wordless NVCC_PREPEND_FLAGS $_CUDASWITCH_CC
end
test -n "$_CUDASWITCH_XLA"; and __cudaswitch_wordless XLA_FLAGS $_CUDASWITCH_XLA
for name in CC XLA WAS_CUDAHOSTCXX WAS_NVCC_PREPEND_FLAGS WAS_XLA_FLAGS
set -e _CUDASWITCH_$name
end
end
function __cudaswitch_flags_forget
if test -n "$argv[1]"
set -l compiler (string replace -- -ccbin= \'\' $argv[1])
__cudaswitch_copies CUDAHOSTCXX $compiler "$_cudaswitch_was_CUDAHOSTCXX"
__cudaswitch_copies NVCC_PREPEND_FLAGS $argv[1]
end
test -n "$argv[2]"; and __cudaswitch_copies XLA_FLAGS $argv[2]
return 0
end
function __cudaswitch_wordless
set -q $argv[1]; or return 0
set -l word (string escape --style=regex -- $argv[2])
set -l was _CUDASWITCH_WAS_$argv[1]
if test "$$argv[1]" = $argv[2]; and not set -q $was; and not set -q argv[3]
set -e $argv[1]
return 0
end
for pattern in "^$word( |\\$)" " $word\\$" " $word(?= )"
if string match --quiet --regex -- $pattern "$$argv[1]"
set -g $argv[1] (string replace --regex -- $pattern \'\' "$$argv[1]")
return 0
end
end
end
function __cudaswitch_keep
for name in $argv
set -q $name; and set -gx _CUDASWITCH_WAS_$name "$$name"
end
return 0
end
function __cudaswitch_without
set -l more
set -l dir
set -l rest $argv[1]
while string match --quiet --regex \'^(?s):?(?<more>[0-9]+)(?<dir>/[^:]*)(?<rest>.*)\' -- "$rest"
contains -- $dir $__csw; or continue
set -l place (contains --index -- $dir $__csw)
for one in $__csw
test "$one" = $dir; and set more (math $more - 1)
end
if test $more -lt 0
set -e __csw[$place]
end
end
end
function __cudaswitch_record
set -l made
for dir in $argv
set -l copies
for at in $__csw
test "$at" = $dir; and set -a copies $at
end
set -a made (count $copies)$dir
end
set __csw (string join : -- $made)
end
function __cudaswitch_before
for dir in $PATH
test $dir = $argv[2]/bin; and return 1
test $dir = $argv[1]/bin; and return 0
end
return 1
end
function __cudaswitch_scalars
set -l home (string split --fields 1 : -- $argv[2])
set -l names CUDA_HOME CUDA_PATH CUDAToolkit_ROOT
set -l values $home $home $home
if string match --quiet \'*:nvcc:*\' -- $argv[2]:
set -a names CUDACXX
set -a values $home/bin/nvcc
end
if set -l gpus (string replace --filter --regex \'.*:gpus=([^:]*).*\' \'$1\' -- $argv[2])
set -a names CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
set -a values $gpus PCI_BUS_ID
end
switch $argv[1]
case set
__cudaswitch_flags_set $argv[2] $home
case give
__cudaswitch_flags_give
case forget
__cudaswitch_flags_forget "$_cudaswitch_undone_cc" "$_cudaswitch_undone_xla"
end
for name in $names
set -l ours $values[1]
set -e values[1]
set -l was _CUDASWITCH_WAS_$name
if test $argv[1] = set
if set -q $name
set -gx $was "$$name"
end
set -gx $name $ours
else if test $argv[1] = forget
set -l was _cudaswitch_was_$name
__cudaswitch_copies $name $ours (set -q _cudaswitch_gave; and echo "$$was")
else
set -g _cudaswitch_gave 1
set -g _cudaswitch_was_$name "$$was"
not set -q _CUDASWITCH_KEPT
and __cudaswitch_kept
and __cudaswitch_copies $name $ours "$$was"
if test "$$name" = $ours
if set -q $was
set -gx $name "$$was"
else
set -e $name
end
end
set -e $was
end
end
end
function __cudaswitch_strongest
set __csw $_CUDASWITCH_U
test -n "$__csw"; and return
set __csw $_CUDASWITCH_X
test -n "$__csw"; and return
set __csw $_CUDASWITCH_C
if test -n "$_CUDASWITCH_V"
if test -z "$__csw"
set __csw $_CUDASWITCH_V
else
__cudaswitch_before (string replace --regex \'.*:env=\' \'\' -- $_CUDASWITCH_C) \\
(string replace --regex \'.*:env=\' \'\' -- $_CUDASWITCH_V)
or set __csw $_CUDASWITCH_V
end
end
test -n "$__csw"; or set __csw $_CUDASWITCH_D
end
function __cudaswitch_settle
set -l --path path $PATH
set -l --path old $_OLD_VIRTUAL_PATH
set -l --path ld $LD_LIBRARY_PATH
set -l ld_set
set -q LD_LIBRARY_PATH; and set ld_set set
set -l old_was "$old"
set -l home
set -g __csw
if test -n "$_CUDASWITCH_ON$_CUDASWITCH_BIN$_CUDASWITCH_GONE"
if test "$path|$ld|$old$_CUDASWITCH_OLD$_CUDASWITCH_GONE" = "$_cudaswitch_path|$_cudaswitch_ld|"
set path $_cudaswitch_path_was
set ld $_cudaswitch_ld_was
set ld_set $_cudaswitch_ld_was_set
else
__cudaswitch_undo
end
set -l kept
if not set -q _CUDASWITCH_KEPT; and __cudaswitch_kept
set kept kept
test -n "$_CUDASWITCH_LIB"; and __cudaswitch_copies LD_LIBRARY_PATH $_CUDASWITCH_LIB
end
if test "$CUDA_HOME:$CUDA_PATH:$CUDAToolkit_ROOT:$CUDACXX$kept" = "$_cudaswitch_plain"
set -e CUDA_HOME
set -e CUDA_PATH
set -e CUDAToolkit_ROOT
set -e CUDACXX
else if test -n "$_CUDASWITCH_ON"
__cudaswitch_scalars give $_CUDASWITCH_ON
end
set -g _cudaswitch_plain
set -e _CUDASWITCH_ON
set -e _CUDASWITCH_BIN
set -e _CUDASWITCH_OLD
set -e _CUDASWITCH_GONE
set -e _CUDASWITCH_LIB
set -e _CUDASWITCH_LD
set -e _CUDASWITCH_KEPT
end
__cudaswitch_strongest
set -l want $__csw
string match --quiet --regex \'^(?<home>/[^:]*)\' -- "$want"
and test -d $home/.
and __cudaswitch_apply
set -e __csw
test "$path" = "$PATH"; or set -gx PATH $path
test "$old" = "$old_was"; or set -gx _OLD_VIRTUAL_PATH $old
if set -q ld_set[1]
if not set -q LD_LIBRARY_PATH; or test "$ld" != "$LD_LIBRARY_PATH"
set -q ld[1]; or set ld \'\'
set -gx LD_LIBRARY_PATH $ld
end
else if set -q LD_LIBRARY_PATH
set -e LD_LIBRARY_PATH
end
end
function __cudaswitch_undo --no-scope-shadowing
set -l bin $_CUDASWITCH_BIN
if test -z "$old$VIRTUAL_ENV" -a -n "$_CUDASWITCH_OLD"
set bin $_CUDASWITCH_OLD
end
if test "$bin" = "0$path[1]"
set -e path[1]
else
set __csw $path
__cudaswitch_without "$bin"
set path $__csw
end
if test -n "$_CUDASWITCH_GONE"
set __csw $path
__cudaswitch_without "$_CUDASWITCH_GONE"
set path $__csw
end
if set -q old[1]
set __csw $old
if test -n "$_CUDASWITCH_OLD"
__cudaswitch_without "$_CUDASWITCH_OLD"
else
__cudaswitch_without "$bin"
end
set old $__csw
end
test -n "$_CUDASWITCH_LIB"; or return
if test -n "$ld" -a "$ld" = "$_cudaswitch_ld"
set ld $_cudaswitch_ld_was
set ld_set $_cudaswitch_ld_was_set
return
end
set __csw $ld
__cudaswitch_without $_CUDASWITCH_LIB
if test (count $__csw) -ne (count $ld)
set ld $__csw
if not set -q ld[1]; and test "$_CUDASWITCH_LD" = unset
set ld_set
end
end
end
function __cudaswitch_apply --no-scope-shadowing
set -l bin $home/bin
set -l lib
set -e __csw_xla
if not __cudaswitch_left_alone $want
for dir in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib
if test -d $home/$dir
set lib $home/$dir
break
end
end
test -d $home/extras/CUPTI/lib64; and set -a lib $home/extras/CUPTI/lib64
end
test -n "$ld"; or set ld
set -g _cudaswitch_path_was $path
set -g _cudaswitch_ld_was $ld
set -g _cudaswitch_ld_was_set $ld_set
if contains -- $bin $path
set __csw $path
__cudaswitch_record $bin
set -gx _CUDASWITCH_BIN $__csw
else
set -gx _CUDASWITCH_BIN 0$bin
end
set -p path $bin
if set -q old[1]
set __csw $old
__cudaswitch_record $bin
set -gx _CUDASWITCH_OLD $__csw
set -p old $bin
end
if set -q lib[1]
if contains -- $lib[1] $ld; or contains -- $lib[-1] $ld
set __csw $ld
__cudaswitch_record $lib
else
set -l --path lib0 0$lib
set __csw "$lib0"
end
set -gx _CUDASWITCH_LIB $__csw
set -q ld_set[1]; or set -gx _CUDASWITCH_LD unset
set ld_set set
set -p ld $lib
end
set -g _cudaswitch_path
set -q lib[1]; and set _cudaswitch_path "$path"
set -g _cudaswitch_ld "$ld"
__cudaswitch_kept
and string match --quiet --regex -- (string escape --style=regex -- $home) "$__csw_kept"
and set -gx _CUDASWITCH_KEPT \'\'
test -x $bin/nvcc; and set want $want:nvcc
set -gx _CUDASWITCH_ON $want
set -l free no
switch $want
case \'*:gpus=*\' \'*:cc=*\'
case \'*:nvcc\'
set -q CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX
test $status -eq 4; and not set -q __csw_xla; and set free yes
end
if test $free = yes
set -gx CUDA_HOME $home
set -gx CUDA_PATH $home
set -gx CUDAToolkit_ROOT $home
set -gx CUDACXX $bin/nvcc
set -g _cudaswitch_plain $home:$home:$home:$bin/nvcc
else
__cudaswitch_scalars set $want
end
set -e __csw_xla
return 0
end
function __cudaswitch_left_alone
switch $argv:
case \'*:lib=never:*\'
__cudaswitch_bundled
return 0
case \'*:lib=always:*\'
__cudaswitch_bundled
return 1
end
test -n "$CONDA_PREFIX$VIRTUAL_ENV"; and __cudaswitch_bundled
end
function __cudaswitch_enter
set -l baked $argv[3]
test -n "$argv[4]"; and set baked $baked:$argv[4]
set -l want $baked
if test -n "$argv[5]"; and __cudaswitch_newer $argv[2] $argv[2]/etc/cudaswitch/want
if set -q _cudaswitch_program
set want ($_cudaswitch_program want --environment $argv[2])
or set want $baked
else if isatty stderr
printf \'cudaswitch: `%s` has other packages than when it was pinned\\n\' $argv[2] >&2
printf \'hint: cudaswitch pin auto\\n\' >&2
end
end
set -l home
string match --quiet --regex \'^(?<home>[^:]*)\' -- "$want"
if test "$home" != system; and not test -d "$home/."
if isatty stderr
printf \'cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\\n\' \\
$home $argv[2] >&2
end
set want gone
end
if test $argv[1] = C -a -n "$_cudaswitch_undone"
set -l flags "$_cudaswitch_undone_cc$_cudaswitch_undone_xla"
if test "$LD_LIBRARY_PATH|$CUDA_HOME$CUDA_PATH$CUDACXX$flags" != "$_cudaswitch_ld_was|"
__cudaswitch_copies LD_LIBRARY_PATH "$_cudaswitch_undone_lib"
__cudaswitch_scalars forget $_cudaswitch_undone
end
end
set -gx _CUDASWITCH_$argv[1] $want:env=$argv[2]
__cudaswitch_settle
end
function __cudaswitch_leave
set -l owner _CUDASWITCH_$argv[1]
test -n "$$owner"; or return 0
set -l before $_CUDASWITCH_BIN
set -g _cudaswitch_undone $_CUDASWITCH_ON
set -g _cudaswitch_undone_lib $_CUDASWITCH_LIB
set -g _cudaswitch_undone_cc $_CUDASWITCH_CC
set -g _cudaswitch_undone_xla $_CUDASWITCH_XLA
set -q _CUDASWITCH_KEPT; and set -g _cudaswitch_undone
set -e _cudaswitch_gave
set -g _cudaswitch_seen
set -e $owner
set -g __csw_left $argv[2]
__cudaswitch_settle
set -e __csw_left
test $argv[1] = C; or return 0
set -l dir
if test -z "$_CUDASWITCH_BIN"
and string match --quiet --regex \'^[0-9]+(?<dir>/[^:]*)$\' -- "$before"
and not contains -- $dir $PATH
set -gx _CUDASWITCH_GONE 0$dir
else if test -n "$before$_CUDASWITCH_BIN"
set -g __csw $PATH
__cudaswitch_record (string match --all --regex \'/[^:]*\' -- "$before:$_CUDASWITCH_BIN")
set -gx _CUDASWITCH_GONE $__csw
set -e __csw
end
function __cudaswitch_repair --on-variable PATH --on-variable CONDA_SHLVL
if test "$argv[3]" = CONDA_SHLVL
functions --erase __cudaswitch_repair
__cudaswitch_settle
else if test -n "$_CUDASWITCH_GONE"
__cudaswitch_settle
end
end
return 0
end
function __cudaswitch_ready
string match --quiet --regex \'^[A-Za-z0-9_+][A-Za-z0-9._+-]*$\' -- $argv[1]; or return 1
test -f $_cudaswitch_root/requests/$argv[1]; or return 1
read --global __csw < $_cudaswitch_root/requests/$argv[1]; or return 1
test -d $__csw/.; and return 0
set -l home
string match --quiet --regex \'^(?<home>[^:]*):\' -- $__csw; and test -d $home/.
end
function __cudaswitch_read
test -O $argv[1] -a -r $argv[1]; or return 1
string match --quiet --regex \'\\x00\' <$argv[1]; and return 1
set -l cuda
set -l cudnn
set -l libraries
set -l gpus
while read --local line
set line (string replace --regex \'#.*\' \'\' -- $line | string trim)
test -n "$line"; or continue
set -l part (string replace --filter --regex \\
\'^(?:(cuda|cudnn|libraries|gpus)(?:\\s*=\\s*|\\s+))?([^\\s=]+)$\' \'$1=$2\' -- $line \\
| string split =); or return 1
test -n "$part[1]"; or set part[1] cuda
set -q $part[1][1]; and return 1
set $part[1] $part[2]
end < $argv[1]
if set -q cudnn[1]
set cuda $cuda+cudnn$cudnn
end
if set -q libraries[1]
contains -- $libraries auto always never; or return 1
set libraries lib=$libraries
end
if set -q gpus[1]
string match --quiet --regex \'^(-1|\\d{1,4}(,\\d{1,4})*)$\' -- $gpus; or return 1
string match --quiet --regex \'\\b(\\d+),(.*,)?\\1\\b\' -- $gpus; and return 1
set gpus gpus=$gpus
end
__cudaswitch_ready "$cuda"; or return 1
set -g __csw (string join : -- $__csw $libraries $gpus)
return 0
end
function __cudaswitch_directory
set -g _cudaswitch_file
set -g _cudaswitch_text
set -e _CUDASWITCH_D
set -g __csw
set -l active
if __cudaswitch_file
set _cudaswitch_file $__csw
__cudaswitch_content
__cudaswitch_read $_cudaswitch_file
or __cudaswitch_ask_once "$_cudaswitch_file:$_cudaswitch_text" --file $_cudaswitch_file
else if __cudaswitch_active; and set active $__csw; and __cudaswitch_framework $active
else if test -f $_cudaswitch_root/global
__cudaswitch_read $_cudaswitch_root/global
or __cudaswitch_ask_once global --file $_cudaswitch_root/global
else
set __csw
end
test -n "$__csw"; and set -gx _CUDASWITCH_D $__csw
return 0
end
function __cudaswitch_active
set -l envs $VIRTUAL_ENV $CONDA_PREFIX
if set -q envs[2]; and __cudaswitch_before $CONDA_PREFIX $VIRTUAL_ENV
set envs $CONDA_PREFIX $VIRTUAL_ENV
end
for env in $envs
test -n "$env"; or continue
set -g __csw $env
if test -d $env/conda-meta -o -f $env/pyvenv.cfg -o -f $env/bin/activate_this.py
return 0
end
end
return 1
end
function __cudaswitch_framework
__cudaswitch_automatic $argv[1]; or __cudaswitch_ask_once $argv[1] --environment $argv[1]
test -n "$__csw"
end
function __cudaswitch_automatic
set -l file $_cudaswitch_root/auto/(string replace --all / % -- $argv[1])
test -f $file; or return 1
__cudaswitch_newer $argv[1] $file; and return 1
set -l env
begin
read env; and read --global __csw
end < $file; or return 1
test "$env" = $argv[1]; or return 1
test -z "$__csw"; and return 0
string match --quiet --regex \'^(?<env>[^:]*)\' -- $__csw
test -d $env/.
end
function __cudaswitch_content
set -g _cudaswitch_text
if test -O $_cudaswitch_file -a -r $_cudaswitch_file
read --null --global _cudaswitch_text <$_cudaswitch_file
end
end
function __cudaswitch_edited
test -z "$_CUDASWITCH_U$_CUDASWITCH_C$_CUDASWITCH_V"; or return 1
if test -f .cuda-version -a "$_cudaswitch_file" != $PWD/.cuda-version -a $PWD != /
return 0
end
test -n "$_cudaswitch_file"; or return 1
set -l text $_cudaswitch_text
__cudaswitch_content
test "$text" != "$_cudaswitch_text"; or not test -f $_cudaswitch_file
end
function __cudaswitch_ask_once
if test "$argv[1]" != "$_cudaswitch_asked"
set -g _cudaswitch_answer ($_cudaswitch_program want $argv[2..])
set -g _cudaswitch_asked $argv[1]
end
set -g __csw $_cudaswitch_answer
return 0
end
function __cudaswitch_look
set -l before $_CUDASWITCH_ON
set -l moved
if test "$CONDA_PREFIX $VIRTUAL_ENV" != "$_cudaswitch_seen[1..2]"
set moved moved
set -g _cudaswitch_asked
end
if test -n "$_CUDASWITCH_V"
set -l env (string replace --regex \'.*:env=\' \'\' -- $_CUDASWITCH_V)
test "$env" = "$VIRTUAL_ENV"; or set -e _CUDASWITCH_V
end
if test -n "$_CUDASWITCH_C"
set -l env (string replace --regex \'.*:env=\' \'\' -- $_CUDASWITCH_C)
test "$env" = "$CONDA_PREFIX"; or contains -- $env/bin $PATH; or set -e _CUDASWITCH_C
end
set -l hook $VIRTUAL_ENV/etc/cudaswitch/on.fish
if test -z "$_CUDASWITCH_V" -a -n "$VIRTUAL_ENV" -a -f "$hook"
source $hook
end
set hook $CONDA_PREFIX/etc/conda/activate.d/~~cudaswitch.fish
if test -z "$_CUDASWITCH_C" -a -n "$CONDA_PREFIX" -a -f "$hook"
source $hook
end
if not set -q _cudaswitch_seen[4]; or test "$CUDASWITCH_VERSION" != $_cudaswitch_seen[4]
if test -z "$CUDASWITCH_VERSION"
set -e _CUDASWITCH_X
else if __cudaswitch_ready $CUDASWITCH_VERSION
or set -g __csw ($_cudaswitch_program want -- $CUDASWITCH_VERSION)
set -gx _CUDASWITCH_X $__csw
end
end
if test -n "$_CUDASWITCH_C$_CUDASWITCH_V"
set -e _CUDASWITCH_D
set -g _cudaswitch_file
else if test -z "$_CUDASWITCH_U"
__cudaswitch_directory
end
set -g __csw
__cudaswitch_strongest
if test -n "$moved$_CUDASWITCH_GONE"
__cudaswitch_settle
else if test "$__csw" != "$before" -a "$__csw:nvcc" != "$before"
__cudaswitch_settle
end
set -e __csw
set -g _cudaswitch_seen "$CONDA_PREFIX" "$VIRTUAL_ENV" "$PWD" "$CUDASWITCH_VERSION"
test "$before" = "$_CUDASWITCH_ON" -o -n "$CUDASWITCH_QUIET"; or __cudaswitch_say
return 0
end
function __cudaswitch_say
if test -z "$_CUDASWITCH_ON"
echo \'cudaswitch: no toolkit\' >&2
return 0
end
set -l line
string match --quiet --regex \'(?<line>[^/:]*)(:|$)\' -- $_CUDASWITCH_ON
set line "cudaswitch: CUDA $line"
if test -z "$_CUDASWITCH_LIB"
if string match --quiet \'*:lib=never*\' -- $_CUDASWITCH_ON
set line "$line (LD_LIBRARY_PATH left alone, as asked)"
else
set line "$line (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)"
end
end
if test -z "$_CUDASWITCH_CC"; and string match --quiet \'*:cc=*\' -- $_CUDASWITCH_ON
__cudaswitch_host $_CUDASWITCH_ON
if test -n "$__csw"; and not test -x $__csw
set line "$line (its nvcc refuses the gcc here: install "(string replace --regex \'.*/\' \'\' -- $__csw)")"
end
end
echo $line >&2
end
function __cudaswitch_choose
set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
if test -n "$argv[1]"
set -gx _CUDASWITCH_U $argv[1]
__cudaswitch_settle
test -n "$CUDASWITCH_QUIET"; or __cudaswitch_say
else
set -e _CUDASWITCH_U
__cudaswitch_look
end
end
function __cudaswitch_swap
set -l home $__csw
set -l lib $home/lib64
test "$PATH|$LD_LIBRARY_PATH|$CUDA_HOME:$CUDA_PATH:$CUDAToolkit_ROOT:$CUDACXX|$_OLD_VIRTUAL_PATH$_CUDASWITCH_GONE" \\
= "$_cudaswitch_path|$_cudaswitch_ld|$_cudaswitch_plain|" \\
-a -d $lib -a -x $home/bin/nvcc; or return 1
__cudaswitch_kept; and return 1
contains -- $home/bin $_cudaswitch_path_was; and return 1
contains -- $lib $_cudaswitch_ld_was; and return 1
if test -n "$CONDA_PREFIX$VIRTUAL_ENV"
set -e __csw_xla
__cudaswitch_bundled; and return 1
set -q __csw_xla; and return 1
end
set -l lib0 0$lib
if test -d $home/extras/CUPTI/lib64
contains -- $home/extras/CUPTI/lib64 $_cudaswitch_ld_was; and return 1
set lib0 0$lib:0$home/extras/CUPTI/lib64
set -a lib $home/extras/CUPTI/lib64
end
set -gx _CUDASWITCH_PREVIOUS "$_CUDASWITCH_U"
set -gx _CUDASWITCH_U $home
set -gx _CUDASWITCH_ON $home:nvcc
set -gx _CUDASWITCH_BIN 0$home/bin
set -gx _CUDASWITCH_LIB $lib0
set -gx PATH $home/bin $_cudaswitch_path_was
set -gx LD_LIBRARY_PATH $lib $_cudaswitch_ld_was
set -gx CUDA_HOME $home
set -gx CUDA_PATH $home
set -gx CUDAToolkit_ROOT $home
set -gx CUDACXX $home/bin/nvcc
set -g _cudaswitch_path "$PATH"
set -g _cudaswitch_ld "$LD_LIBRARY_PATH"
set -g _cudaswitch_plain $home:$home:$home:$CUDACXX
if test -z "$CUDASWITCH_QUIET"
string match --quiet --regex \'(?<home>[^/]*)$\' -- $home
echo "cudaswitch: CUDA $home" >&2
end
return 0
end
function cudaswitch
if test "$argv[1]" = use; and not set -q argv[3]; and __cudaswitch_ready "$argv[2]"
switch $__csw
case \'*:*\'
__cudaswitch_choose $__csw
case \'*\'
__cudaswitch_swap; or __cudaswitch_choose $__csw
end
return
end
if contains -- --help $argv; or contains -- -h $argv
$_cudaswitch_program $argv
return
end
switch "$argv[1]"
case use
set -l want
if test "$argv[2..]" = -
if not set -q _CUDASWITCH_PREVIOUS
echo \'cudaswitch: there is no earlier choice in this shell\' >&2
echo \'hint: cudaswitch use VERSION\' >&2
return 1
end
set want $_CUDASWITCH_PREVIOUS
else if test "$argv[2..]" = system
set want system
else
set want ($_cudaswitch_program want --for-use $argv[2..]); or return
end
__cudaswitch_choose $want
case off
if test (count $argv) -gt 1
$_cudaswitch_program $argv
return
end
__cudaswitch_choose
case pin unpin install adopt remove alias
$_cudaswitch_program $argv; or return
string match --quiet "*:env=$CONDA_PREFIX" -- $_CUDASWITCH_C; and set -e _CUDASWITCH_C
string match --quiet "*:env=$VIRTUAL_ENV" -- $_CUDASWITCH_V; and set -e _CUDASWITCH_V
set -g _cudaswitch_seen
set -g _cudaswitch_asked
__cudaswitch_look
case \'*\'
$_cudaswitch_program $argv
end
end
'
end
<lazy.fish>
<prompt.fish>
