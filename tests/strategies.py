"""Hypothesis strategies: versions, environments, lists of folders."""

from __future__ import annotations

from hypothesis import strategies as st

from rocmenv.env.family import FAMILY, PATH_LISTS
from rocmenv.model.layout import Kind, Layout
from rocmenv.model.version import Version

number = st.integers(0, 30)


@st.composite
def versions(draw: st.DrawFn) -> Version:
    """Versions of every form."""
    text = ".".join(str(draw(number)) for _ in range(3))
    if draw(st.booleans()) and draw(st.booleans()):
        text += f".{draw(st.integers(1, 9))}"
    phase = draw(st.sampled_from(["", "", "a20260901", "a20260831", "b1", "rc0", "rc12", ".dev0"]))
    local = draw(st.sampled_from(["", "", "", "+bkc.1", "+0f1e2d", "+distro", "+bkc.01"]))
    return Version.parse(text + phase + local)


# What people and other tools leave in lists: duplicates, empty entries, blanks, quotes,
# characters that shells and our own record treat specially, other ROCm releases.
entry = st.sampled_from(
    [
        "",
        "/usr/bin",
        "/bin",
        "/usr/local/bin",
        "/home/u/my tools",
        "/it's",
        '/say "hi"',
        "/a$HOME",
        "/back\\slash",
        "/ends\\",
        "/per%cent",
        "/pi|pe",
        "/%7C",
        "/tab\there",
        "/größe",
        ".",
        "~/bin",
        "/opt/rocm/bin",
        "/opt/rocm-5.7.1/lib",
        "/opt/rocm-5.7.1/",
        "/opt/rocm",
        "/opt/rocmish/bin",
        "/opt/rocm-tools/bin",
        "/root/versions/6.3.0/bin",
        "/root/versions/6.4.1/lib/",
        "/srv/rocm/lib",
        "/srv/rocmother",
        "*",
        "-n",
        "#x",
        "{a,b}",
        "[x]",
        "!!",
    ]
)
path_list = st.lists(entry, max_size=6).map(":".join)
text = st.sampled_from(
    [
        "",
        "/opt/rocm-5.7.1",
        "/root/versions/6.3.0",
        "/mine",
        "amd",
        "nvidia",
        "it's",
        "line\nfeed",
        "ends\n",
        "%25",
        "a|b",
        "100%",
        "$(id)",
        "`id`",
        "back\\",
        "größe",
        " blank ",
        "/opt/rocm/x",
    ]
)


@st.composite
def environments(draw: st.DrawFn) -> dict[str, str]:
    """Environments in which some variables of the family are unset, some empty, some set."""
    environ = {"HOME": "/home/u", "TERM": "dumb"}
    for row in FAMILY:
        if draw(st.booleans()):
            source = path_list if row.name in PATH_LISTS else text
            environ[row.name] = draw(source)
    environ.setdefault("PATH", "/usr/bin:/bin")
    return environ


layouts = st.sampled_from(
    [
        Layout(Kind.LEGACY, bins=("bin", "llvm/bin"), libs=("lib",)),
        Layout(
            Kind.LEGACY,
            bins=("bin", "lib/llvm/bin"),
            libs=("lib",),
            man=("share/man",),
            hipcxx="lib/llvm/bin/clang++",
        ),
        Layout(
            Kind.FLAT,
            bins=("bin", "lib/llvm/bin"),
            libs=("lib",),
            device_libs="lib/llvm/amdgcn/bitcode",
            pkgconfig=("lib/pkgconfig",),
            icd="etc/OpenCL/vendors",
        ),
        Layout(
            Kind.DISTRO,
            bins=("bin", "lib/llvm-15/bin"),
            libs=(),
            cmake=("",),
            device_libs="lib/llvm-15/lib/clang/15/amdgcn/bitcode",
            hip_clang="lib/llvm-15/bin",
            hip_lib="lib/x86_64-linux-gnu",
        ),
        Layout(Kind.CORE),
        Layout(Kind.WHEELS, bins=("bin", "lib/llvm/bin"), hipcxx="lib/llvm/bin/clang++"),
    ]
)
