_cudaswitch_root='/home/o'\''neill/a $store'
_cudaswitch_program='/opt/a "program"/cudaswitch'
_cudaswitch_seen=''
__cudaswitch_load() {
    \local _csw_code _csw_aliases
    _csw_code=0 _csw_aliases=''
    if [ -n "${ZSH_VERSION-}" ]; then
        \emulate -L sh -o no_aliases -o no_warn_create_global
    elif \shopt -q expand_aliases; then
        _csw_aliases=1
        \shopt -u expand_aliases
    fi
    \eval '<packages.sh>
__cudaswitch_bundled() {
\local _csw_env _csw_venv
_csw_env=${CONDA_PREFIX-} _csw_venv=${VIRTUAL_ENV-}
if [ "$_csw_env" = "${_csw_left-}" ]; then _csw_env='\'''\''; fi
if [ "$_csw_venv" = "${_csw_left-}" ]; then _csw_venv='\'''\''; fi
if [ -n "$_csw_venv" ]; then
if [ -z "$_csw_env" ] || ! __cudaswitch_before "$_csw_env" "$_csw_venv"; then
_csw_env=$_csw_venv
fi
fi
[ -n "$_csw_env" ] && __cudaswitch_globbing __cudaswitch_brings "$_csw_env"
}
__cudaswitch_brings() {
\local _csw_file _csw_line _csw_base _csw_shared _csw_python _csw_user _csw_brings
_csw_base='\'''\'' _csw_shared='\'''\'' _csw_python='\'''\'' _csw_user='\'''\'' _csw_brings='\'''\''
if [ -r "$1/pyvenv.cfg" ]; then
while IFS= \read -r _csw_line || [ -n "$_csw_line" ]; do
case $_csw_line in
home[\ =]*) _csw_base=${_csw_line#*=} ;;
include-system-site-packages[\ =]*[tT][rR][uU][eE]) _csw_shared=1 ;;
version[\ =]* | version_info[\ =]*) _csw_python=${_csw_line#*=} ;;
esac
done < "$1/pyvenv.cfg"
if [ -z "$_csw_shared" ]; then _csw_base='\'''\''; fi
_csw_base=${_csw_base#"${_csw_base%%[! ]*}"} _csw_base=${_csw_base%/bin}
_csw_python=${_csw_python#"${_csw_python%%[! ]*}"}
case $_csw_python in *.*.*) _csw_python=${_csw_python%".${_csw_python#*.*.}"} ;; esac
fi
if [ -z "${PYTHONNOUSERSITE-}" ] && { [ -n "$_csw_base" ] || [ -d "$1/conda-meta" ]; }; then
_csw_user=${PYTHONUSERBASE:-${HOME-}/.local}
fi
for _csw_file in "$1"/lib/python[23]*/site-packages; do
if ! [ -d "$_csw_file" ]; then continue; fi
if [ -e "$_csw_file/tensorflow" ] || [ -e "$_csw_file/jaxlib" ]; then
__cudaswitch_libdevice "$1" "$_csw_file" || _csw_xla=1
fi
if __cudaswitch_site "$_csw_file"; then _csw_brings=1
elif [ -n "$_csw_user" ] && __cudaswitch_site "$_csw_user${_csw_file#"$1"}"; then
_csw_brings=1
fi
done
if [ -n "$_csw_brings" ]; then return 0; fi
if [ -n "$_csw_base" ]; then
for _csw_file in "lib/python$_csw_python/site-packages" lib/python3/dist-packages \
"local/lib/python$_csw_python/dist-packages"; do
if __cudaswitch_site "$_csw_base/$_csw_file"; then return 0; fi
done
fi
for _csw_line in "$1" ${_csw_base:+"$_csw_base"}; do
if ! [ -d "$_csw_line/conda-meta" ]; then continue; fi
for _csw_file in "$_csw_line"/conda-meta/cuda[-t][co]*-[0-9]*.json \
"$_csw_line"/conda-meta/libcublas-[0-9]*.json; do
case $_csw_file in
*/cudatoolkit-[0-9]* | */cuda-cudart-[0-9]* | */libcublas-[0-9]*)
if [ -e "$_csw_file" ]; then return 0; fi
;;
esac
done
done
return 1
}
__cudaswitch_site() {
\local _csw_file
if [ -e "$1/torch/lib/libtorch_cuda.so" ]; then return 0; fi
if ! [ -d "$1/nvidia" ]; then return 1; fi
for _csw_file in "$1"/nvidia/*/lib; do
if [ -e "$_csw_file" ]; then return 0; fi
done
return 1
}
__cudaswitch_libdevice() {
\local _csw_file
for _csw_file in "$1" "$2"/nvidia/cuda_nvcc "$2"/nvidia/cu[0-9]* "$2"/jaxlib/cuda; do
if [ -e "$_csw_file/nvvm/libdevice" ]; then return 0; fi
done
return 1
}
__cudaswitch_copies() {
\local _csw_level _csw_value
_csw_level=${CONDA_SHLVL:-0}
if [ "$_csw_level" -lt 2 ]; then _csw_level=2; fi
while [ "$_csw_level" -ge 0 ]; do
\eval "_csw_value=\${__CONDA_SHLVL_${_csw_level}_$1-}"
case $1:$_csw_value in
LD_LIBRARY_PATH:?*) __cudaswitch_without "$_csw_value" "$2" ;;
*_FLAGS:?*) __cudaswitch_wordless "$_csw_value" "$2" ;;
"$1:$2") __csw=$3 ;;
*) __csw=$_csw_value ;;
esac
if [ "$__csw" != "$_csw_value" ]; then
__cudaswitch_put "__CONDA_SHLVL_${_csw_level}_$1"
if [ "$_csw_level" = "${CONDA_SHLVL:-0}" ]; then
\eval "if [ \"\${$1-}\" = \"\$_csw_value\" ]; then __cudaswitch_put $1; fi"
fi
fi
_csw_level=$((_csw_level - 1))
done
\eval "_csw_value=\${${1}_CONDA_NVCC_BACKUP-}"
if [ -n "$_csw_value" ] && [ "$_csw_value" = "$2" ]; then
__csw=$3
__cudaswitch_put "${1}_CONDA_NVCC_BACKUP"
fi
}
__cudaswitch_kept() {
__csw=${CUDA_HOME_CONDA_NVCC_BACKUP-}
case ${CONDA_SHLVL-} in
'\'''\'') ;;
[0-2])
__csw=$__csw${__CONDA_SHLVL_0_CUDA_HOME-}${__CONDA_SHLVL_0_CUDA_PATH-}
__csw=$__csw${__CONDA_SHLVL_0_CUDACXX-}${__CONDA_SHLVL_0_CUDAToolkit_ROOT-}
__csw=$__csw${__CONDA_SHLVL_1_CUDA_HOME-}${__CONDA_SHLVL_1_CUDA_PATH-}
__csw=$__csw${__CONDA_SHLVL_1_CUDACXX-}${__CONDA_SHLVL_1_CUDAToolkit_ROOT-}
__csw=$__csw${__CONDA_SHLVL_2_CUDA_HOME-}${__CONDA_SHLVL_2_CUDA_PATH-}
__csw=$__csw${__CONDA_SHLVL_2_CUDACXX-}${__CONDA_SHLVL_2_CUDAToolkit_ROOT-}
__csw=$__csw${__CONDA_SHLVL_0_LD_LIBRARY_PATH-}${__CONDA_SHLVL_1_LD_LIBRARY_PATH-}
__csw=$__csw${__CONDA_SHLVL_2_LD_LIBRARY_PATH-}
;;
*) __csw=perhaps ;;
esac
}
__cudaswitch_put() {
if [ -n "$__csw" ]; then \export "$1=$__csw"; else \unset "$1"; fi
}
__cudaswitch_host() {
__csw=${1#*:cc=}
__csw=${__csw%%:*}
if [ -n "${CONDA_PREFIX-}" ] && [ "$CONDA_PREFIX" != "${_csw_left-}" ]; then
if [ -z "${CXX-}" ] && [ -x "$CONDA_PREFIX/bin/gcc" ]; then __csw='\'''\''; fi
case ${CXX-} in "$CONDA_PREFIX"/*) __csw=$CXX ;; ?*) __csw='\'''\'' ;; esac
else
case ${CXX-} in '\'''\'' | "${_csw_left:-/}"/*) ;; *) __csw='\'''\'' ;; esac
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
if [ -z "${_csw_xla-}" ] || ! [ -e "$_csw_home/nvvm/libdevice" ]; then return 0; fi
case ${XLA_FLAGS-} in *xla_gpu_cuda_data_dir*) return 0 ;; '\'''\'' | [-'\'' 	'\'']*) ;; *) return 0 ;; esac
case $_csw_home in
*['\'' 	'\'']*) __csw=--xla_gpu_cuda_data_dir=\"$_csw_home\" ;;
*) __csw=--xla_gpu_cuda_data_dir=$_csw_home ;;
esac
__cudaswitch_keep XLA_FLAGS
\export "_CUDASWITCH_XLA=$__csw" "XLA_FLAGS=${XLA_FLAGS:+$XLA_FLAGS }$__csw"
}
__cudaswitch_flags_give() {
\local _csw_word
_cudaswitch_was_CUDAHOSTCXX=${_CUDASWITCH_WAS_CUDAHOSTCXX-}
if [ -n "${CONDA_SHLVL-}" ]; then
__cudaswitch_flags_forget "${_CUDASWITCH_CC-}" "${_CUDASWITCH_XLA-}"
fi
_csw_word=${_CUDASWITCH_CC-}
if [ -n "$_csw_word" ]; then
if [ "${CUDAHOSTCXX-}" != "${_csw_word#-ccbin=}" ]; then :
elif [ -n "${_CUDASWITCH_WAS_CUDAHOSTCXX+x}" ]; then CUDAHOSTCXX=$_CUDASWITCH_WAS_CUDAHOSTCXX
else \unset CUDAHOSTCXX
fi
if [ -n "${NVCC_PREPEND_FLAGS_BACKUP-}" ]; then
__cudaswitch_wordless "$NVCC_PREPEND_FLAGS_BACKUP" "$_csw_word"
NVCC_PREPEND_FLAGS_BACKUP=$__csw
fi
__cudaswitch_wordless "${NVCC_PREPEND_FLAGS-}" "$_csw_word"
case ${NVCC_PREPEND_FLAGS-}:${_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS+x} in
"$_csw_word:") \unset NVCC_PREPEND_FLAGS ;;
"$__csw:"*) ;;
*) NVCC_PREPEND_FLAGS=$__csw ;;
esac
fi
_csw_word=${_CUDASWITCH_XLA-}
if [ -n "$_csw_word" ]; then
__cudaswitch_wordless "${XLA_FLAGS-}" "$_csw_word"
case ${XLA_FLAGS-}:${_CUDASWITCH_WAS_XLA_FLAGS+x} in
"$_csw_word:") \unset XLA_FLAGS ;;
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
\local _csw_name
for _csw_name; do
\eval "if [ -n \"\${$_csw_name+x}\" ]; then
\\export _CUDASWITCH_WAS_$_csw_name=\"\$$_csw_name\"
fi"
done
}
__cudaswitch_without() {
\local _csw_items _csw_item _csw_dir _csw_count _csw_seen
__csw=:$1: _csw_items=${2:+$2:}
while [ -n "$_csw_items" ]; do
_csw_item=${_csw_items%%:*} _csw_items=${_csw_items#*:}
_csw_dir=/${_csw_item#*/} _csw_count=${_csw_item%%/*} _csw_seen=$__csw
while [ "$_csw_count" -gt 0 ]; do
case $_csw_seen in
*":$_csw_dir:"*)
_csw_seen=:${_csw_seen#*":$_csw_dir:"} _csw_count=$((_csw_count - 1))
;;
*) continue 2 ;;
esac
done
case $_csw_seen in
*":$_csw_dir:"*) __csw=${__csw%%":$_csw_dir:"*}:${__csw#*":$_csw_dir:"} ;;
esac
done
__csw=${__csw#:} __csw=${__csw%:}
}
__cudaswitch_record() {
\local _csw_dirs _csw_dir _csw_rest _csw_count
__csw='\'''\'' _csw_dirs=$2:
while [ -n "$_csw_dirs" ]; do
_csw_dir=${_csw_dirs%%:*} _csw_dirs=${_csw_dirs#*:} _csw_rest=:$1: _csw_count=0
while :; do
case $_csw_rest in
*":$_csw_dir:"*)
_csw_rest=:${_csw_rest#*":$_csw_dir:"} _csw_count=$((_csw_count + 1))
;;
*) break ;;
esac
done
__csw=${__csw:+$__csw:}$_csw_count$_csw_dir
done
}
__cudaswitch_before() {
\local _csw_head
_csw_head=:${PATH-}:
case ${_csw_head%%":$2/bin:"*}: in
*":$1/bin:"*) return 0 ;;
esac
return 1
}
__cudaswitch_globbing() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
case "${BASHOPTS-} $-" in
*failglob* | *" "*f*) __cudaswitch_globbing_now "$@" ;;
*) "$@" ;;
esac
}
__cudaswitch_globbing_now() {
\local _csw_noglob _csw_failglob _csw_code
_csw_noglob='\'''\'' _csw_failglob='\'''\'' _csw_code=0
case $- in *f*) _csw_noglob=1 && set +f ;; esac
case ${BASHOPTS-} in *failglob*) _csw_failglob=1 && \shopt -u failglob ;; esac
"$@" || _csw_code=$?
if [ -n "$_csw_noglob" ]; then set -f; fi
if [ -n "$_csw_failglob" ]; then \shopt -s failglob; fi
return "$_csw_code"
}
__cudaswitch_scalars() {
\local __csw _csw_way _csw_home _csw_name _csw_ours _csw_was
_csw_way=$1 _csw_home=${2%%:*}
set -- "$2:" CUDA_HOME "$_csw_home" CUDA_PATH "$_csw_home" CUDAToolkit_ROOT "$_csw_home"
case $1 in *:nvcc:*) set -- "$@" CUDACXX "$_csw_home/bin/nvcc" ;; esac
case $1 in
*:gpus=*)
_csw_ours=${1#*:gpus=}
set -- "$@" CUDA_VISIBLE_DEVICES "${_csw_ours%%:*}" CUDA_DEVICE_ORDER PCI_BUS_ID
;;
esac
case $_csw_way in
set) __cudaswitch_flags_set "$1" ;;
give) __cudaswitch_flags_give ;;
forget) __cudaswitch_flags_forget "${_cudaswitch_undone_cc-}" "${_cudaswitch_undone_xla-}" ;;
esac
shift
while [ $# -gt 0 ]; do
_csw_name=$1 _csw_ours=$2 _csw_was=_CUDASWITCH_WAS_$1
shift 2
if [ "$_csw_way" = set ]; then
\eval "if [ -n \"\${$_csw_name+x}\" ]; then \\export $_csw_was=\"\$$_csw_name\"; fi"
\export "$_csw_name=$_csw_ours"
elif [ "$_csw_way" = forget ]; then
_csw_was='\'''\''
if [ -n "$_cudaswitch_gave" ]; then \eval "_csw_was=\${_cudaswitch_was_$_csw_name-}"; fi
__cudaswitch_copies "$_csw_name" "$_csw_ours" "$_csw_was"
else
\eval "_cudaswitch_gave=1 _cudaswitch_was_$_csw_name=\${$_csw_was-}"
if [ -n "$_csw_kept" ]; then
\eval "__cudaswitch_copies $_csw_name \"\$_csw_ours\" \"\${$_csw_was-}\""
fi
\eval "if [ \"\${$_csw_name-}\" != \"\$_csw_ours\" ]; then :
elif [ -n \"\${$_csw_was+x}\" ]; then $_csw_name=\$$_csw_was
else \\unset $_csw_name
fi"
\unset "$_csw_was"
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
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
\local __csw _csw_want _csw_home _csw_search _csw_old _csw_ld _csw_ld_set _csw_kept IFS
IFS='\'' '\'' _csw_search=${PATH-} _csw_old=${_OLD_VIRTUAL_PATH-}
_csw_ld=${LD_LIBRARY_PATH-} _csw_ld_set=${LD_LIBRARY_PATH+set}
if [ -n "${_CUDASWITCH_ON-}${_CUDASWITCH_BIN-}${_CUDASWITCH_GONE-}" ]; then
case "$_csw_search|$_csw_ld|$_csw_old${_CUDASWITCH_OLD-}${_CUDASWITCH_GONE-}" in
"${_cudaswitch_path:-none}|${_cudaswitch_ld-}|")
_csw_search=$_cudaswitch_path_was
_csw_ld=$_cudaswitch_ld_was _csw_ld_set=$_cudaswitch_ld_was_set
;;
*) __cudaswitch_undo ;;
esac
__cudaswitch_kept
_csw_kept=${_CUDASWITCH_KEPT-$__csw}
if [ -n "$_csw_kept" ] && [ -n "${_CUDASWITCH_LIB-}" ]; then
__cudaswitch_copies LD_LIBRARY_PATH "$_CUDASWITCH_LIB" '\'''\''
fi
__csw=${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}
case "${_CUDASWITCH_ON:+$__csw}|$_csw_kept" in
"|"*) ;;
"${_cudaswitch_plain-}|") \unset CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX ;;
*) __cudaswitch_scalars give "$_CUDASWITCH_ON" ;;
esac
_cudaswitch_plain='\'''\''
\unset _CUDASWITCH_ON _CUDASWITCH_BIN _CUDASWITCH_OLD _CUDASWITCH_GONE \
_CUDASWITCH_LIB _CUDASWITCH_LD _CUDASWITCH_KEPT
fi
__cudaswitch_strongest
_csw_want=$__csw _csw_home=${__csw%%:*}
case $_csw_home in /*) if [ -d "$_csw_home/." ]; then __cudaswitch_apply; fi ;; esac
if [ "$_csw_search" != "${PATH-}" ]; then PATH=$_csw_search; fi
if [ "$_csw_old" != "${_OLD_VIRTUAL_PATH-}" ]; then _OLD_VIRTUAL_PATH=$_csw_old; fi
if [ "$_csw_ld_set:$_csw_ld" != "${LD_LIBRARY_PATH+set}:${LD_LIBRARY_PATH-}" ]; then
if [ -n "$_csw_ld_set" ]; then
\export "LD_LIBRARY_PATH=$_csw_ld"
else
\unset LD_LIBRARY_PATH
fi
fi
}
__cudaswitch_undo() {
\local _csw_bin
_csw_bin=${_CUDASWITCH_BIN-}
if [ -z "$_csw_old${VIRTUAL_ENV-}" ]; then _csw_bin=${_CUDASWITCH_OLD:-$_csw_bin}; fi
case 0$_csw_search: in
"$_csw_bin:"?*) _csw_search=${_csw_search#*:} ;;
*)
__cudaswitch_without "$_csw_search" "$_csw_bin"
_csw_search=$__csw
;;
esac
if [ -n "${_CUDASWITCH_GONE-}" ]; then
__cudaswitch_without "$_csw_search" "$_CUDASWITCH_GONE"
_csw_search=$__csw
fi
if [ -n "$_csw_old" ]; then
__cudaswitch_without "$_csw_old" "${_CUDASWITCH_OLD:-$_csw_bin}"
_csw_old=$__csw
fi
if [ -z "${_CUDASWITCH_LIB-}" ]; then
return 0
elif [ "${_csw_ld:-none}" = "${_cudaswitch_ld-}" ]; then
_csw_ld=$_cudaswitch_ld_was _csw_ld_set=$_cudaswitch_ld_was_set
return 0
fi
__cudaswitch_without "$_csw_ld" "$_CUDASWITCH_LIB"
if [ "$__csw" != "$_csw_ld" ]; then
_csw_ld=$__csw
if [ -z "$_csw_ld" ] && [ "${_CUDASWITCH_LD-}" = unset ]; then _csw_ld_set='\'''\''; fi
fi
}
__cudaswitch_apply() {
\local _csw_dir _csw_lib _csw_lib0 _csw_xla
_csw_dir=$_csw_home/bin _csw_lib='\'''\'' _csw_lib0='\'''\'' _csw_xla='\'''\''
if ! __cudaswitch_left_alone; then
for _csw_lib0 in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib; do
if [ -d "$_csw_home/$_csw_lib0" ]; then _csw_lib=$_csw_home/$_csw_lib0 && break; fi
done
_csw_lib0=${_csw_lib:+0$_csw_lib}
if [ -d "$_csw_home/extras/CUPTI/lib64" ]; then
_csw_lib=${_csw_lib:+$_csw_lib:}$_csw_home/extras/CUPTI/lib64
_csw_lib0=${_csw_lib0:+$_csw_lib0:}0$_csw_home/extras/CUPTI/lib64
fi
fi
__csw=0$_csw_dir _cudaswitch_path_was=$_csw_search
_cudaswitch_ld_was=$_csw_ld _cudaswitch_ld_was_set=$_csw_ld_set
case :$_csw_search: in *":$_csw_dir:"*) __cudaswitch_record "$_csw_search" "$_csw_dir" ;; esac
\export "_CUDASWITCH_BIN=$__csw"
_csw_search=$_csw_dir${_csw_search:+:$_csw_search}
if [ -n "$_csw_old" ]; then
__cudaswitch_record "$_csw_old" "$_csw_dir"
\export "_CUDASWITCH_OLD=$__csw"
_csw_old=$_csw_dir:$_csw_old
fi
if [ -n "$_csw_lib" ]; then
case :$_csw_ld in
*":$_csw_home/"*) __cudaswitch_record "$_csw_ld" "$_csw_lib" && _csw_lib0=$__csw ;;
esac
if [ -z "$_csw_ld_set" ]; then \export _CUDASWITCH_LD=unset; fi
_csw_ld=$_csw_lib${_csw_ld:+:$_csw_ld} _csw_ld_set=set
\export "_CUDASWITCH_LIB=$_csw_lib0"
fi
_cudaswitch_path=${_csw_lib:+$_csw_search} _cudaswitch_ld=$_csw_ld
__cudaswitch_kept
case $__csw in *"$_csw_home"*) \export _CUDASWITCH_KEPT= ;; esac
if [ -x "$_csw_dir/nvcc" ]; then _csw_want=$_csw_want:nvcc; fi
\export "_CUDASWITCH_ON=$_csw_want"
case $_csw_want:${CUDA_HOME+x}${CUDA_PATH+x}${CUDAToolkit_ROOT+x}${CUDACXX+x}$_csw_xla in
*:gpus=* | *:cc=*) __cudaswitch_scalars set "$_csw_want" ;;
*:nvcc:)
_cudaswitch_plain=$_csw_home:$_csw_home:$_csw_home:$_csw_dir/nvcc
\export "CUDA_HOME=$_csw_home" "CUDA_PATH=$_csw_home" "CUDAToolkit_ROOT=$_csw_home" \
"CUDACXX=$_csw_dir/nvcc"
;;
*) __cudaswitch_scalars set "$_csw_want" ;;
esac
}
__cudaswitch_left_alone() {
case $_csw_want:${CONDA_PREFIX-}${VIRTUAL_ENV-} in
*:lib=never:*) __cudaswitch_bundled || : ;;
*:lib=always:*)
__cudaswitch_bundled || :
return 1
;;
"$_csw_want:") return 1 ;;
*) __cudaswitch_bundled ;;
esac
}
__cudaswitch_enter() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
\local __csw _csw_home _csw_flags
_csw_home=$3${4:+:$4}
if [ -n "${5-}" ] && __cudaswitch_globbing __cudaswitch_newer "$2" "$2/etc/cudaswitch/want"; then
if [ -n "${_cudaswitch_program-}" ]; then
_csw_home=$("$_cudaswitch_program" want --environment "$2") || _csw_home=$3${4:+:$4}
elif [ -t 2 ]; then
printf '\''cudaswitch: `%s` has other packages than when it was pinned\n'\'' "$2" >&2
printf '\''hint: cudaswitch pin auto\n'\'' >&2
fi
fi
if [ -n "${CUDASWITCH_VERSION-}" ] && [ -z "${_cudaswitch_root-}" ]; then
__cudaswitch_said "$_csw_home"
_csw_home=$__csw
fi
if [ "$_csw_home" != system ] && ! [ -d "${_csw_home%%:*}/." ]; then
if [ -t 2 ]; then
printf '\''cudaswitch: `%s` is gone, so nothing is switched (pinned by `%s`)\n'\'' \
"${_csw_home%%:*}" "$2" >&2
fi
_csw_home=gone
fi
_csw_flags=${_cudaswitch_undone_cc-}${_cudaswitch_undone_xla-}
case ${1#V}${_cudaswitch_undone:+:${LD_LIBRARY_PATH-}|${CUDA_HOME-}${CUDA_PATH-}${CUDACXX-}$_csw_flags} in
C | "C:${_cudaswitch_ld_was-}|") ;;
C:*)
__cudaswitch_copies LD_LIBRARY_PATH "$_cudaswitch_undone_lib" '\'''\''
__cudaswitch_scalars forget "$_cudaswitch_undone"
;;
esac
\export "_CUDASWITCH_$1=${_csw_home}:env=$2"
__cudaswitch_settle
}
__cudaswitch_said() {
\local _csw_file
__csw=$1 _csw_file=${CUDASWITCH_HOME:-${XDG_DATA_HOME:-${HOME-}/.local/share}/cudaswitch}
case $CUDASWITCH_VERSION in .* | -* | *[!A-Za-z0-9._+-]*) return 0 ;; esac
_csw_file=$_csw_file/requests/$CUDASWITCH_VERSION
if [ -f "$_csw_file" ] && IFS= \read -r _csw_file < "$_csw_file" \
&& [ -d "${_csw_file%%:*}/." ]; then
__csw=$_csw_file
fi
}
__cudaswitch_leave() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
\local _csw_before _csw_now _csw_repaired __csw _csw_left
_csw_left=$2
\eval "_csw_before=\${_CUDASWITCH_$1-}"
if [ -z "$_csw_before" ]; then return 0; fi
_csw_before=${_CUDASWITCH_BIN-}
_cudaswitch_undone=${_CUDASWITCH_ON-} _cudaswitch_undone_lib=${_CUDASWITCH_LIB-}
_cudaswitch_undone_cc=${_CUDASWITCH_CC-} _cudaswitch_undone_xla=${_CUDASWITCH_XLA-}
if [ -n "${_CUDASWITCH_KEPT+x}" ]; then _cudaswitch_undone='\'''\''; fi
_cudaswitch_gave='\'''\''
_cudaswitch_seen='\'''\''
\unset "_CUDASWITCH_$1"
__cudaswitch_settle
if [ "$1" = V ]; then return 0; fi
_csw_repaired='\'''\''
if \command -v __conda_hashr > /dev/null; then
__conda_hashr() {
if \command -v __cudaswitch_repair > /dev/null; then
__cudaswitch_repair
else
\hash -r
fi
}
_csw_repaired=1
fi
if [ -n "${MAMBA_EXE-}" ] && \command -v __mamba_hashr > /dev/null; then
__mamba_hashr() {
if \command -v __cudaswitch_repair > /dev/null; then
__cudaswitch_repair
else
\hash -r
fi
}
_csw_repaired=1
fi
case $_csw_repaired:$PATH: in
1:* | *":$2/bin:"*) ;;
*) _csw_before='\'''\'' ;;
esac
_csw_now=${_CUDASWITCH_BIN-}
if [ -z "$_csw_before$_csw_now" ]; then return 0; fi
_csw_before=${_csw_before:+/${_csw_before#*/}} _csw_now=${_csw_now:+/${_csw_now#*/}}
__csw=0$_csw_before
case "$_csw_now|:$PATH:" in
"|"*":$_csw_before:"* | /*)
__cudaswitch_record "$PATH" "$_csw_before${_csw_now:+${_csw_before:+:}$_csw_now}"
;;
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
\local _csw_cuda _csw_cudnn _csw_mode _csw_gpus _csw_rest _csw_line _csw_key _csw_value
_csw_cuda='\'''\'' _csw_cudnn='\'''\'' _csw_mode='\'''\'' _csw_gpus='\'''\''
if ! [ -O "$1" ]; then return 1; fi
while IFS= \read -r _csw_line || [ -n "$_csw_line" ]; do
__cudaswitch_trim "${_csw_line%%#*}"
_csw_line=$__csw
case $_csw_line in
'\'''\'') continue ;;
*=*) _csw_key=${_csw_line%%=*} _csw_value=${_csw_line#*=} ;;
*['\'' 	'\'']*) _csw_key=${_csw_line%%['\'' 	'\'']*} _csw_value=${_csw_line#*['\'' 	'\'']} ;;
*) _csw_key=cuda _csw_value=$_csw_line ;;
esac
__cudaswitch_trim "$_csw_value"
_csw_value=$__csw
__cudaswitch_trim "$_csw_key"
case $_csw_value in '\'''\'' | *['\'' 	='\'']*) return 1 ;; esac
case $__csw in *[!a-z]*) return 1 ;; esac
case $__csw:$_csw_cuda:$_csw_cudnn:$_csw_mode:$_csw_gpus in
cuda::*) _csw_cuda=$_csw_value ;;
cudnn:*::*:*) _csw_cudnn=$_csw_value ;;
libraries:*:*::*) _csw_mode=$_csw_value ;;
gpus:*:) _csw_gpus=$_csw_value ;;
*) return 1 ;;
esac
done < "$1"
case $_csw_mode in '\'''\'' | auto | always | never) ;; *) return 1 ;; esac
case $_csw_gpus in -1) ;; *[!0-9,]* | *,,* | ,* | *,) return 1 ;; esac
_csw_rest=$_csw_gpus
while [ -n "$_csw_rest" ]; do
_csw_value=${_csw_rest%%,*} _csw_rest=${_csw_rest#"$_csw_value"} _csw_rest=${_csw_rest#,}
case ,$_csw_rest, in *",$_csw_value,"*) return 1 ;; esac
case $_csw_value in ?????*) return 1 ;; esac
done
__cudaswitch_ready "$_csw_cuda${_csw_cudnn:++cudnn$_csw_cudnn}" || return 1
__csw=$__csw${_csw_mode:+:lib=$_csw_mode}${_csw_gpus:+:gpus=$_csw_gpus}
}
__cudaswitch_trim() {
__csw=${1#"${1%%[!'\'' 	'\'']*}"}
__csw=${__csw%"${__csw##*[!'\'' 	'\'']}"}
}
__cudaswitch_active() {
\local _csw_venv _csw_conda _csw_before _csw_env
_csw_venv=${VIRTUAL_ENV-} _csw_conda=${CONDA_PREFIX-}
_csw_before=:$PATH: _csw_before=${_csw_before%%":$_csw_conda/bin:"*}:
case $_csw_before in
*":$_csw_venv/bin:"* | ":$PATH::") ;;
*) _csw_env=$_csw_venv _csw_venv=$_csw_conda _csw_conda=$_csw_env ;;
esac
for __csw in "$_csw_venv" "$_csw_conda"; do
if [ -z "$__csw" ]; then continue; fi
if [ -d "$__csw/conda-meta" ] || [ -f "$__csw/pyvenv.cfg" ] \
|| [ -f "$__csw/bin/activate_this.py" ]; then
return 0
fi
done
return 1
}
__cudaswitch_automatic() {
\local _csw_file _csw_rest
_csw_file='\'''\'' _csw_rest=${1#/}/
while [ -n "$_csw_rest" ]; do
_csw_file=$_csw_file%${_csw_rest%%/*} _csw_rest=${_csw_rest#*/}
done
_csw_file=$_cudaswitch_root/auto/$_csw_file
if ! [ -f "$_csw_file" ] || __cudaswitch_newer "$1" "$_csw_file"; then return 1; fi
{ IFS= \read -r _csw_rest && IFS= \read -r __csw; } < "$_csw_file" || return 1
if [ "$_csw_rest" != "$1" ]; then return 1; fi
[ -z "$__csw" ] || [ -d "${__csw%%:*}/." ]
}
__cudaswitch_directory() {
\local _csw_env
\unset _CUDASWITCH_D
_cudaswitch_file='\'''\'' _cudaswitch_text='\'''\''
if __cudaswitch_file; then
_cudaswitch_file=$__csw
__cudaswitch_content
__cudaswitch_read "$_cudaswitch_file" \
|| __cudaswitch_ask_once "$_cudaswitch_file:$_cudaswitch_text" --file "$_cudaswitch_file"
elif __cudaswitch_active && _csw_env=$__csw && __cudaswitch_framework "$_csw_env"; then
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
\local _csw_text
if [ -n "${_CUDASWITCH_U-}${_CUDASWITCH_C-}${_CUDASWITCH_V-}" ]; then return 1; fi
if [ -f .cuda-version ] && [ "${_cudaswitch_file-}" != "$PWD/.cuda-version" ]; then return 0; fi
if [ -z "${_cudaswitch_file-}" ]; then return 1; fi
_csw_text=$_cudaswitch_text
__cudaswitch_content
[ "$_csw_text" != "$_cudaswitch_text" ] || ! [ -f "$_cudaswitch_file" ]
}
__cudaswitch_framework() {
if ! __cudaswitch_globbing __cudaswitch_automatic "$1"; then
__cudaswitch_ask_once "$1" --environment "$1"
fi
[ -n "$__csw" ]
}
__cudaswitch_ask_once() {
\local _csw_about
_csw_about=$1
if [ "$_csw_about" != "${_cudaswitch_asked-}" ]; then
shift
_cudaswitch_asked=interrupted
if _cudaswitch_answer=$("$_cudaswitch_program" want "$@"); then
_cudaswitch_asked=$_csw_about
else
case $? in 130) ;; *) _cudaswitch_asked=$_csw_about ;; esac
_cudaswitch_answer='\'''\''
fi
fi
__csw=$_cudaswitch_answer
}
__cudaswitch_look() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
\local __csw _csw_env _csw_before _csw_hook _csw_moved
_csw_before=${_CUDASWITCH_ON-} _csw_moved=1
case ${_cudaswitch_seen-} in
"${CONDA_PREFIX-}|${VIRTUAL_ENV-}|"*) _csw_moved='\'''\'' ;;
*) _cudaswitch_asked='\'''\'' ;;
esac
_csw_env=${_CUDASWITCH_V-}
if [ -n "$_csw_env" ] && [ "${_csw_env##*:env=}" != "${VIRTUAL_ENV-}" ]; then
\unset _CUDASWITCH_V
fi
_csw_env=${_CUDASWITCH_C-}
if [ -n "$_csw_env" ] && [ "${_csw_env##*:env=}" != "${CONDA_PREFIX-}" ]; then
case :$PATH: in *":${_csw_env##*:env=}/bin:"*) ;; *) \unset _CUDASWITCH_C ;; esac
fi
_csw_hook="${VIRTUAL_ENV-}/etc/cudaswitch/on.sh"
if [ -z "${_CUDASWITCH_V-}" ] && [ -n "${VIRTUAL_ENV-}" ] && [ -f "$_csw_hook" ]; then
\. "$_csw_hook"
fi
_csw_hook="${CONDA_PREFIX-}/etc/conda/activate.d/~~cudaswitch.sh"
if [ -z "${_CUDASWITCH_C-}" ] && [ -n "${CONDA_PREFIX-}" ] && [ -f "$_csw_hook" ]; then
\. "$_csw_hook"
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
if [ -n "$_csw_moved${_CUDASWITCH_GONE-}" ] || [ "$__csw" != "${_csw_before%:nvcc}" ]; then
__cudaswitch_settle
fi
if [ "${_cudaswitch_asked-}" != interrupted ]; then
_cudaswitch_seen="${CONDA_PREFIX-}|${VIRTUAL_ENV-}|$PWD|${CUDASWITCH_VERSION-}"
fi
if [ "$_csw_before" != "${_CUDASWITCH_ON-}" ] && [ -z "${CUDASWITCH_QUIET-}" ]; then
__cudaswitch_say
fi
}
__cudaswitch_say() {
\local _csw_home
_csw_home=${_CUDASWITCH_ON-}
if [ -z "$_csw_home" ]; then
printf '\''cudaswitch: no toolkit\n'\'' >&2
return 0
fi
_csw_home=${_csw_home%%:*}
__cudaswitch_lacking "$_CUDASWITCH_ON"
case ${_CUDASWITCH_LIB-}$_CUDASWITCH_ON in
/*:lib=never*) __csw=" (LD_LIBRARY_PATH left alone, as asked)$__csw" ;;
/*) __csw=" (LD_LIBRARY_PATH left alone: this environment brings its own CUDA)$__csw" ;;
esac
printf '\''cudaswitch: CUDA %s%s\n'\'' "${_csw_home##*/}" "$__csw" >&2
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
\local _csw_home _csw_lib _csw_lib0 _csw_xla
_csw_home=$__csw _csw_lib=$_csw_home/lib64 _csw_lib0=0$_csw_home/lib64 _csw_xla='\'''\''
if [ "$PATH|${LD_LIBRARY_PATH-}|${CUDA_HOME-}:${CUDA_PATH-}:${CUDAToolkit_ROOT-}:${CUDACXX-}|" \
!= "${_cudaswitch_path-}|${_cudaswitch_ld-}|${_cudaswitch_plain-}|" ] \
|| [ -n "${_OLD_VIRTUAL_PATH-}${_CUDASWITCH_GONE-}" ] || ! [ -d "$_csw_lib" ] || ! [ -x "$_csw_home/bin/nvcc" ]; then
return 1
fi
case "$_csw_home:$_cudaswitch_path_was:$_cudaswitch_ld_was" in *":$_csw_home/"*) return 1 ;; esac
if [ -n "${CONDA_PREFIX-}${VIRTUAL_ENV-}" ]; then
if __cudaswitch_bundled || [ -n "$_csw_xla" ]; then return 1; fi
fi
if [ -n "${CONDA_SHLVL-}" ]; then
__cudaswitch_kept
if [ -n "$__csw" ]; then
__csw=$_csw_home
return 1
fi
fi
if [ -d "$_csw_home/extras/CUPTI/lib64" ]; then
_csw_lib=$_csw_lib:$_csw_home/extras/CUPTI/lib64
_csw_lib0=$_csw_lib0:0$_csw_home/extras/CUPTI/lib64
fi
\export "_CUDASWITCH_PREVIOUS=${_CUDASWITCH_U-}" "_CUDASWITCH_U=$_csw_home"
_CUDASWITCH_ON=$_csw_home:nvcc _CUDASWITCH_BIN=0$_csw_home/bin _CUDASWITCH_LIB=$_csw_lib0
PATH=$_csw_home/bin${_cudaswitch_path_was:+:$_cudaswitch_path_was}
LD_LIBRARY_PATH=$_csw_lib${_cudaswitch_ld_was:+:$_cudaswitch_ld_was}
CUDA_HOME=$_csw_home CUDA_PATH=$_csw_home CUDAToolkit_ROOT=$_csw_home
CUDACXX=$_csw_home/bin/nvcc _cudaswitch_path=$PATH _cudaswitch_ld=$LD_LIBRARY_PATH
_cudaswitch_plain=$_csw_home:$_csw_home:$_csw_home:$CUDACXX
if [ -z "${CUDASWITCH_QUIET-}" ]; then
printf '\''cudaswitch: CUDA %s\n'\'' "${_csw_home##*/}" >&2
fi
}
cudaswitch() {
if [ -n "${ZSH_VERSION-}" ]; then \emulate -L sh -o no_warn_create_global; fi
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
\local _csw_arg
case ${1-} in
use | off | pin | unpin | install | adopt | remove | alias) ;;
*)
"$_cudaswitch_program" "$@"
return
;;
esac
for _csw_arg; do
case $_csw_arg in
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
' || _csw_code=$?
    if [ -n "$_csw_aliases" ]; then \shopt -s expand_aliases; fi
    return "$_csw_code"
}
<file.sh>
<lazy.sh>
<init.bash>
