# Variables that are shared with others: the host compiler, and the flags of nvcc and XLA.

# $__csw = the compiler to name to nvcc for the want $argv; it need not exist, and is empty if
# somebody else has named one. Decides as `activation.host_compiler` does: change both.
function __cudaswitch_host
    set -l named
    string match --quiet --regex ':cc=(?<named>[^:]*)' -- $argv
    set -g __csw $named
    set -l conda $CONDA_PREFIX
    test "$conda" = "$__csw_left"; and set conda
    set -l cxx $CXX
    contains -- "$cxx" g++ c++; and set cxx
    # conda-forge's compilers have names of their own, without a folder since the end of 2025.
    if test -n "$cxx" -a -n "$CONDA_PREFIX"; and not string match --quiet '*/*' -- $cxx
        test -x $CONDA_PREFIX/bin/$cxx; and set cxx $CONDA_PREFIX/bin/$cxx
    end
    set -l start (string sub --length (string length -- "$conda/") -- "$cxx")
    if test -n "$conda"; and test "$start" = $conda/
        set __csw $cxx
    else if test -n "$cxx"
        set start (string sub --length (string length -- "$__csw_left/") -- $cxx)
        test -n "$__csw_left"; and test "$start" = $__csw_left/; or set __csw ''
    else if test -n "$conda"; and test -x $conda/bin/gcc
        set __csw ''
    end
    # nvcc splits its flags at blanks and knows no quotes.
    if test -n "$CUDAHOSTCXX$NVCC_CCBIN"; or string match --quiet --regex '[ \t]' -- $__csw
        or string match --quiet --regex -- '-ccbin|--compiler-bindir' \
            "$NVCC_PREPEND_FLAGS" "$NVCC_APPEND_FLAGS"
        set __csw ''
    end
end

# Add words to the flags: for nvcc that of the want $argv[1], for XLA that of the toolkit $argv[2].
function __cudaswitch_flags_set
    if string match --quiet '*:cc=*' -- $argv[1]
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
    # If XLA_FLAGS names a file of flags, it stays. XLA takes a value in quotes for one word.
    if set -q __csw_xla; and test -e $argv[2]/nvvm/libdevice
        and string match --quiet --regex '^([- \t]|$)' -- "$XLA_FLAGS"
        and not string match --quiet '*xla_gpu_cuda_data_dir*' -- "$XLA_FLAGS"
        set -l word --xla_gpu_cuda_data_dir=$argv[2]
        string match --quiet --regex '[ \t]' -- $argv[2]
        and set word "--xla_gpu_cuda_data_dir=\"$argv[2]\""
        __cudaswitch_keep XLA_FLAGS
        set -gx _CUDASWITCH_XLA $word
        set -l rest "$XLA_FLAGS"
        test -n "$rest"; and set rest "$rest "
        set -gx XLA_FLAGS "$rest$word"
    end
end

# Remove our words, and give the host compiler back.
function __cudaswitch_flags_give
    set -g _cudaswitch_was_CUDAHOSTCXX "$_CUDASWITCH_WAS_CUDAHOSTCXX"
    test -n "$CONDA_SHLVL$__csw_names"
    and __cudaswitch_flags_forget "$_CUDASWITCH_CC" "$_CUDASWITCH_XLA"
    if test -n "$_CUDASWITCH_CC"
        if test "$CUDAHOSTCXX" = (string replace -- -ccbin= '' $_CUDASWITCH_CC)
            if set -q _CUDASWITCH_WAS_CUDAHOSTCXX
                __cudaswitch_unexport CUDAHOSTCXX
                __cudaswitch_back CUDAHOSTCXX "$_CUDASWITCH_WAS_CUDAHOSTCXX"
            else
                set -eg CUDAHOSTCXX
            end
        end
        # The copy that conda's nvcc keeps would bring our word back when that environment is left.
        __cudaswitch_wordless NVCC_PREPEND_FLAGS_BACKUP $_CUDASWITCH_CC
        __cudaswitch_wordless NVCC_PREPEND_FLAGS $_CUDASWITCH_CC
    end
    test -n "$_CUDASWITCH_XLA"; and __cudaswitch_wordless XLA_FLAGS $_CUDASWITCH_XLA
    for name in CC XLA WAS_CUDAHOSTCXX WAS_NVCC_PREPEND_FLAGS WAS_XLA_FLAGS
        set -e _CUDASWITCH_$name
    end
end

# Are the flags exactly as we have set them? A script that has replaced them may have kept ours.
function __cudaswitch_flags_same
    set -l nvcc $_CUDASWITCH_CC $_CUDASWITCH_WAS_NVCC_PREPEND_FLAGS
    set -l xla $_CUDASWITCH_WAS_XLA_FLAGS $_CUDASWITCH_XLA
    test -z "$_CUDASWITCH_CC"
    or test "-ccbin=$CUDAHOSTCXX|$NVCC_PREPEND_FLAGS" = "$_CUDASWITCH_CC|$nvcc"
    and begin
        test -z "$_CUDASWITCH_XLA"; or test "$XLA_FLAGS" = "$xla"
    end
end

# Take the words $argv[1] for nvcc and $argv[2] for XLA out of what conda keeps.
function __cudaswitch_flags_forget
    if test -n "$argv[1]"
        set -l compiler (string replace -- -ccbin= '' $argv[1])
        __cudaswitch_copies CUDAHOSTCXX $compiler "$_cudaswitch_was_CUDAHOSTCXX"
        __cudaswitch_copies NVCC_PREPEND_FLAGS $argv[1]
    end
    test -n "$argv[2]"; and __cudaswitch_copies XLA_FLAGS $argv[2]
    return 0
end

# Remove the word $argv[2] once from the flags in $argv[1], with the blank that came with it. The
# variable, or backup of one, is erased if it is empty then and was unset before us.
function __cudaswitch_wordless
    set -q $argv[1]; or return 0
    set -l word (string escape --style=regex -- $argv[2])
    set -l was _CUDASWITCH_WAS_(string replace _BACKUP '' $argv[1])
    if test "$$argv[1]" = $argv[2]; and not set -q $was
        set -eg $argv[1]
        return 0
    end
    set -l before
    set -l behind
    # A command substitution would split flags at their line breaks.
    for pattern in "(?<before>)$word(?: |\z)(?<behind>.*)" "(?<before>.*) $word(?<behind>)" \
            "(?<before>.*?) $word(?<behind> .*)"
        if string match --quiet --regex -- "(?s)\A$pattern\z" "$$argv[1]"
            __cudaswitch_back $argv[1] "$before$behind"
            # A variable that was not exported stays exported if somebody has changed it.
            test "$$argv[1]" = "$$was"; and __cudaswitch_unexport $argv[1]
            return 0
        end
    end
end

# Remember what variables hold, where they are set.
function __cudaswitch_keep
    for name in $argv
        set -q $name; or continue
        set -gx _CUDASWITCH_WAS_$name "$$name"
        __cudaswitch_note $name
    end
    return 0
end
