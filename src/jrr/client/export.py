"""All reports of a campaign as a file on the operator's machine."""

import tempfile
from pathlib import Path

from jrr._base import checks
from jrr._base.files import write_whole_bytes
from jrr.client.operator import Operator

ENDINGS = (".parquet", ".csv")


def check_export_file(out: Path, force: bool = False) -> None:
    """Refuse a file of another format, and one that exists unless `force`."""
    if out.suffix not in ENDINGS:
        raise checks.refusal("out", str(out), "a name that ends in .parquet or .csv")
    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")


def export_reports(operator: Operator, out: Path, *, force: bool = False) -> dict[str, str]:
    """Write all reports, for `jrr file estimate`.

    Args:
        operator: Of the collector.
        out: A .parquet or .csv file.
        force: Overwrite an existing file.

    Returns:
        What was written: the reports and, for CSV, the header beside them.

    Raises:
        ArgumentError: The file is refused.
        ProtocolError: The collector refuses.
        UnreachableError: The collector does not answer.
    """
    check_export_file(out, force)
    data = operator.export("parquet")
    if out.suffix == ".parquet":
        write_whole_bytes(out, data)
        return {"reports": str(out)}
    from jrr.tables.converting import convert  # needs pyarrow

    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "reports.parquet"
        whole.write_bytes(data)
        convert(whole, out, force=force)
    return {"reports": str(out), "header": f"{out}.json"}
