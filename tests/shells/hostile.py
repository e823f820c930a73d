"""Values that only correct quoting carries through a shell, and traps that show what ran."""

from __future__ import annotations

import random
import string

CANARY = "canary"
"""The file that appears in the working directory when a shell runs a part of a value."""

_TOUCH = f"touch {CANARY}"

NAMED = {
    "empty": "",
    "blank": " ",
    "blanks at the ends": "  a  ",
    "tabs at the ends": "\ta\t",
    "only tabs and breaks": "\t\n\t",
    "line break": "a\nb",
    "line break first": "\na",
    "line break last": "a\n",
    "line breaks last": "a\n\n\n",
    "carriage return": "a\rb",
    "carriage return last": "a\r",
    "line break of DOS": "a\r\nb\r\n",
    "form feed, bell, escape": "\f\a\x1b[31m\v\b",
    "delete and all controls": "".join(map(chr, range(1, 32))) + "\x7f",
    "no blank of ASCII": "a\xa0b\u2003c\u3000",
    "no line break of ASCII": "a\u2028b\u2029c\x85",
    "zero width": "\u200ba\u200d\ufeff",
    "one backslash": "\\",
    "two backslashes": "\\\\",
    "three backslashes": "\\\\\\",
    "backslash last": "a\\",
    "backslashes last": "a\\\\",
    "backslash before break": "a\\\nb",
    "backslash before each quote": "\\'\\\"\\`",
    "backslashes before each quote": "\\\\'\\\\\"\\\\`",
    "escapes": "\\n\\t\\x41\\u0041\\101\\e\\c",
    "one quote": "'",
    "quotes": "'''",
    "quote within": "it's",
    "quotes at the ends": "'a'",
    "double quote": '"',
    "double quotes": '"""',
    "double quotes at the ends": '"a"',
    "quotes of both kinds": "'\"'\"'",
    "quotes and backslashes": "'\\''\\\"'\\\\'",
    "typographic quotes": "\u2018a\u2019 \u201cb\u201d \u201ac\u201b \u201ed\u201f \xabe\xbb",
    "low and prime quotes": "\u2032\u2033\u00b4\uff07\uff02\uff40",
    "ANSI quotes": "$'a\\n'",
    "translated quotes": '$"a"',
    "raw quotes": "r'a' r#'a'#",
    "variable": "$HOME",
    "variable in braces": "${HOME}",
    "variable of PowerShell": "$env:HOME ${env:HOME}",
    "variable of cmd": "%PATH% %%PATH%% %~dp0 ^%PATH^% !PATH!",
    "variables that are special": "$? $$ $! $@ $* $# $0 $1 $_ $-",
    "default value": "${NOPE:-a}${NOPE:=b}",
    "arithmetic": "$((1+1)) $[1+1]",
    "substitution": f"$({_TOUCH})",
    "substitution of fish": f"({_TOUCH})",
    "substitution, old": f"`{_TOUCH}`",
    "substitution in double quotes": f'"$({_TOUCH})"',
    "substitution behind a quote": f"'$({_TOUCH})'",
    "process": f"<({_TOUCH})>({_TOUCH})",
    "command": f"; {_TOUCH}; ",
    "command behind a quote": f"'; {_TOUCH}; '",
    "command behind a double quote": f'"; {_TOUCH}; "',
    "command behind quote and backslash": f"\\'; {_TOUCH}; \\'",
    "command behind a break": f"\n{_TOUCH}\n",
    "command behind a quote and a break": f"'\n{_TOUCH}\n'",
    "command of cmd": f"& {_TOUCH} & | {_TOUCH}",
    "code of Python": f"' + __import__('os').system('{_TOUCH}') + '",
    "code of nushell": f"$'(^{_TOUCH})' (^{_TOUCH})",
    "code of PowerShell": f"$({_TOUCH}); & {{ {_TOUCH} }}",
    "redirection": f"a > {CANARY}",
    "redirection behind a quote": f"' > {CANARY} '",
    "here document": "<<EOF\na\nEOF\n",
    "history": "!history !! !$ !-1 a!b",
    "history in double quotes": '"!!"',
    "quick substitution": "^a^b^",
    "home": "~",
    "home with more": "~/a:~root:~+",
    "star": "*",
    "pattern": "/*/[a-z]?{b,c}**",
    "braces": "{a,b}{1..9}",
    "extended pattern": "!(a)@(b)+(c)",
    "qualifier of zsh": f"*(e:'{_TOUCH}':)",
    "equals first": "=ls",
    "dash first": "-n",
    "option": "--help",
    "two dashes": "--",
    "plus": "+x",
    "comment": "# a",
    "comment within": "a #b",
    "assignment": "A=b",
    "several words": "a b  c   d",
    "keywords": "end; done; fi; esac; }",
    "percent of printf": "%s%n%d%%",
    "search path": "/a:/b::/c:",
    "colon": ":",
    "slashes": "//a/./b/../c//",
    "address": "https://example.org/?a=b&c=d#e",
    "JSON": '{"a": ["b", null]}\\u0000',
    "accents": "èéü",
    "combining": "e\u0301a\u0308\u0323",
    "right to left": "\u202eabc\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "other scripts": "\u0440\u0442\u4e2d\u6587\u306e\ud55c\uae00\u0939\u093f",
    "emoji": "\U0001f692\u265e\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f1e9\U0001f1ea",
    "private use": "\ue000\uf8ff\U000f0000",
    "long": "a'b\"c$d`e\\f g\n" * 700,
}
"""Why it is here → the value; every shell must carry every one."""

BYTES = {
    "byte that is no text": "\udcff",
    "bytes that are no text": "a\udc80\udcfe'\udcff b",
    "half a character": "\udcc3",
    "Latin-1": "caf\udce9",
}
"""What is not UTF-8 (as PEP 383 spells it), for shells whose values are bytes."""


def pairs() -> list[str]:
    """Return every ASCII punctuation mark alone, doubled, and before and after each other one."""
    marks = string.punctuation
    return [*marks, *(one + other for one in marks for other in marks)]


def random_values(count: int) -> list[str]:
    """Return values that nobody thought of, the same ones at each run."""
    alphabet = string.punctuation + " \t\n\r" + "aA1" + "'\"\\$`!" * 3 + "\u2019\u0301\U0001f692"
    dice = random.Random(3)  # the same at each run, on purpose
    return ["".join(dice.choices(alphabet, k=dice.randint(2, 12))) for _ in range(count)]
