_cudaswitch_root='/home/o'\''neill/a $store'
_cudaswitch_program='/opt/a "program"/cudaswitch'
_cudaswitch_seen=''
__cudaswitch_load() {
    if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
    \eval '<packages.sh>
__cudaswitch_bundled() {
\local env venv
env=${CONDA_PREFIX-} venv=${VIRTUAL_ENV-}
if [ "$env" = "${left-}" ]; then env='\'''\''; fi
if [ "$venv" = "${left-}" ]; then venv='\'''\''; fi
if [ -n "$venv" ]; then
if [ -z "$env" ] || ! __cudaswitch_before "$env" "$venv"; then env=$venv; fi
fi
[ -n "$env" ] && __cudaswitch_globbing __cudaswitch_brings "$env"
}
__cudaswitch_brings() {
\local file line base shared python user brings
base='\'''\'' shared='\'''\'' python='\'''\'' user='\'''\'' brings='\'''\''
if [ -r "$1/pyvenv.cfg" ]; then
while IFS= \read -r line || [ -n "$line" ]; do
case $line in
home[\ =]*) base=${line#*=} ;;
include-system-site-packages[\ =]*[tT][rR][uU][eE]) shared=1 ;;
version[\ =]* | version_info[\ =]*) python=${line#*=} ;;
esac
done < "$1/pyvenv.cfg"
if [ -z "$shared" ]; then base='\'''\''; fi
base=${base#"${base%%[! ]*}"} base=${base%/bin} python=${python#"${python%%[! ]*}"}
case $python in *.*.*) python=${python%".${python#*.*.}"} ;; esac
fi
if [ -z "${PYTHONNOUSERSITE-}" ] && { [ -n "$base" ] || [ -d "$1/conda-meta" ]; }; then
user=${PYTHONUSERBASE:-${HOME-}/.local}
fi
for file in "$1"/lib/python[23]*/site-packages; do
if ! [ -d "$file" ]; then continue; fi
if [ -e "$file/tensorflow" ] || [ -e "$file/jaxlib" ]; then
__cudaswitch_libdevice "$1" "$file" || xla=1
fi
if __cudaswitch_site "$file"; then brings=1
elif [ -n "$user" ] && __cudaswitch_site "$user${file#"$1"}"; then brings=1
fi
done
if [ -n "$brings" ]; then return 0; fi
if [ -n "$base" ]; then
for file in "lib/python$python/site-packages" lib/python3/dist-packages \
"local/lib/python$python/dist-packages"; do
if __cudaswitch_site "$base/$file"; then return 0; fi
done
fi
for line in "$1" ${base:+"$base"}; do
if ! [ -d "$line/conda-meta" ]; then continue; fi
for file in "$line"/conda-meta/cuda[-t][co]*-[0-9]*.json \
"$line"/conda-meta/libcublas-[0-9]*.json; do
case $file in
*/cudatoolkit-[0-9]* | */cuda-cudart-[0-9]* | */libcublas-[0-9]*)
if [ -e "$file" ]; then return 0; fi
;;
esac
done
done
return 1
}
__cudaswitch_site() {
\local file
if [ -e "$1/torch/lib/libtorch_cuda.so" ]; then return 0; fi
if ! [ -d "$1/nvidia" ]; then return 1; fi
for file in "$1"/nvidia/*/lib; do
if [ -e "$file" ]; then return 0; fi
done
return 1
}
__cudaswitch_libdevice() {
\local file
for file in "$1" "$2"/nvidia/cuda_nvcc "$2"/nvidia/cu[0-9]* "$2"/jaxlib/cuda; do
if [ -e "$file/nvvm/libdevice" ]; then return 0; fi
done
return 1
}
<copies.sh>
__cudaswitch_host() {
__csw=${1#*:cc=}
__csw=${__csw%%:*}
if [ -n "${CONDA_PREFIX-}" ] && [ "$CONDA_PREFIX" != "${left-}" ]; then
if [ -z "${CXX-}" ] && [ -x "$CONDA_PREFIX/bin/gcc" ]; then __csw='\'''\''; fi
case ${CXX-} in "$CONDA_PREFIX"/*) __csw=$CXX ;; ?*) __csw='\'''\'' ;; esac
else
case ${CXX-} in '\'''\'' | "${left:-/}"/*) ;; *) __csw='\'''\'' ;; esac
fi
case $__csw in *['\'' 	'\'']*) __csw='\'''\'' ;; esac
case ${CUDAHOSTCXX-}${NVCC_CCBIN-}:${NVCC_PREPEND_FLAGS-}${NVCC_APPEND_FLAGS-} in
[!:]* | *-ccbin* | *--compiler-bindir*) __csw='\'''\'' ;;
esac
}
__cudaswitch_lacking() {
__csw='\'''\''
case ${_CUDASWITCH_CC-}$1 in /*:cc=*) __cudaswitch_host "$1" ;; esac
if [ -x "$__csw" ]; then
__csw='\'''\''
else
__csw=${__csw:+" (its nvcc refuses the gcc here: install ${__csw##*/})"}
fi
}
__cudaswitch_flags_set() {
\local __csw
case $1 in
*:cc=*)
__cudaswitch_host "$1"
if [ -n "$__csw" ] && [ -x "$__csw" ]; then
__cudaswitch_keep CUDAHOSTCXX NVCC_PREPEND_FLAGS
\export "_CUDASWITCH_CC=-ccbin=$__csw" "CUDAHOSTCXX=$__csw" \
"NVCC_PREPEND_FLAGS=-ccbin=$__csw${NVCC_PREPEND_FLAGS:+ $NVCC_PREPEND_FLAGS}"
fi
;;
esac
if [ -z "${xla-}" ] || ! [ -e "$home/nvvm/libdevice" ]; then return 0; fi
case ${XLA_FLAGS-} in *xla_gpu_cuda_data_dir*) return 0 ;; '\'''\'' | [-'\'' 	'\'']*) ;; *) return 0 ;; esac
case $home in
*['\'' 	'\'']*) __csw=--xla_gpu_cuda_data_dir=\"$home\" ;;
*) __csw=--xla_gpu_cuda_data_dir=$home ;;
esac
__cudaswitch_keep XLA_FLAGS
\export "_CUDASWITCH_XLA=$__csw" "XLA_FLAGS=${XLA_FLAGS:+$XLA_FLAGS }$__csw"
}
__cudaswitch_flags_give() {
\local word
_cudaswitch_was_CUDAHOSTCXX=${_CUDASWITCH_WAS_CUDAHOSTCXX-}
if [ -n "${CONDA_PREFIX-}" ]; then
__cudaswitch_flags_forget "${_CUDASWITCH_CC-}" "${_CUDASWITCH_XLA-}"
fi
word=${_CUDASWITCH_CC-}
if [ -n "$word" ]; then
if [ "${CUDAHOSTCXX-}" != "${word#-ccbin=}" ]; then :
elif [ -n "${_CUDASWITCH_WAS_CUDAHOSTCXX+x}" ]; then CUDAHOSTCXX=$_CUDASWITCH_WAS_CUDAHOSTCXX
else \unset CUDAHOSTCXX
fi
if [ -n "${NVCC_PREPEND_FLAGS_BACKUP-}" ]; then
__cudaswitch_wordless "$NVCC_PREPEND_FLAGS_BACKUP" "$word"
NVCC_PREPEND_FLAGS_BACKUP=$__csw
fi
__cudaswitch_wordless "${NVCC_PREPEND_FLAGS-}" "$word"
case ${NVCC_PREPEND_FLAGS-}:${_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS+x} in
"$word:") \unset NVCC_PREPEND_FLAGS ;;
"$__csw:"*) ;;
*) NVCC_PREPEND_FLAGS=$__csw ;;
esac
fi
word=${_CUDASWITCH_XLA-}
if [ -n "$word" ]; then
__cudaswitch_wordless "${XLA_FLAGS-}" "$word"
case ${XLA_FLAGS-}:${_CUDASWITCH_WAS_XLA_FLAGS+x} in
"$word:") \unset XLA_FLAGS ;;
"$__csw:"*) ;;
*) XLA_FLAGS=$__csw ;;
esac
fi
\unset _CUDASWITCH_CC _CUDASWITCH_XLA _CUDASWITCH_WAS_CUDAHOSTCXX \
_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS _CUDASWITCH_WAS_XLA_FLAGS
}
__cudaswitch_flags_forget() {
if [ -n "$1" ]; then
__cudaswitch_copies CUDAHOSTCXX "${1#-ccbin=}" "$_cudaswitch_was_CUDAHOSTCXX"
__cudaswitch_copies NVCC_PREPEND_FLAGS "$1" '\'''\''
fi
if [ -n "$2" ]; then __cudaswitch_copies XLA_FLAGS "$2" '\'''\''; fi
}
__cudaswitch_wordless() {
__csw=$1
case $1 in
"$2") __csw='\'''\'' ;;
"$2 "*) __csw=${1#"$2 "} ;;
*" $2") __csw=${1%" $2"} ;;
*" $2 "*) __csw=${1%%" $2 "*}\ ${1#*" $2 "} ;;
esac
}
__cudaswitch_keep() {
\local name
for name; do
\eval "if [ -n \"\${$name+x}\" ]; then \\export _CUDASWITCH_WAS_$name=\"\$$name\"; fi"
done
}
__cudaswitch_without() {
\local items item dir count seen
__csw=:$1: items=${2:+$2:}
while [ -n "$items" ]; do
item=${items%%:*} items=${items#*:}
dir=/${item#*/} count=${item%%/*} seen=$__csw
while [ "$count" -gt 0 ]; do
case $seen in
*":$dir:"*) seen=:${seen#*":$dir:"} count=$((count - 1)) ;;
*) continue 2 ;;
esac
done
case $seen in *":$dir:"*) __csw=${__csw%%":$dir:"*}:${__csw#*":$dir:"} ;; esac
done
__csw=${__csw#:} __csw=${__csw%:}
}
__cudaswitch_record() {
\local dirs dir rest count
__csw='\'''\'' dirs=$2:
while [ -n "$dirs" ]; do
dir=${dirs%%:*} dirs=${dirs#*:} rest=:$1: count=0
while :; do
case $rest in
*":$dir:"*) rest=:${rest#*":$dir:"} count=$((count + 1)) ;;
*) break ;;
esac
done
__csw=${__csw:+$__csw:}$count$dir
done
}
__cudaswitch_before() {
\local head
head=:${PATH-}:
case ${head%%":$2/bin:"*}: in
*":$1/bin:"*) return 0 ;;
esac
return 1
}
__cudaswitch_globbing() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
case "${BASHOPTS-} $-" in
*failglob* | *" "*f*) __cudaswitch_globbing_now "$@" ;;
*) "$@" ;;
esac
}
__cudaswitch_globbing_now() {
\local noglob failglob code
noglob='\'''\'' failglob='\'''\'' code=0
case $- in *f*) noglob=1 && set +f ;; esac
case ${BASHOPTS-} in *failglob*) failglob=1 && \shopt -u failglob ;; esac
"$@" || code=$?
if [ -n "$noglob" ]; then set -f; fi
if [ -n "$failglob" ]; then \shopt -s failglob; fi
return "$code"
}
__cudaswitch_scalars() {
\local __csw way home name ours was
way=$1 home=${2%%:*}
set -- "$2:" CUDA_HOME "$home" CUDA_PATH "$home" CUDAToolkit_ROOT "$home"
case $1 in *:nvcc:*) set -- "$@" CUDACXX "$home/bin/nvcc" ;; esac
case $1 in
*:gpus=*)
ours=${1#*:gpus=}
set -- "$@" CUDA_VISIBLE_DEVICES "${ours%%:*}" CUDA_DEVICE_ORDER PCI_BUS_ID
;;
esac
case $way in
set) __cudaswitch_flags_set "$1" ;;
give) __cudaswitch_flags_give ;;
forget) __cudaswitch_flags_forget "${_cudaswitch_undone_cc-}" "${_cudaswitch_undone_xla-}" ;;
esac
shift
while [ $# -gt 0 ]; do
name=$1 ours=$2 was=_CUDASWITCH_WAS_$1
shift 2
if [ "$way" = set ]; then
\eval "if [ -n \"\${$name+x}\" ]; then \\export $was=\"\$$name\"; fi"
\export "$name=$ours"
elif [ "$way" = forget ]; then
was='\'''\''
if [ -n "$_cudaswitch_gave" ]; then \eval "was=\${_cudaswitch_was_$name-}"; fi
__cudaswitch_copies "$name" "$ours" "$was"
else
\eval "_cudaswitch_gave=1 _cudaswitch_was_$name=\${$was-}"
if [ -n "${CONDA_PREFIX-}" ]; then
\eval "__cudaswitch_copies $name \"\$ours\" \"\${$was-}\""
fi
\eval "if [ \"\${$name-}\" != \"\$ours\" ]; then :
elif [ -n \"\${$was+x}\" ]; then $name=\$$was
else \\unset $name
fi"
\unset "$was"
fi
done
}
__cudaswitch_strongest() {
__csw=${_CUDASWITCH_U:-${_CUDASWITCH_X:-${_CUDASWITCH_C:-${_CUDASWITCH_V:-${_CUDASWITCH_D-}}}}}
case ${_CUDASWITCH_V:+$__csw} in
"${_CUDASWITCH_C:-none}")
__cudaswitch_before "${_CUDASWITCH_C##*:env=}" "${_CUDASWITCH_V##*:env=}" \
|| __csw=$_CUDASWITCH_V
;;
esac
}
__cudaswitch_settle() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
\local __csw want home search old ld ld_set IFS
IFS='\'' '\'' search=${PATH-} old=${_OLD_VIRTUAL_PATH-}
ld=${LD_LIBRARY_PATH-} ld_set=${LD_LIBRARY_PATH+set}
if [ -n "${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-}" ]; then
case "$search|$ld|$old${_CUDASWITCH_OLD-}${_CUDASWITCH_GONE-}" in
"${_cudaswitch_path:-none}|${_cudaswitch_ld-}|")
search=$_cudaswitch_path_was ld=$_cudaswitch_ld_was ld_set=$_cudaswitch_ld_was_set
;;
*) __cudaswitch_undo ;;
esac
case "${_CUDASWITCH_ON:+${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}}" in
'\'''\'') ;;
"${_cudaswitch_plain-}") \unset CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX ;;
*) __cudaswitch_scalars give "$_CUDASWITCH_ON" ;;
esac
_cudaswitch_plain='\'''\''
\unset _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_OLD _CUDASWITCH_GONE \
_CUDASWITCH_LIB _CUDASWITCH_LD
fi
__cudaswitch_strongest
want=$__csw home=${__csw%%:*}
case $home in /*) if [ -d "$home/." ]; then __cudaswitch_apply; fi ;; esac
if [ "$search" != "${PATH-}" ]; then PATH=$search; fi
if [ "$old" != "${_OLD_VIRTUAL_PATH-}" ]; then _OLD_VIRTUAL_PATH=$old; fi
if [ "$ld_set:$ld" != "${LD_LIBRARY_PATH+set}:${LD_LIBRARY_PATH-}" ]; then
if [ -n "$ld_set" ]; then \export "LD_LIBRARY_PATH=$ld"; else \unset LD_LIBRARY_PATH; fi
fi
}
__cudaswitch_undo() {
\local bin
bin=${_CUDASWITCH_BIN-}
if [ -z "$old${VIRTUAL_ENV-}" ]; then bin=${_CUDASWITCH_OLD:-$bin}; fi
case 0$search: in
"$bin:"?*) search=${search#*:} ;;
*)
__cudaswitch_without "$search" "$bin"
search=$__csw
;;
esac
if [ -n "${_CUDASWITCH_GONE-}" ]; then
__cudaswitch_without "$search" "$_CUDASWITCH_GONE"
search=$__csw
fi
if [ -n "$old" ]; then
__cudaswitch_without "$old" "${_CUDASWITCH_OLD:-$bin}"
old=$__csw
fi
if [ -z "${_CUDASWITCH_LIB-}" ]; then
return 0
elif [ "${ld:-none}" = "${_cudaswitch_ld-}" ]; then
ld=$_cudaswitch_ld_was ld_set=$_cudaswitch_ld_was_set
return 0
fi
if [ -n "${CONDA_PREFIX-}" ]; then
__cudaswitch_copies LD_LIBRARY_PATH "$_CUDASWITCH_LIB" '\'''\''
fi
__cudaswitch_without "$ld" "$_CUDASWITCH_LIB"
if [ "$__csw" != "$ld" ]; then
ld=$__csw
if [ -z "$ld" ] && [ "${_CUDASWITCH_LD-}" = unset ]; then ld_set='\'''\''; fi
fi
}
__cudaswitch_apply() {
\local dir lib lib0 xla
dir=$home/bin lib='\'''\'' lib0='\'''\'' xla='\'''\''
if ! __cudaswitch_left_alone; then
for lib0 in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib; do
if [ -d "$home/$lib0" ]; then lib=$home/$lib0 && break; fi
done
lib0=${lib:+0$lib}
if [ -d "$home/extras/CUPTI/lib64" ]; then
lib=${lib:+$lib:}$home/extras/CUPTI/lib64
lib0=${lib0:+$lib0:}0$home/extras/CUPTI/lib64
fi
fi
__csw=0$dir _cudaswitch_path_was=$search _cudaswitch_ld_was=$ld _cudaswitch_ld_was_set=$ld_set
case :$search: in *":$dir:"*) __cudaswitch_record "$search" "$dir" ;; esac
\export "_CUDASWITCH_BIN=$__csw"
search=$dir${search:+:$search}
if [ -n "$old" ]; then
__cudaswitch_record "$old" "$dir"
\export "_CUDASWITCH_OLD=$__csw"
old=$dir:$old
fi
if [ -n "$lib" ]; then
case :$ld in *":$home/"*) __cudaswitch_record "$ld" "$lib" && lib0=$__csw ;; esac
if [ -z "$ld_set" ]; then \export _CUDASWITCH_LD=unset; fi
ld=$lib${ld:+:$ld} ld_set=set
\export "_CUDASWITCH_LIB=$lib0"
fi
_cudaswitch_path=${lib:+$search} _cudaswitch_ld=$ld
if [ -x "$dir/nvcc" ]; then want=$want:nvcc; fi
\export "_CUDASWITCH_ON=$want"
case $want:${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x}$xla in
*:gpus=* | *:cc=*) __cudaswitch_scalars set "$want" ;;
*:nvcc:)
_cudaswitch_plain=$home:$home:$home:$dir/nvcc
\export "CUDA_HOME=$home" "CUDA_PATH=$home" "CUDAToolkit_ROOT=$home" \
"CUDACXX=$dir/nvcc"
;;
*) __cudaswitch_scalars set "$want" ;;
esac
}
__cudaswitch_left_alone() {
case $want:${CONDA_PREFIX-}${VIRTUAL_ENV-} in
*:lib=never:*) __cudaswitch_bundled || : ;;
*:lib=always:*)
__cudaswitch_bundled || :
return 1
;;
"$want:") return 1 ;;
*) __cudaswitch_bundled ;;
esac
}
__cudaswitch_enter() {
\local home flags
home=$3${4:+:$4}
if [ -n "${5-}" ] && __cudaswitch_globbing __cudaswitch_newer "$2" "$2/etc/cudaswitch/want"; then
if [ -n "${_cudaswitch_program-}" ]; then
home=$("$_cudaswitch_program" want --environment "$2") || home=$3${4:+:$4}
elif [ -t 2 ]; then
printf '\''cudaswitch: `%s` has other packages than when it was pinned\n'\'' "$2" >&2
printf '\''hint: cudaswitch pin auto\n'\'' >&2
fi
fi
if [ "$home" != system ] && ! [ -d "${home%%:*}/." ]; then
if [ -t 2 ]; then
printf '\''cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n'\'' \
"${home%%:*}" "$2" >&2
fi
home=gone
fi
flags=${_cudaswitch_undone_cc-}${_cudaswitch_undone_xla-}
case ${1#V}${_cudaswitch_undone:+:${LD_LIBRARY_PATH-}|${CUDA_HOME-}${CUDA_PATH-}${CUDACXX-}$flags} in
C | "C:${_cudaswitch_ld_was-}|") ;;
C:*)
__cudaswitch_copies LD_LIBRARY_PATH "$_cudaswitch_undone_lib" '\'''\''
__cudaswitch_scalars forget "$_cudaswitch_undone"
;;
esac
\export "_CUDASWITCH_$1=${home}:env=$2"
__cudaswitch_settle
}
__cudaswitch_leave() {
\local before now repaired __csw left
left=$2
\eval "before=\${_CUDASWITCH_$1-}"
if [ -z "$before" ]; then return 0; fi
before=${_CUDASWITCH_BIN-}
_cudaswitch_undone=${_CUDASWITCH_ON-} _cudaswitch_undone_lib=${_CUDASWITCH_LIB-}
_cudaswitch_undone_cc=${_CUDASWITCH_CC-} _cudaswitch_undone_xla=${_CUDASWITCH_XLA-}
_cudaswitch_gave='\'''\''
_cudaswitch_seen='\'''\''
\unset "_CUDASWITCH_$1"
__cudaswitch_settle
if [ "$1" = V ]; then return 0; fi
repaired='\'''\''
if \command -v __conda_hashr > /dev/null; then
__conda_hashr() { __cudaswitch_repair; }
repaired=1
fi
if [ -n "${MAMBA_EXE-}" ] && \command -v __mamba_hashr > /dev/null; then
__mamba_hashr() { __cudaswitch_repair; }
repaired=1
fi
case $repaired:$PATH: in
1:* | *":$2/bin:"*) ;;
*) before='\'''\'' ;;
esac
now=${_CUDASWITCH_BIN-}
if [ -z "$before$now" ]; then return 0; fi
before=${before:+/${before#*/}} now=${now:+/${now#*/}} __csw=0$before
case "$now|:$PATH:" in
"|"*":$before:"* | /*) __cudaswitch_record "$PATH" "$before${now:+${before:+:}$now}" ;;
esac
\export "_CUDASWITCH_GONE=$__csw"
}
__cudaswitch_repair() {
case "${_CUDASWITCH_GONE-}|${_CUDASWITCH_ON-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}|:$PATH:" in
"|"*) ;;
*":${_CUDASWITCH_GONE#0}:"*) __cudaswitch_settle ;;
"0${_CUDASWITCH_GONE#0}||"*) \unset _CUDASWITCH_GONE ;;
*) __cudaswitch_settle ;;
esac
if [ -n "${ZSH_VERSION-}" ]; then \rehash; else \hash -r; fi
}
__cudaswitch_ready() {
case $1 in '\'''\'' | .* | -* | *[!A-Za-z0-9._+-]*) return 1 ;; esac
if ! [ -f "$_cudaswitch_root/requests/$1" ]; then return 1; fi
if [ -n "${ZSH_VERSION-}" ]; then
__csw=$(< "$_cudaswitch_root/requests/$1")
else
IFS= \read -r __csw < "$_cudaswitch_root/requests/$1"
fi && [ -d "${__csw%%:*}/." ]
}
__cudaswitch_read() {
\local cuda cudnn mode gpus rest line key value
cuda='\'''\'' cudnn='\'''\'' mode='\'''\'' gpus='\'''\''
if ! [ -O "$1" ]; then return 1; fi
while IFS= \read -r line || [ -n "$line" ]; do
__cudaswitch_trim "${line%%#*}"
line=$__csw
case $line in
'\'''\'') continue ;;
*=*) key=${line%%=*} value=${line#*=} ;;
*['\'' 	'\'']*) key=${line%%['\'' 	'\'']*} value=${line#*['\'' 	'\'']} ;;
*) key=cuda value=$line ;;
esac
__cudaswitch_trim "$value"
value=$__csw
__cudaswitch_trim "$key"
case $value in '\'''\'' | *['\'' 	='\'']*) return 1 ;; esac
case $__csw:$cuda:$cudnn:$mode:$gpus in
cuda::*) cuda=$value ;;
cudnn:*::*:*) cudnn=$value ;;
libraries:*:*::*) mode=$value ;;
gpus:*:) gpus=$value ;;
*) return 1 ;;
esac
done < "$1"
case $mode in '\'''\'' | auto | always | never) ;; *) return 1 ;; esac
case $gpus in -1) ;; *[!0-9,]* | *,,* | ,* | *,) return 1 ;; esac
rest=$gpus
while [ -n "$rest" ]; do
value=${rest%%,*} rest=${rest#"$value"} rest=${rest#,}
case ,$rest, in *",$value,"*) return 1 ;; esac
case $value in ?????*) return 1 ;; esac
done
__cudaswitch_ready "$cuda${cudnn:++cudnn$cudnn}" || return 1
__csw=$__csw${mode:+:lib=$mode}${gpus:+:gpus=$gpus}
}
__cudaswitch_trim() {
__csw=${1#"${1%%[!'\'' 	'\'']*}"}
__csw=${__csw%"${__csw##*[!'\'' 	'\'']}"}
}
__cudaswitch_active() {
\local venv conda before env
venv=${VIRTUAL_ENV-} conda=${CONDA_PREFIX-}
before=:$PATH: before=${before%%":$conda/bin:"*}:
case $before in
*":$venv/bin:"* | ":$PATH::") ;;
*) env=$venv venv=$conda conda=$env ;;
esac
for __csw in "$venv" "$conda"; do
if [ -z "$__csw" ]; then continue; fi
if [ -d "$__csw/conda-meta" ] || [ -f "$__csw/pyvenv.cfg" ] \
|| [ -f "$__csw/bin/activate_this.py" ]; then
return 0
fi
done
return 1
}
__cudaswitch_automatic() {
\local file rest
file='\'''\'' rest=${1#/}/
while [ -n "$rest" ]; do
file=$file%${rest%%/*} rest=${rest#*/}
done
file=$_cudaswitch_root/auto/$file
if ! [ -f "$file" ] || __cudaswitch_newer "$1" "$file"; then return 1; fi
{ IFS= \read -r rest && IFS= \read -r __csw; } < "$file" || return 1
if [ "$rest" != "$1" ]; then return 1; fi
[ -z "$__csw" ] || [ -d "${__csw%%:*}/." ]
}
__cudaswitch_directory() {
\local env
\unset _CUDASWITCH_D
_cudaswitch_file='\'''\'' _cudaswitch_text='\'''\''
if __cudaswitch_file; then
_cudaswitch_file=$__csw
__cudaswitch_content
__cudaswitch_read "$_cudaswitch_file" \
|| __cudaswitch_ask_once "$_cudaswitch_file:$_cudaswitch_text" --file "$_cudaswitch_file"
elif __cudaswitch_active && env=$__csw && __cudaswitch_framework "$env"; then
:
elif [ -f "$_cudaswitch_root/global" ]; then
__cudaswitch_read "$_cudaswitch_root/global" \
|| __cudaswitch_ask_once global --file "$_cudaswitch_root/global"
else
__csw='\'''\''
fi
if [ -n "$__csw" ]; then \export "_CUDASWITCH_D=$__csw"; fi
}
__cudaswitch_content() {
_cudaswitch_text='\'''\''
if ! { [ -O "$_cudaswitch_file" ] && [ -r "$_cudaswitch_file" ]; }; then return 0; fi
if [ -n "${ZSH_VERSION-}" ]; then
_cudaswitch_text=$(< "$_cudaswitch_file")
else
IFS= \read -r -d '\'''\'' _cudaswitch_text < "$_cudaswitch_file" || :
fi
}
__cudaswitch_edited() {
\local text
if [ -n "${_CUDASWITCH_U-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then return 1; fi
if [ -f .cuda-version ] && [ "${_cudaswitch_file-}" != "$PWD/.cuda-version" ]; then return 0; fi
if [ -z "${_cudaswitch_file-}" ]; then return 1; fi
text=$_cudaswitch_text
__cudaswitch_content
[ "$text" != "$_cudaswitch_text" ] || ! [ -f "$_cudaswitch_file" ]
}
__cudaswitch_framework() {
if ! __cudaswitch_globbing __cudaswitch_automatic "$1"; then
__cudaswitch_ask_once "$1" --environment "$1"
fi
[ -n "$__csw" ]
}
__cudaswitch_ask_once() {
\local about
about=$1
if [ "$about" != "${_cudaswitch_asked-}" ]; then
shift
_cudaswitch_asked=interrupted
if _cudaswitch_answer=$("$_cudaswitch_program" want "$@"); then
_cudaswitch_asked=$about
else
case $? in 130) ;; *) _cudaswitch_asked=$about ;; esac
_cudaswitch_answer='\'''\''
fi
fi
__csw=$_cudaswitch_answer
}
__cudaswitch_look() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
\local __csw env before hook moved
before=${_CUDASWITCH_ON-} moved=1
case ${_cudaswitch_seen-} in
"${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*) moved='\'''\'' ;;
*) _cudaswitch_asked='\'''\'' ;;
esac
env=${_CUDASWITCH_V-}
if [ -n "$env" ] && [ "${env##*:env=}" != "${VIRTUAL_ENV-}" ]; then \unset _CUDASWITCH_V; fi
env=${_CUDASWITCH_C-}
if [ -n "$env" ] && [ "${env##*:env=}" != "${CONDA_PREFIX-}" ]; then
case :$PATH: in *":${env##*:env=}/bin:"*) ;; *) \unset _CUDASWITCH_C ;; esac
fi
hook="${VIRTUAL_ENV-}/etc/cudaswitch/on.sh"
if [ -z "${_CUDASWITCH_V-}" ] && [ -n "${VIRTUAL_ENV-}" ] && [ -f "$hook" ]; then
\. "$hook"
fi
hook="${CONDA_PREFIX-}/etc/conda/activate.d/~~cudaswitch.sh"
if [ -z "${_CUDASWITCH_C-}" ] && [ -n "${CONDA_PREFIX-}" ] && [ -f "$hook" ]; then
\. "$hook"
fi
case "${_cudaswitch_seen-}" in
*"|${CUDASWITCH_VERSION-}") ;;
*)
if [ -z "${CUDASWITCH_VERSION-}" ]; then
\unset _CUDASWITCH_X
elif __cudaswitch_ready "$CUDASWITCH_VERSION" \
|| __csw=$("$_cudaswitch_program" want -- "$CUDASWITCH_VERSION"); then
\export "_CUDASWITCH_X=$__csw"
fi
;;
esac
if [ -n "${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then
\unset _CUDASWITCH_D
_cudaswitch_file='\'''\''
elif [ -z "${_CUDASWITCH_U-}" ]; then
__cudaswitch_directory
fi
__cudaswitch_strongest
if [ -n "$moved${_CUDASWITCH_GONE-}" ] || [ "$__csw" != "${before%:nvcc}" ]; then
__cudaswitch_settle
fi
if [ "${_cudaswitch_asked-}" != interrupted ]; then
_cudaswitch_seen="${CONDA_PREFIX-}|${VIRTUAL_ENV-}|$PWD|${CUDASWITCH_VERSION-}"
fi
if [ "$before" != "${_CUDASWITCH_ON-}" ] && [ -z "${CUDASWITCH_QUIET-}" ]; then
__cudaswitch_say
fi
}
__cudaswitch_say() {
\local home
home=${_CUDASWITCH_ON-}
if [ -z "$home" ]; then
printf '\''cudaswitch: no toolkit\n'\'' >&2
return 0
fi
home=${home%%:*}
__cudaswitch_lacking "$_CUDASWITCH_ON"
case ${_CUDASWITCH_LIB-}$_CUDASWITCH_ON in
/*:lib=never*) __csw=" (LD_LIBRARY_PATH left alone, as asked)$__csw" ;;
/*) __csw=" (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)$__csw" ;;
esac
printf '\''cudaswitch: CUDA %s%s\n'\'' "${home##*/}" "$__csw" >&2
}
__cudaswitch_choose() {
\export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}" "_CUDASWITCH_U=$1"
if [ -n "$1" ]; then
__cudaswitch_settle
if [ -z "${CUDASWITCH_QUIET-}" ]; then __cudaswitch_say; fi
else
\unset _CUDASWITCH_U
__cudaswitch_look
fi
}
__cudaswitch_swap() {
\local home lib lib0 xla
home=$__csw lib=$home/lib64 lib0=0$home/lib64 xla='\'''\''
if [ "$PATH|${LD_LIBRARY_PATH-}|${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}|" \
!= "${_cudaswitch_path-}|${_cudaswitch_ld-}|${_cudaswitch_plain-}|${_OLD_VIRTUAL_PATH-}${_CUDASWITCH_GONE-}" ] \
|| ! [ -d "$lib" ] || ! [ -x "$home/bin/nvcc" ]; then
return 1
fi
case "$home:$_cudaswitch_path_was:$_cudaswitch_ld_was" in *":$home/"*) return 1 ;; esac
if [ -n "${CONDA_PREFIX-}${VIRTUAL_ENV-}" ]; then
if __cudaswitch_bundled || [ -n "$xla" ]; then return 1; fi
fi
if [ -d "$home/extras/CUPTI/lib64" ]; then
lib=$lib:$home/extras/CUPTI/lib64 lib0=$lib0:0$home/extras/CUPTI/lib64
fi
\export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}" "_CUDASWITCH_U=$home"
_CUDASWITCH_ON=$home:nvcc _CUDASWITCH_BIN=0$home/bin _CUDASWITCH_LIB=$lib0
PATH=$home/bin${_cudaswitch_path_was:+:$_cudaswitch_path_was}
LD_LIBRARY_PATH=$lib${_cudaswitch_ld_was:+:$_cudaswitch_ld_was}
CUDA_HOME=$home CUDA_PATH=$home CUDAToolkit_ROOT=$home CUDACXX=$home/bin/nvcc
_cudaswitch_path=$PATH _cudaswitch_ld=$LD_LIBRARY_PATH _cudaswitch_plain=$home:$home:$home:$CUDACXX
if [ -z "${CUDASWITCH_QUIET-}" ]; then
printf '\''cudaswitch: CUDA %s\n'\'' "${home##*/}" >&2
fi
}
cudaswitch() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh; fi
\local __csw
if [ "$#:${1-}" = 2:use ] && __cudaswitch_ready "$2"; then
case $__csw in
*:*) __cudaswitch_choose "$__csw" ;;
*) __cudaswitch_swap || __cudaswitch_choose "$__csw" ;;
esac
else
__cudaswitch_command "$@"
fi
}
__cudaswitch_command() {
\local arg
case ${1-} in
use | off | pin | unpin | install | adopt | remove | alias) ;;
*)
"$_cudaswitch_program" "$@"
return
;;
esac
for arg; do
case $arg in
-h | --help)
"$_cudaswitch_program" "$@"
return
;;
esac
done
case $1 in
use)
if [ $# -eq 2 ] && [ "$2" = - ]; then
if [ -z "${_CUDASWITCH_PREVIOUS+x}" ]; then
printf '\''cudaswitch: there is no earlier choice in this shell\n'\'' >&2
printf '\''hint: cudaswitch use VERSION\n'\'' >&2
return 1
fi
__csw=$_CUDASWITCH_PREVIOUS
elif [ $# -eq 2 ] && [ "$2" = system ]; then
__csw=system
else
shift
__csw=$("$_cudaswitch_program" want --for-use "$@") || return
fi
__cudaswitch_choose "$__csw"
;;
off)
if [ $# -gt 1 ]; then
"$_cudaswitch_program" "$@"
return
fi
__cudaswitch_choose '\'''\''
;;
*)
"$_cudaswitch_program" "$@" || return
case ${_CUDASWITCH_C-} in *":env=${CONDA_PREFIX-}") \unset _CUDASWITCH_C ;; esac
case ${_CUDASWITCH_V-} in *":env=${VIRTUAL_ENV-}") \unset _CUDASWITCH_V ;; esac
_cudaswitch_seen='\'''\'' _cudaswitch_asked='\'''\''
__cudaswitch_look
;;
esac
}
'
}
<file.sh>
<lazy.sh>
<init.bash>
