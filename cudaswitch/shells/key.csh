# $_cswk_key changes when the file $_cswk_file is edited: csh cannot read files, and starts no
# program for this. It sees times to the second.
@ _cswk_time = (-M "${_cswk_file:q}")
@ _cswk_size = (-Z "${_cswk_file:q}")
@ _cswk_inode = (-I "${_cswk_file:q}")
set _cswk_key = "${_cswk_file:q}:${_cswk_time}:${_cswk_size}:${_cswk_inode}"
