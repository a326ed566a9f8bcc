"""The command ``landmark`` itself."""

from __future__ import annotations

import click

from ._capacity import capacity
from ._convert import convert
from ._deliver import deliver
from ._exits import TABLE
from ._group import Commands
from ._ledger import ledger
from ._schema import schema
from ._verify import verify
from ._wait import wait

__all__ = ["main"]


def _show_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        click.echo(f"landmark {version('airflow-landmark')}")
    except PackageNotFoundError:
        click.echo("landmark, not installed as a package")
    context.exit()


@click.group(
    cls=Commands,
    name="landmark",
    epilog=TABLE,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Print the version and end.",
)
def main() -> None:
    """Hand over deliveries of files, verify them, wait for them.

    A delivery is a folder of data files and one marker, _delivery.json, that is written last and says
    which files belong to it. It lies in a local folder, in an S3 bucket (s3://bucket/key) or on a web
    server (https://host/path).
    """


main.add_command(deliver)
main.add_command(verify)
main.add_command(wait)
main.add_command(convert)
main.add_command(schema)
main.add_command(ledger)
main.add_command(capacity)
