"""Which version holds here, and who decided."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocmenv.errors import ChangedError, InvalidVersionError, NotInstalledError, StoreError
from rocmenv.model.selection import Origin, Selection, Source
from rocmenv.model.version import Spec, choose, nearest
from rocmenv.store import pins, registry

if TYPE_CHECKING:
    from rocmenv.model.version import Version
    from rocmenv.process import Process
    from rocmenv.store.paths import Root
    from rocmenv.store.registry import Installed

VARIABLE = "ROCMENV_VERSION"


def selected(process: Process, root: Root, option: str | None = None) -> Selection:
    """The request that counts: option, variable, nearest pin, user's default, system.

    The shims (shims/wanted.sh) and hooks follow the same order; one table of cases holds
    all three to it (tests/shells/test_selection_table.py).
    """
    if option is not None:
        return asked(option)
    text = process.get(VARIABLE)
    if text is not None:
        try:
            return Selection(Spec.parse(text), Origin(Source.VARIABLE, VARIABLE))
        except InvalidVersionError as error:
            msg = f"{error.message} (set by {VARIABLE})"
            raise InvalidVersionError(msg, hint=f"unset {VARIABLE}, or: {error.hint}") from error
    found = pins.nearest(process.cwd)
    if found is not None:
        return Selection(found[1], Origin(Source.PIN, found[0]))
    if os.path.isfile(root.default):
        spec = pins.read(str(root.default))
        if spec is not None:
            return Selection(spec, Origin(Source.DEFAULT, str(root.default)))
    return Selection(Spec.parse("system"), Origin(Source.SYSTEM))


def asked(text: str) -> Selection:
    """The selection that words on the command line make."""
    return Selection(Spec.parse(text), Origin(Source.OPTION, f"`{text}` on the command line"))


def version_for(
    process: Process, root: Root, selection: Selection, versions: list[Version] | None = None
) -> Version | None:
    """The installed version that a selection stands for, None for the system's.

    Without `versions` only whole installs count: `StoreError` for a broken one that is
    named in full. `NotInstalledError` names the request, its origin and what to type;
    `ChangedError` a link whose prefix has become another release.
    """
    if versions is None:
        item = installed_for(process, root, selection)
        return item.version if item else None
    spec = without_alias(process, root, selection)
    if spec.is_system:
        return None
    version = choose(spec, versions)
    if version is None:
        raise _not_installed(selection, spec, versions or registry.versions(root))
    return version


def installed_for(process: Process, root: Root, selection: Selection) -> Installed | None:
    """As `version_for` of whole installs, with receipt and prefix; the receipt is read once."""
    spec = without_alias(process, root, selection)
    if spec.is_system:
        return None
    item = _whole(root, spec)
    if item is None:
        raise _not_installed(selection, spec, registry.versions(root))
    if item.receipt.is_link:
        _must_be_the_same(item, selection)
    return item


def named(process: Process, root: Root, selection: Selection) -> Version | None:
    """The version that a selection means, also a broken one that it names in full."""
    try:
        return version_for(process, root, selection)
    except StoreError:
        return version_for(process, root, selection, registry.versions(root))


def _must_be_the_same(item: Installed, selection: Selection) -> None:
    """`ChangedError` when a link's prefix is another release now.

    It does not stand back for the next best as a broken one does: the request was decided,
    and what it stands for has changed under it.
    """
    from rocmenv.probe.fingerprint import change_of  # noqa: PLC0415 - for links alone

    change = change_of(item.receipt)
    if change is not None and change.is_release:
        msg = f"{item.version} (linked to {item.prefix}) {change} ({selection.origin})"
        hint = f"run `rocmenv link --refresh {item.version}`"
        raise ChangedError(msg, hint=f"{hint}; `rocmenv discover` shows what is there")


def _whole(root: Root, spec: Spec) -> Installed | None:
    """As `choose` from what is installed; a broken install stands back for the next best."""
    versions = registry.versions(root)
    while (version := choose(spec, versions)) is not None:
        try:
            return registry.find(root, version)
        except (StoreError, NotInstalledError):
            if spec.exact is not None:
                raise
            versions.remove(version)
    return None


def without_alias(process: Process, root: Root, selection: Selection) -> Spec:
    """The request of a selection, with what an alias stands for in its place."""
    return _alias(process, root, selection) if selection.spec.is_alias else selection.spec


def _alias(process: Process, root: Root, selection: Selection) -> Spec:
    name = str(selection.spec)
    from rocmenv.settings import Settings  # noqa: PLC0415 - for names alone

    settings = Settings(process, root)
    text = settings.find_alias(name)
    if text is None:
        known = ", ".join(f"`{alias}`" for alias in settings.alias_names()) or "none is set"
        msg = f"`{name}` is neither a version nor an alias ({selection.origin})"
        hint = f"aliases: {known}; set one with `rocmenv config set aliases.{name} VERSION`"
        raise NotInstalledError(msg, hint=hint)
    mend = f"run `rocmenv config set aliases.{name} VERSION`"
    try:
        spec = Spec.parse(text)
    except InvalidVersionError as error:
        msg = f"{error.message} (the alias `{name}` in {root.config})"
        raise InvalidVersionError(msg, hint=mend) from error
    if spec.is_alias:
        msg = f"the alias `{name}` names another alias, `{text}` ({root.config})"
        raise NotInstalledError(msg, hint=mend)
    return spec


def _not_installed(selection: Selection, spec: Spec, versions: list[Version]) -> NotInstalledError:
    wanted = str(spec)
    msg = f"version `{wanted}` is not installed ({selection.origin})"
    if spec.exact is None and spec.name != "latest":
        msg = f"no installed version fits `{wanted}` ({selection.origin})"
    pre = [v for v in versions if spec.fits(v) and not v.is_final]
    if pre and spec.exact is None:
        return NotInstalledError(msg, hint=f"name the pre-release in full: `{pre[-1]}`")
    near = nearest(wanted, versions)
    guess = f"did you mean `{near[0]}`? or " if near else ""
    see = "`rocmenv versions` shows what is installed"
    import shlex  # noqa: PLC0415 - only for messages

    install = f"run `rocmenv install {shlex.quote(wanted)}`"  # a range has signs of the shell
    return NotInstalledError(msg, hint=f"{guess}{install}; {see}")
