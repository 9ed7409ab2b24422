"""`rocmenv gpu`: the GPUs of this machine, and what ROCm says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocmenv.cli.completion import complete_target
from rocmenv.cli.output import say, say_json, tell
from rocmenv.cli.program import Context
from rocmenv.errors import visible
from rocmenv.ops.machine import overview
from rocmenv.sources.gpus import load

if TYPE_CHECKING:
    from rocmenv.ops.machine import Fit, Overview
    from rocmenv.probe.kfd import Gpu


@click.command("gpu")
@click.option(
    "--gpu",
    "targets",
    metavar="TARGET",
    multiple=True,
    help="Speak of this target or family in place of this machine's.",
    shell_complete=complete_target,
)
@click.option("--json", "as_json", is_flag=True, help="As JSON, with every installed version.")
@click.pass_obj
def command(ctx: Context, *, targets: tuple[str, ...], as_json: bool) -> None:
    """Show this machine's GPUs, and what the selected version says of them.

    Installs are for the GPUs that are found here, unless `targets` is set.
    """
    found = overview(ctx.process, ctx.root, ctx.plus, targets)
    if as_json:
        say_json(_json(found))
        return
    machine = found.machine
    for gpu in machine.gpus:
        place = "?" if gpu.node is None else str(gpu.node)
        words = _words(gpu, by_kernel=machine.source == "kfd")
        say(f"{place:>2}  {gpu.target or 'unknown'!s:<8}  {words}".rstrip())
    if not machine.gpus:
        tell("rocmenv: no AMD GPU was found")
    else:
        tell(f"rocmenv: told by {'the kernel' if machine.source == 'kfd' else 'rocminfo'}")
    if machine.has_driver or machine.is_wsl:
        tell(f"rocmenv: {_driver(found)}")
    for note in dict.fromkeys((*machine.remarks, *found.targets.notes, *found.notes)):
        tell(f"note: {note}")
    named = found.targets.targets
    words = "every GPU" if named is None else ", ".join(map(str, named)) or "no GPU"
    tell(f"rocmenv: installs are for {words} ({found.targets.origin})")
    for fit in found.fits:
        if fit.is_selected:
            _show(fit)


def _show(fit: Fit) -> None:
    for row in fit.standings:
        say(f"{fit.version}: {row.target} is {row.level}{f' ({row.note})' if row.note else ''}")
    for advice in fit.advice:
        tell(f"warning: {advice.text} (source: {advice.source})")
        if advice.hint:
            tell(f"hint: {advice.hint}")


def _words(gpu: Gpu, *, by_kernel: bool) -> str:
    """What is known of a GPU. The kernel has code names, rocminfo the names on the box."""
    known = load().known(gpu.target) if gpu.target else None
    name = visible(gpu.name).strip("`")
    if known is None:
        return name
    kind = f"{known.generation}, {known.kind}"
    return f"{kind}: {', '.join(known.products)}" if by_kernel or not name else f"{name} ({kind})"


def _driver(found: Overview) -> str:
    machine = found.machine
    if machine.driver is None:
        if machine.is_wsl:
            return "WSL: the driver is that of Windows"
        return "the kernel's own amdgpu is loaded"
    line = load().drivers.line(machine.driver)
    if line is None:
        return f"amdgpu {machine.driver}"
    return f"amdgpu {machine.driver}, that of {line[0]}{' (unverified)' if line[1] else ''}"


def _json(found: Overview) -> dict[str, Any]:
    machine = found.machine
    targets = found.targets.targets
    return {
        "gpus": [_gpu_json(gpu) for gpu in machine.gpus],
        "source": machine.source or None,
        "driver": {"version": machine.driver, "loaded": machine.has_driver},
        "wsl": machine.is_wsl,
        "remarks": list(machine.remarks),
        "targets": None if targets is None else [str(target) for target in targets],
        "origin": found.targets.origin,
        "notes": [*found.targets.notes, *found.notes],
        "versions": [
            {
                "version": str(fit.version),
                "selected": fit.is_selected,
                "targets": [
                    {"target": str(row.target), "level": row.level, "note": row.note}
                    for row in fit.standings
                ],
                "advice": [
                    {"code": a.code, "text": a.text, "source": a.source, "hint": a.hint}
                    for a in fit.advice
                ],
            }
            for fit in found.fits
        ],
    }


def _gpu_json(gpu: Gpu) -> dict[str, Any]:
    target = gpu.target
    known = load().known(target) if target else None
    return {
        "node": gpu.node,
        "target": str(target.base) if target else None,
        "features": target.feature_words if target else [],
        "name": gpu.name,
        # As text: readers of JSON take numbers above 2**53 for others.
        "unique_id": None if gpu.unique_id is None else str(gpu.unique_id),
        "generation": known.generation if known else None,
        "kind": known.kind if known else None,
        "products": list(known.products) if known else [],
        "unverified": list(known.unverified) if known else [],
    }
