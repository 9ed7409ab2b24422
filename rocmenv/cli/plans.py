"""What a plan would fetch: `install --dry-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmenv.cli.output import amount, say, say_json, tell

if TYPE_CHECKING:
    from rocmenv.sources.base import Plan


def show(plan: Plan, whole: Plan | None, *, as_json: bool) -> None:
    """Print parts and sizes, with those of `whole`, which is for every GPU, where that differs."""
    if as_json:
        parts = [{"name": p.name, "version": p.version, "size": p.size} for p in plan.parts]
        say_json(
            {
                "version": str(plan.version),
                "channel": plan.channel,
                "origin": plan.origin,
                "download": plan.download,
                "installed": plan.installed,
                "host": list(plan.host),
                "targets": list(plan.request.words),
                "every_gpu": whole and {"download": whole.download, "installed": whole.installed},
                "notes": list(plan.notes),
                "parts": parts,
            }
        )
        return
    for part in plan.parts:
        size = "" if part.size is None else amount(part.size)
        say(f"{size:>9}  {part.name} {part.version}".rstrip())
    say(f"{plan.version} from {plan.channel} ({plan.origin}): {_sizes(plan)}")
    if whole is not None:
        targets = ", ".join(plan.request.targets) or "no GPU"
        say(f"for {targets}; for every GPU: {_sizes(whole)}")
    if plan.request.keep() is not None:
        tell("note: files in packages that only other GPUs use are counted here, and left out")
    for note in plan.notes:
        tell(f"note: {note}")
    if plan.host:
        tell(f"warning: the machine lacks: {', '.join(plan.host)}")


def _sizes(plan: Plan) -> str:
    total = amount(plan.download) if plan.download is not None else "unknown"
    disk = amount(plan.installed) if plan.installed is not None else "unknown"
    return f"{total} to download, {disk} on disk"
