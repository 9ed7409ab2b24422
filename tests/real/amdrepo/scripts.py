"""What AMD's packages do beside their payload."""

from __future__ import annotations

import os

from tests.real.amdrepo.names import POST_INSTALL_TOOLS, Release


def maintainer_scripts(name: str, named: Release) -> dict[str, str]:
    """The maintainer scripts of an AMD package: their names and texts; most have none."""
    root = f"/{named.prefix}"
    icd = f"/etc/OpenCL/vendors/amdocl64_{named.suffix[1:].split('~')[0].replace('-', '_')}.icd"
    if name == "rocm-llvm":
        tools = " ".join(POST_INSTALL_TOOLS)
        return {
            "postinst": _LLVM_POSTINST.format(root=root, llvm=named.llvm, tools=tools),
            "prerm": _LLVM_PRERM.format(root=root, tools=tools),
        }
    if name == "rocm-opencl":
        return {
            "postinst": _OPENCL_POSTINST.format(icd=icd, folder=os.path.dirname(icd)),
            "prerm": f'#!/bin/sh\nset -e\n[ "$1" = upgrade ] || rm -f "{icd}"\n',
        }
    return {}


_LLVM_POSTINST = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
mkdir -p "{root}/bin"
for tool in {tools}; do
  if [ -e "{root}/{llvm}/bin/$tool" ]; then
    ln -sf "../{llvm}/bin/$tool" "{root}/bin/$tool"
  fi
done
"""

_LLVM_PRERM = """\
#!/bin/sh
set -e
[ "$1" = upgrade ] && exit 0
for tool in {tools}; do
  rm -f "{root}/bin/$tool"
done
"""

_OPENCL_POSTINST = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
mkdir -p "{folder}"
echo libamdocl64.so > "{icd}"
"""
