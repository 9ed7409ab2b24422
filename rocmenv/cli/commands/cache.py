"""`rocmenv cache`: the downloads that are kept."""

from __future__ import annotations

import click

from rocmenv.cli.output import amount, say, say_json, tell
from rocmenv.cli.program import Context, Group
from rocmenv.errors import StoreError
from rocmenv.ops import cache as ops


@click.group("cache", cls=Group)
def command() -> None:
    """Show and clear the downloads that are kept."""


@command.command("dir")
@click.pass_obj
def dir_(ctx: Context) -> None:
    """Show the folder of the cache."""
    say(str(ctx.root.cache))


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def list_(ctx: Context, *, as_json: bool) -> None:
    """List what is in the cache, the largest first, with the versions that were made from it."""
    found = ops.held(ctx.root)
    total = sum(h.entry.size for h in found)
    if as_json:
        rows = [
            {
                "path": h.entry.path,
                "kind": h.entry.kind,
                "name": h.name or None,
                "size": h.entry.size,
                "sha256": h.entry.digest or None,
                "versions": [str(v) for v in h.users],
            }
            for h in found
        ]
        say_json({"path": str(ctx.root.cache), "size": total, "files": rows})
        return
    for h in found:
        if h.entry.kind == "note":
            continue  # of some bytes each
        name = h.name or h.entry.path.rpartition("/")[2]
        users = f" ({', '.join(map(str, h.users))})" if h.users else ""
        say(f"{amount(h.entry.size):>9}  {h.entry.kind:<7}  {name}{users}")
    tell(f"rocmenv: {amount(total)} in {ctx.root.cache}")


@command.command("clear")
@click.option("--older-than", "age", metavar="AGE", help="Only what is older: 12h, 30d or 4w.")
@click.option("--all", "everything", is_flag=True, help="Signed indexes and keys too.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def clear(ctx: Context, age: str | None, *, everything: bool, dry_run: bool, as_json: bool) -> None:
    """Delete downloads, whole ones and parts; refused while another rocmenv uses the cache."""
    seconds = None if age is None else ops.age_of(age)
    chosen = ops.clearable(ctx.root, everything=everything, age=seconds)
    done = None if dry_run else ops.clear(ctx.root, chosen)
    gone = chosen if done is None else done.gone
    size = sum(entry.size for entry in gone)
    if as_json:
        say_json({"deleted": [e.path for e in gone], "size": size, "dry_run": dry_run})
    elif dry_run:
        tell(f"rocmenv: {len(gone)} files ({amount(size)}) would be deleted")
    else:
        tell(f"rocmenv: deleted {len(gone)} files ({amount(size)})")
    if done is not None and done.kept:
        entry, why = done.kept[0]
        msg = f"{len(done.kept)} files could not be deleted, the first of them {entry.path} ({why})"
        raise StoreError(msg, hint=f"see whose it is: `ls -l {entry.path}`")


@command.command("verify")
@click.option("--remove", is_flag=True, help="Delete the damaged ones.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def verify(ctx: Context, *, remove: bool, as_json: bool) -> None:
    """Read every verified file again, and say which are not what they were."""
    count, damaged = ops.damaged(ctx.root)
    if remove:
        ops.clear(ctx.root, damaged)
    if as_json:
        say_json({"checked": count, "damaged": [e.path for e in damaged], "removed": remove})
    else:
        for entry in damaged:
            say(entry.path)
    if damaged and not remove:
        msg = f"{len(damaged)} of {count} files in the cache are damaged"
        raise StoreError(msg, hint="delete them: `rocmenv cache verify --remove`")
    if not as_json:
        tell(f"rocmenv: {count} files checked" + (f", {len(damaged)} deleted" if damaged else ""))
